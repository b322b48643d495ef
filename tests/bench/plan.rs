//! How long `fieldtrial plan` takes, and how much memory, for 10,000 and 1,000,000 cells.

mod bench;
mod campaigns;
mod cost;

use std::path::Path;
use std::process::Command;

use bench::{PROGRAM, sum_up, verdict};
use campaigns::{write_campaign, write_local_hosts};
use cost::cost;

const ROUNDS: usize = 5;
/// Levels of each variable, and the goal in milliseconds.
const SIZES: [(&[usize], f64); 2] = [(&[100, 100], 100.0), (&[100, 100, 100], 3000.0)];

fn main() {
    let folder = tempfile::tempdir().expect("a folder for the campaigns");
    let hosts = write_local_hosts(folder.path());
    let campaigns = SIZES.map(|(levels, goal)| {
        let cells: usize = levels.iter().product();
        (cells, goal, write_campaign(folder.path(), &hosts, "here", levels))
    });
    for form in [None, Some("--json")] {
        let mut readings = [Vec::new(), Vec::new()];
        let mut peaks = [0, 0];
        // Sizes take turns, so that a machine that slows down slows both.
        for _ in 0..ROUNDS {
            for (index, (_, _, campaign)) in campaigns.iter().enumerate() {
                let (elapsed_ms, peak_kib) = plan(campaign, form);
                readings[index].push(elapsed_ms);
                peaks[index] = peaks[index].max(peak_kib);
            }
        }
        for ((cells, goal, _), (readings, peak)) in campaigns.iter().zip(readings.into_iter().zip(peaks)) {
            let summary = sum_up(readings);
            let form = form.unwrap_or("text");
            let met = verdict(summary.median <= *goal);
            println!(
                "plan {cells:>9} cells, {form:<6}  {summary}   peak {:>6.1} MiB   goal {goal} ms {met}",
                peak as f64 / 1024.0
            );
        }
    }
}

/// Plans once with the output thrown away; milliseconds and peak memory in KiB.
fn plan(campaign: &Path, form: Option<&str>) -> (f64, i64) {
    let mut command = Command::new(PROGRAM);
    cost(command.arg("plan").arg(campaign).args(form))
}
