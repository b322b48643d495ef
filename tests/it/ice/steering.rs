//! Steering on cables of a real kernel, where a rule that a card takes may still steer nothing.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::Ice;
use crate::desk::{code, csv_rows, only_record};
use crate::process::told;
use crate::scene::EXE;

/// Makes a cable with two queues at each end, steers by XPS at the sender, asks for rules at the
/// receiver, and proves. XPS stands for the card here: what its rules say has no effect on it.
const SCRIPT: &str = r#"
set -e
mount -t sysfs none /sys
ip link add a0 numtxqueues 2 numrxqueues 2 type veth peer name b0 numtxqueues 2 numrxqueues 2
ip link set a0 up
ip link set b0 up
for q in 0 1; do
    if [ $q = "$XPS" ]; then echo 3; else echo 0; fi >/sys/class/net/a0/queues/tx-$q/xps_cpus
done
mkfifo "$DIR/word"
timeout 20 "$EXE" tool flow-rules set --port b0 --streams 2 --queues "$QUEUES" --json >"$DIR/set"
timeout 20 "$EXE" tool flow-rules prove --port b0 --streams 2 --queues "$QUEUES" --json <"$DIR/word" >"$DIR/out" &
exec 3>"$DIR/word"
until grep -q ready "$DIR/out"; do sleep 0.02; done
timeout 20 "$EXE" tool packet-send --interface a0 --streams 2 --frame-size 1518 --frames 200 --rate 2000 --json >"$DIR/sent"
echo '{"sent":{"0":200,"1":200}}' >&3
wait $!
"#;

/// Exit status and last line of the proof; None where there is no place for it.
fn prove(xps: &str, queues: &str) -> Option<(Option<i32>, Value)> {
    if let Err(why) = crate::lab::allowed() {
        crate::skip::skip("sandbox", &why);
        return None;
    }
    let ice = Ice::with(|model| (model.interface, model.driver) = ("b0".into(), "veth"))?;
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "sh", "-c", SCRIPT]);
    command.envs([("XPS", xps), ("QUEUES", queues), ("EXE", EXE)]).env("DIR", folder.path());
    let output = ice.run(&mut command);
    let said = std::fs::read_to_string(folder.path().join("out")).unwrap_or_default();
    let last = said.lines().last().unwrap_or_default();
    let last = serde_json::from_str(last).unwrap_or_else(|_| panic!("{said}\n{}", told(&output)));
    assert_eq!(ice.rules().len(), 2, "the card took both rules: {}", told(&output));
    Some((output.status.code(), last))
}

#[test]
fn streams_that_arrive_where_they_are_steered_are_proven() {
    for queue in ["0", "1"] {
        let Some((status, said)) = prove(queue, &format!("{queue},{queue}")) else { return };
        assert_eq!((status, &said["event"]), (Some(0), &json!("result")), "{said}");
        assert_eq!(said["arrivals"], json!({"0": {queue: 200}, "1": {queue: 200}}));
    }
}

#[test]
fn a_rule_that_steers_nothing_is_caught_and_shown_beside_one_that_does() {
    let Some((status, said)) = prove("1", "0,1") else { return };
    let why = said["why"].as_str().unwrap_or_default();
    assert_eq!(status, Some(3), "{said}");
    assert!(
        why.contains("stream 0 (ethertype 0x88b5) was expected on queue 0, found 200 frames on queue 1"),
        "{why}"
    );
    assert!(!why.contains("stream 1 ("), "{why}");
    for shown in ["  32: 88 b5 00", "known to steer, `ether proto 0x88b5 queue 3"] {
        assert!(why.contains(shown), "{shown}: {why}");
    }
}

fn campaign(folder: &Path, queues: &str) -> std::path::PathBuf {
    let hosts = Path::new(env!("CARGO_MANIFEST_DIR")).join("hosts/netns.yaml");
    let text = format!(
        "campaign: steered
question: Do streams arrive on the queues that they are steered to?
hosts: {}
pilot: true
variables: {{frame_size: [64]}}
control: {{name: batch-64, set: {{batch: 64}}}}
treatments:
  - {{name: batch-1, change: {{batch: 1}}}}
steer: {{by: ethertype, streams: 1, queues: [{queues}]}}
workload:
  packets: {{between: [tx.port0, rx.port0], frame_size: \"${{frame_size}}\", batch: \"${{batch}}\", rate: 5000/s, duration: 300ms, settle: 0ms}}
blocks: {{count: 1}}
",
        hosts.display()
    );
    let path = folder.join("steered.yaml");
    std::fs::write(&path, text).expect("written");
    path
}

#[test]
fn a_campaign_steers_proves_and_puts_back_or_refuses_its_cells_before_timing() {
    if let Err(why) = crate::lab::allowed() {
        return crate::skip::skip("sandbox", &why);
    }
    // The cable of the embedded lab has one queue, 0.
    for (queues, steers) in [("0", true), ("1", false)] {
        let Some(ice) = Ice::with(|model| (model.interface, model.driver) = ("ft-rx0".into(), "veth")) else {
            return;
        };
        let folder = tempfile::tempdir().expect("a folder");
        let reports = folder.path().join("reports");
        let mut command = Command::new(EXE);
        command.arg("run").arg(campaign(folder.path(), queues)).arg("--reports").arg(&reports);
        let output = ice.run(command.env("XDG_CACHE_HOME", folder.path()));
        let record = only_record(&reports);
        let rows = csv_rows(&record.join("runs.csv"));
        let rejected = std::fs::read_to_string(record.join("rejected.csv")).unwrap_or_default();
        let journal = std::fs::read_to_string(record.join("journal.jsonl")).expect("a journal");
        if steers {
            assert!(
                rows.len() == 2 && rows.iter().all(|row| row["outcome"] == "measured"),
                "{}",
                told(&output)
            );
        } else {
            assert!(rows.is_empty() && code(&output) != 0, "nothing was timed: {}", told(&output));
            assert!(rejected.contains("expected on queue 1, found 200 frames on queue 0"), "{rejected}");
            assert!(rejected.contains("known to steer"), "{rejected}");
        }
        assert!(journal.contains("stream 0: queue"), "the change is in the record");
        assert!(
            !ice.model().insertions().is_empty() && ice.rules().is_empty(),
            "put back: {}",
            told(&output)
        );
    }
}
