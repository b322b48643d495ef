//! Loads of packets against a stand-in lab and on real cables: both ways, lists, searches, and the link first.

use fieldtrial::conduct::{Asked, Ended, Stop};
use fieldtrial::evidence::event::RunNote;
use fieldtrial::evidence::fold::Evidence;
use fieldtrial::model::cell::CellId;
use fieldtrial::model::job::{JobReport, JobSpec};
use fieldtrial::model::outcome::{Fate, RunOutcome};
use serde_json::json;

use crate::spine::{PACKET_HOSTS, PACKETS, StandIn, packet_report, plan_on, report, session, words};

fn argument<'a>(words: &'a [String], name: &str) -> Option<&'a str> {
    words.iter().position(|word| word == name).map(|at| words[at + 1].as_str())
}

/// A link that carries `threshold` frames a second, and a sender that can offer `ceiling`.
fn device(threshold: f64, ceiling: f64) -> StandIn {
    StandIn::new(move |_, spec, _| Ok(simulated(spec, threshold, ceiling)))
}

/// What a tool on that link says. The receiver starts before the load is known, so loss shows where what is
/// over the threshold was handed over and never left the port (case P03).
fn simulated(spec: &JobSpec, threshold: f64, ceiling: f64) -> JobReport {
    let words = words(spec);
    match words[0].as_str() {
        "packet-send" if !words.iter().any(|word| word == "--frames") => {
            let asked: f64 =
                argument(&words, "--rate").and_then(|rate| rate.parse().ok()).unwrap_or(f64::MAX);
            let offered = asked.min(ceiling);
            let mut report = report(spec, "tool", "");
            let left = offered.min(threshold) as u64;
            report.result = Some(json!({"event": "result", "streams": {"0": {"handed": 100}},
                "left_total": if left < offered as u64 { 99 } else { 100 },
                "left": {"per_second": left, "seconds": 1.0}, "handed": {"per_second": offered, "seconds": 1.0},
                "bound_by": if asked > ceiling { "host" } else { "pace" },
                "buckets": [], "counter_backward": false}));
            report
        }
        _ => packet_report(spec, 100, 100),
    }
}

fn campaign(load: &str, rest: &str) -> String {
    PACKETS
        .replace("duration: 1s", &format!("duration: 1s, settle: 0s, {load}"))
        .replace("accept: [zero_loss]\n", "")
        + rest
}

fn conducted(text: &str, mut lab: StandIn) -> (Evidence, StandIn, Ended) {
    let plan = plan_on(text, PACKET_HOSTS);
    let mut evidence = Evidence::default();
    let ended = session(&plan, &mut lab, &mut evidence, Asked::Rest, Stop::No);
    (evidence, lab, ended)
}

fn runs<'a>(evidence: &'a Evidence, cell: &str) -> Vec<&'a RunNote> {
    evidence.runs.iter().map(|row| &row.note).filter(|note| note.run.cell.0 == cell).collect()
}

