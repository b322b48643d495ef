//! The figures of a page have what the runs have, and say what they leave out.

use super::page;
use crate::analysis::judge::judge;
use crate::evidence::example::{self, Record};
use crate::model::arm::ArmKind;
use crate::model::job::{End, PageCache};
use crate::model::observed::Residency;
use crate::model::outcome::{Fate, RunOutcome};
use crate::model::work_counts::WorkCounts;

fn rendered(record: &Record) -> String {
    page(&record.evidence, &judge(&record.evidence)).expect("page")
}

/// The element that begins at a text, up to the end of its kind.
fn part<'h>(html: &'h str, begin: &str, end: &str) -> &'h str {
    let from = html.find(begin).unwrap_or_else(|| panic!("no {begin:?} on the page"));
    let to = html[from..].find(end).unwrap_or_else(|| panic!("no {end:?} after {begin:?}"));
    &html[from..from + to]
}

#[test]
fn the_forest_has_every_block_with_its_own_ratio_and_a_way_to_its_run() {
    let control = [1.0, 1.02, 0.98, 1.01, 1.03, 0.99];
    let new = [0.8, 0.816, 0.7938, 0.808, 0.8343, 0.792];
    let html = rendered(&Record::pairs(&control, &new));
    let effects = part(&html, "id=\"effects\"", "</section>");
    // Pooled over one grid point, and at this grid point.
    assert_eq!(effects.matches("class=\"dot\"").count(), 2 * 6);
    for (i, (c, n)) in control.iter().zip(&new).enumerate() {
        let label = format!("aria-label=\"block {}: {:.4}\"", i + 1, n / c);
        assert_eq!(effects.matches(&label).count(), 2, "{label}");
    }
    // Runs end in turns: the control's, then its own.
    assert_eq!(effects.matches("href=\"#r2\"").count(), 2);
    assert!(html.contains("<tr class=\"measured\" id=\"r2\""), "the row that it leads to");
}

#[test]
fn a_block_with_a_timeout_is_an_open_end_of_the_forest_and_a_cross_in_the_order() {
    let mut record =
        Record::pairs(&[1.0, 1.1, 0.9, 1.0, 1.05, 1.0, 1.0], &[1.5, 1.6, 1.4, 1.5, 1.5, 1.4, 1.5]);
    let (old, new) = (example::cell_id(&[("size", "1")], "old"), example::cell_id(&[("size", "1")], "new"));
    record.block(8, None, &[&old, &new]);
    record.measured(&old, 8, 1.0);
    record.ended(&new, 8, RunOutcome::TimedOut, "still running after 60 s");
    let html = rendered(&record);
    let effects = part(&html, "id=\"effects\"", "</section>");
    assert_eq!(effects.matches("class=\"open\"").count(), 2, "pooled and at its grid point");
    let card = part(&html, "<article class=\"card\" id=\"cell=size=1/new\"", "</article>");
    assert_eq!(card.matches("class=\"gone\"").count(), 1);
    assert_eq!(card.matches("<path class=\"s1\"").count(), 7 + 1, "seven values and the legend");
    assert!(card.contains("block 8: timed out") && card.contains("7 measured + 1 timed out"), "{card}");
    assert!(html.contains("timed out count and lie beyond"), "the distribution says so");
}

#[test]
fn a_rejected_run_is_a_cross_at_what_it_had_and_flattens_nothing() {
    let with = |rejected: f64| {
        let mut record = Record::pairs(&[1.0, 1.1, 0.9, 1.0, 1.05, 1.0], &[1.5, 1.6, 1.4, 1.5, 1.5, 1.45]);
        let (old, new) =
            (example::cell_id(&[("size", "1")], "old"), example::cell_id(&[("size", "1")], "new"));
        record.block(7, None, &[&old, &new]);
        record.measured(&old, 7, 1.0);
        let mut run = example::run(&new.0, 7, rejected);
        (run.outcome, run.reason) = (RunOutcome::Rejected, Some("it lost 3 frames".into()));
        record.run(run);
        let card = rendered(&record);
        part(&card, "<article class=\"card\" id=\"cell=size=1/new\"", "</article>").to_owned()
    };
    let height = |card: &str| -> f64 {
        let path = card.split("class=\"gone\" d=\"M").nth(1).expect("a cross");
        path.split([' ', 'm']).nth(1).expect("its height").parse().expect("a number")
    };
    let (low, middle, beyond) = (with(0.95), with(1.2), with(60.0));
    assert!(
        height(&low) > height(&middle) && height(&middle) > height(&beyond),
        "a higher value stands higher"
    );
    assert!(
        beyond.contains("block 7: rejected, 60") && beyond.contains("A cross is a run that does not count")
    );
    let values = |card: &str| -> Vec<String> {
        card.split("<path class=\"s1\" d=\"")
            .skip(1)
            .map(|mark| mark.split('"').next().unwrap_or("").into())
            .collect()
    };
    assert_eq!(values(&middle), values(&beyond), "an outlier that does not count moves no other run");
}

