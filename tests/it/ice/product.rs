//! The shipped program and the real ethtool on one card: each lists, and deletes, what the other inserted.

use serde_json::json;

use super::ethtool::{golden, masked};
use super::{Ice, PORT};

/// Rules in our words and in ethtool's.
const RULES: [(&str, &str); 12] = [
    ("ether proto 0x88b5 queue 3", "ether proto 0x88b5 action 3"),
    ("ether proto 0x88b5 drop", "ether proto 0x88b5 action -1"),
    ("ether dst 02:66:74:00:00:0b queue 3", "ether dst 02:66:74:00:00:0b action 3"),
    (
        "ether src 02:66:74:00:00:0a proto 0x0800 vlan-etype 0x8100 vlan 5 queue 3",
        "ether src 02:66:74:00:00:0a proto 0x0800 vlan-etype 0x8100 vlan 5 action 3",
    ),
    ("ip4 src-ip 192.0.2.1 dst-ip 192.0.2.2 queue 3", "ip4 src-ip 192.0.2.1 dst-ip 192.0.2.2 action 3"),
    ("ip6 dst-ip fd00::2 drop", "ip6 dst-ip fd00::2 action -1"),
    (
        "tcp4 src-ip 192.0.2.1 dst-ip 192.0.2.2 src-port 80 dst-port 8080 queue 1",
        "tcp4 src-ip 192.0.2.1 dst-ip 192.0.2.2 src-port 80 dst-port 8080 action 1",
    ),
    ("udp4 dst-port 4789 queue 15", "udp4 dst-port 4789 action 15"),
    ("udp4 dst-port 4789 vlan 7 queue 2", "udp4 dst-port 4789 vlan 7 action 2"),
    ("sctp4 src-port 9 queue 2", "sctp4 src-port 9 action 2"),
    (
        "tcp6 src-ip fd00::1 dst-ip fd00::2 dst-port 443 queue 1",
        "tcp6 src-ip fd00::1 dst-ip fd00::2 dst-port 443 action 1",
    ),
    ("udp6 src-port 53 drop", "udp6 src-port 53 action -1"),
];

#[test]
fn our_bytes_are_those_of_ethtool_and_ethtool_lists_our_rules_as_its_own() {
    for (ours, theirs) in RULES {
        let (Some(ice), Some(other)) = (Ice::new(), Ice::new()) else { return };
        ice.done("set", &["--rule", &format!("{ours} loc 10")]);
        let said = other.ethtool(&format!("-N {PORT} flow-type {theirs} loc 10"));
        assert_eq!(said, (Some(0), String::new(), String::new()), "{theirs}");
        let sent = |ice: &Ice| {
            let insertions = ice.model().insertions();
            assert_eq!(insertions.len(), 1, "{ours}");
            insertions[0].clone()
        };
        assert_eq!(masked(&sent(&ice)), masked(&sent(&other)), "{ours}");
        assert_eq!(sent(&ice), masked(&sent(&ice)), "{ours}: no byte of ours is left to chance");
        let listed = ice.ethtool(&format!("-n {PORT}"));
        assert_eq!(listed, other.ethtool(&format!("-n {PORT}")), "{ours}");
        assert!(listed.0 == Some(0) && listed.1.contains("Filter: 10\n"), "{}", listed.1);
    }
}

#[test]
fn the_shipped_program_sends_the_golden_bytes() {
    let Some(ice) = Ice::new() else { return };
    ice.done("set", &["--rule", "ether proto 0x88b5 queue 3 loc 10"]);
    let insertions = ice.model().insertions();
    assert_eq!(insertions, [golden()]);
    let (_, out, _) = ice.ethtool(&format!("-n {PORT}"));
    assert!(
        out.contains("Filter: 10\n\tFlow Type: Raw Ethernet\n")
            && out.contains("\tEthertype: 0x88B5 mask: 0x0\n")
    );
}

#[test]
fn rules_that_ethtool_inserted_are_listed_and_deleted_by_us() {
    for (ours, theirs) in RULES {
        let Some(ice) = Ice::new() else { return };
        ice.ethtool(&format!("-N {PORT} flow-type {theirs} loc 10"));
        let said = ice.done("list", &[]);
        assert_eq!(said["rules"][0]["rule"], json!(format!("{ours} loc 10")));
        assert_eq!(said["rules"][0]["ours"], json!(ours.starts_with("ether proto 0x88b5")));
        let said = ice.done("clear", &["--loc", "10"]);
        assert_eq!(said["removed"], json!([format!("{ours} loc 10")]));
        assert!(ice.rules().is_empty());
    }
}

