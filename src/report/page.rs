//! One self-contained page for a record.

use tera::{Context, Kwargs, State, Tera, Value};

use super::number::visible;
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
const TEMPLATES: [(&str, &str); 13] = [
    ("page.html", include_str!("templates/page.html")),
    ("style.html", include_str!("templates/style.html")),
    ("asked.html", include_str!("templates/asked.html")),
    ("answer.html", include_str!("templates/answer.html")),
    ("cells.html", include_str!("templates/cells.html")),
    ("rejected.html", include_str!("templates/rejected.html")),
    ("campaign.html", include_str!("templates/campaign.html")),
    ("compared.html", include_str!("templates/compared.html")),
    ("published.html", include_str!("templates/published.html")),
    ("annotated.html", include_str!("templates/annotated.html")),
    ("turned_down.html", include_str!("templates/turned_down.html")),
    ("runs.html", include_str!("templates/runs.html")),
    ("origin.html", include_str!("templates/origin.html")),
];

/// The whole page: no script, no request to anywhere, the same bytes for the same input.
///
/// # Errors
/// Only a fault in our own templates.
pub fn page(evidence: &Evidence, findings: &Findings) -> Result<String, PageError> {
    render("page.html", &Context::from_serialize(&view(evidence, findings))?)
}

/// One page from its template.
pub(super) fn render(name: &str, context: &Context) -> Result<String, PageError> {
    let mut tera = Tera::new();
    tera.register_filter("parts", parts);
    tera.add_raw_templates(TEMPLATES)?;
    let html = tera.render(name, context)?;
    // Whatever a program wrote, an escape sequence in it must not act where the page is printed.
    Ok(visible(&html))
}

/// A cell's id in pieces that stay together, so that a narrow column breaks it after its commas and
/// slashes and not inside of a word; a piece too long for any column may break anywhere.
fn parts(id: &str, _: Kwargs, _: &State) -> Value {
    // As wide as the first column of a table on a phone.
    const LONGEST: usize = 18;
    let mut html = Vec::new();
    for piece in id.split_inclusive([',', '/']) {
        let class = if piece.chars().count() > LONGEST { "long" } else { "part" };
        html.extend_from_slice(format!("<span class=\"{class}\">").as_bytes());
        // Memory takes every write.
        let _ = tera::escape_html(piece, &mut html);
        html.extend_from_slice(b"</span><wbr>");
    }
    Value::safe_string(&String::from_utf8_lossy(&html))
}
