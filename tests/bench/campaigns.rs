//! Campaigns and hosts made to measure.

use std::fmt::Write;
use std::path::{Path, PathBuf};

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
