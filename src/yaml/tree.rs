//! A YAML text as a tree in which every key and value knows its place.

use std::collections::{HashMap, hash_map};

use serde_yaml::granit_parser::{Event, Parser, ScalarStyle};

use super::complaint::Complaint;
use super::source::{Loc, Source, Span};

/// Larger files are refused: a campaign is written by people.
const MAX_BYTES: usize = 1 << 20;
/// Nodes with every alias written out; a bomb of aliases stops here.
const MAX_NODES: usize = 100_000;
/// The deepest real file has six levels.
const MAX_DEPTH: usize = 32;

/// A value and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// A scalar with its quotes; of a collection only its first line.
    pub span: Span,
    pub kind: Kind,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// Nothing, `~` or `null`.
    Null,
    /// `text` is spelled as in the file, so `1.10` and `on` stay what they are.
    Scalar {
        text: String,
        quoted: bool,
    },
    Sequence(Vec<Node>),
    /// In the order of the file. A key that came twice is here once, the first time.
    Mapping(Vec<Entry>),
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub key: Loc<String>,
    pub value: Node,
}

/// Reads one YAML document. None when the text is no YAML or exceeds a limit; duplicate keys and
/// the like are complained about and the rest is still read.
pub fn read(source: &Source, complaints: &mut Vec<Complaint>) -> Option<Node> {
    if source.text.len() > MAX_BYTES {
        let message = format!("expected at most {MAX_BYTES} bytes, found {}", source.text.len());
        complaints.push(Complaint::error(Span::default(), message));
        return None;
    }
    let mut reader = Reader {
        text: &source.text,
        events: Parser::new_from_str(&source.text),
        anchors: HashMap::new(),
        nodes: 0,
        complaints,
    };
    match reader.document() {
        Ok(node) => Some(node),
        Err(complaint) => {
            complaints.push(complaint);
            None
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    events: Parser<'a, serde_yaml::granit_parser::StrInput<'a>>,
    /// Anchored nodes with the number of nodes each holds.
    anchors: HashMap<usize, (Node, usize)>,
    nodes: usize,
    complaints: &'a mut Vec<Complaint>,
}

type Read<T> = Result<T, Complaint>;

impl<'a> Reader<'a> {
    fn next(&mut self) -> Read<(Event<'a>, Span)> {
        let end = Span { start: self.text.len(), end: self.text.len() };
        match self.events.next() {
            Some(Ok((event, span))) => {
                let start = span.start.byte_offset().unwrap_or(0).min(self.text.len());
                let end = span.end.byte_offset().unwrap_or(start).clamp(start, self.text.len());
                Ok((event, Span { start, end }))
            }
            Some(Err(error)) => {
                let at = error.marker().byte_offset().unwrap_or(end.end);
                Err(not_yaml(self.text, at, &error.kind().to_string()))
            }
            None => Err(Complaint::error(end, "this is not YAML: the text ends too early")),
        }
    }

    fn document(&mut self) -> Read<Node> {
        let mut root = None;
        loop {
            match self.next()? {
                (Event::StreamEnd, span) => {
                    let empty = || {
                        Complaint::error(span, "the file is empty")
                            .help("`fieldtrial init` writes a campaign to start from")
                    };
                    return root.ok_or_else(empty);
                }
                (Event::DocumentStart(..), span) if root.is_some() => {
                    let message = "expected one document, found a second one";
                    return Err(Complaint::error(span, message).help("take out the `---`"));
                }
                (Event::DocumentStart(..), _) => {
                    let (event, span) = self.next()?;
                    root = Some(self.node(event, span, 0)?);
                }
                _ => {}
            }
        }
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Read<Node> {
        self.spend(1, span)?;
        if depth > MAX_DEPTH {
            return Err(Complaint::error(span, format!("nested too deeply: more than {MAX_DEPTH} levels")));
        }
        let before = self.nodes;
        let ((kind, end), anchor, tagged) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                ((scalar(text.into_owned(), style), span.end), anchor, tag.is_some())
            }
            Event::SequenceStart(_, anchor, tag) => (self.sequence(depth)?, anchor, tag.is_some()),
            Event::MappingStart(_, anchor, tag) => (self.mapping(depth)?, anchor, tag.is_some()),
            Event::Alias(anchor) => return self.alias(anchor, span),
            _ => return Err(Complaint::error(span, "this is not YAML that can be read: expected a value")),
        };
        if tagged {
            let help = "take it out; quotes make a text of anything";
            self.complaints
                .push(Complaint::error(span, "tags such as `!name` have no meaning here").help(help));
        }
        let span = if matches!(kind, Kind::Scalar { .. } | Kind::Null) {
            span
        } else {
            self.first_line(Span { end, ..span })
        };
        let node = Node { span, kind };
        if anchor != 0 {
            self.anchors.insert(anchor, (node.clone(), self.nodes - before + 1));
        }
        Ok(node)
    }

    fn spend(&mut self, nodes: usize, span: Span) -> Read<()> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > MAX_NODES {
            let message = format!("too large: more than {MAX_NODES} values once aliases are written out");
            return Err(Complaint::error(span, message));
        }
        Ok(())
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Read<Node> {
        let Some(&(_, size)) = self.anchors.get(&anchor) else {
            return Err(Complaint::error(span, "an alias to something that contains it"));
        };
        self.spend(size, span)?;
        Ok(Node { span, kind: self.anchors[&anchor].0.kind.clone() })
    }

    /// The items, and where the list ends.
    fn sequence(&mut self, depth: usize) -> Read<(Kind, usize)> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, span) => return Ok((Kind::Sequence(items), span.end)),
                (event, span) => items.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    /// The entries, and where the mapping ends.
    fn mapping(&mut self, depth: usize) -> Read<(Kind, usize)> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut seen: HashMap<String, Span> = HashMap::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                return Ok((Kind::Mapping(entries), span.end));
            }
            let key = self.node(event, span, depth + 1)?;
            let (event, value_span) = self.next()?;
            let value = self.node(event, value_span, depth + 1)?;
            let Some(text) = self.key_text(&key) else { continue };
            match seen.entry(text.clone()) {
                hash_map::Entry::Occupied(first) => self.complaints.push(
                    Complaint::error(key.span, format!("the key `{text}` is given twice"))
                        .label("second time")
                        .also(*first.get(), "first time")
                        .help("keep one of them"),
                ),
                hash_map::Entry::Vacant(slot) => {
                    slot.insert(key.span);
                    entries.push(Entry { key: Loc::new(text, key.span), value });
                }
            }
        }
    }

    fn key_text(&mut self, key: &Node) -> Option<String> {
        match &key.kind {
            Kind::Scalar { text, quoted: false } if text == "<<" => {
                let message = "merge keys (`<<`) are not read";
                let help = "write the keys out; `&name` and `*name` for whole values do work";
                self.complaints.push(Complaint::error(key.span, message).help(help));
                None
            }
            Kind::Scalar { text, .. } => Some(text.clone()),
            _ => {
                let message = format!("expected a name as key, found {}", key.found());
                self.complaints.push(Complaint::error(key.span, message));
                None
            }
        }
    }

    fn first_line(&self, span: Span) -> Span {
        let rest = self.text.get(span.start..span.end).unwrap_or("");
        let line = rest.split('\n').next().unwrap_or(rest).trim_end().len();
        Span { start: span.start, end: span.start + line }
    }
}

