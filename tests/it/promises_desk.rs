//! Promises of commands that touch no host, and of what a person at a terminal sees.

use std::io::Read;
use std::os::fd::FromRawFd;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::desk::{COMMANDS, Desk, code, stderr, stdout};
use crate::process::{self, told};

/// A campaign of as many cells as `a` times `b` times two.
fn grid(a: u32, b: u32, more: &str) -> String {
    let levels = |n: u32| (0..n).map(|level| level.to_string()).collect::<Vec<_>>().join(", ");
    let variables = format!("variables: {{a: [{}], b: [{}]}}\ncontrol:", levels(a), levels(b));
    let used = COMMANDS.replace("'${text}']", "'${text}', '${a}', '${b}']");
    used.replace("control:", &variables).replace("forward", "shuffled") + more
}

#[test]
fn a_million_cells_need_leave_and_are_planned_in_bounded_memory() {
    let desk = Desk::new(&grid(500, 1000, ""));
    let output = desk.fieldtrial(&["plan", "c.yaml"]);
    assert_eq!(code(&output), 2, "{}", told(&output));
    assert!(stderr(&output).contains("max_cells: 1000000"), "{}", told(&output));

    desk.write("c.yaml", &grid(500, 1000, "max_cells: 1000000\n"));
    let mut command = Command::new("sh");
    // Kilobytes of address space; a list of the cells' names alone would not fit.
    command.args(["-c", "ulimit -v 100000; exec \"$0\" plan c.yaml", env!("CARGO_BIN_EXE_fieldtrial")]);
    // Twenty times what is promised: this machine may be busy.
    let output =
        process::finish(command.current_dir(desk.path()).env("HOME", desk.path()), Duration::from_secs(60));
    assert_eq!(code(&output), 0, "{}", told(&output));
    assert!(stdout(&output).contains("1000000 cells, 2 blocks, 2000000 runs"), "{}", told(&output));
}

#[test]
fn what_init_writes_checks_runs_and_is_never_overwritten() {
    let desk = Desk::new("");
    let output = desk.fieldtrial(&["init", "new"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let written = desk.path().join("new/campaigns/first.yaml");
    let text = std::fs::read_to_string(&written).unwrap();
    assert!(text.lines().filter(|line| line.trim_start().starts_with('#')).count() > 5, "commented: {text}");
    let output = desk.fieldtrial(&["check", "new/campaigns/first.yaml"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    assert!(!stderr(&output).contains("warning"), "{}", told(&output));
    let output = desk.fieldtrial(&["run", "new/campaigns/first.yaml"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    std::fs::write(&written, "mine").unwrap();
    let output = desk.fieldtrial(&["init", "new"]);
    assert_ne!(code(&output), 0, "{}", told(&output));
    assert_eq!(std::fs::read_to_string(&written).unwrap(), "mine");
}

#[test]
fn a_terminal_gets_a_bar_and_a_file_gets_lines() {
    let desk = Desk::new(COMMANDS);
    let (mut master, mut slave) = (0, 0);
    let size = libc::winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: two places for descriptors, no name, no settings, and a size that outlives the call.
    let made =
        unsafe { libc::openpty(&mut master, &mut slave, std::ptr::null_mut(), std::ptr::null(), &size) };
    assert_eq!(made, 0, "{}", std::io::Error::last_os_error());
    // SAFETY: both were just opened and belong to nobody else.
    let (mut screen, end) = unsafe { (std::fs::File::from_raw_fd(master), Stdio::from_raw_fd(slave)) };
    let mut command = desk.command(&["run", "c.yaml"]);
    let mut child = command.env("TERM", "xterm").stdout(Stdio::null()).stderr(end).spawn().unwrap();
    drop(command);
    let reader = std::thread::spawn(move || {
        let (mut shown, mut piece) = (Vec::new(), [0; 4096]);
        // A terminal without writers ends with an error.
        while let Ok(n @ 1..) = screen.read(&mut piece) {
            shown.extend_from_slice(&piece[..n]);
        }
        String::from_utf8_lossy(&shown).into_owned()
    });
    let status = process::wait(&mut child, Duration::from_secs(60)).expect("it ends");
    let shown = reader.join().unwrap();
    assert_eq!(status.code(), Some(0), "{shown}");
    assert!(shown.contains("\u{1b}[") && shown.contains("4/4"), "a bar that is drawn over: {shown:?}");
    assert!(shown.contains("measured"), "counts of outcomes: {shown:?}");

    let output = desk.fieldtrial(&["run", "c.yaml"]);
    assert!(!stderr(&output).contains('\u{1b}') && !stderr(&output).contains('\r'), "{}", told(&output));
    assert!(stderr(&output).contains("[4/4] measured"), "{}", told(&output));
}
