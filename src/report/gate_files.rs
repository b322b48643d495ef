//! The gate's answer for continuous integration: JUnit XML and a summary in Markdown.

use std::fmt::Write;

use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

use super::gate::{headline, next};
use super::number::{acts, visible};
use crate::gate::judge::Gate;
use crate::gate::verdict::Verdict;

/// One test case for each cell and response. Whatever is no pass is a failure, or an error where nothing could
/// be judged.
///
/// # Errors
/// A name that XML cannot hold.
pub fn junit(gate: &Gate) -> Result<String, SerializeError> {
    let mut report = Report::new("fieldtrial gate");
    let mut suite = TestSuite::new(format!("{} {}", gate.campaign, gate.record));
    for own in &gate.cells {
        let kind = match own.verdict {
            Verdict::Pass => None,
            Verdict::Regression | Verdict::StaleBaseline | Verdict::Inconclusive => {
                Some(NonSuccessKind::Failure)
            }
            Verdict::NothingMeasured | Verdict::NoBaseline | Verdict::NotComparable => {
                Some(NonSuccessKind::Error)
            }
        };
        let status = kind.map_or_else(TestCaseStatus::success, |kind| {
            let mut status = TestCaseStatus::non_success(kind);
            status.set_type(own.verdict.word()).set_message(own.sentence.as_str());
            status.set_description(own.differences.join("\n"));
            status
        });
        let mut case = TestCase::new(format!("{} {}", own.cell, own.response), status);
        case.set_classname(gate.campaign.as_str());
        suite.add_test_case(case);
    }
    if gate.cells.is_empty() {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_type(gate.overall.word()).set_message(next(gate));
        suite.add_test_case(TestCase::new("the record", status));
    }
    report.add_test_suite(suite);
    report.to_string()
}

/// A table for the summary page of a pipeline.
pub fn markdown(gate: &Gate) -> String {
    let mut out = format!("### {}\n\n", escaped(&headline(gate)));
    out += "| verdict | cell | response | what was found |\n|---|---|---|---|\n";
    for own in &gate.cells {
        let sentence: Vec<String> =
            std::iter::once(&own.sentence).chain(&own.differences).map(|line| escaped(line)).collect();
        let _ = writeln!(
            out,
            "| **{}** | {} | {} | {} |",
            own.verdict.word(),
            escaped(&own.cell.0),
            escaped(&own.response),
            sentence.join("<br>")
        );
    }
    for note in gate.notes.iter().map(String::as_str).chain(next(gate).lines()) {
        let _ = write!(out, "\n{}\n", escaped(note));
    }
    out
}

/// Between what a page would make a mention, a reference or a link of, and what comes after it. An escaped `@`
/// is still one to who looks for mentions in what came out.
const APART: &str = "<!-- -->";

/// Text that Markdown and the HTML in it show as it is, and that calls or links nobody.
pub fn escaped(text: &str) -> String {
    let mut out = String::new();
    let mut last = ' ';
    for c in text.chars() {
        let before = std::mem::replace(&mut last, c);
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\n' | '\r' => out.push(' '),
            c if acts(c) => out.push_str(&escaped(&visible(&c.to_string()))),
            '@' | '#' => {
                out.push('\\');
                out.push(c);
                out.push_str(APART);
            }
            // A bare address becomes a link by itself.
            '/' if before == ':' => {
                out.push_str(APART);
                out.push(c);
            }
            '.' if out.to_ascii_lowercase().ends_with("www") => {
                out.push_str(APART);
                out.push(c);
            }
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '!' | '~' | '$' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_stays_text() {
        assert_eq!(escaped("a|b<script>`x`\n*y*\u{1b}[0m"), "a\\|b&lt;script&gt;\\`x\\` \\*y\\*\\\\x1b\\[0m");
    }
}
