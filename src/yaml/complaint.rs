//! A complaint: what is wrong with a file, and where.

use super::source::Span;

/// Whether a complaint forbids going on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    Error,
    Warning,
}

impl Severity {
    /// `error` or `warning`.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// One thing wrong with a file. `message` is whole without the rest; `label` stands at the caret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    pub severity: Severity,
    pub message: String,
    pub span: Span,
    pub label: Option<String>,
    /// Other places that explain it, e.g. the first use of a key.
    pub more: Vec<(Span, String)>,
    /// The next step.
    pub help: Option<String>,
}

impl Complaint {
    /// What forbids going on; `message` says what was expected and found.
    pub fn error(span: Span, message: impl Into<String>) -> Complaint {
        let message = message.into();
        Complaint { severity: Severity::Error, message, span, label: None, more: Vec::new(), help: None }
    }

    /// What may be meant, and is worth a look.
    pub fn warning(span: Span, message: impl Into<String>) -> Complaint {
        Complaint { severity: Severity::Warning, ..Complaint::error(span, message) }
    }

    /// With a text at the caret.
    pub fn label(mut self, text: impl Into<String>) -> Complaint {
        self.label = Some(text.into());
        self
    }

    /// With another place that explains it.
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Complaint {
        self.more.push((span, text.into()));
        self
    }

    /// With the next step.
    pub fn help(mut self, text: impl Into<String>) -> Complaint {
        self.help = Some(text.into());
        self
    }
}

/// Whether any complaint forbids going on.
pub fn has_errors(complaints: &[Complaint]) -> bool {
    complaints.iter().any(|complaint| complaint.severity == Severity::Error)
}
