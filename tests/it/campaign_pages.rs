//! The pages of a campaign: all its records with their trend, and what is published.

use std::path::{Path, PathBuf};

use crate::desk::{Desk, code, csv_rows};
use crate::exported::{copy, copy_folder, text};
use crate::process::told;

/// A tool that writes as many bytes as it is told to: the kernel counts them, so levels are exact.
const CAMPAIGN: &str = "\
campaign: c
question: Does it write <b>no more</b> than it did?
hosts: hosts.yaml
control: {set: {amount: whole}}
workload: {command: {on: here, run: ['APP', '${amount}']}}
verify: {output: ignored}
blocks: {count: 3, order: forward}
timeout: 10s
responses: [{name: bytes_written}]
gate: {tolerance: 20%}
";

fn measured(desk: &Desk, bytes: u64) -> PathBuf {
    let app = desk.script_file("app", &format!("#!/bin/sh\nhead -c {bytes} /dev/zero\n"));
    desk.write("c.yaml", &CAMPAIGN.replace("APP", &text(&app)));
    desk.new_record(&[0])
}

fn page(desk: &Desk, name: &str) -> String {
    std::fs::read_to_string(desk.path().join("reports/c").join(name)).unwrap_or_default()
}

fn name(record: &Path) -> String {
    record.file_name().expect("a name").to_string_lossy().into_owned()
}

/// Every link of the page that leads to a file leads to one that is there.
fn assert_links_lead_somewhere(desk: &Desk, html: &str) {
    for target in html.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        let there = match target.strip_prefix('#') {
            Some(id) => html.contains(&format!("id=\"{id}\"")),
            None => desk.path().join("reports/c").join(target).is_file(),
        };
        assert!(there, "{target} leads nowhere");
    }
}

#[test]
fn every_record_of_a_campaign_is_on_its_index_with_its_level_and_a_link() {
    let desk = Desk::new("");
    let first = measured(&desk, 4000);
    let second = measured(&desk, 8000);
    let html = page(&desk, "index.html");
    for record in [&first, &second] {
        let link = format!("<a href=\"{}/index.html\">{}</a>", name(record), name(record));
        assert!(html.contains(&link), "{link}: {html}");
    }
    let value = |record: &Path| -> f64 {
        csv_rows(&record.join("runs.csv"))[0]["bytes_written (B)"].parse().expect("a number")
    };
    let figure = html.split("<svg class=\"chart\"").nth(1).and_then(|rest| rest.split("</svg>").next());
    let titles: Vec<&str> = figure.unwrap_or_default().split("<title>").skip(1).collect();
    assert_eq!(titles.len(), 2, "a mark for each record: {html}");
    for (title, record) in titles.iter().zip([&first, &second]) {
        let bytes = value(record).to_string();
        assert!(title.contains(&name(record)) && title.contains(&format!("{bytes} B")), "{bytes}: {title}");
    }
    assert!(html.contains("Does it write &lt;b&gt;no more&lt;") && !html.contains("<b>no more"), "{html}");
    assert!(html.contains("Nothing is published.") && html.contains("3 measured"), "{html}");
    assert!(!html.contains("<script") && !html.contains("://"), "it asks nothing of a network");
    assert_links_lead_somewhere(&desk, &html);
    std::fs::remove_file(desk.path().join("reports/c/index.html")).unwrap();
    assert_eq!(code(&desk.fieldtrial(&["report", &text(&first)])), 0);
    assert_eq!(page(&desk, "index.html"), html, "report builds it again, to the byte");
    // A record that is gone stays in the history, and has no page to lead to.
    std::fs::remove_dir_all(&second).unwrap();
    assert_eq!(code(&desk.fieldtrial(&["report", &text(&first)])), 0);
    let html = page(&desk, "index.html");
    assert!(html.contains(&name(&second)) && html.contains("the record is not here"), "{html}");
    assert_links_lead_somewhere(&desk, &html);
}

#[test]
fn publishing_moves_the_published_page_and_the_mark_in_the_same_act() {
    let desk = Desk::new("");
    let first = measured(&desk, 4000);
    assert_eq!(page(&desk, "published.html"), "");
    let why = "the <i>first</i> release";
    let args = ["publish", &text(&first), "--why", why, "--by", "somebody"];
    let output = desk.fieldtrial(&args);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let html = page(&desk, "published.html");
    assert!(html.contains("In force: ") && html.contains(&name(&first)), "{html}");
    assert!(html.contains("the &lt;i&gt;first") && !html.contains("<i>first"), "{html}");
    assert!(html.contains("<small>ceiling</small>") && html.contains("20"), "fewer bytes are better: {html}");
    assert_links_lead_somewhere(&desk, &html);
    let index = page(&desk, "index.html");
    let marked = format!("<title>{}: 4000 B, published, in force</title>", name(&first));
    assert!(index.contains(&marked) && index.contains("</svg> published, in force</li>"), "{index}");
    let back = ["unpublish", &text(&first), "--why", "it was a mistake", "--by", "somebody"];
    let output = desk.fieldtrial(&back);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let html = page(&desk, "published.html");
    assert!(html.contains("the gate has no baseline") && html.contains("it was a mistake"), "{html}");
    assert!(page(&desk, "index.html").contains("Nothing is published."));
}

#[test]
fn a_record_that_was_copied_elsewhere_leaves_what_is_around_it_alone() {
    let (desk, record) = copy();
    let elsewhere = desk.path().join("downloads");
    std::fs::create_dir(&elsewhere).unwrap();
    let copied = elsewhere.join(record.file_name().unwrap());
    copy_folder(&record, &copied);
    let output = desk.fieldtrial(&["report", &text(&copied)]);
    assert_eq!(code(&output), 5, "{}", told(&output));
    assert!(!elsewhere.join("index.html").exists(), "downloads is no campaign's folder");
}
