//! What fieldtrial adds to each run of `/bin/true`, beside `hyperfine -N` here and `ssh` with a shared connection there.

mod bench;
mod campaigns;
#[path = "../it/lab/mod.rs"]
#[expect(dead_code, reason = "a benchmark needs less of the lab than the tests do")]
mod lab;
#[path = "../it/process.rs"]
mod process;
mod rivals;
#[path = "../it/skip.rs"]
mod skip;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use bench::{PROGRAM, Summary, sum_up, verdict};
use campaigns::{write_campaign, write_local_hosts};
use lab::Lab;

/// Short campaign and rival take turns this often.
const ROUNDS: usize = 5;
const SHORT: [usize; 2] = [10, 10];
const LONG: [usize; 2] = [100, 100];
/// Generous, so that a slow machine gives slow numbers and no failure.
const LIMIT: Duration = Duration::from_secs(1800);
/// Goal of the project: at most so much above the bare process, milliseconds.
const GOAL_MS: f64 = 2.0;
/// The long campaign may cost so many times the short one per run and still count as flat.
const FLAT: f64 = 1.25;

/// Readings of one campaign, in milliseconds.
struct Cost {
    /// From the end of one run to the end of the next.
    cycle: Vec<f64>,
    /// The wall time that each run reports.
    wall: Vec<f64>,
}

fn main() {
    let hyperfine = rivals::hyperfine();
    let folder = tempfile::tempdir().expect("a folder for campaigns and records");
    here(folder.path(), &hyperfine);
    match Lab::two_hosts() {
        Some(lab) => over_ssh(&lab, &hyperfine),
        None => println!("over ssh: not measured, since this machine has no lab (reason above)"),
    }
}

fn here(folder: &Path, hyperfine: &Path) {
    let hosts = write_local_hosts(folder);
    let start = || Command::new(PROGRAM);
    let rival = || rivals::time(Command::new(hyperfine), folder, "/bin/true");
    let measured = compare(folder, &start, &hosts, "here", &rival);
    measured.print("local", "hyperfine -N /bin/true", 0.0);
}

fn over_ssh(lab: &Lab, hyperfine: &Path) {
    let shared = rivals::SharedConnection::open(lab, "h1");
    let round_trip = shared.round_trip();
    println!("ssh    round trip of one line          {round_trip}");
    let start = || lab.fieldtrial();
    let line = shared.command_line("/bin/true");
    let rival = || rivals::time(lab.command(hyperfine), lab.folder(), &line);
    let measured = compare(lab.folder(), &start, &lab.hosts_yaml(""), "h1", &rival);
    measured.print("ssh", "ssh -S /bin/true", round_trip.median);
}

/// Short campaign, long campaign and rival on the same machine in the same minutes.
struct Measured {
    short: Summary,
    long: Summary,
    wall: Summary,
    rival: Summary,
}

fn compare(
    folder: &Path,
    start: &dyn Fn() -> Command,
    hosts: &Path,
    host: &str,
    rival: &dyn Fn() -> Vec<f64>,
) -> Measured {
    let short = write_campaign(folder, hosts, host, &SHORT);
    let long = write_campaign(folder, hosts, host, &LONG);
    let (mut cycles, mut walls, mut rivals) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let cost = run(start(), &short, folder);
        cycles.extend(cost.cycle);
        walls.extend(cost.wall);
        rivals.extend(rival());
    }
    let long = run(start(), &long, folder);
    rivals.extend(rival());
    Measured { short: sum_up(cycles), long: sum_up(long.cycle), wall: sum_up(walls), rival: sum_up(rivals) }
}

impl Measured {
    fn print(&self, place: &str, rival: &str, allowance_ms: f64) {
        let Measured { short, long, wall, rival: bare } = self;
        let cells = |levels: [usize; 2]| levels.iter().product::<usize>();
        println!("{place:<6} {rival:<32} {bare}");
        println!("{place:<6} fieldtrial, per run of {:<9} {short}", cells(SHORT));
        println!("{place:<6} fieldtrial, per run of {:<9} {long}", cells(LONG));
        println!("{place:<6} wall_time that a run reports     {wall}");
        let added = short.median - bare.median;
        let goal = GOAL_MS + allowance_ms;
        // Over ssh the bare command pays for its own channel, so less than nothing may be added.
        println!(
            "{place:<6} added per run {added:.3} ms (x{:.2} of the rival), goal {goal:.3} ms: {}",
            short.median / bare.median,
            verdict(added <= goal)
        );
        let growth = long.median / short.median;
        println!("{place:<6} long over short x{growth:.2}, goal x{FLAT}: {}", verdict(growth <= FLAT));
    }
}

/// Runs a campaign and reads its cost out of the journal.
fn run(mut command: Command, campaign: &Path, folder: &Path) -> Cost {
    let reports = tempfile::tempdir_in(folder).expect("a folder for the record");
    command.arg("run").arg(campaign).arg("--reports").arg(reports.path());
    let output = process::finish(&mut command, LIMIT);
    assert!(output.status.success(), "{command:?}: {}", process::told(&output));
    let campaign = campaign.file_stem().expect("it was written with a name");
    let records = std::fs::read_dir(reports.path().join(campaign));
    let records =
        records.unwrap_or_else(|error| panic!("expected a record of {campaign:?} in --reports: {error}"));
    let record = records.flatten().next().expect("one record").path();
    let journal = std::fs::read_to_string(record.join("journal.jsonl"));
    let journal =
        journal.unwrap_or_else(|error| panic!("expected {}/journal.jsonl: {error}", record.display()));
    read_journal(&journal)
}

fn read_journal(journal: &str) -> Cost {
    let mut ends = Vec::new();
    let mut wall = Vec::new();
    for line in journal.lines() {
        let line: serde_json::Value = serde_json::from_str(line).expect("a journal line is JSON");
        let Some(run) = line.pointer("/event/run_ended") else { continue };
        let at: jiff::Timestamp =
            line["at"].as_str().and_then(|at| at.parse().ok()).expect("`at` is an RFC 3339 time");
        assert_eq!(run["outcome"], "measured", "a run of /bin/true came to another end: {run}");
        ends.push(at.as_nanosecond() as f64 / 1e6);
        wall.push(run["values"]["wall_time"].as_f64().expect("a measured run has a wall_time") * 1e3);
    }
    assert!(ends.len() > 1, "expected the ends of several runs in the journal, found {}", ends.len());
    Cost { cycle: ends.windows(2).map(|pair| pair[1] - pair[0]).collect(), wall }
}