#[test]
fn both_ways_have_all_receivers_before_any_sender_and_a_seed_of_their_own() {
    let text = campaign("both_ways: true", "accept: [zero_loss]\n");
    let (evidence, lab, ended) =
        conducted(&text, StandIn::new(|_, spec, _| Ok(packet_report(spec, 100, 100))));
    assert_eq!(ended, Ended::Complete);
    let starts: Vec<&String> = lab.log.iter().filter(|line| line.starts_with("start ")).collect();
    let first: Vec<&str> = starts[..4].iter().map(|line| line.split(" --").next().unwrap()).collect();
    let expected = [
        "start rx packet-receive",
        "start tx packet-receive",
        "start tx packet-send",
        "start rx packet-send",
    ];
    assert_eq!(first, expected, "the proof goes both ways");
    let seed = |line: &str| line.split("--seed ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    assert_eq!(seed(starts[0]), seed(starts[2]));
    assert_eq!(seed(starts[1]), seed(starts[3]));
    assert_ne!(seed(starts[0]), seed(starts[1]), "frames of one way are foreign to the other");
    let timed: Vec<&str> = starts[8..14].iter().map(|line| line.split(" --").next().unwrap()).collect();
    assert_eq!(timed[2..4], ["start tx nic-counters", "start rx nic-counters"], "{timed:?}");
    let run = runs(&evidence, "/control")[0];
    assert_eq!((run.values["tx_rate"], run.values["tx_rate_reverse"]), (100.0, 100.0));
    assert_eq!(
        run.roles.iter().map(|role| role.role.as_str()).collect::<Vec<_>>(),
        ["receive", "receive-reverse", "counters-tx", "counters-rx", "send", "send-reverse"]
    );
}

#[test]
fn a_frame_lost_on_the_way_back_rejects_the_run() {
    let text = campaign("both_ways: true", "accept: [zero_loss]\n");
    let (evidence, ..) = conducted(
        &text,
        StandIn::new(|host, spec, job| {
            let back = host == "tx" && words(spec)[0] == "packet-receive" && job > 8;
            Ok(packet_report(spec, 100, if back { 99 } else { 100 }))
        }),
    );
    let run = runs(&evidence, "/control")[0];
    assert_eq!(run.outcome, RunOutcome::Rejected);
    assert!(run.reason.as_ref().unwrap().contains("reverse stream 0: 100 sent, 99 received"), "{run:?}");
    assert_eq!((run.values["lost"], run.values["lost_reverse"]), (0.0, 1.0));
}

#[test]
fn a_search_keeps_every_trial_and_answers_the_highest_load_without_loss() {
    let text = campaign("load: {search: zero_loss, precision: 1%, to: 900000/s}", "timeout: 10m\n");
    let (evidence, ..) = conducted(&text, device(500_000.0, 2e6));
    let run = runs(&evidence, "/control")[0];
    assert_eq!(run.outcome, RunOutcome::Measured, "{:?}", run.reason);
    let rate = run.values["zero_loss_rate"];
    assert!((495_000.0..=500_000.0).contains(&rate), "{rate}");
    // 64 B with FCS; at layer 1 another 20 B.
    assert_eq!(run.values["zero_loss_bits_l2"], rate * 64.0 * 8.0);
    assert_eq!(run.values["zero_loss_bits_l1"], rate * 84.0 * 8.0);
    let offered: Vec<f64> =
        run.samples.iter().filter(|s| *s.metric == *"offered_rate").map(|s| s.value).collect();
    assert!(offered.len() >= 5 && offered[0] == 900_000.0, "{offered:?}");
    let steps: Vec<u32> = run.samples.iter().filter_map(|s| s.step).collect();
    assert_eq!((steps[0], *steps.last().unwrap() as usize), (1, offered.len()));
    assert!(run.samples.iter().any(|s| *s.metric == *"lost") && !run.values.contains_key("tx_rate"));
}

#[test]
fn a_sender_that_cannot_offer_the_load_bounds_the_search_and_loses_nothing() {
    let text = campaign("load: {search: zero_loss, to: 900000/s}", "timeout: 10m\n");
    let (evidence, ..) = conducted(&text, device(800_000.0, 300_000.0));
    let run = runs(&evidence, "/control")[0];
    assert_eq!(run.values["zero_loss_rate"], 300_000.0);
    assert!(run.cautions.keys().any(|what| what.starts_with("host-bound")), "{:?}", run.cautions);
}

#[test]
fn a_search_that_loses_at_its_lowest_load_has_no_answer_and_says_why() {
    let text = campaign("load: {search: zero_loss, from: 1000/s, to: 900000/s}", "timeout: 10m\n");
    let (evidence, ..) = conducted(&text, device(10.0, 2e6));
    let run = runs(&evidence, "/control")[0];
    assert_eq!(run.outcome, RunOutcome::Measured);
    assert!(run.absent["zero_loss_rate"].contains("lowest load"), "{:?}", run.absent);
}

#[test]
fn every_load_of_a_list_is_a_step_of_one_run() {
    let text = campaign("load: {list: [100000/s, 400000/s, 600000/s]}", "");
    let (evidence, ..) = conducted(&text, device(500_000.0, 2e6));
    let run = runs(&evidence, "/control")[0];
    assert_eq!((run.outcome, run.values["zero_loss_rate"]), (RunOutcome::Measured, 400_000.0));
    let left: Vec<f64> = run.samples.iter().filter(|s| *s.metric == *"tx_rate").map(|s| s.value).collect();
    assert_eq!(left, [100_000.0, 400_000.0, 500_000.0]);
    let strict = text + "accept: [zero_loss]\n";
    let (evidence, ..) = conducted(&strict, device(500_000.0, 2e6));
    assert_eq!(runs(&evidence, "/control")[0].outcome, RunOutcome::Rejected, "one step of it lost frames");
}

#[test]
fn a_link_on_which_the_control_loses_a_frame_either_way_is_refused_by_name() {
    let text = campaign("rate: 1000/s", "baseline: {delivery: all}\n");
    for (lossy, way) in [("rx", "from tx.port0 to rx.port0"), ("tx", "from rx.port0 to tx.port0")] {
        let lab = StandIn::new(move |host, spec, _| {
            let timed = !words(spec).iter().any(|word| word == "--digest");
            let lost = timed && host == lossy && words(spec)[0] == "packet-receive";
            Ok(packet_report(spec, 100, if lost { 99 } else { 100 }))
        });
        let (evidence, lab, _) = conducted(&text, lab);
        assert_eq!(evidence.sums().refused, 2, "every cell on the link");
        let note = &evidence.cells[&CellId("/one".into())];
        assert_eq!((note.fate, note.stage.as_deref()), (Fate::Refused, Some("link")));
        assert!(note.reason.as_ref().unwrap().contains("rx.port0 - tx.port0"), "{note:?}");
        assert!(
            note.evidence.iter().any(|line| line.starts_with(way) && line.contains("1 lost")),
            "{note:?}"
        );
        assert!(!evidence.links[0].1.clean && evidence.links[0].1.roles.len() >= 8);
        assert!(!lab.log.iter().any(|line| line.contains("--digest")), "nothing on it was even proven");
    }
}

#[test]
fn a_clean_link_is_an_event_and_the_cells_on_it_run() {
    let text = campaign("rate: 1000/s", "baseline: {delivery: all}\n");
    let (evidence, lab, _) = conducted(&text, StandIn::new(|_, spec, _| Ok(packet_report(spec, 100, 100))));
    assert!(evidence.links.len() == 1 && evidence.links[0].1.clean);
    assert_eq!(evidence.sums().by_outcome["measured"], 2);
    let starts: Vec<&String> = lab.log.iter().filter(|line| line.contains("packet-send")).collect();
    assert!(starts[0].starts_with("start tx") && starts[1].starts_with("start rx"), "both ways: {starts:?}");
}

#[test]
fn what_a_host_cannot_do_refuses_the_cell_with_the_kernels_reason() {
    let text = PACKETS.replace("batch: '${batch}'", "batch: '${batch}', rx: af_xdp, xdp_copy: zero_copy");
    let lab = StandIn::new(|_, spec, _| {
        let mut report = packet_report(spec, 100, 100);
        if words(spec)[0] == "packet-receive" {
            report.end = fieldtrial::model::job::End::Exited(3);
            report.result =
                Some(json!({"event": "fault", "refused": true, "why": "zero-copy: Operation not supported"}));
        }
        Ok(report)
    });
    let (evidence, ..) = conducted(&text, lab);
    let note = &evidence.cells[&CellId("/control".into())];
    assert_eq!((note.fate, note.stage.as_deref()), (Fate::Refused, Some("host")));
    assert!(
        note.reason.as_ref().unwrap().contains("receive on rx: zero-copy: Operation not supported"),
        "{note:?}"
    );
}

#[test]
fn more_received_than_sent_is_never_a_rate() {
    let text = campaign("stamps: software", "");
    let lab = StandIn::new(|_, spec, job| {
        let mut report = packet_report(spec, 100, 100);
        if let Some(result) = report.result.as_mut().filter(|_| words(spec)[0] == "packet-receive" && job > 4)
        {
            result["streams"]["0"]["received"] = json!(103);
        }
        Ok(report)
    });
    let (evidence, ..) = conducted(&text, lab);
    let run = runs(&evidence, "/control")[0];
    assert!(
        run.absent["rx_rate"].contains("103 frames were received and only 100 were sent"),
        "{:?}",
        run.absent
    );
    assert_eq!(run.values["tx_rate"], 100.0);
}

#[test]
fn what_a_reader_must_know_of_a_run_stands_with_it() {
    let text = campaign("stamps: software", "").replace("settle: 0s", "settle: 10ms");
    let lab = StandIn::new(|_, spec, _| {
        let mut report = packet_report(spec, 100, 100);
        match (words(spec)[0].as_str(), report.result.as_mut()) {
            ("packet-send", Some(result)) => {
                result["bound_by"] = json!("host");
                result["handed"]["seconds"] = json!(2.5);
            }
            ("nic-counters", Some(result)) => {
                result["kernel"]["rx_crc_errors"] = json!(3);
                result["kernel_log"] = json!({"lines": ["a: entered promiscuous mode", "ice: link is down"]});
            }
            ("packet-receive", Some(result)) => {
                result["foreign"] = json!(2);
                result["foreign_kinds"] = json!({"ipv6": 2, "arp": 0});
            }
            _ => {}
        }
        Ok(report)
    });
    let (evidence, ..) = conducted(&text, lab);
    let told: Vec<String> = runs(&evidence, "/control")[0]
        .cautions
        .iter()
        .map(|(what, seen)| format!("{what}: {seen}"))
        .collect();
    for part in [
        "host-bound",
        "took longer than asked: send took 2.500 s, asked were 1.000 s",
        "rx_crc_errors +3",
        "ice: link is down",
        "ipv6 2",
        "software stamps",
        "settled for less than the default of 5 s: 10 ms",
    ] {
        assert!(told.iter().any(|line| line.contains(part)), "{part}: {told:?}");
    }
}

mod alone {
    //! Real frames on real cables, so nothing else may want the CPUs.

    use std::path::Path;
    use std::process::Command;
    use std::time::Duration;

    use crate::desk::{code, csv_rows, only_record};
    use crate::lab::Lab;
    use crate::over_ssh::{run, text, write};
    use crate::process::{self, told};

    const LIMIT: Duration = Duration::from_secs(200);

    #[test]
    fn frames_go_both_ways_at_once_and_the_search_of_a_paced_load_ends() {
        let Some(lab) = Lab::no_hosts() else { return };
        let hosts = "hosts:\n  box: {transport: netns, ports: {a: {interface: fta0, queues: 2}, b: {interface: ftb0, queues: 2}}}\nlinks: [[box.a, box.b]]\n";
        write(&lab, "hosts.yaml", hosts);
        let campaign = |load: &str, response: &str| {
            format!("\
campaign: c
question: Does it carry frames both ways?
hosts: hosts.yaml
pilot: true
control: {{set: {{batch: 8}}}}
workload:
  packets: {{between: [box.a, box.b], both_ways: true, frame_size: '64,512,1518', batch: '${{batch}}', {load}, duration: 300ms, settle: 100ms, stamps: software}}
baseline: {{delivery: all}}
verify: {{frames: 300}}
blocks: {{count: 1, order: forward}}
timeout: 60s
responses: [{{name: {response}, primary: true}}]
")
        };
        let file = write(&lab, "c.yaml", &campaign("rate: 2000/s", "rx_rate_reverse"));
        let output = run(&lab, &["run", text(&file), "--reports", "steady"]);
        assert_eq!(code(&output), 0, "{}", told(&output));
        let record = only_record(&lab.folder().join("steady"));
        let row = &csv_rows(&record.join("runs.csv"))[0];
        for column in ["rx_rate (frames/s, software stamps)", "rx_rate_reverse (frames/s, software stamps)"] {
            let rate: f64 = row[column].parse().unwrap();
            assert!((rate - 2000.0).abs() < 400.0, "{column}: {row:?}");
        }
        assert_eq!((&row["lost (frames)"][..], &row["lost_reverse (frames)"][..]), ("0", "0"));
        let page = std::fs::read_to_string(record.join("index.html")).unwrap();
        assert!(page.contains("software stamps") && page.contains("settled for less"), "the page says so");
        let journal = std::fs::read_to_string(record.join("journal.jsonl")).unwrap();
        let counters = journal.lines().filter(|line| line.contains("run_ended")).any(|line| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let roles = line["event"]["run_ended"]["roles"].as_array().unwrap().clone();
            let of = |name: &str| {
                roles.iter().find(|role| role["role"] == name).unwrap()["report"]["result"].clone()
            };
            let (tx, rx) = (of("counters-tx"), of("counters-rx"));
            assert!(tx["driver_name"] == "veth" && !tx["kernel_log"].is_null(), "{tx}");
            // Both ports sent at least what their sender handed over.
            [("send", &tx), ("send-reverse", &rx)].iter().all(|(sender, counters)| {
                counters["kernel"]["tx_packets"].as_u64() >= of(sender)["streams"]["0"]["handed"].as_u64()
            })
        });
        assert!(counters, "{journal}");
        let moved = csv_rows(&record.join("counters.csv"));
        let read = |row: &&std::collections::BTreeMap<String, String>| {
            (&row["role"][..], &row["interface"][..], &row["counter"][..])
                == ("counters-rx", "ftb0", "rx_packets")
        };
        assert!(moved.iter().find(read).expect("a row")["change"].parse::<u64>().unwrap() > 500, "{moved:?}");

        let load = "load: {search: zero_loss, precision: 20%, from: 500/s, to: 4000/s, trial: 100ms, most_trials: 8}";
        let file = write(&lab, "c.yaml", &campaign(load, "zero_loss_rate"));
        let output = run(&lab, &["run", text(&file), "--reports", "search"]);
        assert_eq!(code(&output), 0, "{}", told(&output));
        let record = only_record(&lab.folder().join("search"));
        let rate: f64 = csv_rows(&record.join("runs.csv"))[0]["zero_loss_rate (frames/s)"].parse().unwrap();
        assert!((400.0..=4100.0).contains(&rate), "{rate}");
        let samples = csv_rows(&record.join("samples.csv"));
        let trial = samples.iter().find(|row| row["metric"] == "offered_rate").expect("a trial");
        assert_eq!((&trial["step"][..], &trial["value"][..], &trial["unit"][..]), ("1", "4000", "frames/s"));
    }

    #[test]
    fn a_shortened_rx_path_measures_every_way_through_the_kernel() {
        if let Err(why) = crate::lab::allowed() {
            crate::skip::skip("bpf", &why);
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let shipped = std::fs::read_to_string(root.join("campaigns/rx-path.yaml")).unwrap();
        let hosts = root.join("hosts/netns-queues.yaml");
        let mut short = shipped;
        for (from, to) in [
            ("../hosts/netns-queues.yaml", hosts.to_str().unwrap()),
            ("dead_ends: dead-ends.yaml\n", ""),
            ("count: 8, order: mirrored, seed: 1", "count: 1, order: forward"),
            ("timeout: 30s", "timeout: 30s\npilot: true"),
            ("duration: 500ms", "duration: 300ms"),
            // Slow enough for a machine that has other work too: this is about the ways, not their speed.
            ("rate: 10000/s", "rate: 2000/s"),
            ("frame_size: [64, 1518]", "frame_size: [64]"),
        ] {
            assert!(short.contains(from), "{from}");
            short = short.replace(from, to);
        }
        std::fs::write(folder.path().join("c.yaml"), short).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_fieldtrial"));
        command.args(["run", "c.yaml", "--reports", "reports"]).current_dir(folder.path());
        command.env("XDG_CACHE_HOME", folder.path());
        let output = process::finish(&mut command, LIMIT);
        let record = only_record(&folder.path().join("reports"));
        let rows = csv_rows(&record.join("runs.csv"));
        assert_eq!(rows.len(), 10, "5 arms x 2 numbers of streams: {}", told(&output));
        assert!(rows.iter().all(|row| row["outcome"] == "measured"), "{}", told(&output));
        assert_eq!(code(&output), 0, "{}", told(&output));
    }

    #[test]
    fn latency_is_told_end_to_end_and_says_whose_stamps_it_is_from() {
        let Some(lab) = Lab::no_hosts() else { return };
        let hosts = "hosts:\n  box: {transport: netns, ports: {a: {interface: fta0}, b: {interface: ftb0}}}\nlinks: [[box.a, box.b]]\n";
        write(&lab, "hosts.yaml", hosts);
        let campaign = "\
campaign: c
question: How long is a frame under way?
hosts: hosts.yaml
pilot: true
control: {set: {batch: 8}}
workload:
  packets: {between: [box.a, box.b], frame_size: 128, batch: '${batch}', rate: 1000/s, duration: 300ms, settle: 100ms, stamps: software, latency: true}
verify: {frames: 100}
blocks: {count: 1, order: forward}
timeout: 60s
responses: [{name: latency_p50, primary: true}, {name: latency_p99}, {name: latency_p999}]
";
        let file = write(&lab, "c.yaml", campaign);
        let output = run(&lab, &["run", text(&file)]);
        assert_eq!(code(&output), 0, "{}", told(&output));
        let row = &csv_rows(&only_record(&lab.folder().join("reports")).join("runs.csv"))[0];
        let value = |name: &str| {
            row[&format!("{name} (s, software stamps)")].parse::<f64>().unwrap_or_else(|_| panic!("{row:?}"))
        };
        let (p50, p99) = (value("latency_p50"), value("latency_p99"));
        // A virtual cable takes microseconds, and a busy machine at most its patience; a clock's offset takes more.
        assert!(0.0 < p50 && p50 <= p99 && p99 < 5.0, "{p50} {p99}");
        assert!(row["absent"].starts_with("latency_p999: 4"), "400 frames cannot carry it: {row:?}");
    }

    #[test]
    fn an_agent_killed_while_its_program_is_on_a_port_leaves_no_program_there() {
        if let Err(why) = crate::lab::allowed() {
            crate::skip::skip("bpf", &why);
            return;
        }
        let Some(lab) = Lab::no_hosts() else { return };
        let sh = |line: &str| {
            let output = process::finish(lab.command("sh").args(["-c", line]), LIMIT);
            assert!(output.status.success(), "{line}: {}", told(&output));
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        sh("ip link add fta0 type veth peer name ftb0 && ip link set fta0 up && ip link set ftb0 up");
        let hosts = "hosts:\n  box: {transport: local, ports: {a: {interface: fta0}, b: {interface: ftb0}}}\nlinks: [[box.a, box.b]]\n";
        write(&lab, "hosts.yaml", hosts);
        let campaign = "\
campaign: c
question: Does a killed agent leave its program on the port?
hosts: hosts.yaml
pilot: true
control: {set: {batch: 8}}
workload:
  packets: {between: [box.a, box.b], frame_size: 64, batch: '${batch}', rate: 500/s, duration: 60s, settle: 100ms, rx: af_xdp}
verify: {frames: 100}
blocks: {count: 1, order: forward}
timeout: 90s
";
        let file = write(&lab, "c.yaml", campaign);
        let mut child = lab.fieldtrial();
        child
            .args(["run", text(&file)])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null());
        let mut child = child.spawn().expect("it starts");
        let until = |what: &str, holds: &dyn Fn() -> bool| {
            let began = std::time::Instant::now();
            while !holds() {
                assert!(began.elapsed() < Duration::from_secs(40), "{what}: not within 40 s");
                std::thread::sleep(Duration::from_millis(20));
            }
        };
        let has_program = || sh("ip link show ftb0").contains("prog/xdp");
        let timed = || {
            let journals = lab.folder().join("reports/c");
            let record = std::fs::read_dir(journals).into_iter().flatten().flatten().next();
            record.is_some_and(|record| {
                std::fs::read_to_string(record.path().join("journal.jsonl"))
                    .is_ok_and(|text| text.contains("run_began"))
            })
        };
        until("a timed run with a program on the port", &|| timed() && has_program());
        // The first of them: the others are the inits of its jobs.
        let agent = sh("grep -lzx 'agen[t]' /proc/[0-9]*/cmdline | cut -d/ -f3 | sort -n | head -1");
        sh(&format!("kill -9 {}", agent.trim()));
        until("a port without a program", &|| !has_program());
        let status = process::wait(&mut child, Duration::from_secs(60)).expect("it gives up");
        assert_eq!(status.code(), Some(12), "the host was lost");
    }
}
