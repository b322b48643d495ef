//! The page and the table of a record that has everything in it.

use super::{page, table};
use crate::analysis::findings::Findings;
use crate::analysis::judge::judge;
use crate::evidence::event::{Event, Sample, SessionKind};
use crate::evidence::example::{self, Record};
use crate::evidence::fold::Evidence;
use crate::model::arm::ArmKind;
use crate::model::job::End;
use crate::model::outcome::{Fate, RunOutcome};

const NASTY: &str = "<script>alert(1)</script>";

/// Two sizes, four arms, a timeout, a rejected run, an exclusion, a refusal and a rerun.
fn everything() -> Evidence {
    let arms = [
        ("one-read", ArmKind::Treatment),
        ("mmap", ArmKind::Treatment),
        ("one-read+mmap", ArmKind::Combination),
        ("v0.5.117", ArmKind::Anchor),
    ];
    let mut record = Record::open(&arms, 8);
    let mut cells = vec![];
    for size in ["1", "8"] {
        for arm in ["old", "one-read", "mmap", "v0.5.117"] {
            cells.push((size, arm, record.cell(&[("size", size)], arm, Fate::Live, None)));
        }
    }
    let difference = format!("stdout: 1532 lines, here 1519 {NASTY}");
    record.cell(
        &[("size", "1")],
        "one-read+mmap",
        Fate::Refused,
        Some(("proof", "another answer than the control", &difference)),
    );
    record.cell(
        &[("size", "8")],
        "one-read+mmap",
        Fate::Excluded,
        Some(("rule", &format!("no memory for it {NASTY}"), "size > 4")),
    );
    let order: Vec<_> = cells.iter().map(|c| c.2.clone()).collect();
    for block in 1..=8u32 {
        record.block(block, None, &order.iter().collect::<Vec<_>>());
        for (position, (size, arm, cell)) in cells.iter().enumerate() {
            let wobble = 1.0 + f64::from((block * 7 + position as u32 * 3) % 11) / 400.0;
            let factor = match *arm {
                "one-read" => 0.81,
                "mmap" => 1.27,
                _ => 1.004,
            };
            let base = if *size == "8" { 0.0831 } else { 0.0122 };
            let mut note = example::run(&cell.0, block, base * factor * wobble);
            note.position = position as u32 + 1;
            note.samples = (0..12u32)
                .map(|i| Sample {
                    metric: "wall_time".into(),
                    at_ns: u64::from(i) * 1_000_000,
                    value: base * (1.0 + f64::from((i * 5 + block) % 7) / 50.0),
                    settling: i < 3,
                    step: None,
                })
                .collect();
            if *arm == "mmap" && *size == "8" && block == 3 {
                note.outcome = RunOutcome::TimedOut;
                note.reason = Some("still running after 60 s".into());
                note.roles =
                    vec![example::role("run", "h1", "/usr/bin/scan --mmap 'big corpus'", End::TimedOut)];
                note.roles[0].stdout_head = format!("scanning…\n{NASTY}\n");
            }
            if *arm == "mmap" && *size == "1" && block == 5 {
                note.outcome = RunOutcome::Rejected;
                note.reason = Some("lost 3 frames".into());
            }
            record.run(note);
        }
    }
    record.session(SessionKind::Rerun, "6.2", "aa11");
    let (old, new) = (&cells[0].2.clone(), &cells[1].2.clone());
    record.block(9, Some(new), &[old, new]);
    record.measured(old, 9, 0.0123);
    record.measured(new, 9, 0.0101);
    record.push(Event::Closed { complete: true, reason: None });
    record.evidence
}

fn rendered() -> (Evidence, Findings, String) {
    let evidence = everything();
    let findings = judge(&evidence);
    let html = page(&evidence, &findings).expect("page");
    (evidence, findings, html)
}

#[test]
fn the_page_answers_first_and_hides_nothing() {
    let (evidence, findings, html) = rendered();
    let place = |text: &str| html.find(text).unwrap_or_else(|| panic!("no {text:?} on the page"));
    assert!(place("Is the new scanner faster") < place("Expected before measuring, not evidence"));
    assert!(place("Expected before measuring") < place("one-read is better than the control"));
    assert!(place("one-read is better") < place("planned cells ="));
    assert!(place("runs of live cells =") < place("What could be wrong"));
    assert!(place("What could be wrong") < place("What was compared</h2>"));
    assert!(place("scan: one-read") < place("Intervals are not adjusted"), "what each arm changes");
    place("another answer than the control");
    place("still running after 60 s");
    place("lost 3 frames");
    place("measured and lost");
    place("/usr/bin/scan --mmap ");
    place("killed at its deadline");
    place("h1.kernel: 6.1 → 6.2");
    place("fieldtrial rerun . --cell size=1/one-read");
    for cell in &findings.cells {
        place(&format!("id=\"cell={}\"", cell.cell));
    }
    assert_eq!(html.matches("class=\"time\"").count(), evidence.runs.len(), "every attempt is a row");
}

