//! One self-contained page for a record.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
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

const STYLE: &str = include_str!("templates/style.css");
const SCRIPT: &str = include_str!("templates/page.js");

/// Names end in `.html` where values are escaped; style and script hold none.
const TEMPLATES: [(&str, &str); 24] = [
    ("page.html", include_str!("templates/page.html")),
    ("head.html", include_str!("templates/head.html")),
    ("style.css", STYLE),
    ("page.js", SCRIPT),
    ("asked.html", include_str!("templates/asked.html")),
    ("answer.html", include_str!("templates/answer.html")),
    ("effects.html", include_str!("templates/effects.html")),
    ("interactions.html", include_str!("templates/interactions.html")),
    ("cells.html", include_str!("templates/cells.html")),
    ("many.html", include_str!("templates/many.html")),
    ("card.html", include_str!("templates/card.html")),
    ("figure.html", include_str!("templates/figure.html")),
    ("rejected.html", include_str!("templates/rejected.html")),
    ("campaign.html", include_str!("templates/campaign.html")),
    ("ladder.html", include_str!("templates/ladder.html")),
    ("compared.html", include_str!("templates/compared.html")),
    ("published.html", include_str!("templates/published.html")),
    ("annotated.html", include_str!("templates/annotated.html")),
    ("turned_down.html", include_str!("templates/turned_down.html")),
    ("again.html", include_str!("templates/again.html")),
    ("variance.html", include_str!("templates/variance.html")),
    ("origin.html", include_str!("templates/origin.html")),
    ("runs.html", include_str!("templates/runs.html")),
    ("method.html", include_str!("templates/method.html")),
];

/// The whole page: whole without its script, no request to anywhere, the same bytes for the same input.
///
/// # Errors
/// Only a fault in our own templates.
pub fn page(evidence: &Evidence, findings: &Findings) -> Result<String, PageError> {
    page_of(evidence, findings, false)
}

/// The same, with a link to the page of the ladder beside it where the record is a part of one.
///
/// # Errors
/// Only a fault in our own templates.
pub fn page_of(evidence: &Evidence, findings: &Findings, in_ladder: bool) -> Result<String, PageError> {
    let mut context = Context::from_serialize(&view(evidence, findings))?;
    context.insert("in_ladder", &in_ladder);
    render("page.html", context)
}

/// One of our templates with its values, under a policy that lets no other script or style act, and nothing
/// be asked of a network.
///
/// # Errors
/// Only a fault in our own templates.
pub(super) fn render(template: &str, mut context: Context) -> Result<String, PageError> {
    let mut tera = Tera::new();
    tera.register_filter("parts", parts);
    tera.add_raw_templates(TEMPLATES)?;
    context.insert("policy", &policy());
    let html = tera.render(template, &context)?;
    // Whatever a program wrote, an escape sequence in it must not act where the page is printed.
    Ok(visible(&html))
}

/// Content security policy: script and style by their digests, so that markup that slipped through would
/// still do nothing.
fn policy() -> String {
    let [style, script] = [STYLE, SCRIPT].map(|text| STANDARD.encode(Sha256::digest(text.as_bytes())));
    format!(
        "default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; base-uri 'none'; form-action 'none'"
    )
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_policy_allows_is_what_the_page_has() {
        // A character that is written out for the screen would change the digest.
        for text in [STYLE, SCRIPT] {
            assert_eq!(visible(text), text);
            assert!(!text.contains("</s"), "the end of its element");
        }
    }
}
