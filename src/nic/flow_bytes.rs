//! Flow rules to the kernel's bytes and back.

use core::net::{Ipv4Addr, Ipv6Addr};

use super::rxnfc::{self, COOKIE_DROP, COOKIE_WAKE, FLOW_EXT, PartialMask, Rxnfc, VALUE};
use crate::model::flow_rule::{FieldValue, FlowAction, FlowKind, FlowRule};

/// The byte of an IPv4 user flow that says so (ETH_RX_NFC_IP4), with its place in the values.
const IP_VERSION: (usize, u8) = (13, 1);

const TYPES: [(FlowKind, u32); 9] = [
    (FlowKind::Ether, rxnfc::ETHER),
    (FlowKind::Ip4, rxnfc::IP4),
    (FlowKind::Ip6, rxnfc::IP6),
    (FlowKind::Tcp4, rxnfc::TCP4),
    (FlowKind::Udp4, rxnfc::UDP4),
    (FlowKind::Sctp4, rxnfc::SCTP4),
    (FlowKind::Tcp6, rxnfc::TCP6),
    (FlowKind::Udp6, rxnfc::UDP6),
    (FlowKind::Sctp6, rxnfc::SCTP6),
];

/// Where a field stands: in the values of the flow, or in the extension that all flows have.
#[derive(Clone, Copy)]
enum Place {
    Flow(usize, usize),
    Extension(usize),
}

fn place(kind: FlowKind, word: &str) -> Place {
    let address = match kind {
        FlowKind::Ip6 | FlowKind::Tcp6 | FlowKind::Udp6 | FlowKind::Sctp6 => 16,
        _ => 4,
    };
    match word {
        "dst" => Place::Flow(0, 6),
        "src" => Place::Flow(6, 6),
        "proto" => Place::Flow(12, 2),
        "src-ip" => Place::Flow(0, address),
        "dst-ip" => Place::Flow(address, address),
        "src-port" => Place::Flow(2 * address, 2),
        "dst-port" => Place::Flow(2 * address + 2, 2),
        "vlan-etype" => Place::Extension(8),
        _ => Place::Extension(10),
    }
}

/// The rule as the kernel takes it, at its location, or at 0 where it names none.
#[must_use]
pub fn emit(rule: &FlowRule) -> Rxnfc {
    let mut bytes = Rxnfc::ask(rxnfc::SRXCLSRLINS);
    let flow_type = TYPES.iter().find(|(kind, _)| *kind == rule.kind).map_or(0, |(_, number)| *number);
    bytes.set_flow_type(flow_type);
    if rule.kind == FlowKind::Ip4 {
        bytes.0[VALUE + IP_VERSION.0] = IP_VERSION.1;
    }
    for (word, value) in &rule.fields {
        let value = octets(*value);
        match (place(rule.kind, word), &value[..]) {
            (Place::Flow(at, _), value) => bytes.match_fully(at, value),
            (Place::Extension(at), [a, b]) => bytes.match_extension(at, [*a, *b]),
            (Place::Extension(_), _) => {}
        }
    }
    bytes.set_cookie(match rule.action {
        FlowAction::Queue(queue) => queue.into(),
        FlowAction::Drop => COOKIE_DROP,
    });
    bytes.set_location(rule.location.unwrap_or(0));
    bytes
}

/// The rule in our words; None where it has what these cannot say, such as a mask of some bits, a
/// field we do not know, a virtual function or an RSS context.
#[must_use]
pub fn parse(bytes: &Rxnfc) -> Option<FlowRule> {
    let kind = TYPES.iter().find(|(_, number)| *number == bytes.flow_type())?.0;
    let action = match bytes.cookie() {
        COOKIE_DROP => FlowAction::Drop,
        cookie => FlowAction::Queue(cookie.try_into().ok()?),
    };
    let mut fields = Vec::new();
    for word in kind.words() {
        if let Some(value) = field(bytes, kind, word).ok()? {
            fields.push((*word, value));
        }
    }
    let rule = FlowRule { kind, fields, action, location: Some(bytes.location()) };
    // What was passed over above makes a difference here.
    let same = emit(&rule).matches_like(bytes);
    (same && !rule.fields.is_empty()).then_some(rule)
}