#[test]
fn a_rerun_stands_beside_the_first_attempts_block_by_block() {
    let (_, _, html) = rendered();
    let again =
        &html[html.find("Measured again</h2>").expect("section")..html.find("id=\"variance\"").expect("end")];
    for row in ["first attempts, planned blocks", "rerun alone"] {
        assert!(again.contains(row), "{row}");
    }
    assert_eq!(again.matches("<small>rerun</small>").count(), 1, "{again}");
    assert!(again.contains("wall_time in ms, block by block"));
    // Block 9 of the rerun, with its own ratio: 0.0101 / 0.0123.
    assert!(
        again.contains(
            "<td class=\"num\">12.300</td><td class=\"num\">10.100</td><td class=\"num\">0.8211</td>"
        ),
        "{again}"
    );
    assert!(again.contains("Not pooled, because the set-up differed"), "{again}");
    assert_eq!(again.matches("<th scope=\"row\">").count(), 2 + 9, "two verdicts and nine blocks");
}

#[test]
fn a_unit_stands_once_in_the_heading_of_its_column() {
    let (_, findings, html) = rendered();
    assert!(html.contains("wall_time in ms, lower is better"));
    let cells = &html[html.find("Cells</h2>").expect("cells")..html.find("Turned down</h2>").expect("end")];
    let rows = cells[..cells.find("</tbody>").expect("rows")].rsplit("<tbody>").next().expect("rows");
    let numbers: Vec<&str> =
        rows.split("<td class=\"num\">").skip(1).filter_map(|r| r.split("</td>").next()).collect();
    assert!(numbers.len() > 20 && numbers.iter().all(|n| !n.ends_with(" ms") && !n.ends_with(" s")));
    let text = table(&findings, 80);
    assert_eq!(text.lines().filter(|l| l.contains(" ms ")).count(), 1, "{text}");
    assert!(!text.lines().any(|l| l.ends_with(' ')), "no blanks at the ends of lines");
}

#[test]
fn what_programs_wrote_is_shown_and_cannot_act() {
    let mut record = Record::pairs(&[1.0, 1.1], &[1.2, 1.3]);
    let new = example::cell_id(&[("size", "1")], "new");
    let mut note = example::run(&new.0, 3, 1.0);
    note.outcome = RunOutcome::Failed;
    note.reason = Some("exit status 3\nrun on h1: \u{1b}[31mpanic".into());
    note.roles[0].stdout_head = "half of it\u{7}".into();
    note.roles[0].report.stdout.bytes = 5000;
    record.block(3, None, &[&new]);
    record.run(note);
    let html = page(&record.evidence, &judge(&record.evidence)).expect("page");
    assert!(html.contains("<pre>run on h1: \\x1b[31mpanic\n</pre>"), "the detail stands below the reason");
    assert!(html.contains("standard output, its first 11 of 5000 bytes") && html.contains("half of it\\x07"));
    assert!(!html.contains('\u{1b}') && !html.contains('\u{7}'));
}

#[test]
fn an_unfinished_record_says_in_words_what_is_open() {
    let mut record = Record::open(&[("new", ArmKind::Treatment)], 3);
    let old = record.cell(&[("size", "1")], "old", Fate::Live, None);
    record.evidence.opening.as_mut().expect("opening").planned_cells = 4;
    record.block(1, None, &[&old]);
    let findings = judge(&record.evidence);
    let text = table(&findings, 200);
    assert!(text.contains("does not hold yet, 3 cells are not decided\n"), "{text}");
    assert!(
        text.contains("does not hold yet, 1 run has not begun; 2 planned blocks have not begun\n"),
        "{text}"
    );
    let html = page(&record.evidence, &findings).expect("page");
    assert!(html.contains("3 cells are not decided") && html.contains("Not complete:"));
}

#[test]
fn nothing_from_outside_is_markup() {
    let (_, _, html) = rendered();
    assert!(!html.contains(NASTY));
    assert_eq!(html.matches("<script").count(), 1, "our own");
    assert!(html.contains("&lt;script&gt;"));
    let mut record = Record::open(&[(NASTY, ArmKind::Treatment)], 1);
    let old = record.cell(&[("\"><img src=x>", "1")], "old", Fate::Live, None);
    let new = record.cell(&[("\"><img src=x>", "1")], NASTY, Fate::Live, None);
    record.block(1, None, &[&old, &new]);
    record.measured(&old, 1, 1.0);
    record.ended(&new, 1, RunOutcome::Failed, "</td><b>bold");
    record.evidence.opening.as_mut().unwrap().question = Some(NASTY.into());
    let html = page(&record.evidence, &judge(&record.evidence)).expect("page");
    for raw in ["<script>alert", "<img", "<b>bold"] {
        assert!(!html.contains(raw), "{raw} is on the page");
    }
}

