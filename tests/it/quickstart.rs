//! The quickstart at full speed, so tests/run runs these tests alone: embedded as root and as an ordinary user, and over sshd.

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use crate::desk::{code, csv_rows, only_record, stderr, stdout};
use crate::lab::Lab;
use crate::over_ssh::{run, text, tx_and_rx};
use crate::process::{self, told};

const LIMIT: Duration = Duration::from_secs(240);

/// Runs at full speed into a folder of the given name. Another's load on this machine can make a receiver's
/// kernel drop frames; the run is then rightly rejected, and this test proves nothing. In that case, and in no
/// other, it is said and tried once more.
fn undisturbed(run: impl Fn(&str) -> Output) -> (Output, &'static str) {
    let output = run("reports");
    if code(&output) != 5 || !stderr(&output).contains("dropped by the receiver's kernel buffer") {
        return (output, "reports");
    }
    eprintln!("frames were dropped while this machine was busy, once more:\n{}", told(&output));
    (run("again"), "again")
}

fn check_record(reports: &Path, output: &Output) {
    assert_eq!(code(output), 0, "{}", told(output));
    let record = only_record(reports);
    let rows = csv_rows(&record.join("runs.csv"));
    assert_eq!(rows.len(), 24, "2 sizes x 2 arms x 6 blocks");
    assert!(rows.iter().all(|r| r["outcome"] == "measured"), "{rows:?}");
    let rates: Vec<f64> = rows.iter().map(|r| r["tx_rate (frames/s)"].parse().unwrap()).collect();
    assert!(rates.iter().all(|r| *r > 1000.0), "{rates:?}");
    let samples = csv_rows(&record.join("samples.csv"));
    assert!(samples.len() >= 24 * 5, "raw samples are kept");
    assert!(stdout(output).contains("frame_size=64/batch-1"), "{}", told(output));
    let page = std::fs::read_to_string(record.join("index.html")).unwrap();
    for word in ["batch-1", "frame_size=1518", "rerun"] {
        assert!(page.contains(word), "the page does not speak of {word}");
    }
}

#[test]
fn the_quickstart_runs_on_the_embedded_lab() {
    if let Err(why) = crate::lab::allowed() {
        crate::skip::skip("sandbox", &why);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (output, reports) = undisturbed(|reports| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fieldtrial"));
        command.args(["run", "campaigns/quickstart.yaml", "--reports"]).arg(folder.path().join(reports));
        command.current_dir(env!("CARGO_MANIFEST_DIR")).env("XDG_CACHE_HOME", folder.path());
        process::finish(&mut command, LIMIT)
    });
    check_record(&folder.path().join(reports), &output);
}

#[test]
fn an_ordinary_user_gets_the_same_through_a_user_namespace() {
    let me = Command::new("id").arg("-u").output().unwrap();
    let root = String::from_utf8_lossy(&me.stdout).trim() == "0";
    // Whoever is an ordinary user already runs it as himself.
    let nobody = |program: &str| {
        let mut command = Command::new(if root { "setpriv" } else { "env" });
        if root {
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]);
        }
        command.arg(program);
        command
    };
    let probe = nobody("unshare").args(["-Urn", "true"]).output().unwrap();
    if !probe.status.success() {
        crate::skip::skip("user-namespaces", &String::from_utf8_lossy(&probe.stderr));
        return;
    }
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let program = folder.path().join("fieldtrial");
    crate::desk::copy_program(env!("CARGO_BIN_EXE_fieldtrial"), &program);
    for (from, name) in
        [("campaigns", "quickstart.yaml"), ("campaigns", "dead-ends.yaml"), ("hosts", "netns.yaml")]
    {
        std::fs::create_dir_all(folder.path().join(from)).unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(from).join(name);
        std::fs::copy(source, folder.path().join(from).join(name)).unwrap();
    }
    if root {
        let opened = Command::new("chown").args(["-R", "65534:65534"]).arg(folder.path()).status().unwrap();
        assert!(opened.success());
    }
    let (output, reports) = undisturbed(|reports| {
        let mut command = nobody(program.to_str().unwrap());
        command.args(["run", "campaigns/quickstart.yaml", "--reports", reports]).current_dir(folder.path());
        command.env("HOME", folder.path()).env("XDG_CACHE_HOME", folder.path()).env_remove("XDG_RUNTIME_DIR");
        process::finish(&mut command, LIMIT)
    });
    check_record(&folder.path().join(reports), &output);
}

#[test]
fn the_quickstart_passes_over_sshd_and_a_cell_of_it_can_be_rerun() {
    let Some(lab) = Lab::two_hosts() else { return };
    let hosts = tx_and_rx(&lab, crate::lab::TEST_INTERFACE, "10s");
    let campaign = Path::new(env!("CARGO_MANIFEST_DIR")).join("campaigns/quickstart.yaml");
    let (output, reports) = undisturbed(|reports| {
        run(&lab, &["run", text(&campaign), "--hosts", text(&hosts), "--reports", reports])
    });
    assert_eq!(code(&output), 0, "{}", told(&output));
    let record = only_record(&lab.folder().join(reports));
    let rows = csv_rows(&record.join("runs.csv"));
    assert_eq!(rows.len(), 24, "2 sizes x 2 arms x 6 blocks");
    assert!(rows.iter().all(|r| r["outcome"] == "measured"), "{rows:?}");

    let cell = "frame_size=64/batch-1";
    let output = run(&lab, &["rerun", text(&record), "--cell", cell]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let after = csv_rows(&record.join("runs.csv"));
    assert_eq!(after.len(), 26);
    assert_eq!(&after[..24], &rows[..], "the first runs stay");
    let page = std::fs::read_to_string(record.join("index.html")).unwrap();
    assert!(page.to_lowercase().contains("rerun"), "the page shows the rerun");
    assert!(!lab.folder().join("home/.ssh").exists(), "the user's ~/.ssh is never touched");
}
