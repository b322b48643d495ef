//! The unmodified ethtool of Debian against the model: transcripts and bytes that are known.

use super::{Ice, PORT};

/// Bytes of a request that ethtool leaves as they were on its stack.
pub const UNSET: [std::ops::Range<usize>; 2] = [4..16, 188..192];

/// The request of `-N DEV flow-type ether proto 0x88b5 action 3 loc 10`.
pub fn golden() -> Vec<u8> {
    let mut bytes = vec![0; 192];
    bytes[0] = 0x32;
    bytes[16] = 0x12;
    bytes[32..34].copy_from_slice(&[0x88, 0xb5]);
    bytes[104..106].fill(0xff);
    (bytes[168], bytes[176]) = (3, 10);
    bytes
}

/// The request without what ethtool leaves unset.
pub fn masked(request: &[u8]) -> Vec<u8> {
    let mut bytes = request[..192].to_vec();
    UNSET.into_iter().for_each(|range| bytes[range].fill(0));
    bytes
}

const SHOWN: &str = "8 RX rings available
Total 1 rules

Filter: 10
\tFlow Type: Raw Ethernet
\tSrc MAC addr: 00:00:00:00:00:00 mask: FF:FF:FF:FF:FF:FF
\tDest MAC addr: 00:00:00:00:00:00 mask: FF:FF:FF:FF:FF:FF
\tEthertype: 0x88B5 mask: 0x0
\tAction: Direct to queue 3

";

#[test]
fn an_insertion_with_a_place_is_one_request_of_known_bytes_and_lists_as_known() {
    let Some(ice) = Ice::new() else { return };
    let said = ice.ethtool(&format!("-N {PORT} flow-type ether proto 0x88b5 action 3 loc 10"));
    assert_eq!(said, (Some(0), String::new(), String::new()));
    let log = std::mem::take(&mut ice.model().log);
    assert_eq!(log.iter().map(|request| masked(request)).collect::<Vec<_>>(), [golden()]);
    let (status, out, err) = ice.ethtool(&format!("-n {PORT}"));
    assert_eq!((status, out.as_str(), err.as_str()), (Some(0), SHOWN, ""));
    assert_eq!(ice.model().commands(), [0x2d, 0x2e, 0x30, 0x2f]);
}

#[test]
fn without_a_place_ethtool_takes_the_topmost_by_the_size_of_the_list_call() {
    for silent_count in [false, true] {
        let Some(ice) = Ice::with(|model| model.silent_count = silent_count) else { return };
        let (status, out, _) = ice.ethtool(&format!("-N {PORT} flow-type ether proto 0x88b5 action -1"));
        assert_eq!((status, out.as_str()), (Some(0), "Added rule with ID 16383\n"));
        assert_eq!(ice.model().commands(), [0x2e, 0x30, 0x32]);
        let request = ice.model().insertions()[0].clone();
        assert_eq!((&request[168..176], &request[176..180]), (&[0xff; 8][..], &[0xff, 0x3f, 0, 0][..]));
        let (_, out, _) = ice.ethtool(&format!("-n {PORT}"));
        assert!(out.contains("\tAction: Drop\n"), "{out}");
    }
}

#[test]
fn a_vlan_stands_in_the_extension() {
    let Some(ice) = Ice::new() else { return };
    ice.ethtool(&format!("-N {PORT} flow-type ether vlan 5 m 0xf000 action 3 loc 10"));
    ice.ethtool(&format!("-N {PORT} flow-type ether proto 0x88b5 vlan 5 action 3 loc 10"));
    let request = ice.model().insertions()[1].clone();
    assert_eq!(request[16..20], [0x12, 0, 0, 0x80]);
    assert_eq!((&request[82..84], &request[154..156]), (&[0, 5][..], &[0xff, 0xff][..]));
    assert!(ice.rules().is_empty(), "ice takes neither half a mask nor a type with a VLAN of no type");
}

