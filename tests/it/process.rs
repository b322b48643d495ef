//! Child processes of tests, with a bound on how long they may take.

use std::io::Read;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// Runs to the end and collects both streams; panics with what was printed when `limit` passes.
pub fn finish(command: &mut Command, limit: Duration) -> Output {
    let shown = format!("{command:?}");
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot start {shown}: {error}"));
    let stdout = collect(child.stdout.take());
    let stderr = collect(child.stderr.take());
    let status = wait(&mut child, limit);
    if status.is_none() {
        let _ = child.kill();
        let _ = child.wait();
    }
    let Some(status) = status else {
        // The readers are not joined: a grandchild may hold the pipe open.
        panic!("still running after {limit:?}: {shown}");
    };
    let taken = |reader: std::sync::mpsc::Receiver<Vec<u8>>| {
        reader.recv_timeout(limit).unwrap_or_else(|_| {
            panic!("ended with {status}, but something it left behind holds its output open: {shown}")
        })
    };
    Output { status, stdout: taken(stdout), stderr: taken(stderr) }
}

/// The exit status, or None when the child still runs after `limit`.
pub fn wait(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let began = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if began.elapsed() > limit => return None,
            Ok(None) => std::thread::sleep(Duration::from_millis(5)),
            Err(error) => panic!("cannot wait for process {}: {error}", child.id()),
        }
    }
}

/// Both streams as text, for the message of a failed assertion.
pub fn told(output: &Output) -> String {
    format!(
        "{}\n--- standard output\n{}--- standard error\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn collect(stream: Option<impl Read + Send + 'static>) -> std::sync::mpsc::Receiver<Vec<u8>> {
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            let _ = stream.read_to_end(&mut bytes);
        }
        let _ = send.send(bytes);
    });
    receive
}

#[test]
fn a_command_that_takes_too_long_is_not_waited_for() {
    let began = Instant::now();
    let late =
        std::panic::catch_unwind(|| finish(Command::new("sleep").arg("60"), Duration::from_millis(50)));
    assert!(late.is_err());
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[test]
fn both_streams_and_the_status_of_a_command_are_kept() {
    let output =
        finish(Command::new("sh").args(["-c", "echo out; echo err >&2; exit 3"]), Duration::from_secs(10));
    assert_eq!(output.status.code(), Some(3));
    assert_eq!((&output.stdout[..], &output.stderr[..]), (&b"out\n"[..], &b"err\n"[..]));
}
