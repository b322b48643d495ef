//! How long `fieldtrial analyse` takes for 10,000 cells, beside pandas, scipy and statsmodels.

mod bench;
mod cost;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use bench::{PROGRAM, sum_up, verdict};
use cost::cost;

const ROUNDS: usize = 3;
const BLOCKS: usize = 10;
const SAMPLES: usize = 10;
const ARMS: [&str; 4] = ["old", "one-read", "mmap", "both"];
const GOAL_MS: f64 = 2000.0;
const GOAL_MIB: f64 = 500.0;
/// The same analysis in Python: samples reduced, cells described, signed-rank and Hodges-Lehmann for
/// each pooled and single effect, Holm.
const RIVAL: &str = include_str!("analyse_rival.py");
const PACKAGES: [&str; 3] = ["pandas", "scipy", "statsmodels"];

fn main() {
    let folder = tempfile::tempdir().expect("a folder for the data");
    let small = write_data(folder.path(), 2500);
    let large = write_data(folder.path(), 10_000);
    let rival = python().map(|python| (python, folder.path().join("rival.py")));
    if let Ok((_, script)) = &rival {
        std::fs::write(script, RIVAL).expect("the script can be written");
    }
    let of = |data: &Path, more: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.arg("analyse").arg(data).args([
            "--response",
            "seconds",
            "--factors",
            "size",
            "--block",
            "block",
        ]);
        command.args(["--control", "arm=old", "--margin", "2%", "--json"]).args(more);
        command
    };
    let mut contestants: Vec<(&str, Command, bool)> = vec![
        ("10,000 cells, samples reduced", of(&small, &["--samples", "median"]), true),
        ("10,000 cells, each row a run", of(&small, &[]), true),
        ("40,000 cells, samples reduced", of(&large, &["--samples", "median"]), false),
    ];
    match &rival {
        Ok((python, script)) => {
            let mut command = Command::new(python);
            command.arg(script).arg(&small);
            contestants.push(("10,000 cells, in Python", command, false));
        }
        Err(why) => println!("no comparison with pandas: {why}"),
    }
    let mut readings: Vec<Vec<f64>> = contestants.iter().map(|_| vec![]).collect();
    let mut peaks = vec![0; contestants.len()];
    // They take turns, so that a machine that slows down slows all.
    for _ in 0..ROUNDS {
        for (at, (_, command, _)) in contestants.iter_mut().enumerate() {
            let (elapsed_ms, peak_kib) = cost(command);
            readings[at].push(elapsed_ms);
            peaks[at] = peaks[at].max(peak_kib);
        }
    }
    let summaries: Vec<_> = readings.into_iter().map(sum_up).collect();
    for ((name, _, goal), (summary, peak)) in contestants.iter().zip(summaries.iter().zip(&peaks)) {
        let mib = *peak as f64 / 1024.0;
        let met = verdict(summary.median <= GOAL_MS && mib <= GOAL_MIB);
        let goal = if *goal { format!("   goal {GOAL_MS} ms, {GOAL_MIB} MiB {met}") } else { String::new() };
        println!("analyse {name:<30}  {summary}   peak {mib:>7.1} MiB{goal}");
    }
    if rival.is_ok() {
        println!("Python takes {:.1} times as long for the same", summaries[3].median / summaries[0].median);
    }
}

/// A table of `points` grid points with every arm, block and sample, and returns its path.
fn write_data(folder: &Path, points: usize) -> PathBuf {
    let mut text = String::from("size,arm,block,seconds\n");
    let mut state = 1u64;
    let mut noise = || {
        // Knuth's MMIX generator; its high bits are noise enough for a clock.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1u64 << 24) as f64
    };
    for size in 0..points {
        for (at, arm) in ARMS.iter().enumerate() {
            for block in 0..BLOCKS {
                let level = (1.0 + size as f64 / 100.0) * (1.0 - at as f64 / 50.0) * (1.0 + 0.02 * noise());
                for _ in 0..SAMPLES {
                    let seconds = level * (1.0 + 0.01 * noise());
                    writeln!(text, "{size},{arm},{block},{seconds:.9}").expect("text grows");
                }
            }
        }
    }
    let path = folder.join(format!("runs-{points}.csv"));
    std::fs::write(&path, text).expect("the data can be written");
    path
}

/// A Python that has the packages; pip puts them below `target` the first time.
fn python() -> Result<PathBuf, String> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/python");
    let python = home.join("bin/python3");
    let has_all = |python: &Path| {
        let import = format!("import {}", PACKAGES.join(", "));
        Command::new(python).args(["-c", &import]).output().is_ok_and(|said| said.status.success())
    };
    if !has_all(&python) {
        println!("installing {} into {}", PACKAGES.join(", "), home.display());
        let run = |command: &mut Command| -> Result<(), String> {
            let output = command.output().map_err(|e| format!("{command:?} does not start: {e}"))?;
            let said = String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default().to_owned();
            if output.status.success() { Ok(()) } else { Err(format!("{command:?} failed: {said}")) }
        };
        run(Command::new("python3").args(["-m", "venv"]).arg(&home))?;
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(PACKAGES))?;
    }
    if has_all(&python) { Ok(python) } else { Err(format!("{} cannot import them", python.display())) }
}
