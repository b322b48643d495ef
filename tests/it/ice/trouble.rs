//! All that can go wrong with flow rules: each its own error, and the table as it was.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Ice, PORT, text};
use crate::desk::copy_program;
use crate::process::{finish, told};
use crate::scene::{EXE, exe, is_root};
use crate::skip::skip;

const TWO: [&str; 4] = ["--streams", "2", "--queues", "1,2"];

/// A card with rules of which the desired set keeps, replaces and removes one each, and one foreign.
fn used() -> Option<Ice> {
    let ice = Ice::new()?;
    for words in [
        "ether proto 0x88b5 action 1 loc 16383",
        "ether proto 0x88b6 action 7 loc 16380",
        "ether proto 0x88bf action 7 loc 16381",
        "ether proto 0x88be action 0 loc 9",
        "ether proto 0x0800 action 1 loc 16382",
    ] {
        ice.ethtool(&format!("-N {PORT} flow-type {words}"));
    }
    assert_eq!(ice.rules().len(), 5);
    ice.model().log.clear();
    ice.model().changes = 0;
    Some(ice)
}

/// One is kept, one replaced, one goes; one is taken out and put in again, and two are new.
const DESIRED: [&str; 10] = [
    "--streams",
    "4",
    "--queues",
    "1,2,3,4",
    "--rule",
    "ether proto 0x88be drop",
    "--rule",
    "udp4 dst-port 9 queue 5",
    "--rule",
    "tcp6 dst-port 9 drop",
];
/// Changes that takes.
const CHANGES: usize = 8;

#[test]
fn after_a_failure_of_any_change_the_rules_are_as_before() {
    let Some(ice) = used() else { return };
    ice.done("set", &DESIRED);
    assert_eq!(ice.model().changes, CHANGES);
    for failing in 0..CHANGES {
        let Some(ice) = used() else { return };
        ice.model().broken_changes = failing..failing + 1;
        let (status, why) = ice.refused("set", &DESIRED);
        assert!(status == Some(3) && why.contains("Input/output error"), "{failing}: {why}");
        assert!(why.contains("The rules are as before"), "{failing}: {why}");
        assert!(ice.model().changes > failing, "change {failing} was tried");
    }
}

#[test]
fn rules_that_cannot_be_put_back_are_named_with_an_exit_code_of_their_own() {
    let Some(ice) = used() else { return };
    ice.model().broken_changes = 3..usize::MAX;
    let (status, said) = ice.flow_rules("set", &DESIRED);
    let why = said["why"].as_str().unwrap_or_default();
    assert!(status == Some(6) && why.contains("could NOT be put back"), "{said}");
    assert!(why.contains("16381 (was ether proto 0x88bf queue 7 loc 16381)"), "{why}");
}

#[test]
fn each_bad_input_has_an_error_of_its_own_and_changes_nothing() {
    let Some(ice) = used() else { return };
    let rule = |text: &'static str| vec!["--rule", text];
    let refused = [
        (
            2,
            vec!["--streams", "2", "--queues", "1,16"],
            "`ether proto 0x88b6 queue 16`: the port has queues 0 to 15",
        ),
        (2, rule("ether proto 0x88b7 queue 1 loc 16384"), "places 0 to 16383"),
        (2, vec!["--streams", "1", "--queues", "drop"], "drops frames where a queue is asked for"),
        (2, vec!["--streams", "2", "--queues", "1"], "a queue each"),
        (2, rule("ether proto 0x88b7 queue 2 vf 1"), "virtual function"),
        (2, rule("ether proto 0x88b7 queue 8589934594"), "virtual function"),
        (2, rule("ether proto 0x88b7"), "`queue N` or `drop`"),
        (3, rule("ether proto 0x88b7 queue 1 loc 16382"), "somebody else's rule stands there"),
        (3, rule("ether dst 02:00:00:00:00:01 queue 1"), "one input set"),
        (3, rule("ether proto 0x88b7 vlan 5 queue 1"), "one input set"),
    ];
    for (status, asked, expected) in refused {
        for action in ["plan", "set"] {
            let (found, why) = ice.refused(action, &asked);
            assert!(found == Some(status) && why.contains(expected), "{action} {asked:?}: {found:?} {why}");
        }
    }
    let (status, why) = ice.refused("clear", &["--loc", "1"]);
    assert!(status == Some(2) && why.contains("no rule stands at place 1"), "{why}");
    assert_eq!(ice.model().changes, 0, "found before any change was asked for");
}

