//! The keys of a `packets` workload, right and wrong.

use super::tests::*;
use crate::model::metric::{Need, PACKETS as METRICS};
use crate::model::workload::{LoadDeclared, Stamps, Workload};

/// The small campaign with more keys of `packets`, and more of its own.
fn with(keys: &str, rest: &str) -> String {
    PACKETS.replace("    settle: 200ms\n", &format!("    settle: 200ms\n    {keys}\n")) + rest
}

#[track_caller]
fn wrong(keys: &str, rest: &str, wanted: &str) {
    let shown = refused(&with(keys, rest));
    assert!(shown.contains(wanted), "{wanted:?} is not in:\n{shown}");
}

#[test]
fn every_key_is_read_and_its_default_is_that_of_today() {
    let all = "both_ways: true\n    tx: af_xdp\n    rx: af_xdp\n    xdp_copy: copy\n    attach: generic\n    \
               queues: [0, 1]\n    cpus: [2]\n    stamps: software\n    latency: true\n    ring: 64\n    \
               load: {search: zero_loss, precision: 2%, trial: 100ms, from: 5000/s, to: 9000/s, most_trials: 7}";
    let campaign = good(&with(all, "baseline: {delivery: all}\n"));
    assert!(campaign.baseline);
    assert_eq!(campaign.responses[0].name, "zero_loss_rate", "the natural response of a search");
    let Workload::Packets(declared) = campaign.workload else { panic!() };
    assert_eq!((declared.both_ways.as_str(), declared.queues.len(), declared.cpus.len()), ("true", 2, 1));
    assert_eq!(
        (declared.stamps, declared.latency, declared.ring.as_str()),
        (Some(Stamps::Software), true, "64")
    );
    let LoadDeclared::Search(search) = declared.load else { panic!() };
    assert_eq!((search.trial.as_deref(), search.most_trials.as_str()), (Some("100ms"), "7"));
    let plain = good(&with("", ""));
    assert!(!plain.baseline && plain.responses[0].name == "tx_rate");
}

#[test]
fn loads_that_contradict_themselves_are_refused() {
    wrong("rate: 5/s\n    load: {search: zero_loss}", "", "expected one of `rate` and `load`, found both");
    wrong("load: {}", "", "expected `list` or `search`, found neither");
    wrong("load: {list: [5/s, 6/s], search: zero_loss}", "", "expected `list` or `search`, found both");
    wrong("load: {list: [5/s]}", "", "at least two loads");
    wrong("load: {list: [5/s, 7]}", "", "`list`: expected frames per second and stream");
    wrong("load: {list: [5/s, 6/s], precision: 1%}", "", "`precision` belongs to a search");
    wrong("load: {search: zero_los}", "", "did you mean `zero_loss`?");
    wrong("load: {search: zero_loss, precision: 1}", "", "`precision`: expected a percentage");
    wrong("load: {search: zero_loss}", "timeout: 30s\n", "in at most 30 trials");
    wrong("load: {list: [5/s, 6/s, 7/s]}", "timeout: 3s\n", "in 3 steps");
    wrong("load: {search: zero_loss}", "timeout: 9m\naccept: [zero_loss]\n", "would reject every run");
}

#[test]
fn words_of_paths_are_checked() {
    wrong("rx: xdp", "", "`rx`: expected `af_packet` or `af_packet_recvmmsg` or `af_xdp`, found `xdp`");
    wrong("tx: af_xdpp", "", "`tx`: expected `af_packet` or `af_xdp` or `xdp_live`");
    wrong("xdp_copy: zero-copy", "", "`xdp_copy`: expected `auto` or `copy` or `zero_copy`");
    wrong("queues: []", "", "`queues`: expected at least one number");
    wrong("cpus: [a]", "", "`cpus`: expected a whole number");
    wrong("both_ways: yes", "", "`both_ways`: expected `true` or `false`");
    wrong("stamps: kernel", "", "`stamps`: expected `hardware` or `software`");
    wrong("latency: true", "", "`latency` needs stamps of received frames");
    wrong("", "baseline: {delivery: most}\n", "`delivery`: expected `all`");
    let text = refused(&command("{n: [1]}", &["n"], "baseline: {delivery: all}\n"));
    assert!(text.contains("`baseline` is about links"), "{text}");
}

#[test]
fn a_response_that_could_never_have_a_value_is_refused_with_what_it_needs() {
    let named = |name: &str| format!("responses: [{{name: {name}}}]\n");
    wrong("", &named("rx_rate"), "comes from stamps of received frames");
    wrong("", &named("zero_loss_rate"), "comes from several loads, and this workload has one");
    wrong("load: {list: [5/s, 6/s]}", &named("tx_rate"), "is of one steady load");
    wrong("", &named("lost_reverse"), "is of the other direction, and frames go one way");
    wrong("stamps: software", &named("latency_p99"), "carry the instant of their sending");
    good(&with("both_ways: true\n    stamps: hardware", &named("rx_rate_reverse")));
}

#[test]
fn what_comes_from_software_stamps_says_so_in_its_unit() {
    let unit = |stamps: &str, name: &str| {
        let keys = format!("stamps: {stamps}\n    latency: true");
        good(&with(&keys, &format!("responses: [{{name: {name}}}]\n"))).responses[0].unit.clone()
    };
    for metric in
        METRICS.iter().filter(|m| m.needs.contains(&Need::Stamps) && !m.needs.contains(&Need::BothWays))
    {
        assert_eq!(unit("software", metric.name), format!("{}, software stamps", metric.unit));
        assert_eq!(unit("hardware", metric.name), metric.unit);
    }
    assert_eq!(unit("software", "tx_rate"), "frames/s");
    good(&with("stamps: software", "responses: [{name: rx_rate, unit: frames/s}]\n"));
}
