//! The lab itself keeps what the tests that use it rely on.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::lab::{Faults, HOSTS, Lab, inhabitants};
use crate::process::{finish, told, wait};

const LIMIT: Duration = Duration::from_secs(30);

/// What a shell line prints on a host, reached over ssh.
fn answer(lab: &Lab, host: &str, line: &str) -> String {
    let output = finish(&mut lab.ssh(host, line), LIMIT);
    assert!(output.status.success(), "{host}: {line}: {}", told(&output));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn both_hosts_answer_over_ssh_and_are_two() {
    let Some(lab) = Lab::two_hosts() else { return };
    for (host, address) in HOSTS {
        assert_eq!(answer(&lab, host, "hostname"), host);
        assert!(answer(&lab, host, "ip -o -4 addr show eth0").contains(address));
        assert_eq!(answer(&lab, host, "cat /sys/class/net/test0/operstate"), "up");
        assert_eq!(answer(&lab, host, "ls /root /tmp /opt | grep -v ':$' | tr -d '\\n'"), "");
    }
    lab.place("h1", "/opt/bin/only-here", b"#!/bin/sh\necho yes\n", "755");
    assert_eq!(answer(&lab, "h1", "/opt/bin/only-here"), "yes");
    assert_eq!(finish(&mut lab.ssh("h2", "/opt/bin/only-here"), LIMIT).status.code(), Some(127));
}

#[test]
fn a_sandbox_without_hosts_has_locks_and_a_network_of_its_own() {
    let Some(lab) = Lab::no_hosts() else { return };
    let mark = format!("/run/fieldtrial-lab-{}", std::process::id());
    let output = finish(lab.command("touch").arg(&mark), LIMIT);
    assert!(output.status.success() && !Path::new(&mark).exists(), "{}", told(&output));
    let names = finish(lab.command("ls").arg("/sys/class/net"), LIMIT);
    assert_eq!(String::from_utf8_lossy(&names.stdout), "labbr0\nlo\n");
}

#[test]
fn the_program_starts_in_the_sandbox_and_its_hosts_file_names_both_hosts() {
    let Some(lab) = Lab::two_hosts() else { return };
    let hosts = lab.hosts_yaml("# the end\n");
    let seen = finish(lab.command("cat").arg(&hosts), LIMIT);
    let text = String::from_utf8_lossy(&seen.stdout).into_owned();
    assert!(text.contains("  h1:\n    ssh: h1\n") && text.contains("[h1.port0, h2.port0]"), "{text}");
    assert!(text.ends_with("# the end\n"), "{text}");
    // Only that it starts: signals and statuses of the front door are tested with it.
    let started = finish(lab.fieldtrial().arg("--help"), LIMIT);
    assert!(started.status.code().is_some_and(|code| code < 126), "{}", told(&started));
}

#[test]
fn a_wrong_or_unknown_host_key_is_refused() {
    let faults = Faults { wrong_key: vec!["h1"], unknown_key: vec!["h2"], ..Faults::default() };
    let Some(lab) = Lab::with(&faults) else { return };
    for (host, reason) in [("h1", "IDENTIFICATION HAS CHANGED"), ("h2", "Host key verification failed")] {
        let output = finish(&mut lab.ssh(host, "true"), LIMIT);
        assert_eq!(output.status.code(), Some(255), "{}", told(&output));
        assert!(told(&output).contains(reason), "{}", told(&output));
    }
}

#[test]
fn nothing_leaves_the_sandbox_and_hosts_cannot_touch_the_machine() {
    let Some(lab) = Lab::two_hosts() else { return };
    let routes = finish(lab.command("ip").args(["route", "show", "default"]), LIMIT);
    assert_eq!(told(&routes), told(&finish(&mut Command::new("true"), LIMIT)));
    let mark = format!("/etc/fieldtrial-lab-{}", std::process::id());
    assert_eq!(answer(&lab, "h1", &format!("echo x > {mark}; cat {mark}")), "x");
    assert!(!Path::new(&mark).exists(), "{mark} of a host is on this machine");
    let kernel = finish(&mut lab.ssh("h1", "echo 1 > /proc/sys/kernel/printk_delay"), LIMIT);
    assert!(!kernel.status.success(), "a host could set a parameter of this machine's kernel");
}

#[test]
fn a_noexec_host_takes_files_but_runs_none_of_them() {
    let faults = Faults { noexec: vec!["h1"], ..Faults::default() };
    let Some(lab) = Lab::with(&faults) else { return };
    for place in ["/run", "/tmp", "/var/tmp", "/dev/shm", "/root", "/home", "/opt"] {
        let line = format!("cp /bin/true {place}/t && {place}/t");
        assert_eq!(lab.on_host("h1", &line).status.code(), Some(126), "{place} of h1");
        assert_eq!(lab.on_host("h2", &line).status.code(), Some(0), "{place} of h2");
    }
}

#[test]
fn a_full_host_answers_but_stores_nothing() {
    let faults = Faults { full: vec!["h2"], ..Faults::default() };
    let Some(lab) = Lab::with(&faults) else { return };
    assert_eq!(answer(&lab, "h2", "echo alive"), "alive");
    for place in ["/run", "/tmp", "/var/tmp", "/dev/shm", "/root", "/home", "/etc", "/opt"] {
        let output = lab.on_host("h2", &format!("head -c 9000 /dev/zero > {place}/more"));
        assert!(told(&output).contains("No space left"), "{place}: {}", told(&output));
    }
}

#[test]
fn a_cut_link_silences_a_host_until_it_is_healed() {
    let Some(lab) = Lab::two_hosts() else { return };
    lab.cut_link("h1");
    let config = lab.ssh_config();
    let mut command = lab.command("ssh");
    command.arg("-F").arg(config).args(["-o", "ConnectTimeout=2", "h1", "true"]);
    let output = finish(&mut command, LIMIT);
    assert_eq!(output.status.code(), Some(255), "{}", told(&output));
    assert!(lab.on_host("h1", "true").status.success(), "the host itself lives on");
    assert_eq!(answer(&lab, "h2", "echo other"), "other");
    lab.heal_link("h1");
    // The kernel may still hold the neighbour for lost for a moment.
    let began = Instant::now();
    while !finish(&mut lab.ssh("h1", "true"), LIMIT).status.success() {
        assert!(began.elapsed() < LIMIT, "h1 is silent though its link is healed");
    }
    assert_eq!(answer(&lab, "h1", "echo back"), "back");
}

#[test]
fn a_frozen_host_is_silent_until_it_thaws() {
    let Some(lab) = Lab::two_hosts() else { return };
    lab.freeze_host("h1");
    let mut command = lab.ssh("h1", "true");
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().expect("nsenter starts");
    assert_eq!(wait(&mut child, Duration::from_millis(800)), None, "a frozen host answered");
    lab.thaw_host("h1");
    assert!(wait(&mut child, LIMIT).is_some_and(|status| status.success()));
}

#[test]
fn a_host_without_power_takes_all_its_processes_with_it() {
    let Some(lab) = Lab::two_hosts() else { return };
    let networks = lab.networks();
    answer(&lab, "h1", "setsid nohup sleep 3600 >/dev/null 2>&1 </dev/null &");
    assert!(inhabitants(&networks[..1]).iter().any(|line| line.contains("sleep 3600")));
    lab.kill_host("h1");
    let began = Instant::now();
    while !inhabitants(&networks[..1]).is_empty() {
        assert!(began.elapsed() < LIMIT, "still there: {:?}", inhabitants(&networks[..1]));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(answer(&lab, "h2", "echo other"), "other");
}

#[test]
fn nothing_is_left_after_a_lab() {
    let Some(lab) = Lab::two_hosts() else { return };
    let (networks, folder) = (lab.networks(), lab.folder().to_owned());
    answer(&lab, "h1", "setsid nohup sleep 3600 >/dev/null 2>&1 </dev/null &");
    let mut orphan = lab.command("sleep").arg("3600").spawn().expect("nsenter starts");
    assert!(inhabitants(&networks).len() >= 5, "{:?}", inhabitants(&networks));
    drop(lab);
    assert_eq!(inhabitants(&networks), Vec::<String>::new());
    assert!(!folder.exists());
    assert!(wait(&mut orphan, LIMIT).is_some_and(|status| !status.success()));
}

#[test]
fn a_signal_reaches_the_program_and_its_status_comes_back() {
    let Some(lab) = Lab::two_hosts() else { return };
    let mut child = lab.command("sleep").arg("3600").stdout(Stdio::null()).spawn().expect("nsenter starts");
    let began = Instant::now();
    while !inhabitants(&lab.networks()).iter().any(|line| line.ends_with(": sleep 3600 ")) {
        assert!(began.elapsed() < LIMIT, "the program did not start");
        std::thread::sleep(Duration::from_millis(5));
    }
    lab.signal(&child, libc::SIGTERM);
    let status = wait(&mut child, LIMIT).expect("it ends");
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(libc::SIGTERM));
}

#[test]
fn a_killed_test_process_leaves_nothing() {
    const WAITS: &str = "FIELDTRIAL_TEST_WAITS";
    let Some(lab) = Lab::two_hosts() else { return };
    if std::env::var_os(WAITS).is_some() {
        // The other process: this very test, holding a lab until it is killed.
        let networks: Vec<_> = lab.networks().iter().map(|network| network.display().to_string()).collect();
        println!("HOLDS {} {}", lab.folder().display(), networks.join(" "));
        std::thread::sleep(LIMIT);
        return;
    }
    drop(lab);
    let mut command = Command::new(std::env::current_exe().expect("the test binary has a path"));
    command
        .args(["--exact", "lab_holds::a_killed_test_process_leaves_nothing", "--nocapture"])
        .env(WAITS, "1");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the test binary starts");
    let stdout = BufReader::new(child.stdout.take().expect("standard output is piped"));
    let mut lines = stdout.lines().map_while(Result::ok);
    let held = lines.find_map(|line| line.split_once("HOLDS ").map(|(_, held)| held.to_owned()));
    let held = held.expect("the other process tells what it holds");
    let mut held = held.split(' ').map(PathBuf::from);
    let folder = held.next().expect("the folder comes first");
    let networks: Vec<_> = held.collect();
    assert_eq!(networks.len(), 3);
    assert!(!inhabitants(&networks).is_empty());
    child.kill().expect("it can be killed");
    let _ = child.wait();
    let began = Instant::now();
    while !inhabitants(&networks).is_empty() {
        assert!(began.elapsed() < Duration::from_secs(5), "still there: {:?}", inhabitants(&networks));
        std::thread::sleep(Duration::from_millis(5));
    }
    std::fs::remove_dir_all(folder).expect("its folder can be removed");
}