#[test]
fn each_refusal_of_the_card_has_an_error_of_its_own_and_changes_nothing() {
    type Fault = fn(&mut super::Model);
    let six = ["--streams", "6", "--queues", "1,2,3,4,5,6"];
    let odd_vlan = ["--rule", "udp4 dst-port 9 vlan-etype 0x1234 queue 2"];
    let mixed = ["--rule", "udp4 dst-port 1 queue 1", "--rule", "udp4 src-port 1 queue 1"];
    let faults: [(Fault, &[&str], &str); 8] = [
        (|m| m.rights = false, &TWO, "run it as root"),
        (|m| m.ntuple = false, &TWO, "ethtool -K lo ntuple on"),
        (|m| m.filters = 5, &six, "no free filter for `ether proto 0x88b8"),
        (
            |m| m.told_queues = Some(17),
            &["--rule", "udp4 dst-port 9 queue 16"],
            "Those of a rule known to steer",
        ),
        (|_| (), &odd_vlan, "refuses `udp4 dst-port 9 vlan-etype 0x1234 queue 2"),
        (|m| m.older = true, &odd_vlan, "does not take such a rule"),
        (|m| m.driver = "i40e", &mixed, "i40e has one input set"),
        (|m| m.capacity = 0, &TWO, "no places"),
    ];
    for (fault, asked, expected) in faults {
        let Some(ice) = used() else { return };
        ice.ethtool(&format!("-N {PORT} delete 16380"));
        ice.ethtool(&format!("-N {PORT} flow-type ether proto 0x0806 action 1 loc 16"));
        fault(&mut ice.model());
        let (status, why) = ice.refused("set", asked);
        assert!(status == Some(3) && why.contains(expected), "{asked:?}: {status:?} {why}");
    }
}

#[test]
fn a_driver_that_does_not_take_such_rules_is_named() {
    // Before Linux 6.10 ice took no `ether` rules, and said so as it says all else.
    let Some(ice) = Ice::with(|model| model.broken_errno = libc::EOPNOTSUPP) else { return };
    ice.model().broken_changes = 0..usize::MAX;
    let (status, why) = ice.refused("set", &TWO);
    assert!(status == Some(3) && why.contains("from version 6.10 on"), "{why}");
}

#[test]
fn a_card_in_reset_is_waited_for_but_not_for_ever() {
    let Some(ice) = used() else { return };
    ice.model().busy = 3;
    assert_eq!(ice.done("set", &TWO)["done"], json!(true));
    let Some(ice) = used() else { return };
    ice.model().busy = usize::MAX;
    let began = Instant::now();
    let (status, why) = ice.refused("set", &TWO);
    assert!(status == Some(3) && why.contains("was busy"), "{why}");
    assert!(began.elapsed() < Duration::from_secs(30));
}

#[test]
fn a_rule_that_comes_between_count_and_list_makes_us_read_again() {
    let Some(ice) = used() else { return };
    let latecomer = ice.rules()[&9].clone();
    ice.model().latecomer = Some((77, latecomer));
    assert_eq!(ice.done("list", &[])["rules"].as_array().map(Vec::len), Some(6));
    let lists = ice.model().commands().iter().filter(|command| **command == 0x30).count();
    assert_eq!(lists, 2);
}

#[test]
fn an_interface_that_vanishes_between_any_two_requests_is_said_to_have_vanished() {
    let Some(ice) = used() else { return };
    ice.done("set", &DESIRED);
    let requests = ice.model().log.len();
    assert!(requests > 20, "{requests}");
    for after in 0..requests {
        let Some(ice) = used() else { return };
        ice.model().gone_after = after;
        let (status, said) = ice.flow_rules("set", &DESIRED);
        let why = said["why"].as_str().unwrap_or_default();
        assert!(
            why.contains("no interface \"lo\" is here, or it is here no longer"),
            "after {after}: {said}"
        );
        assert!(
            status == Some(2) || why.contains("went with the interface"),
            "after {after}: {status:?} {why}"
        );
    }
}

#[test]
fn ports_without_such_a_card_and_ports_that_are_not_there_are_refused_by_the_real_kernel() {
    for (port, status, expected) in
        [("lo", 3, "keeps no flow rules"), ("nosuch0", 2, "no interface \"nosuch0\"")]
    {
        for action in ["list", "clear"] {
            let mut command = Command::new(EXE);
            command
                .args(["tool", "flow-rules", action, "--port", port, "--json"])
                .env_remove("SSH_CONNECTION");
            let output = finish(&mut command, Duration::from_secs(20));
            assert_eq!(output.status.code(), Some(status), "{}", told(&output));
            assert!(text(&output.stdout).contains(&expected.replace('"', "\\\"")), "{}", told(&output));
        }
    }
    let mut command = Command::new(EXE);
    command
        .args(["tool", "flow-rules", "clear", "--port", "lo"])
        .env("SSH_CONNECTION", "127.0.0.1 1 127.0.0.1 22");
    let output = finish(&mut command, Duration::from_secs(20));
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(told(&output).contains("carries the SSH connection"), "{}", told(&output));
}

#[test]
fn an_ordinary_user_tests_against_the_same_card() {
    if !is_root() {
        return skip(
            "sandbox",
            "root gives its rights away; the other tests have just run as an ordinary user",
        );
    }
    let folder = tempfile::Builder::new().prefix("ftuser-").tempdir().expect("a folder");
    let (test, program) = (folder.path().join("it"), folder.path().join("fieldtrial"));
    copy_program(std::env::current_exe().expect("own path"), &test);
    copy_program(exe(), &program);
    for path in [folder.path(), &test, &program] {
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("mode");
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&test);
    command.args(["--exact", "ice::product::the_shipped_program_sends_the_golden_bytes", "--nocapture"]);
    command.env("FIELDTRIAL_TEST_EXE", &program).env("TMPDIR", "/tmp").current_dir("/");
    let output = finish(&mut command, Duration::from_secs(60));
    if told(&output).contains("SKIPPED") {
        return skip("seccomp-notify", "so says the same test as an ordinary user");
    }
    assert!(output.status.success() && text(&output.stdout).contains("1 passed"), "{}", told(&output));
}
