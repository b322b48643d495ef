//! One self-contained page for a record.

use tera::{Context, Tera};

use super::view::view;
use crate::analysis::findings::Findings;
use crate::evidence::fold::Evidence;

/// A template of ours is wrong; nothing that a user or host can cause.
#[derive(Debug, thiserror::Error)]
#[error(
    "expected the report's own templates to render, found a fault in them: {0}; please report it with the record"
)]
pub struct PageError(#[from] tera::Error);

/// Names end in `.html` so that every value is escaped; the style sheet holds no values.
const TEMPLATES: [(&str, &str); 6] = [
    ("page.html", include_str!("templates/page.html")),
    ("style.html", include_str!("templates/style.html")),
    ("answer.html", include_str!("templates/answer.html")),
    ("cells.html", include_str!("templates/cells.html")),
    ("runs.html", include_str!("templates/runs.html")),
    ("origin.html", include_str!("templates/origin.html")),
];

/// The whole page: no script, no request to anywhere, the same bytes for the same input.
///
/// # Errors
/// Only a fault in our own templates.
pub fn page(evidence: &Evidence, findings: &Findings) -> Result<String, PageError> {
    let mut tera = Tera::new();
    tera.add_raw_templates(TEMPLATES)?;
    Ok(tera.render("page.html", &Context::from_serialize(&view(evidence, findings))?)?)
}
