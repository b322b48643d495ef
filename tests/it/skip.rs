//! How a test says that this machine cannot run it.

use std::fs::OpenOptions;
use std::io::Write;

/// Reports the running test as skipped because `need` (listed in tests/skips.txt) is not met here;
/// the test returns right after. tests/run takes it out of the passed ones and checks the probe.
pub fn skip(need: &str, why: &str) {
    let test = std::thread::current().name().unwrap_or("a test without a name").to_owned();
    let why = why.replace(['\t', '\n'], " ");
    // Written to the stream itself, since what the print macros write is shown only for failed tests.
    let _ = writeln!(std::io::stderr().lock(), "SKIPPED {test}: needs {need}: {why}");
    if let Some(path) = std::env::var_os("FIELDTRIAL_SKIPS") {
        let line = format!("{test}\t{need}\t{why}\n");
        let written = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&path)
            .and_then(|mut file| file.write_all(line.as_bytes()));
        written.unwrap_or_else(|error| panic!("cannot record a skip in {}: {error}", path.display()));
    }
}
