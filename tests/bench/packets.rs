//! Our packet tools side by side with others on a virtual cable, as ratios that a gate and a goal are set for.

#[path = "packets/asking.rs"]
mod asking;
#[expect(dead_code, reason = "ratios need less than times in milliseconds do")]
mod bench;
#[path = "packets/comparisons.rs"]
mod comparisons;
#[path = "packets/machine.rs"]
mod machine;
#[path = "packets/measure.rs"]
mod measure;
#[path = "packets/pair.rs"]
mod pair;
#[path = "../it/process.rs"]
#[expect(dead_code, reason = "tools here are watched and ended, not awaited")]
mod process;
#[path = "packets/sides.rs"]
mod sides;
#[path = "packets/tool.rs"]
mod tool;
#[path = "packets/verdict.rs"]
mod verdict;

use std::process::ExitCode;

use comparisons::Group;
use machine::is_installed;
use measure::measure;
use pair::{Namespaces, Pair};
use verdict::{Outcome, Rounds, Verdict, judge};

const ROUNDS: usize = 5;
/// Of the cables.
const QUEUES: [u32; 2] = [1, 2];
/// Pins tools, gives them their class, and leads them into a namespace.
const NEEDED: [&str; 3] = ["chrt", "taskset", "nsenter"];
const USAGE: &str = "cargo bench --bench packets -- [FILTER] [--rounds N] [--quick]";

/// What was asked for.
struct Asked {
    /// Part of a row's name, in any case.
    filter: String,
    rounds: usize,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [role, interface, asks, ..] = words.as_slice()
        && role == asking::ROLE
    {
        return asking::receive(interface, asks == "true");
    }
    let asked = match parse(&words) {
        Ok(asked) => asked,
        Err(why) => return refuse(&format!("{why}\n{USAGE}")),
    };
    if let Some(lack) = lack() {
        return refuse(&lack);
    }
    machine::come_first();
    let namespaces = Namespaces::make();
    let mut pairs = QUEUES.map(|queues| namespaces.connect(queues));
    println!("{:<42}{:>9} {:>9}  {:<21}{:>7} {:>6}", "", "ours", "rival", "ratio [min..max]", "gate", "goal");
    let mut short = 0;
    for group in comparisons::all() {
        let place = QUEUES.iter().position(|queues| *queues == group.queues).expect("a cable for each group");
        short += play(&namespaces, &mut pairs[place], group, &asked);
    }
    if short > 0 { ExitCode::from(1) } else { ExitCode::SUCCESS }
}

/// Measures a group, prints its rows, and returns how many are short.
fn play(namespaces: &Namespaces, pair: &mut Pair, mut group: Group, asked: &Asked) -> usize {
    group.comparisons.retain(|row| row.name.to_lowercase().contains(&asked.filter));
    let wanted =
        |name: &str| group.comparisons.iter().any(|row| row.ours == name || row.rivals.contains(&name));
    group.sides.retain(|side| wanted(side.name));
    if group.sides.is_empty() {
        return 0;
    }
    let folder = tempfile::tempdir().expect("a folder for what tools say");
    let mut rounds: Rounds = Rounds::new();
    for round in 0..asked.rounds {
        // Each second round goes the other way, so that a drift favours nobody.
        let turns: Vec<_> =
            if round % 2 == 0 { group.sides.iter().collect() } else { group.sides.iter().rev().collect() };
        for side in turns {
            let outcome = match side.needs() {
                Some(program) if !is_installed(program) => {
                    Outcome::Absent(format!("not installed: {program}"))
                }
                rival => match measure(namespaces, pair, side, folder.path()) {
                    Ok(reading) => Outcome::Read(reading),
                    Err(why) if rival.is_some() => Outcome::Absent(why),
                    Err(why) => Outcome::Failed(why),
                },
            };
            rounds.entry(side.name).or_default().push((round, outcome));
        }
    }
    let mut short = 0;
    for row in &group.comparisons {
        let line = judge(row, &rounds, asked.rounds);
        println!("{:<42}{line}", row.name);
        short += usize::from(matches!(line.verdict, Verdict::Short(_)));
    }
    short
}

fn parse(words: &[String]) -> Result<Asked, String> {
    let mut asked = Asked { filter: String::new(), rounds: ROUNDS };
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            // cargo adds it.
            "--bench" => {}
            "--quick" => asked.rounds = 1,
            "--rounds" => {
                let number = words.next().unwrap_or_default();
                asked.rounds =
                    number.parse().ok().filter(|rounds| (1..=100).contains(rounds)).ok_or_else(|| {
                        format!("--rounds {number:?}: expected how often the sides take turns, 1 to 100")
                    })?;
            }
            option if option.starts_with('-') => return Err(format!("{option}: no such option")),
            filter => asked.filter = filter.to_lowercase(),
        }
    }
    if comparisons::all()
        .iter()
        .flat_map(|group| &group.comparisons)
        .all(|row| !row.name.to_lowercase().contains(&asked.filter))
    {
        return Err(format!("no comparison has {:?} in its name", asked.filter));
    }
    Ok(asked)
}

/// Why nothing can be measured here.
fn lack() -> Option<String> {
    // SAFETY: takes no arguments and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return Some("namespaces, programs and real-time priority need root: run it as root".to_owned());
    }
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    if cpus < 2 {
        return Some(format!("sender and receiver need a CPU each: expected 2 or more, found {cpus}"));
    }
    let missing = NEEDED.iter().find(|program| !is_installed(program))?;
    Some(format!("{missing} of util-linux is not installed"))
}

fn refuse(why: &str) -> ExitCode {
    eprintln!("nothing was measured: {why}");
    ExitCode::from(2)
}