/// What the parser says, at the place that is to be mended, with what usually mends it.
fn not_yaml(text: &str, at: usize, why: &str) -> Complaint {
    let complaint = |start, message: String| Complaint::error(Span { start, end: start }, message);
    if why.contains("tab")
        && let Some(tab) = indented_by_tab(text)
    {
        return complaint(tab, "this is not YAML: a tab indents this line".into())
            .help("indent by spaces, as YAML demands");
    }
    let from = text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |line_feed| line_feed + 1);
    let line = text.get(from..).and_then(|rest| rest.lines().next()).unwrap_or("");
    let found = complaint(at, format!("this is not YAML: {why}"));
    if line.contains("${") && line.contains(['{', '[']) {
        found.help("within {…} or […] write \"${name}\" with its quotes")
    } else if why.contains("mapping values") {
        found.help("put quotes around a text that holds `: `; a new key starts on a line of its own")
    } else {
        found
    }
}

/// The first tab that stands where a line is indented.
fn indented_by_tab(text: &str) -> Option<usize> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
        if let Some(tab) = line[..indent].find('\t') {
            return Some(start + tab);
        }
        start += line.len();
    }
    None
}

/// The tree as a reader of plain YAML 1.2 would see it, to be held against a schema.
#[cfg(test)]
pub(crate) fn plain(node: &Node) -> serde_json::Value {
    match &node.kind {
        Kind::Null => serde_json::Value::Null,
        Kind::Sequence(items) => items.iter().map(plain).collect(),
        Kind::Mapping(entries) => {
            entries.iter().map(|each| (each.key.value.clone(), plain(&each.value))).collect()
        }
        Kind::Scalar { text, quoted: false } if text == "true" || text == "false" => (text == "true").into(),
        Kind::Scalar { text, quoted: true } => text.as_str().into(),
        Kind::Scalar { text, .. } => match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(int), _) => int.into(),
            (_, Ok(float)) if float.is_finite() => float.into(),
            _ => text.as_str().into(),
        },
    }
}

fn scalar(text: String, style: ScalarStyle) -> Kind {
    let quoted = style != ScalarStyle::Plain;
    if !quoted && matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL") {
        return Kind::Null;
    }
    Kind::Scalar { text, quoted }
}
