//! Programs by path, by pattern and by build, as real runs on this machine bring them to their host.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use fieldtrial::evidence::event::RunNote;
use fieldtrial::evidence::fold::Evidence;
use fieldtrial::model::cell::CellId;
use fieldtrial::model::digest;
use fieldtrial::model::outcome::{Fate, RunOutcome};
use fieldtrial::record::{Folder, read};

use crate::desk::{Desk, code, only_record, stderr, stdout};
use crate::lab::Lab;
use crate::over_ssh::{run, text, tx_and_rx, write};
use crate::process::told;
use crate::scene::token;

/// A campaign whose treatment `new` changes `release` from 1 to 2, with these keys of its command.
fn campaign(keys: &str) -> String {
    format!(
        "campaign: c\nquestion: Does it hold?\nhosts: hosts.yaml\npilot: true\ncontrol: {{set: {{release: '1'}}}}\n\
         treatments: [{{name: new, change: {{release: '2'}}}}]\n\
         workload:\n  command:\n    on: here\n{keys}blocks: {{count: 2, order: forward}}\ntimeout: 20s\n"
    )
}

fn new() -> CellId {
    CellId("/new".into())
}

fn evidence(desk: &Desk) -> Evidence {
    read(&Folder::open(&desk.record("reports")).expect("a record")).expect("readable").evidence
}

/// Two releases of a program that does the same, each unlike any other on this machine.
struct Releases {
    desk: Desk,
    texts: [String; 2],
}

impl Releases {
    fn new(keys: &str) -> Releases {
        let desk = Desk::new(&campaign(keys));
        std::fs::create_dir(desk.path().join("releases")).unwrap();
        let texts = ["1", "2"].map(|release| {
            let text = format!(
                "#!/bin/sh\n# {}\ncase $1 in --version) echo app {release}.0; echo more;; *) echo same;; esac\n",
                token()
            );
            // Not executable here: it is made so on the host.
            desk.write(&format!("releases/app-{release}"), &text);
            text
        });
        Releases { desk, texts }
    }

    /// Where an artifact lies on this machine once it was brought here.
    fn stored(&self) -> Vec<PathBuf> {
        // SAFETY: always succeeds.
        let uid = unsafe { libc::geteuid() };
        let base = PathBuf::from(format!("/var/tmp/fieldtrial-{uid}/artifacts"));
        self.texts.iter().map(|text| base.join(digest::of_bytes(text.as_bytes()))).collect()
    }
}