fn field(bytes: &Rxnfc, kind: FlowKind, word: &str) -> Result<Option<FieldValue>, PartialMask> {
    let found = match place(kind, word) {
        Place::Flow(at, length) => bytes.matched(at, length)?,
        Place::Extension(_) if bytes.flags() & FLOW_EXT == 0 => None,
        Place::Extension(at) => bytes.matched_extension(at)?,
    };
    let Some(found) = found else { return Ok(None) };
    Ok(Some(match (word, found) {
        ("proto" | "vlan-etype", [a, b]) => FieldValue::Ethertype(u16::from_be_bytes([*a, *b])),
        (_, [a, b]) => FieldValue::Number(u16::from_be_bytes([*a, *b])),
        (_, [a, b, c, d]) => FieldValue::V4(Ipv4Addr::new(*a, *b, *c, *d)),
        (_, [a, b, c, d, e, f]) => FieldValue::Mac([*a, *b, *c, *d, *e, *f]),
        (_, long) => FieldValue::V6(Ipv6Addr::from(<[u8; 16]>::try_from(long).map_err(|_| PartialMask)?)),
    }))
}

fn octets(value: FieldValue) -> Vec<u8> {
    match value {
        FieldValue::Mac(address) => address.to_vec(),
        FieldValue::V4(address) => address.octets().to_vec(),
        FieldValue::V6(address) => address.octets().to_vec(),
        FieldValue::Number(number) | FieldValue::Ethertype(number) => number.to_be_bytes().to_vec(),
    }
}

/// A rule for people: in our words where they suffice, else its flow type and all bytes that count.
#[must_use]
pub fn text(bytes: &Rxnfc) -> String {
    parse(bytes).map_or_else(
        || {
            let action = match bytes.cookie() {
                COOKIE_DROP => "drop".to_owned(),
                COOKIE_WAKE => "wake the host".to_owned(),
                cookie if cookie >> 32 == 0 => format!("queue {cookie}"),
                cookie => format!("queue {} vf {}", cookie as u32, (cookie >> 32) - 1),
            };
            let (flow, location) = (bytes.flow_type() | bytes.flags(), bytes.location());
            format!("flow type {flow:#x} with masks or fields of its own, {action} loc {location}")
        },
        |rule| rule.to_string(),
    )
}