#[test]
fn the_page_asks_nothing_of_a_network_and_is_the_same_twice() {
    let (evidence, findings, html) = rendered();
    for outside in ["http://", "https://", "src=", "@import", "url(", "<link"] {
        assert!(!html.contains(outside), "{outside} is on the page");
    }
    // The script asks whether something is no number.
    let told = html.split("<script>").next().expect("a page");
    assert!(!told.contains("NaN") && !told.contains("inf "));
    assert_eq!(page(&evidence, &findings).expect("page"), html);
}

#[test]
fn every_table_has_a_caption_and_every_column_a_scope() {
    let (_, _, html) = rendered();
    assert_eq!(html.matches("<table").count(), html.matches("<caption").count());
    assert_eq!(html.matches("<th ").count(), html.matches("<th scope=").count());
    assert!(!html.contains("<th>"));
    for svg in html.split("<svg").skip(1).filter_map(|rest| rest.split('>').next()) {
        let told = svg.contains("role=\"img\" aria-label=\"") || svg.contains("role=\"group\" aria-label=\"");
        assert!(told || svg.contains("aria-hidden=\"true\""), "{svg}");
    }
    let ids: Vec<&str> = html.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let mut unique = ids.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), ids.len(), "ids are unique");
    for target in html.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(ids.contains(&target), "nothing has the id {target}");
    }
}

#[test]
fn an_empty_record_still_has_a_page() {
    let evidence = Evidence::default();
    let html = page(&evidence, &judge(&evidence)).expect("page");
    assert!(html.contains("There is nothing to compare") && html.contains("No run began."));
}

#[test]
fn the_table_fits_its_width_and_ends_with_the_sums() {
    let (_, findings, _) = rendered();
    for width in [60, 80, 120] {
        let text = table(&findings, width);
        let drawn = text.lines().take_while(|l| l.starts_with(['┌', '│', '╞', '└', ' ']));
        assert!(drawn.clone().count() > 10);
        for line in drawn {
            assert!(line.chars().count() <= usize::from(width), "{width}: {line}");
        }
    }
    let text = table(&findings, 200);
    assert!(text.contains("7 of 8") && text.contains("1 timed out"), "{text}");
    assert!(text.contains("refused") && text.contains("excluded"), "{text}");
    let tail: Vec<&str> = text.lines().rev().take(3).collect();
    assert!(tail[2].starts_with("10 planned cells ="), "{text}");
    assert!(tail[1].starts_with("64 runs of live cells ="), "{text}");
    assert_eq!(tail[0], "2 attempts were added by resume or rerun, and are counted beside these sums");
    assert!(!text.contains('\u{1b}'), "no escape sequences");
}

#[test]
fn a_long_id_is_broken_and_leaves_the_numbers_whole() {
    let level = "a-level-that-is-longer-than-the-column";
    let mut record = Record::open(&[("new", ArmKind::Treatment)], 2);
    let old = record.cell(&[("size", level)], "old", Fate::Live, None);
    let new = record.cell(&[("size", level)], "new", Fate::Live, None);
    for block in [1, 2] {
        record.block(block, None, &[&old, &new]);
        record.measured(&old, block, 1.0);
        record.measured(&new, block, 1.0 + f64::from(block) / 4.0);
    }
    let text = table(&judge(&record.evidence), 80);
    assert!(text.contains("│   -column/new ") && text.contains("1.3693 [1.2500–1.5000]"), "{text}");
    assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
}

#[test]
fn a_large_grid_is_cut_short_where_a_reader_would_drown_and_says_so() {
    let mut record = Record::open(&[("new", ArmKind::Treatment)], 1);
    let levels: Vec<String> = (1..=150).map(|size| size.to_string()).collect();
    if let Some(opening) = record.evidence.opening.as_mut() {
        opening.variables = [("size".to_owned(), levels.clone())].into();
    }
    for size in &levels {
        for arm in ["old", "new"] {
            record.cell(&[("size", size)], arm, Fate::Live, None);
        }
    }
    let findings = judge(&record.evidence);
    let text = table(&findings, 100);
    assert!(text.contains("and 100 more cells, which the page has"), "{text}");
    assert_eq!(text.lines().filter(|line| line.contains("size=")).count(), 200);
    let html = page(&record.evidence, &findings).expect("page");
    assert!(html.contains("<summary>and 138 more levels, up to 150</summary>"));
    assert_eq!(html.matches("<span class=\"level\">").count(), 12, "the rest is a click away");
    assert!(levels.iter().all(|size| html.contains(&format!("cell=size={size}/new"))), "every cell is there");
}
