//! The page of a real record with hostile texts in it, read in Chromium as its readers would.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::browser::{Seen, look};
use crate::desk::{Desk, code, csv_rows};
use crate::exported;
use crate::process::told;

/// Rows of a table that a reader sees.
const SHOWN: &str =
    "Array.from(document.querySelectorAll('tr[data-row]')).filter(r => r.offsetParent !== null).length";

fn page() -> (Desk, PathBuf, PathBuf) {
    let (desk, record) = exported::copy();
    let page = record.join("index.html");
    (desk, record, page)
}

fn one(page: &std::path::Path, view: Value) -> Option<Seen> {
    look(page, &[view]).map(|mut seen| seen.remove(0))
}

#[test]
fn hostile_texts_stay_texts_and_every_look_of_the_page_is_accessible() {
    let (desk, _, page) = page();
    let pdf = desk.path().join("page.pdf");
    let ask = json!({"broken": "document.querySelectorAll('script:not([type]):not(:last-of-type), b > b, iframe, img').length",
                     "bold": "Array.from(document.querySelectorAll('b')).filter(b => b.textContent === 'as').length",
                     "title": "document.querySelector('.question').textContent",
                     "wide": "document.documentElement.scrollWidth - document.documentElement.clientWidth"});
    let views = [
        json!({"width": 1400, "axe": true, "ask": ask, "pdf": pdf}),
        json!({"width": 390, "height": 800, "axe": true, "ask": ask}),
        json!({"width": 1400, "dark": true, "axe": true, "ask": ask}),
    ];
    let Some(seen) = look(&page, &views) else { return };
    for seen in &seen {
        seen.is_quiet(&page);
        assert_eq!((seen.number("broken"), seen.number("bold")), (0, 0));
        assert!(seen.text("title").contains("| <b>as</b> fast? @everyone"), "{}", seen.text("title"));
        assert!(seen.number("wide") <= 1, "the page itself never scrolls sideways: {}", seen.number("wide"));
    }
    assert!(std::fs::read(pdf).unwrap().starts_with(b"%PDF-"));
}

#[test]
fn the_plots_have_the_points_that_the_tables_of_the_record_have() {
    let (_desk, record, page) = page();
    let rows = csv_rows(&record.join("runs.csv"));
    let measured = rows.iter().filter(|row| row["outcome"] == "measured").count() as u64;
    let ask = json!({
        "runs": "document.querySelectorAll('#runs tr[data-row]').length",
        "points": "Array.from(document.querySelectorAll('svg.strip')).filter(s => !s.closest('details') && s.getAttribute('aria-label').startsWith('wall_time')).reduce((n, s) => n + s.querySelectorAll('circle').length, 0)",
        "bad": "Array.from(document.querySelectorAll('svg *')).filter(e => Array.from(e.attributes).some(a => /NaN|Infinity|undefined/.test(a.value))).length",
        "unnamed": "Array.from(document.querySelectorAll('svg[role=img]')).filter(s => !s.querySelector('title') && !s.getAttribute('aria-label') && !s.getAttribute('aria-labelledby')).length",
    });
    let Some(seen) = one(&page, json!({"ask": ask})) else { return };
    assert_eq!(seen.number("runs"), rows.len() as u64, "every attempt is a row");
    assert_eq!(seen.number("points"), measured, "a dot for each measured run");
    assert_eq!((seen.number("bad"), seen.number("unnamed")), (0, 0));
}

#[test]
fn a_reader_sorts_filters_and_follows_the_address_of_a_cell() {
    let (_desk, _, page) = page();
    let sorted = "(() => { const t = document.querySelector('table.sortable th[aria-sort]'); return t ? t.getAttribute('aria-sort') : 'none'; })()";
    let refused = "document.querySelector('[data-filter=refused]')";
    assert!(std::fs::read_to_string(&page).unwrap().contains("data-filter=\"refused\""));
    let cell = "cell=text=-5.55/wrong";
    let inside = format!(
        "(() => {{ const e = document.getElementById('{cell}'); const b = e.getBoundingClientRect(); return e.offsetParent !== null && b.top < innerHeight && b.bottom > 0; }})()"
    );
    let views = [
        json!({"ask": {"rows": SHOWN, "sorted": sorted}}),
        json!({"do": [{"click": "table.sortable thead th button"}], "ask": {"sorted": sorted}}),
        json!({"do": [{"click": "[data-filter=refused]"}], "ask": {"rows": SHOWN, "button": format!("{refused} !== null")}}),
        json!({"do": [{"fill": ["#filter-words", "slower"]}], "ask": {"rows": SHOWN,
            "others": "Array.from(document.querySelectorAll('tr[data-row]')).filter(r => r.offsetParent !== null && !r.textContent.includes('slower')).length"}}),
        json!({"do": [{"go": cell}], "ask": {"there": inside}}),
        json!({"hash": format!("#{cell}"), "ask": {"there": inside}}),
        json!({"do": [{"press": "Tab"}], "ask": {"first": "document.activeElement.className"}}),
    ];
    let Some(seen) = look(&page, &views) else { return };
    seen.iter().for_each(|seen| assert_eq!(seen.errors, Vec::<String>::new()));
    let all = seen[0].number("rows");
    assert_eq!((seen[0].text("sorted"), seen[1].text("sorted")), ("none", "ascending"));
    assert!((1..all).contains(&seen[2].number("rows")), "{} of {all}", seen[2].number("rows"));
    assert!((1..all).contains(&seen[3].number("rows")) && seen[3].number("others") == 0);
    assert_eq!((&seen[4].answers["there"], &seen[5].answers["there"]), (&json!(true), &json!(true)));
    assert_eq!(seen[6].text("first"), "skip", "the keyboard reaches the way past the navigation first");
}

#[test]
fn without_its_script_the_page_says_the_same() {
    let (_desk, record, page) = page();
    let ask = json!({"text": "document.body.innerText", "rows": "document.querySelectorAll('#runs tr[data-row]').length"});
    let Some(seen) = one(&page, json!({"script": false, "ask": ask})) else { return };
    assert_eq!(seen.errors, Vec::<String>::new());
    let text = seen.text("text");
    for said in
        ["slower", "is worse", "refused", "it gives another answer than the control", "fieldtrial rerun"]
    {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert_eq!(seen.number("rows"), csv_rows(&record.join("runs.csv")).len() as u64);
}

#[test]
fn the_pages_of_the_campaign_are_quiet_and_accessible_too() {
    let (desk, record, _) = page();
    let output = desk.fieldtrial(&[
        "publish",
        record.to_str().unwrap(),
        "--why",
        "<b>first</b>",
        "--force",
        "\"it\" must",
    ]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let folder = record.parent().unwrap();
    for name in ["index.html", "published.html"] {
        let page = folder.join(name);
        let Some(seen) = one(&page, json!({"axe": true, "ask": {"text": "document.body.innerText"}})) else {
            return;
        };
        seen.is_quiet(&page);
        assert!(seen.text("text").contains("<b>first</b>"), "{name}: {}", seen.text("text"));
    }
}
