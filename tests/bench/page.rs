//! How long the page of a large record takes, beside its table of samples.

#[expect(dead_code, reason = "the program itself is not run here")]
mod bench;

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::Instant;

use bench::{sum_up, verdict};
use fieldtrial::analysis::judge::judge;
use fieldtrial::evidence::event::{
    BlockNote, CellNote, Event, Opening, RoleNote, RunNote, Sample, Session, SessionKind,
};
use fieldtrial::evidence::fold::Evidence;
use fieldtrial::evidence::rows::samples;
use fieldtrial::model::arm::ArmKind;
use fieldtrial::model::cell::{CellId, RunKey};
use fieldtrial::model::outcome::{Fate, RunOutcome};
use indexmap::IndexMap;
use serde_json::json;

const ROUNDS: usize = 3;
const POINTS: usize = 2500;
const ARMS: [(&str, ArmKind); 4] = [
    ("old", ArmKind::Control),
    ("one-read", ArmKind::Treatment),
    ("mmap", ArmKind::Treatment),
    ("one-read+mmap", ArmKind::Combination),
];
const BLOCKS: u32 = 10;
const SAMPLES: u64 = 10;
const GOAL_MS: f64 = 5000.0;
const GOAL_MIB: f64 = 500.0;
const GOAL_BYTES: f64 = 5e6;

fn main() {
    if std::env::args().any(|a| a == "render") {
        return render();
    }
    println!(
        "page of {} cells, {} runs, {} samples",
        POINTS * ARMS.len(),
        POINTS * ARMS.len() * BLOCKS as usize,
        POINTS * ARMS.len() * BLOCKS as usize * SAMPLES as usize
    );
    let (mut pages, mut tables, mut peak, mut bytes, mut held) = (vec![], vec![], 0.0_f64, 0.0, 0.0);
    for _ in 0..ROUNDS {
        let program = std::env::current_exe().expect("this program has a path");
        let output =
            Command::new(program).arg("render").stderr(Stdio::inherit()).output().expect("it starts");
        assert!(output.status.success(), "rendering failed; its complaints are above");
        let text = String::from_utf8(output.stdout).expect("text");
        let numbers: Vec<f64> = text.split_whitespace().filter_map(|n| n.parse().ok()).collect();
        let [page_ms, table_ms, peak_mib, page_bytes, held_mib] = numbers[..] else {
            panic!("expected five numbers, found {text:?}")
        };
        pages.push(page_ms);
        tables.push(table_ms);
        (peak, bytes, held) = (peak.max(peak_mib), page_bytes, held_mib);
    }
    let (pages, tables) = (sum_up(pages), sum_up(tables));
    let met = verdict(pages.median <= GOAL_MS && peak <= GOAL_MIB && bytes <= GOAL_BYTES);
    println!(
        "page             {pages}   peak {peak:.0} MiB, of which {held:.0} MiB before rendering   {:.2} MB",
        bytes / 1e6
    );
    println!("samples.csv      {tables}   (the same samples as text, in the same process)");
    println!("goal {GOAL_MS} ms, {GOAL_MIB} MiB, {:.0} MB {met}", GOAL_BYTES / 1e6);
}

/// In a process of its own, so that its peak is nobody else's.
fn render() {
    let evidence = evidence();
    let findings = judge(&evidence);
    let held = peak_mib();
    let began = Instant::now();
    let page = fieldtrial::report::page(&evidence, &findings).expect("a page");
    let page_ms = began.elapsed().as_secs_f64() * 1e3;
    let peak = peak_mib();
    let bytes = page.len();
    if let Ok(path) = std::env::var("FIELDTRIAL_BENCH_PAGE") {
        std::fs::write(path, &page).expect("the page can be written");
    }
    drop(page);
    let began = Instant::now();
    let table = samples(&evidence).csv();
    let table_ms = began.elapsed().as_secs_f64() * 1e3;
    assert!(table.lines().count() > POINTS * ARMS.len() * 100);
    println!("{page_ms} {table_ms} {peak} {bytes} {held}");
}

fn peak_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("procfs");
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).expect("a peak");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<f64>().ok()).expect("KiB") / 1024.0
}

