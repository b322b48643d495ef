//! What `fieldtrial report` takes for a large record, and how large its page is.

mod bench;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use bench::{PROGRAM, sum_up, verdict};
use fieldtrial::evidence::event::{
    BlockNote, CellNote, Event, Opening, RoleNote, RunNote, Sample, Session, SessionKind,
};
use fieldtrial::evidence::line::encode;
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
const GOAL_MB: f64 = 5.0;
/// Of the time between frames: 30 frames a second, which software alone can draw.
const GOAL_FRAME: f64 = 34.0;
const FRAMES: &str = "new Promise(done => { const gaps = []; let last = 0; const step = now => {
  if (last) gaps.push(now - last);
  last = now;
  window.scrollBy(0, 200);
  if (gaps.length < 300) return requestAnimationFrame(step);
  gaps.sort((a, b) => a - b);
  done([performance.getEntriesByType('navigation')[0].loadEventEnd, gaps[149], gaps[284], gaps[299]]);
}; requestAnimationFrame(step); })";
/// What the record's copy of its campaign needs for `report` to read it.
const CAMPAIGN: &str = "campaign: scan
question: Is the new scanner faster?
control: {name: old, set: {scan: old}}
treatments: [{name: one-read, change: {scan: one-read}}]
hosts: hosts.yaml
workload: {command: {on: here, run: [\"/usr/bin/scan\", \"${scan}\"]}}
responses: [{name: wall_time}]
";
const RECORD: &str = "20261130T100000Z";

fn main() {
    let (cells, runs) = (POINTS * ARMS.len(), POINTS * ARMS.len() * BLOCKS as usize);
    println!("record of {cells} cells, {runs} runs, {} samples", runs * SAMPLES as usize);
    let home = tempfile::tempdir().expect("a folder");
    let record = home.path().join("scan").join(RECORD);
    write(&record);
    let (mut times, mut peak) = (vec![], 0.0_f64);
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let child = Command::new(PROGRAM)
            .arg("report")
            .arg(&record)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts");
        let usage = waited(child);
        times.push(began.elapsed().as_secs_f64() * 1e3);
        peak = peak.max(usage);
    }
    let size = |name: &str| std::fs::metadata(record.join(name)).expect("it is there").len() as f64 / 1e6;
    let (times, page) = (sum_up(times), size("index.html"));
    let met = verdict(times.median <= GOAL_MS && peak <= GOAL_MIB && page <= GOAL_MB);
    println!(
        "fieldtrial report   {times}   peak {peak:.0} MiB   page {page:.2} MB beside samples.csv of {:.1} MB",
        size("samples.csv")
    );
    println!("goal {GOAL_MS} ms, {GOAL_MIB} MiB, {GOAL_MB} MB {met}");
    match scrolled(&record.join("index.html")) {
        Ok([opened, half, most, worst]) => println!(
            "Chromium opens it in {opened:.0} ms; between frames while it scrolls {half:.0} ms (median), {most:.0} ms (95 %), \
             {worst:.0} ms (longest)   goal {GOAL_FRAME} ms for 95 % {}",
            verdict(most <= GOAL_FRAME)
        ),
        Err(why) => println!("scrolling was not measured: {why}"),
    }
    if std::env::args().any(|a| a == "--keep") {
        println!("record {}", home.keep().join("scan").join(RECORD).display());
    }
}

/// Milliseconds until the page is open; and of the gaps between 300 frames, each 200 pixels further down, the median,
/// the 95th percentile and the longest.
fn scrolled(page: &Path) -> Result<[f64; 4], String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| folder.join("target"), PathBuf::from);
    let modules = target.join("browser/node_modules");
    if !modules.join("playwright-core").is_dir() {
        return Err(format!("{} has no playwright-core; tests/prepare installs it", modules.display()));
    }
    let view = json!({"page": page, "width": 1400, "ask": {"frames": FRAMES}});
    let mut child = Command::new("node")
        .arg(folder.join("tests/browser/look.cjs"))
        .env("FIELDTRIAL_BROWSER_MODULES", modules)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("node: {error}"))?;
    let task = json!({"browser": "chromium", "views": [view]}).to_string();
    child.stdin.take().expect("a pipe").write_all(task.as_bytes()).map_err(|error| error.to_string())?;
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    let seen: serde_json::Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("no answer of the browser: {error}"))?;
    let numbers: Vec<f64> =
        serde_json::from_value(seen[0]["answers"]["frames"].clone()).map_err(|_| seen.to_string())?;
    numbers.try_into().map_err(|_| seen.to_string())
}

/// Waits for a program to end well; its peak of resident memory in MiB.
fn waited(mut child: Child) -> f64 {
    // SAFETY: numbers only, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let mut status = 0;
    // SAFETY: both places are ours and live through the call, and the child is not waited for elsewhere.
    let pid = unsafe { libc::wait4(child.id() as i32, &raw mut status, 0, &raw mut usage) };
    assert_eq!((pid, status), (child.id() as i32, 0), "it failed; its complaints are above");
    let _ = child.try_wait();
    usage.ru_maxrss as f64 / 1024.0
}

/// The journal of the record, as a trial would have written it.
fn write(record: &Path) {
    std::fs::create_dir_all(record).expect("a folder");
    let file = File::create(record.join("journal.jsonl")).expect("a journal");
    let mut file = BufWriter::new(file);
    let mut seq = 0;
    evidence(|event| {
        seq += 1;
        writeln!(file, "{}", encode(seq, "2026-11-30T10:00:00.123Z", &event)).expect("room for it");
    });
    file.flush().expect("room for it");
    std::fs::write(record.join("campaign.yaml"), CAMPAIGN).expect("room for it");
    std::fs::write(record.join("hosts.yaml"), "hosts: {here: {transport: local}}\n").expect("room for it");
}

/// Made-up evidence of the size of the goal, as the events that a journal holds.
fn evidence(mut apply: impl FnMut(Event)) {
    let mut state = 1u64;
    let mut noise = move || {
        // Knuth's MMIX generator; its high bits are noise enough for a clock.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1u64 << 24) as f64
    };
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
            apply(Event::RunBegan { run: run.clone(), position: position as u32 + 1 });
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
}

fn opening() -> Opening {
    let arms: Vec<_> = ARMS
        .map(|(name, kind)| json!({"kind": kind, "name": name, "changes": {"scan": name}, "because": null}))
        .into();
    let sizes: Vec<String> = (0..POINTS).map(|size| size.to_string()).collect();
    let cells = POINTS * ARMS.len();
    serde_json::from_value(json!({
        "record": RECORD, "campaign": "scan", "question": "Is the new scanner faster?",
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