#[test]
fn processors_and_page_cache_of_jobs_are_told_as_the_host_found_them() {
    let mut record = Record::pairs(&[1.0, 1.1], &[1.5, 1.6]);
    for row in &mut record.evidence.runs {
        let mut role = example::role("run", "h1", "scan", End::Exited(0));
        role.report.cpus = Some(vec![1, 3]);
        role.report.cache = Some(Residency { asked: PageCache::Cold, pages: 12, resident: 0 });
        row.note.roles = vec![role];
    }
    let html = rendered(&record);
    let hosts = part(&html, "id=\"hosts\"", "</section>");
    assert!(hosts.contains("<strong>run on h1</strong>: processors 1, 3 alone, in 4 jobs"), "{hosts}");
    assert!(hosts.contains("inputs cold in the page cache, 0 of 12 pages there, in 4 jobs"), "{hosts}");
}

/// Two changes alone and together, with forty units of work in each run.
fn square() -> Record {
    let mut record = Record::open(&[("long", ArmKind::Treatment)], 6);
    let levels = ["1", "2"];
    let mut cells = vec![];
    for permits in levels {
        for arm in ["old", "long"] {
            cells.push((permits, arm, record.cell(&[("permits", permits)], arm, Fate::Live, None)));
        }
    }
    if let Some(opening) = record.evidence.opening.as_mut() {
        opening.variables = [("permits".to_owned(), levels.map(str::to_owned).to_vec())].into();
    }
    for block in 1..=6u32 {
        let order: Vec<_> = cells.iter().map(|c| &c.2).collect();
        record.block(block, None, &order);
        for (permits, arm, cell) in &cells {
            // The seed's: one permit and a long queue complete 5 of 40, two of them 14.
            let (success, base) = match (*permits, *arm) {
                ("1", "old") => (40, 0.86),
                ("2", "old") => (40, 0.44),
                ("1", _) => (5, 0.41),
                _ => (14, 0.409),
            };
            let mut note = example::run(&cell.0, block, base * (1.0 + f64::from(block) / 500.0));
            note.work =
                Some(WorkCounts { declared: 40, success, timeout: 40 - success, ..WorkCounts::default() });
            record.run(note);
        }
    }
    record
}

#[test]
fn the_four_corners_of_an_interaction_have_their_counts_and_start_from_the_control() {
    let html = rendered(&square());
    let section = part(&html, "id=\"interactions\"", "</section>");
    assert!(section.contains("permits 1 → 2 with arm old → long"), "{section}");
    assert!(section.contains("gains do not add"));
    assert_eq!(section.matches(">n = 6</text>").count(), 4, "each corner has its n");
    // Six runs of forty units: success, timeout, transport error, wrong answer.
    for counts in [[240, 0, 0, 0], [30, 210, 0, 0], [84, 156, 0, 0]] {
        let row: String = counts.map(|n| format!("<td class=\"num\">{n}</td>")).concat();
        assert!(section.contains(&row), "{counts:?}: {section}");
    }
    for cell in ["permits=1/old", "permits=2/old", "permits=1/long", "permits=2/long"] {
        assert_eq!(section.matches(&format!("href=\"#cell={cell}\"")).count(), 1, "a way to {cell}");
    }
    let card = part(&html, "<article class=\"card\" id=\"cell=permits=1/long\"", "</article>");
    assert!(
        card.contains("240 units = 30 success + 210 timeout + 0 transport error + 0 wrong answer"),
        "{card}"
    );
}