/// Made-up evidence of the size of the goal, through the events that a journal holds.
fn evidence() -> Evidence {
    let mut state = 1u64;
    let mut noise = move || {
        // Knuth's MMIX generator; its high bits are noise enough for a clock.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1u64 << 24) as f64
    };
    let mut evidence = Evidence::default();
    let mut apply = |event| evidence.apply("2026-11-30T10:00:00.123Z", event);
    apply(Event::Opened(Box::new(opening())));
    apply(Event::Session(Session {
        kind: SessionKind::Run,
        command: vec!["fieldtrial".into(), "run".into(), "scan.yaml".into()],
        version: "0.1.0".into(),
        tool_sha256: "00".repeat(32),
    }));
    let mut cells = vec![];
    for size in 0..POINTS {
        for (at, (arm, kind)) in ARMS.into_iter().enumerate() {
            let cell = CellId(format!("size={size}/{arm}"));
            apply(Event::Cell(CellNote {
                cell: cell.clone(),
                arm: arm.to_owned(),
                kind,
                levels: IndexMap::from([("size".to_owned(), size.to_string())]),
                fate: Fate::Live,
                stage: None,
                reason: None,
                evidence: vec![],
            }));
            cells.push((cell, (1.0 + size as f64 / 100.0) * (1.0 - at as f64 / 50.0)));
        }
    }
    let role: RoleNote = serde_json::from_value(role()).expect("a role");
    for block in 1..=BLOCKS {
        let order = cells.iter().map(|c| c.0.clone()).collect();
        apply(Event::Block(BlockNote { block, rerun_of: None, order }));
        for (position, (cell, level)) in cells.iter().enumerate() {
            let value = level * (1.0 + 0.02 * noise());
            let run = RunKey { cell: cell.clone(), block, attempt: 1 };
            let mut note = RunNote::unobserved(run, position as u32 + 1, RunOutcome::Measured, String::new());
            note.reason = None;
            note.values = BTreeMap::from([("wall_time".to_owned(), value)]);
            note.elapsed_ns = 1_000_000_000;
            note.roles = vec![role.clone()];
            note.samples = (0..SAMPLES)
                .map(|i| Sample {
                    metric: "wall_time".into(),
                    at_ns: i * 100_000_000,
                    value: value * (1.0 + 0.01 * noise()),
                    settling: i < 2,
                    step: None,
                })
                .collect();
            apply(Event::RunEnded(Box::new(note)));
        }
    }
    apply(Event::Closed { complete: true, reason: None });
    evidence
}

fn opening() -> Opening {
    let arms: Vec<_> = ARMS
        .map(|(name, kind)| json!({"kind": kind, "name": name, "changes": {"scan": name}, "because": null}))
        .into();
    let sizes: Vec<String> = (0..POINTS).map(|size| size.to_string()).collect();
    let cells = POINTS * ARMS.len();
    serde_json::from_value(json!({
        "record": "20261130T100000Z", "campaign": "scan", "question": "Is the new scanner faster?",
        "hypothesis": "By a fifth.", "pilot": false, "workload": "command",
        "responses": [{"name": "wall_time", "unit": "s", "better": "lower", "margin": 0.02, "primary": true}],
        "variables": {"size": sizes}, "arms": arms, "accept": [], "blocks": BLOCKS, "order": "mirrored", "seed": 1,
        "timeout_ms": 60_000, "planned_cells": cells, "planned_runs": cells * BLOCKS as usize
    }))
    .expect("an opening")
}

/// What one job of a command leaves in the journal.
fn role() -> serde_json::Value {
    let digest = "5f".repeat(32);
    let stream = json!({"bytes": 5, "sha256": digest, "lines": 1, "lines_sha256": digest, "kept": 5});
    json!({
        "role": "run", "host": "here", "command": "env -i LC_ALL=C /usr/bin/scan --pattern 'a b' corpus.txt",
        "stdout_head": "1532\n",
        "report": {
            "argv": ["/usr/bin/scan", "--pattern", "a b", "corpus.txt"],
            "program": {"path": "/usr/bin/scan", "bytes": 1_234_567, "sha256": digest},
            "inputs": [{"path": "corpus.txt", "bytes": 123_456_789, "sha256": digest}],
            "end": {"exited": 0}, "wall_ns": 1_000_000, "user_ns": 500_000, "system_ns": 200_000,
            "peak_rss_bytes": 4_000_000, "read_bytes": 1, "written_bytes": 5, "stdout": stream, "stderr": stream,
            "result": null, "left_behind": 0, "isolation": "pid-namespace"
        }
    })
}
