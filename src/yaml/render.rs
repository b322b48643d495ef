//! Complaints as text with carets, or as JSON.

use std::borrow::Cow;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{
    Annotation, AnnotationKind, Group, Level, Renderer, Snippet, normalize_untrusted_str,
};
use serde_json::{Value, json};

use super::complaint::{Complaint, Severity};
use super::source::{Source, Span};

/// Every complaint as rustc would print it: `file:line:column`, the line, a caret, and the help.
/// Only lines that a complaint points at are shown, since a hosts file may hold secrets elsewhere.
pub fn render(complaints: &[Complaint], source: &Source, colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.decor_style(DecorStyle::Ascii);
    let mut text = String::new();
    for complaint in in_order(complaints) {
        text.push_str(&renderer.render(&[group(complaint, source)]));
        text.push_str("\n\n");
    }
    text
}

/// The same complaints for programs: one object each, with lines and columns from 1.
pub fn to_json(complaints: &[Complaint], source: &Source) -> Value {
    let place = |span: Span, text: Option<&str>| {
        let (line, column) = source.position(span.start);
        json!({"line": line, "column": column, "text": text})
    };
    let one = |complaint: &Complaint| {
        let (line, column) = source.position(complaint.span.start);
        let related: Vec<Value> =
            complaint.more.iter().map(|(span, text)| place(*span, Some(text))).collect();
        json!({
            "severity": complaint.severity.name(), "file": source.name, "line": line, "column": column,
            "message": complaint.message, "label": complaint.label, "help": complaint.help, "related": related,
        })
    };
    in_order(complaints).into_iter().map(one).collect()
}

fn in_order(complaints: &[Complaint]) -> Vec<&Complaint> {
    let mut sorted: Vec<&Complaint> = complaints.iter().collect();
    sorted.sort_by_key(|complaint| (complaint.severity == Severity::Warning, complaint.span.start));
    sorted
}

fn group<'a>(complaint: &'a Complaint, source: &'a Source) -> Group<'a> {
    let level = match complaint.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut group = Group::with_title(level.primary_title(normalize_untrusted_str(&complaint.message)));
    for (number, line, annotations) in lines(complaint, source) {
        let snippet = Snippet::source(Cow::Borrowed(line)).line_start(number).path(source.name.as_str());
        group = group.element(snippet.annotations(annotations));
    }
    if let Some(help) = &complaint.help {
        group = group.element(Level::HELP.message(normalize_untrusted_str(help)));
    }
    group
}

type Line<'a> = (usize, &'a str, Vec<Annotation<'a>>);

/// The lines to show, each once; the complaint's own line comes first.
fn lines<'a>(complaint: &'a Complaint, source: &'a Source) -> Vec<Line<'a>> {
    let primary = (complaint.span, complaint.label.as_deref(), AnnotationKind::Primary);
    let more =
        complaint.more.iter().map(|(span, text)| (*span, Some(text.as_str()), AnnotationKind::Context));
    let mut lines: Vec<Line<'a>> = Vec::new();
    for (span, label, kind) in std::iter::once(primary).chain(more) {
        let (number, start, text) = source.line_at(span.start);
        let from = span.start.saturating_sub(start).min(text.len());
        let to = span.end.saturating_sub(start).clamp(from, text.len());
        let annotation = kind.span(from..to).label(label.map(normalize_untrusted_str));
        match lines.iter_mut().find(|line| line.0 == number) {
            Some(line) => line.2.push(annotation),
            None => lines.push((number, text, vec![annotation])),
        }
    }
    lines
}
