//! Hosts files, right and wrong.

use super::*;
use crate::model::hosts::{Become, Transport};
use crate::yaml::{self, Source};

const LAB: &str = "\
hosts:
  tx:
    transport: netns
    ports: {port0: {interface: a0}}
  rx:
    transport: netns
    ports: {port0: {interface: b0}}
links: [[tx.port0, rx.port0]]
";

fn shown(text: &str) -> (Parsed, String) {
    let source = Source::new("h.yaml", text);
    let parsed = parse(&source);
    let shown = yaml::render(&parsed.complaints, &source, false);
    (parsed, shown)
}

#[track_caller]
fn good(text: &str) -> crate::model::hosts::Hosts {
    let (parsed, shown) = shown(text);
    assert!(parsed.complaints.is_empty(), "{shown}{text}");
    parsed.hosts.expect("hosts without complaints")
}

#[track_caller]
fn refused(text: &str, wanted: &str) -> String {
    let (parsed, shown) = shown(text);
    assert!(parsed.hosts.is_none() && shown.contains(wanted), "{wanted:?} is not in:\n{shown}{text}");
    shown
}

#[track_caller]
fn changed(from: &str, to: &str, wanted: &str) {
    assert!(LAB.contains(from), "{from}");
    refused(&LAB.replace(from, to), wanted);
}

const SHIPPED: [&str; 4] = [
    include_str!("../../hosts/netns.yaml"),
    include_str!("../../hosts/netns-queues.yaml"),
    include_str!("../../hosts/local.yaml"),
    include_str!("../../hosts/ssh-example.yaml"),
];

#[test]
fn every_shipped_hosts_file_parses_without_complaints_and_fits_the_schema() {
    let validator = jsonschema::validator_for(&schema()).expect("a schema");
    for text in SHIPPED {
        good(text);
        let node = yaml::read(&Source::new("h.yaml", text), &mut Vec::new()).expect("YAML");
        let faults: Vec<String> =
            validator.iter_errors(&yaml::plain(&node)).map(|error| error.to_string()).collect();
        assert_eq!(faults, Vec::<String>::new(), "{text}");
        assert!(text.starts_with("# yaml-language-server: $schema=../schemas/hosts.schema.json\n"));
    }
}

#[test]
fn the_schema_file_is_in_step() {
    let expected = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    let same = include_str!("../../schemas/hosts.schema.json") == expected;
    assert!(same, "run: fieldtrial schema hosts > schemas/hosts.schema.json");
}