#[test]
fn no_spread_is_told_apart_from_a_spread_of_zero() {
    // Case R04: samples (5) and (5, 5, 5).
    let mut record = Record::open(&[("new", ArmKind::Treatment)], 3);
    let (one, three) = (
        record.cell(&[("size", "1")], "old", Fate::Live, None),
        record.cell(&[("size", "1")], "new", Fate::Live, None),
    );
    for block in 1..=3 {
        record.block(block, None, &[&one, &three]);
        record.measured(&three, block, 5.0);
    }
    record.measured(&one, 1, 5.0);
    let html = rendered(&record);
    let of = |cell: &str| {
        part(
            part(&html, &format!("id=\"cell=size=1/{cell}\""), "</article>"),
            "<dt>Standard deviation</dt>",
            "</div>",
        )
    };
    assert!(of("new").contains("<dd>0 s"), "{}", of("new"));
    assert!(of("old").contains("<dd>none: "), "{}", of("old"));
}

#[test]
fn a_difference_below_the_last_digit_shown_keeps_its_verdict() {
    // Case R12: 12.4138 and 12.4142 are both shown as 12.41; the verdict comes from the values.
    let control = [12.4138, 12.4139, 12.4137, 12.4138, 12.4139, 12.4137, 12.4138, 12.4138];
    let new = control.map(|v| v + 0.0004);
    let mut record = Record::pairs(&control, &new);
    record.evidence.opening.as_mut().expect("opening").responses[0].margin = None;
    let html = rendered(&record);
    assert!(html.contains("<span class=\"verdict worse\">worse</span> <strong>new</strong>"));
    assert!(!html.contains("verdict better"));
}

#[test]
fn readings_inside_runs_have_their_settle_time_shaded() {
    let mut record = Record::pairs(&[1.0, 1.0], &[1.1, 1.1]);
    let new = example::cell_id(&[("size", "1")], "new");
    let mut note = example::run(&new.0, 3, 1.0);
    note.samples = (0..10)
        .map(|i| crate::evidence::event::Sample {
            metric: "wall_time".into(),
            at_ns: i * 100_000_000,
            value: 1.0 + i as f64 / 10.0,
            settling: i < 3,
            step: None,
        })
        .collect();
    record.block(3, None, &[&new]);
    record.run(note);
    let html = rendered(&record);
    let card = part(&html, "<article class=\"card\" id=\"cell=size=1/new\"", "</article>");
    assert_eq!(card.matches("class=\"settle\"").count(), 1);
    let line = part(card, "wall_time over time inside 1 run", "</svg>");
    let line = part(line, "<path class=\"run s1\" d=\"", "\"/>");
    assert_eq!(line.matches('L').count() + 1, 10, "ten readings, none of them lost: {line}");
}

#[test]
fn a_large_record_draws_the_strongest_cells_and_keeps_every_cell_and_loss_addressable() {
    let mut record = Record::open(&[("new", ArmKind::Treatment)], 3);
    let sizes: Vec<String> = (0..150).map(|i| i.to_string()).collect();
    let mut pairs = vec![];
    for size in &sizes {
        let cell = |record: &mut Record, arm| record.cell(&[("size", size)], arm, Fate::Live, None);
        pairs.push((cell(&mut record, "old"), cell(&mut record, "new")));
    }
    for block in 1..=8u32 {
        record.block(block, None, &pairs.iter().flat_map(|(a, b)| [a, b]).collect::<Vec<_>>());
        for (i, (old, new)) in pairs.iter().enumerate() {
            let wobble = 1.0 + f64::from((block * 7 + i as u32 * 3) % 11) / 400.0;
            record.measured(old, block, wobble);
            record.measured(new, block, wobble * if i == 137 { 3.0 } else { 1.1 + i as f64 / 1e4 });
        }
    }
    let html = rendered(&record);
    for cell in record.evidence.cells.keys() {
        assert_eq!(html.matches(&format!("id=\"cell={}\"", cell.0)).count(), 1, "{cell}");
    }
    assert!(
        html.contains("<article class=\"card\" id=\"cell=size=137/new\""),
        "the strongest effect is drawn"
    );
    assert!(html.contains("Figures follow for 60 of 300 cells"));
    assert!(html.contains("480 of 2400 attempts") && html.contains("All 2400 are in <a href=\"runs.csv\">"));
    assert_eq!(html.matches("<article class=\"card\"").count(), 60);
    let table = part(&html, "<table class=\"sortable many\">", "</table>");
    assert_eq!(table.matches("<tr").count(), 1 + 300);
    assert_eq!(table.matches(">worse</td>").count(), 150, "every effect has its verdict");
}