#[test]
fn every_misuse_is_refused_in_the_words_that_ethtool_has_for_it() {
    let Some(ice) = Ice::with(|model| model.capacity = 16) else { return };
    ice.ethtool(&format!("-N {PORT} flow-type ether proto 0x88b5 action 3 loc 10"));
    let before = ice.rules();
    let insert = |what: &str| format!("rmgr: Cannot insert RX class rule: {what}\n");
    let refused = [
        ("flow-type ether proto 0x88b6 m 0x00ff action 3 loc 1", insert("Operation not supported")),
        ("flow-type ether dst 02:00:00:00:00:01 action 3 loc 1", insert("Invalid argument")),
        ("flow-type ether proto 0x88b6 action 16 loc 1", insert("Invalid argument")),
        ("flow-type ether proto 0x88b6 vf 1 queue 2 loc 1", insert("Invalid argument")),
        ("flow-type ether proto 0x88b5 action 3 loc 10", insert("Invalid argument")),
        ("flow-type ether proto 0x88b6 action 3 loc 16", insert("No space left on device")),
        ("flow-type tcp4 dst-mac 02:00:00:00:00:01 dst-port 1 action 3 loc 1", insert("Invalid argument")),
        ("flow-type tcp4 tos 1 action 3 loc 1", insert("Operation not supported")),
        (
            "delete 3",
            "rmgr: Cannot delete RX class rule: No such file or directory\nCannot delete classification rule\n"
                .to_owned(),
        ),
    ];
    for (words, expected) in refused {
        let (_, _, complaint) = ice.ethtool(&format!("-N {PORT} {words}"));
        // Older versions end well after a failed insertion and say no more; newer ones add a line.
        assert!(complaint.starts_with(&expected), "{words}: {complaint}");
    }
    let (status, _, complaint) = ice.ethtool(&format!("-n {PORT} rule 3"));
    let expected = "rxclass: Cannot get RX class rule: Invalid argument\nCannot get RX classification rule\n";
    assert_eq!((status, complaint.as_str()), (Some(1), expected));
    // A rule for another queue at its own place is an update.
    let (_, _, complaint) = ice.ethtool(&format!("-N {PORT} flow-type ether proto 0x88b5 action 4 loc 10"));
    assert_eq!(complaint, "");
    assert_eq!((before.len(), ice.rules().len()), (1, 1));
}

#[test]
fn a_full_table_an_empty_one_and_features_switched_off_are_as_known() {
    let Some(ice) = Ice::with(|model| model.capacity = 1) else { return };
    ice.ethtool(&format!("-N {PORT} flow-type ether proto 0x88b5 action 3"));
    let (_, _, complaint) = ice.ethtool(&format!("-N {PORT} flow-type ether proto 0x88b6 action 3"));
    assert!(complaint.starts_with("rmgr: Cannot find appropriate slot to insert rule\n"), "{complaint}");
    ice.model().capacity = 0;
    let (_, _, complaint) = ice.ethtool(&format!("-N {PORT} flow-type ether proto 0x88b6 action 3"));
    assert!(complaint.starts_with("rmgr: Invalid RX class rules table size: "), "{complaint}");
    ice.model().capacity = 16;
    ice.model().ntuple = false;
    let (_, _, complaint) = ice.ethtool(&format!("-N {PORT} flow-type ether proto 0x88b6 action 3 loc 2"));
    assert!(
        complaint.starts_with("rmgr: Cannot insert RX class rule: Operation not supported\n"),
        "{complaint}"
    );
    ice.model().ntuple = true;
    ice.model().busy = 1;
    let (_, _, complaint) = ice.ethtool(&format!("-N {PORT} flow-type ether proto 0x88b6 action 3 loc 2"));
    assert!(
        complaint.starts_with("rmgr: Cannot insert RX class rule: Device or resource busy\n"),
        "{complaint}"
    );
}

#[test]
fn other_requests_and_other_interfaces_go_on_to_the_kernel() {
    let Some(ice) = Ice::with(|model| model.interface = "ice0".into()) else { return };
    let (status, _, complaint) = ice.ethtool(&format!("-n {PORT}"));
    assert_eq!(status, Some(1), "{complaint}");
    assert!(complaint.contains("Operation not supported") && ice.model().log.is_empty(), "{complaint}");
}