#[test]
fn the_schema_knows_the_keys_that_the_parser_knows() {
    let schema = schema();
    for (place, keys) in [
        (&schema, parse::KEYS.as_slice()),
        (&schema["definitions"]["Host"], &host::HOST_KEYS),
        (&schema["definitions"]["Port"], &host::PORT_KEYS),
    ] {
        let mut found: Vec<&str> =
            place["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        let mut known = keys.to_vec();
        found.sort_unstable();
        known.sort_unstable();
        assert_eq!(found, known);
    }
}

#[test]
fn a_lab_of_namespaces_arrives_with_its_defaults() {
    let hosts = good(LAB);
    assert_eq!(hosts.lease_ms, 10_000);
    assert_eq!(hosts.hosts["tx"].transport, Transport::Netns);
    assert_eq!(hosts.hosts["rx"].ports["port0"].interface, "b0");
    assert_eq!(
        (hosts.links[0].0.to_string(), hosts.links[0].1.to_string()),
        ("tx.port0".into(), "rx.port0".into())
    );
}

#[test]
fn a_host_over_ssh_arrives_with_all_it_says() {
    let text = "\
hosts:
  a: {ssh: lab-a, user: bench, config: ssh.conf, become: sudo, require: {cores: cpu_count >= 2}}
  b: {transport: ssh, ports: {p: {interface: enp1s0, expect: {driver: ice, speed: 100000}}}}
require: {linux: \"kernel.startsWith('6.')\"}
lease: 1m
";
    let hosts = good(text);
    let a = &hosts.hosts["a"];
    let expected = Transport::Ssh {
        alias: "lab-a".into(),
        user: Some("bench".into()),
        config: Some("ssh.conf".into()),
        r#become: Become::Sudo,
    };
    assert_eq!(a.transport, expected);
    assert_eq!(a.requirements.keys().collect::<Vec<_>>(), ["linux", "cores"]);
    let b = &hosts.hosts["b"];
    assert!(matches!(&b.transport, Transport::Ssh { alias, r#become: Become::No, .. } if alias == "b"));
    assert_eq!(b.ports["p"].expect["speed"], "100000");
    assert_eq!(hosts.lease_ms, 60_000);
}

#[test]
fn keys_hosts_and_ports_must_be_known_and_sane() {
    changed("transport: netns", "transprot: netns", "did you mean `transport`?");
    changed("transport: netns", "transport: netsn", "did you mean `netns`?");
    changed("  tx:\n", "  t.x:\n", "the name of a host: expected letters");
    changed("{port0: {interface: a0}}", "{p.0: {interface: a0}}", "the name of a port: expected letters");
    changed("interface: a0", "interface: abcdefghijklmnop", "at most 15 characters");
    changed("interface: a0", "interface: a/0", "the name of an interface");
    changed("interface: a0", "interface: \"\"", "the name of an interface");
    changed("interface: a0", "interface: lo", "the loopback cannot");
    changed("interface: a0", "driver: ice", "lacks the key `interface`");
    changed("{interface: a0}}", "{interface: a0}, port1: {interface: a0}}", "name the same interface");
    changed("  rx:\n", "  tx:\n", "the key `tx` is given twice");
    changed("links:", "lease: 10\nlinks:", "a duration with its unit");
    changed("links:", "lease: 1ms\nlinks:", "from 1s to 10m");
    refused("hosts: {}\n", "at least one host");
    refused("links: []\n", "lacks the key `hosts`");
    refused("hosts: {a: {}}\n", "lacks the key `transport`");
    refused("hosts: {a: {transport: local}, b: {transport: local}}\n", "`a` and `b` are both this machine");
}

#[test]
fn links_join_two_ports_of_the_file_once() {
    changed("[tx.port0, rx.port0]", "[tx.port0, rx.prot0]", "did you mean `rx.port0`?");
    changed("[tx.port0, rx.port0]", "[tx.port0]", "two ports like `[tx.port0, rx.port0]`");
    changed("[tx.port0, rx.port0]", "[tx.port0, tx.port0]", "the port `tx.port0` has two cables");
    changed("[[tx.port0, rx.port0]]", "[[tx.port0, rx.port0], [rx.port0, tx.port0]]", "has two cables");
    changed("links: [[tx.port0, rx.port0]]\n", "", "the port `tx.port0` has no link");
    changed(
        "rx:\n    transport: netns",
        "rx:\n    transport: local",
        "can only be linked to a port of another `netns` host",
    );
    // Two ports of one host may be cabled to each other.
    good("hosts: {a: {ssh: a, ports: {p: {interface: e0}, q: {interface: e1}}}}\nlinks: [[a.p, a.q]]\n");
}

#[test]
fn what_ssh_is_given_cannot_be_an_option_of_it() {
    for wrong in ["-oProxyCommand=x", "\"a b\"", "\"\"", "\"a\\nb\""] {
        refused(&format!("hosts: {{a: {{ssh: {wrong}}}}}\n"), "`ssh`: expected");
        refused(&format!("hosts: {{a: {{ssh: a, user: {wrong}}}}}\n"), "`user`: expected");
    }
    refused(
        "hosts: {a: {transport: local, become: sudo}}\n",
        "only means something for a host reached over ssh",
    );
    refused("hosts: {a: {transport: netns, ssh: a}}\n", "only means something for a host reached over ssh");
    refused("hosts: {a: {ssh: a, become: root}}\n", "expected `sudo` or `no`");
}

#[test]
fn requirements_are_rules_with_their_place() {
    let shown = refused("hosts: {a: {ssh: a}}\nrequire:\n  cores: cpu_count > ) 2\n", "this is not a rule");
    assert!(shown.contains("h.yaml:3:22"), "{shown}");
    let both = "hosts: {a: {ssh: a, require: {cores: cpu_count >= 4}}}\nrequire: {cores: cpu_count >= 2}\n";
    refused(both, "the requirement `cores` is already one of every host");
}

#[test]
fn other_lines_of_a_hosts_file_are_never_shown() {
    let text = "hosts:\n  a: {ssh: a}\n  # token: hunter2\n  b: {ssh: b, usr: x}\n  c: {user: hunter3, ssh: c}\n  a: {ssh: d}\n";
    let shown = refused(text, "did you mean `user`?");
    assert!(!shown.contains("hunter"), "{shown}");
}