#[test]
fn what_we_set_ethtool_deletes_and_the_place_is_free_again() {
    let Some(ice) = Ice::new() else { return };
    ice.done("set", &["--streams", "3", "--queues", "1,2,3"]);
    assert_eq!(ice.rules().into_keys().collect::<Vec<_>>(), [16_381, 16_382, 16_383]);
    assert_eq!(ice.ethtool(&format!("-N {PORT} delete 16382")).0, Some(0));
    let said = ice.done("set", &["--streams", "3", "--queues", "1,2,3"]);
    assert_eq!(said["inserted"], json!(["ether proto 0x88b6 queue 2 loc 16382"]));
    assert_eq!(said["kept"].as_array().map(Vec::len), Some(2));
}

#[test]
fn the_desired_set_is_reached_foreign_rules_stay_and_a_plan_changes_nothing() {
    let Some(ice) = Ice::new() else { return };
    for words in [
        "ether proto 0x0800 action 1 loc 16383",
        "ether proto 0x88b5 action 1 loc 16380",
        "ether proto 0x88c4 action -1 loc 3",
        "udp4 dst-port 9 action 4 loc 16382",
    ] {
        let (_, _, complaint) = ice.ethtool(&format!("-N {PORT} flow-type {words}"));
        assert_eq!(complaint, "", "{words}");
    }
    let before = ice.rules();
    let asked = ["--streams", "2", "--queues", "12,13", "--rule", "udp4 dst-port 9 queue 4"];
    let expected = json!({
        "event": "result", "port": PORT, "done": false,
        "removed": ["ether proto 0x88c4 drop loc 3"],
        "replaced": [{"was": "ether proto 0x88b5 queue 1 loc 16380", "now": "ether proto 0x88b5 queue 12 loc 16380"}],
        "inserted": ["ether proto 0x88b6 queue 13 loc 16381"],
        "kept": ["udp4 dst-port 9 queue 4 loc 16382"],
        "foreign": ["ether proto 0x0800 queue 1 loc 16383"],
    });
    assert_eq!(ice.done("plan", &asked), expected);
    assert_eq!(ice.rules(), before);
    let mut done = expected;
    done["done"] = json!(true);
    assert_eq!(ice.done("set", &asked), done);
    assert_eq!(ice.rules().into_keys().collect::<Vec<_>>(), [16_380, 16_381, 16_382, 16_383]);
    let again = ice.done("set", &asked);
    assert_eq!((&again["kept"].as_array().map(Vec::len), &again["inserted"]), (&Some(3), &json!([])));
    ice.done("clear", &[]);
    assert_eq!(ice.rules().into_keys().collect::<Vec<_>>(), [16_382, 16_383]);
}

#[test]
fn capacity_comes_from_the_list_call_and_only_reading_needs_no_rights() {
    for driver in ["igb", "mlx5_core", "igc"] {
        let Some(ice) = Ice::with(|model| {
            (model.driver, model.capacity, model.silent_count, model.queues) = (driver, 16, true, 4);
        }) else {
            return;
        };
        let said = ice.done("set", &["--streams", "2", "--queues", "1,3"]);
        let expected = json!(["ether proto 0x88b5 queue 1 loc 15", "ether proto 0x88b6 queue 3 loc 14"]);
        assert_eq!(said["inserted"], expected, "{driver}");
        ice.model().rights = false;
        let said = ice.done("list", &[]);
        assert_eq!(
            (&said["driver"], &said["capacity"], &said["queues"]),
            (&json!(driver), &json!(16), &json!(8))
        );
        assert_eq!(ice.done("plan", &["--streams", "1", "--queues", "3"])["removed"], json!([expected[1]]));
    }
}

#[test]
fn changes_that_ice_does_not_take_in_one_step_are_reached_in_two() {
    let Some(ice) = Ice::new() else { return };
    ice.done("set", &["--rule", "ether proto 0x88b5 queue 0 loc 5"]);
    let said = ice.done("set", &["--rule", "ether proto 0x88b5 drop"]);
    assert_eq!(
        (&said["removed"], &said["inserted"]),
        (&json!(["ether proto 0x88b5 queue 0 loc 5"]), &json!(["ether proto 0x88b5 drop loc 5"]))
    );
    ice.done("set", &["--rule", "ether dst 02:00:00:00:00:01 queue 2 loc 5"]);
    assert_eq!(ice.done("list", &[])["rules"][0]["rule"], json!("ether dst 02:00:00:00:00:01 queue 2 loc 5"));
}
