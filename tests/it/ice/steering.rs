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

/// The shipped campaign of the rig, on a cable with one queue and without what a cable has not: its seven
/// streams and sizes, both ways, with a model of the card at each end.
fn short_line_rate() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut text = std::fs::read_to_string(root.join("campaigns/e810-line-rate.yaml")).expect("shipped");
    let (from, to) = (text.find("treatments:").expect("arms"), text.find("steer:").expect("steering"));
    text.replace_range(from..to, "");
    let queues = "queues: [0, 1, 2, 3, 4, 5, 6]";
    for (from, to) in [
        ("../hosts/e810-pair.yaml", root.join("hosts/netns.yaml").to_str().expect("text")),
        ("dead-ends.yaml", root.join("campaigns/dead-ends.yaml").to_str().expect("text")),
        (&format!("streams: 7, {queues}"), "streams: 7, queues: [0, 0, 0, 0, 0, 0, 0]"),
        (&format!("    {queues}\n"), ""),
        ("load: {search: zero_loss, precision: 1%, trial: 2s}", "rate: 200/s"),
        ("duration: 20s", "duration: 300ms"),
        ("settle: 5s", "settle: 100ms"),
        ("frames: 10000", "frames: 200"),
        ("count: 8, order: mirrored, seed: 1", "count: 1, order: forward"),
        ("timeout: 20m", "timeout: 30s\npilot: true"),
        ("name: zero_loss_rate", "name: tx_rate"),
        ("  - {name: zero_loss_bits_l1}\n", ""),
    ] {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    text
}

#[test]
fn the_campaign_of_the_rig_steers_seven_streams_both_ways_and_puts_back_both_cards() {
    if let Err(why) = crate::lab::allowed() {
        return crate::skip::skip("sandbox", &why);
    }
    let card = |interface: &str| {
        let mut model = super::model::Model::new(interface);
        model.driver = "veth";
        model
    };
    let Some(ice) = Ice::with(|model| {
        *model = card("ft-rx0");
        model.twin = Some(Box::new(card("ft-tx0")));
    }) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("c.yaml"), short_line_rate()).expect("written");
    let mut command = Command::new(EXE);
    command.args(["run", "c.yaml", "--reports", "reports"]).current_dir(folder.path());
    let output = ice.run(command.env("XDG_CACHE_HOME", folder.path()));
    let record = only_record(&folder.path().join("reports"));
    let rows = csv_rows(&record.join("runs.csv"));
    assert!(rows.len() == 2 && rows.iter().all(|row| row["outcome"] == "measured"), "{}", told(&output));
    let mut model = ice.model();
    for interface in ["ft-rx0", "ft-tx0"] {
        let card = model.card(interface.as_bytes());
        assert_eq!((card.insertions().len(), card.rules.len()), (7, 0), "{interface}: {}", told(&output));
    }
}