impl Drop for Releases {
    fn drop(&mut self) {
        for folder in self.stored() {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

#[track_caller]
fn measured(desk: &Desk) -> Vec<RunNote> {
    let output = desk.fieldtrial(&["run", "c.yaml"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let runs: Vec<RunNote> = evidence(desk).runs.into_iter().map(|row| row.note).collect();
    assert!(runs.iter().all(|run| run.outcome == RunOutcome::Measured), "{runs:?}");
    runs
}

#[test]
fn each_arm_runs_its_own_release_which_is_uploaded_once_and_tells_its_version() {
    let keys = "    artifact: {path: 'releases/app-${release}', version: [--version]}\n    run: ['${artifact}', go]\n";
    let releases = Releases::new(keys);
    let runs = measured(&releases.desk);
    assert_eq!(runs.len(), 4);
    let first = evidence(&releases.desk);
    let versions: Vec<_> = first.artifacts.iter().map(|(_, note)| note.version.clone().unwrap()).collect();
    assert_eq!(versions, ["app 1.0", "app 2.0"]);
    for ((_, note), text) in first.artifacts.iter().zip(&releases.texts) {
        assert!(note.uploaded, "{note:?}");
        assert_eq!(note.file.sha256, digest::of_bytes(text.as_bytes()));
        assert_eq!(std::fs::read_to_string(&note.file.path).unwrap(), *text);
        assert_ne!(std::fs::metadata(&note.file.path).unwrap().permissions().mode() & 0o100, 0);
    }
    let program = runs[0].roles[0].report.program.as_ref().unwrap();
    assert_eq!(program.sha256, first.artifacts[0].1.file.sha256, "what ran is what was named");
    std::fs::rename(releases.desk.path().join("reports"), releases.desk.path().join("earlier")).unwrap();
    measured(&releases.desk);
    assert!(evidence(&releases.desk).artifacts.iter().all(|(_, note)| !note.uploaded), "it is there already");
}

#[test]
fn an_artifact_that_another_program_runs_is_part_of_the_proof() {
    let keys = "    artifact: {glob: 'rel*/app-${release}'}\n    run: [sh, '${artifact}', go]\n";
    let releases = Releases::new(keys);
    measured(&releases.desk);
    let evidence = evidence(&releases.desk);
    for (proof, (_, note)) in evidence.proofs.iter().zip(&evidence.artifacts) {
        assert_eq!(proof.proof.programs.get(&note.file.path), Some(&note.file.sha256), "{proof:?}");
        assert!(!proof.proof.identity.keys().any(|key| key.contains(&note.file.path)), "{proof:?}");
    }
}

#[test]
fn another_digest_than_the_declared_one_is_refused() {
    let releases = Releases::new(
        "    run: ['${artifact}']\n    artifact: {path: 'releases/app-${release}', sha256: SUM}\n",
    );
    let sum = digest::of_bytes(releases.texts[0].as_bytes());
    let text = std::fs::read_to_string(releases.desk.path().join("c.yaml")).unwrap().replace("SUM", &sum);
    releases.desk.write("c.yaml", &text);
    let output = releases.desk.fieldtrial(&["run", "c.yaml"]);
    assert_eq!(code(&output), 4, "{}", told(&output));
    let evidence = evidence(&releases.desk);
    let refused = &evidence.cells[&new()];
    assert_eq!((refused.fate, refused.stage.as_deref()), (Fate::Refused, Some("build")));
    assert!(refused.reason.as_ref().unwrap().contains(&format!("expected {sum}")), "{refused:?}");
    assert_eq!(evidence.cells[&CellId("/control".into())].fate, Fate::Live);
}

#[test]
fn an_artifact_that_is_not_exactly_one_file_is_refused_by_check() {
    let check = |artifact: &str, wanted: &[&str]| {
        let keys = format!("    run: ['${{artifact}}', '${{release}}']\n    artifact: {artifact}\n");
        let releases = Releases::new(&keys);
        let output = releases.desk.fieldtrial(&["check", "c.yaml"]);
        assert_eq!(code(&output), 2, "{}", told(&output));
        for word in wanted {
            assert!(stderr(&output).contains(word), "`{word}`: {}", told(&output));
        }
        assert!(stderr(&output).contains("c.yaml:"), "{}", told(&output));
    };
    check("{glob: 'releases/*'}", &["found 2: releases/app-1, releases/app-2"]);
    check("{glob: 'releases/b*'}", &["no file fits the artifact `releases/b*`"]);
    check("{path: 'releases/app-3'}", &["the artifact `releases/app-3` is not there"]);
    check("{path: 'a', glob: 'b'}", &["expected one of `path`, `glob` and `build`, found 2"]);
    check("{build: 'a'}", &["`artifact` comes from a build, and the role has none"]);
    check("{path: 'a', sha256: abc}", &["a SHA-256 in 64 hex digits"]);
    let clash = campaign("    run: ['${artifact}']\n    artifact: {path: 'releases/app'}\n");
    let desk = Desk::new(&clash.replace("release: ", "artifact: "));
    let output = desk.fieldtrial(&["check", "c.yaml"]);
    assert!(stderr(&output).contains("is the name of a level too"), "{}", told(&output));
}

#[test]
fn a_program_that_cannot_tell_its_version_is_not_measured() {
    let releases = Releases::new(
        "    run: ['${artifact}']\n    artifact: {path: 'releases/app-${release}', version: [--version]}\n",
    );
    releases.desk.write("releases/app-2", "#!/bin/sh\necho no such option >&2\nexit 2\n");
    let output = releases.desk.fieldtrial(&["run", "c.yaml"]);
    assert_eq!(code(&output), 4, "{}", told(&output));
    let reason = evidence(&releases.desk).cells[&new()].reason.clone().unwrap();
    assert!(
        reason.contains("releases/app-2 does not tell its version") && reason.contains("exit status 2"),
        "{reason}"
    );
}

/// A build that makes a script in its own folder, and counts how often it ran.
fn build(count: &str, script: &str) -> String {
    format!(
        "    build:\n      shell: |\n        echo x >> {count}\n        echo building ${{release}}\n        mkdir out\n        {script}\n      \
         env: {{CFLAGS: '-O${{release}}'}}\n      toolchain: [sh, -c, 'echo cc 12.2; echo more']\n      target: noarch\n      profile: release\n    \
         artifact: {{build: 'out/app-*'}}\n    run: ['${{artifact}}']\n"
    )
}

#[test]
fn every_distinct_build_is_made_once_and_its_facts_and_log_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let count = folder.path().join("count").display().to_string();
    let script = "printf '#!/bin/sh\\n# %s\\necho same\\n' \"$CFLAGS\" > out/app-${release}";
    let desk = Desk::new(&campaign(&build(&count, script)));
    let plan = stdout(&desk.fieldtrial(&["plan", "c.yaml"]));
    assert!(plan.contains("built by"), "{plan}");
    let runs = measured(&desk);
    assert_eq!(runs.len(), 4);
    assert_eq!(std::fs::read_to_string(&count).unwrap(), "x\nx\n", "once for each arm");
    let page = std::fs::read_to_string(desk.record("reports").join("index.html")).unwrap();
    for word in [
        "toolchain cc 12.2",
        "target noarch",
        "profile release",
        "log builds/here-",
        "out/app-* of the build",
    ] {
        assert!(page.contains(word), "the page does not say `{word}`");
    }
    let evidence = evidence(&desk);
    let builds: Vec<_> = evidence.builds.iter().map(|(_, note)| note).collect();
    assert_eq!(builds.len(), 2);
    for (note, release) in builds.iter().zip(["1", "2"]) {
        assert_eq!(note.toolchain.as_deref(), Some("cc 12.2"));
        assert_eq!((note.target.as_deref(), note.profile.as_deref()), (Some("noarch"), Some("release")));
        assert!(note.command.contains(&format!("CFLAGS=-O{release}")), "{note:?}");
        let log = std::fs::read_to_string(desk.record("reports").join(note.log.as_ref().unwrap())).unwrap();
        assert_eq!(log, format!("building {release}\n"));
        let _ = std::fs::remove_dir_all(PathBuf::from(&note.output.as_ref().unwrap().path).parent().unwrap());
    }
    assert_ne!(builds[0].output.as_ref().unwrap().sha256, builds[1].output.as_ref().unwrap().sha256);
}

#[test]
fn a_build_that_fails_refuses_the_cells_that_need_it_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let count = folder.path().join("count").display().to_string();
    let script = "test ${release} = 1 || { echo undefined reference >&2; exit 3; }; printf '#!/bin/sh\\necho same\\n' > out/app-x";
    let desk = Desk::new(&campaign(&build(&count, script)));
    let output = desk.fieldtrial(&["run", "c.yaml"]);
    assert_eq!(code(&output), 4, "{}", told(&output));
    let evidence = evidence(&desk);
    assert_eq!(evidence.cells[&CellId("/control".into())].fate, Fate::Live);
    let refused = &evidence.cells[&new()];
    let reason = refused.reason.as_ref().unwrap();
    assert!(reason.contains("the build of run on here failed: exit status 3"), "{refused:?}");
    assert!(reason.contains("undefined reference"), "{refused:?}");
    let failed = &evidence.builds[1].1;
    let log = std::fs::read_to_string(desk.record("reports").join(failed.log.as_ref().unwrap())).unwrap();
    assert!(log.contains("undefined reference"), "{log}");
}

#[test]
fn builds_that_would_overwrite_each_other_are_refused_by_check() {
    let desk =
        Desk::new(&campaign("    build: {run: [make, '${release}'], cwd: /tmp}\n    run: [/tmp/app]\n"));
    let output = desk.fieldtrial(&["check", "c.yaml"]);
    assert_eq!(code(&output), 2, "{}", told(&output));
    assert!(stderr(&output).contains("overwrite each other"), "{}", told(&output));
}

#[test]
fn hosts_reached_over_ssh_are_sent_what_they_lack_and_their_roles_wait_for_each_other() {
    let Some(lab) = Lab::two_hosts() else { return };
    tx_and_rx(&lab, crate::lab::TEST_INTERFACE, "10s");
    // Over a piece of the line, so that it goes in several.
    let program =
        format!("#!/bin/sh\n# {}\necho up\n[ $1 = serve ] && exec sleep 60\n:\n", "x".repeat(600_000));
    write(&lab, "app", &program);
    let role = "artifact: {path: app}";
    let campaign = write(
        &lab,
        "c.yaml",
        &format!(
            "campaign: c\nquestion: q?\nhosts: hosts.yaml\npilot: true\ncontrol: {{}}\nworkload:\n  roles:\n    \
             server: {{on: rx, {role}, run: ['${{artifact}}', serve], ready: {{line: up}}, ends: {{with: client}}}}\n    \
             client: {{on: tx, {role}, run: ['${{artifact}}', call], after: server}}\n\
             blocks: {{count: 2, order: forward}}\ntimeout: 20s\n"
        ),
    );
    for (reports, uploaded) in [("first", true), ("second", false)] {
        let output = run(&lab, &["run", text(&campaign), "--reports", reports]);
        assert_eq!(code(&output), 0, "{}", told(&output));
        let record = only_record(&lab.folder().join(reports));
        let evidence = read(&Folder::open(&record).unwrap()).unwrap().evidence;
        let notes: Vec<_> = evidence.artifacts.iter().map(|(_, n)| (n.host.as_str(), n.uploaded)).collect();
        assert_eq!(notes, [("rx", uploaded), ("tx", uploaded)]);
        assert!(
            evidence.runs.iter().all(|row| row.note.outcome == RunOutcome::Measured),
            "{}",
            told(&output)
        );
    }
}