/// The bytes of a rule, sixteen a line with their offsets, lines of zeros left out.
#[must_use]
pub fn dump(bytes: &Rxnfc) -> String {
    let lines = bytes.0.chunks(16).enumerate().filter(|(_, line)| line.iter().any(|byte| *byte != 0));
    let lines = lines.map(|(n, line)| {
        let line: Vec<String> = line.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{:>4}: {}", n * 16, line.join(" "))
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
#[cfg(target_endian = "little")]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::nic::rxnfc::{BYTES, ask_for_places, places};

    /// Bytes of `ethtool -N DEV flow-type ether proto 0x88b5 action 3 loc 10`, with zero where that
    /// program leaves what was on its stack.
    fn golden() -> Rxnfc {
        let mut bytes = [0; BYTES];
        for (at, part) in [
            (0, &[0x32][..]),
            (16, &[0x12]),
            (32, &[0x88, 0xb5]),
            (104, &[0xff, 0xff]),
            (168, &[3]),
            (176, &[0x0a]),
        ] {
            bytes[at..at + part.len()].copy_from_slice(part);
        }
        Rxnfc(bytes)
    }

    fn rule(text: &str) -> FlowRule {
        text.parse().expect(text)
    }

    #[test]
    fn the_golden_bytes_are_emitted_and_read() {
        assert_eq!(emit(&rule("ether proto 0x88b5 queue 3 loc 10")), golden());
        assert_eq!(parse(&golden()), Some(rule("ether proto 0x88b5 queue 3 loc 10")));
    }

    #[test]
    fn drop_and_vlan_change_the_bytes_that_they_change_in_ethtool() {
        let drop = emit(&rule("ether proto 0x88b5 drop loc 10"));
        assert_eq!(drop.0[168..176], [0xff; 8]);
        let vlan = emit(&rule("ether proto 0x88b5 vlan 5 queue 3 loc 16383"));
        assert_eq!(vlan.0[16..20], [0x12, 0, 0, 0x80]);
        assert_eq!((&vlan.0[82..84], &vlan.0[154..156]), (&[0, 5][..], &[0xff, 0xff][..]));
        assert_eq!(vlan.0[176..180], [0xff, 0x3f, 0, 0]);
    }

    #[test]
    fn fields_stand_where_the_kernel_header_has_them() {
        let v4 = emit(&rule("tcp4 src-ip 1.2.3.4 dst-ip 5.6.7.8 src-port 258 dst-port 772 queue 1"));
        assert_eq!(v4.0[20..32], [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4]);
        assert_eq!((&v4.0[92..104], v4.0[104]), (&[0xff; 12][..], 0));
        let v6 = emit(&rule("udp6 src-ip ::1 dst-ip ::2 src-port 258 dst-port 772 queue 1"));
        assert_eq!((v6.0[35], v6.0[51], &v6.0[52..56]), (1, 2, &[1, 2, 3, 4][..]));
        let ether = emit(&rule("ether src 02:00:00:00:00:01 dst 02:00:00:00:00:02 queue 1"));
        assert_eq!(ether.0[20..32], [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn what_our_words_cannot_say_is_no_rule_of_ours_and_still_shown() {
        let changed = |at: usize, byte: u8| {
            let mut bytes = golden();
            bytes.0[at] = byte;
            bytes
        };
        for (at, byte) in [(105, 0xf0), (92, 0xff), (172, 1), (19, 0x20), (16, 0x33), (106, 1)] {
            let bytes = changed(at, byte);
            assert_eq!(parse(&bytes), None, "byte {at}");
            assert!(text(&bytes).contains("loc 10"), "{}", text(&bytes));
        }
        assert!(text(&changed(172, 2)).contains("queue 3 vf 1"), "{}", text(&changed(172, 2)));
        let mut any = golden();
        any.0[104..106].fill(0);
        assert_eq!(parse(&any), None, "a rule that matches nothing in particular");
    }

    #[test]
    fn values_that_no_mask_looks_at_and_unflagged_extensions_do_not_count() {
        let mut other = golden();
        other.0[20] = 7;
        other.0[82..84].fill(9);
        other.0[154..156].fill(0xff);
        assert!(other.matches_like(&golden()));
        assert_eq!(parse(&other), Some(rule("ether proto 0x88b5 queue 3 loc 10")));
    }

    #[test]
    fn places_are_read_from_inside_the_tail_of_the_structure() {
        let mut answer = ask_for_places(3);
        assert_eq!(answer.len(), 200);
        answer[8..16].copy_from_slice(&16_384u64.to_ne_bytes());
        for (n, place) in [16_383u32, 7, 10].into_iter().enumerate() {
            answer[188 + 4 * n..][..4].copy_from_slice(&place.to_ne_bytes());
        }
        assert_eq!(places(&answer), Some((16_384, vec![16_383, 7, 10])));
        assert_eq!(ask_for_places(0).len(), BYTES);
        assert_eq!(places(&answer[..199]), None);
    }

    #[test]
    fn the_dump_shows_the_lines_that_hold_something() {
        let shown = dump(&golden());
        assert!(shown.starts_with("   0: 32 00") && shown.contains("\n  32: 88 b5 00"), "{shown}");
        assert_eq!(shown.lines().count(), 6);
    }

    fn any_rule() -> impl Strategy<Value = FlowRule> {
        let kinds = prop::sample::select(TYPES.map(|(kind, _)| kind).to_vec());
        (kinds, any::<[u8; 40]>(), 1u8..64, any::<Option<u32>>(), any::<u32>()).prop_map(
            |(kind, seed, chosen, queue, location)| {
                let words = kind.words().iter().enumerate();
                let mut fields: Vec<_> = words
                    .filter(|(n, _)| chosen >> n & 1 == 1)
                    .map(|(n, word)| (*word, some_value(kind, word, &seed[n..])))
                    .collect();
                if fields.is_empty() {
                    let word = kind.words()[0];
                    fields.push((word, some_value(kind, word, &seed)));
                }
                let action = queue.map_or(FlowAction::Drop, FlowAction::Queue);
                FlowRule { kind, fields, action, location: Some(location >> 1) }
            },
        )
    }

    fn some_value(kind: FlowKind, word: &str, seed: &[u8]) -> FieldValue {
        let number = u16::from_be_bytes([seed[0], seed[1]]);
        match (word, place(kind, word)) {
            ("vlan", _) => FieldValue::Number(number % 4096),
            ("proto" | "vlan-etype", _) => FieldValue::Ethertype(number),
            (_, Place::Flow(_, 6)) => FieldValue::Mac(*seed.first_chunk().expect("long enough")),
            (_, Place::Flow(_, 4)) => {
                FieldValue::V4(Ipv4Addr::from(*seed.first_chunk::<4>().expect("long enough")))
            }
            (_, Place::Flow(_, 16)) => {
                FieldValue::V6(Ipv6Addr::from(*seed.first_chunk::<16>().expect("long enough")))
            }
            _ => FieldValue::Number(number),
        }
    }

    proptest! {
        #[test]
        fn every_rule_survives_bytes_and_text(rule in any_rule()) {
            let bytes = emit(&rule);
            prop_assert_eq!(parse(&bytes), Some(rule.clone()));
            prop_assert_eq!(text(&bytes).parse::<FlowRule>().expect("own text"), rule);
        }

        #[test]
        fn no_bytes_of_a_driver_make_the_reader_fail(bytes in proptest::collection::vec(any::<u8>(), BYTES)) {
            let bytes = Rxnfc(bytes.try_into().expect("as long"));
            let shown = text(&bytes);
            let plain = shown.parse::<FlowRule>().is_ok();
            prop_assert_eq!(parse(&bytes).is_some(), plain);
        }
    }
}
