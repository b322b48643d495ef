//! A folder of campaign and hosts files for one test, and the program run on them on this machine.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use crate::process;

/// A campaign over `local` hosts that needs no privileges.
pub const COMMANDS: &str = "\
campaign: c
question: Does it hold?
hosts: hosts.yaml
pilot: true
control: {set: {text: one}}
treatments: [{name: other, change: {text: two}}]
workload: {command: {on: here, run: [sh, -c, 'echo same', '${text}']}}
blocks: {count: 2, order: forward}
timeout: 10s
";
pub const HOSTS: &str = "hosts:\n  here: {transport: local}\n";

pub struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    pub fn new(campaign: &str) -> Desk {
        let desk = Desk { folder: tempfile::tempdir().expect("a folder for the test") };
        desk.write("c.yaml", campaign);
        desk.write("hosts.yaml", HOSTS);
        desk
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, text).expect("the test's folder can be written");
        path
    }

    /// A program of the test's own, by the text of its script.
    pub fn script_file(&self, name: &str, script: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.write(name, script);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("it can be started");
        path
    }

    /// Folders of all records of the campaign `c`, oldest first.
    pub fn records(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.path().join("reports/c")).into_iter().flatten().flatten();
        let mut found: Vec<PathBuf> =
            entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
        found.sort();
        found
    }

    /// Runs the campaign `c.yaml`, which ends in one of these ways; the folder of the new record.
    pub fn new_record(&self, ends: &[i32]) -> PathBuf {
        let before = self.records();
        let output = self.fieldtrial(&["run", "c.yaml"]);
        assert!(ends.contains(&code(&output)), "{}", process::told(&output));
        let mut new = self.records();
        new.retain(|record| !before.contains(record));
        assert_eq!(new.len(), 1, "{}", process::told(&output));
        new.remove(0)
    }

    /// The program in this folder, with a cache and a home of its own.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = alone(env!("CARGO_BIN_EXE_fieldtrial"));
        command.args(args).current_dir(self.path()).env("XDG_CACHE_HOME", self.path().join("cache"));
        command.env("HOME", self.path()).env("XDG_RUNTIME_DIR", self.path());
        command
    }

    /// Lines of a shell in this folder, for which `$FIELDTRIAL` is the program and hosts have one lease for all.
    pub fn script(&self, lines: &str) -> Output {
        let mut command = alone("sh");
        command.args(["-c", lines]).current_dir(self.path()).env("XDG_CACHE_HOME", self.path().join("cache"));
        command.env("HOME", self.path()).env("XDG_RUNTIME_DIR", self.path());
        command.env("FIELDTRIAL", env!("CARGO_BIN_EXE_fieldtrial"));
        process::finish(&mut command, Duration::from_secs(120))
    }

    pub fn fieldtrial(&self, args: &[&str]) -> Output {
        process::finish(&mut self.command(args), Duration::from_secs(120))
    }

    /// A schema as the program prints it, which must be the one that is shipped in schemas/.
    pub fn schema(&self, of: &str) -> serde_json::Value {
        let printed = self.fieldtrial(&["schema", of]).stdout;
        let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("schemas/{of}.schema.json"));
        let same = std::fs::read(shipped).is_ok_and(|file| file == printed);
        assert!(same, "run: fieldtrial schema {of} > schemas/{of}.schema.json");
        serde_json::from_slice(&printed).expect("a schema is JSON")
    }

    /// The one record below a reports folder.
    pub fn record(&self, reports: &str) -> PathBuf {
        only_record(&self.path().join(reports))
    }
}

/// The one record below a reports folder.
pub fn only_record(reports: &Path) -> PathBuf {
    let mut found = Vec::new();
    for campaign in std::fs::read_dir(reports).into_iter().flatten().flatten() {
        // Beside its records a campaign has its history.
        let entries = std::fs::read_dir(campaign.path()).into_iter().flatten().flatten().map(|e| e.path());
        found.extend(entries.filter(|path| path.is_dir()));
    }
    assert_eq!(found.len(), 1, "records in {}: {found:?}", reports.display());
    found.remove(0)
}

/// Copies a program that is to be started, by a process of its own: a file that was open for writing here may still
/// be so in a child of another test that has just been forked, and could not be started then ("text file busy").
pub fn copy_program(from: impl AsRef<Path>, to: &Path) {
    let status = Command::new("cp").arg(from.as_ref()).arg(to).status().expect("cp of coreutils");
    assert!(status.success(), "{} cannot be copied to {}", from.as_ref().display(), to.display());
}

pub fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Rows of a CSV file as maps from column to text.
pub fn csv_rows(path: &Path) -> Vec<std::collections::BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    reader.deserialize().map(|row| row.expect("a whole row")).collect()
}

/// A program whose leases of this machine are its own: root's lie in /run, which is then another one.
/// Its process id is that of the `Command`.
fn alone(program: &str) -> Command {
    if crate::lab::allowed().is_err() {
        return Command::new(program);
    }
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", "mount -t tmpfs tmpfs /run && exec \"$0\" \"$@\"", program]);
    command
}
