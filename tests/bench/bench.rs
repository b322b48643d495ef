//! What the benchmarks share: campaigns made to measure, and numbers summed up.

use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The program, built by `cargo bench` in its release form.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_fieldtrial");

/// Least, middle and greatest of some readings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    pub min: f64,
    pub median: f64,
    pub max: f64,
    pub count: usize,
}

/// Sums readings up; panics where there are none, since a benchmark of nothing is no benchmark.
pub fn sum_up(mut readings: Vec<f64>) -> Summary {
    assert!(!readings.is_empty(), "no readings");
    readings.sort_by(f64::total_cmp);
    let count = readings.len();
    let median = (readings[(count - 1) / 2] + readings[count / 2]) / 2.0;
    Summary { min: readings[0], median, max: readings[count - 1], count }
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Summary { min, median, max, count } = self;
        write!(f, "median {median:9.3} ms   min {min:9.3}   max {max:9.3}   n {count}")
    }
}

/// Whether a goal is met, in a word for the end of a line.
pub fn verdict(met: bool) -> &'static str {
    if met { "met" } else { "MISSED" }
}

/// Writes a campaign of one `command` cell for each combination of `levels`, run once, and returns its path.
/// The program gets the levels as arguments that it ignores, so that no variable is unused.
pub fn write_campaign(folder: &Path, hosts: &Path, host: &str, levels: &[usize]) -> PathBuf {
    let cells: usize = levels.iter().product();
    let mut text = format!(
        "campaign: bench-{cells}\nquestion: What does one run cost?\nhosts: {}\nvariables:\n",
        hosts.display()
    );
    let mut argv = "/bin/true".to_owned();
    for (index, count) in levels.iter().enumerate() {
        let list: Vec<_> = (0..*count).map(|level| level.to_string()).collect();
        writeln!(text, "  v{index}: [{}]", list.join(", ")).expect("text grows");
        write!(argv, ", \"${{v{index}}}\"").expect("text grows");
    }
    write!(
        text,
        "control: {{name: bare}}\nworkload:\n  command: {{on: {host}, run: [{argv}]}}\nblocks: {{count: 1, order: forward}}\n\
         timeout: 10s\nresponses:\n  - {{name: wall_time, primary: true}}\npilot: true\nmax_cells: {cells}\n"
    )
    .expect("text grows");
    let path = folder.join(format!("bench-{cells}.yaml"));
    std::fs::write(&path, text).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
    path
}

/// Writes a hosts file of this machine alone, named `here`.
pub fn write_local_hosts(folder: &Path) -> PathBuf {
    let path = folder.join("local.yaml");
    let text = "hosts:\n  here: {transport: local}\n";
    std::fs::write(&path, text).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
    path
}
