//! Tests that need a network namespace of their own, as root and as an ordinary user.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Set in the child, which runs the body.
const MARK: &str = "FIELDTRIAL_TEST_INSIDE";
/// Limit of one child, in seconds.
const LIMIT_S: &str = "30";

/// Runs `body` in a child process that has a fresh network namespace; `test` is the full name of the
/// calling test. Run by root it goes twice: as root and as an ordinary user who has root only in a
/// user namespace. Threads never change namespaces, so nothing leaks into other tests.
pub fn inside(test: &str, body: impl FnOnce()) {
    if env::var_os(MARK).is_some() {
        return body();
    }
    let folder = open_folder();
    let program = copy_of_the_test(folder.path());

    // SAFETY: takes no arguments and cannot fail.
    let root = unsafe { libc::geteuid() } == 0;
    if root {
        run("root", &["unshare", "-n"], &program, test);
    }
    let reuid = format!("--reuid={}", nobody());
    let drop_root: &[&str] = if root { &["setpriv", &reuid, "--regid=65534", "--clear-groups"] } else { &[] };
    let user = [drop_root, &["unshare", "-Urn"]].concat();
    let probe = Command::new(user[0]).args(&user[1..]).arg("true").stdin(Stdio::null()).output();
    match probe {
        Ok(output) if output.status.success() => run("user", &user, &program, test),
        Ok(output) if root => {
            let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            super::skip::skip("user-namespaces", &format!("it ran as root alone: {why}"));
        }
        other => panic!("needs root or user namespaces (util-linux's unshare -Urn): {other:?}"),
    }
}

/// A user that no other test is: the kernel counts locked memory by user.
fn nobody() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    1_000_000 + process::id() % 100_000 * 1000 + NEXT.fetch_add(1, Ordering::Relaxed) % 1000
}

/// The same as root only, for what needs rights in the first user namespace.
pub fn inside_as_root(test: &str, body: impl FnOnce()) {
    if env::var_os(MARK).is_some() {
        return body();
    }
    let folder = open_folder();
    run("root", &["unshare", "-n"], &copy_of_the_test(folder.path()), test);
}

/// The build folder may be closed to other users.
fn open_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("temporary folder");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("open the folder");
    folder
}

fn copy_of_the_test(folder: &Path) -> PathBuf {
    let program = folder.join("test");
    // By a process of its own: a program that another test's child still holds open for writing cannot be started.
    let copied = Command::new("cp").arg(env::current_exe().expect("own path")).arg(&program).status();
    assert!(copied.is_ok_and(|status| status.success()), "cp of coreutils cannot copy the test program");
    program
}

fn run(who: &str, prefix: &[&str], program: &Path, test: &str) {
    let mut child = Command::new("timeout");
    child.args(["-k", "1", LIMIT_S]).args(prefix).arg(program);
    child.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(MARK, who).env("TMPDIR", "/tmp");
    let output = child.stdin(Stdio::null()).output().expect("timeout of coreutils");
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "as {who}: {}\n{said}\n{complained}", output.status);
    // A misspelt name would run nothing and pass.
    assert!(said.contains("1 passed"), "as {who} no test of the name {test} ran:\n{said}");
}
