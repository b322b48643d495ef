//! How long `fieldtrial plan` takes, and how much memory, for 10,000 and 1,000,000 cells.

mod bench;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use bench::{PROGRAM, sum_up, verdict, write_campaign, write_local_hosts};

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
#[expect(clippy::zombie_processes, reason = "wait4 reaps it, and tells its peak memory besides")]
fn plan(campaign: &Path, form: Option<&str>) -> (f64, i64) {
    let mut command = Command::new(PROGRAM);
    command.arg("plan").arg(campaign).args(form).stdin(Stdio::null()).stdout(Stdio::null());
    let began = Instant::now();
    let child = command.spawn().unwrap_or_else(|error| panic!("cannot start {PROGRAM}: {error}"));
    let mut status = 0;
    // SAFETY: rusage is plain numbers, for which zeros are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the child is ours and not waited for elsewhere; both pointers are to live locals.
    let ended = unsafe { libc::wait4(child.id() as libc::pid_t, &mut status, 0, &mut usage) };
    let elapsed_ms = began.elapsed().as_secs_f64() * 1e3;
    assert_eq!(ended, child.id() as libc::pid_t, "waiting failed: {}", std::io::Error::last_os_error());
    assert!(
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0,
        "expected exit 0 of {command:?}, found wait status {status}; its complaints are above"
    );
    (elapsed_ms, usage.ru_maxrss)
}
