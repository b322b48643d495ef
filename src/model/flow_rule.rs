//! A flow rule: which frames a port's card puts on which receive queue.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// IEEE's first "local experimental" ethertype, for stream 0; stream n has n more, because flow
/// rules tell raw streams apart by nothing else.
pub const ETHERTYPE_BASE: u16 = 0x88b5;
/// Ends before 0x88cc (LLDP), which switches and drivers treat by themselves.
pub const MOST_STREAMS: u16 = 16;

/// One rule in the words of `ethtool -N`, each field matched in full or not at all:
/// `ether proto 0x88b5 queue 3`, `udp4 dst-port 4789 drop`, `tcp6 dst-ip fd00::1 queue 2 loc 10`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FlowRule {
    pub kind: FlowKind,
    /// In the order of `FlowKind::words`; never empty.
    pub fields: Vec<(&'static str, FieldValue)>,
    pub action: FlowAction,
    /// The place in the card's table; None lets us choose a free one.
    pub location: Option<u32>,
}

/// What kind of frame a rule looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowKind {
    Ether,
    Ip4,
    Ip6,
    Tcp4,
    Udp4,
    Sctp4,
    Tcp6,
    Udp6,
    Sctp6,
}

/// What a field must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldValue {
    Mac([u8; 6]),
    V4(Ipv4Addr),
    V6(Ipv6Addr),
    /// A port, or a VLAN's tag control information.
    Number(u16),
    /// Written with 0x.
    Ethertype(u16),
}

/// What becomes of the frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowAction {
    Queue(u32),
    Drop,
}

/// Why a text is no rule; each says what was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FlowRuleError {
    #[error("expected a kind of frame first, one of {kinds}, found {found:?}", kinds = kinds())]
    Kind { found: String },
    #[error("`{kind}` rules have no {found:?}: expected one of {fields}, then `queue N` or `drop`", fields = kind.words().join(", "))]
    Field { kind: FlowKind, found: String },
    #[error("expected {expected} after `{word}`, found {found:?}")]
    Value { word: String, expected: &'static str, found: String },
    #[error("`{word}` is given twice")]
    Twice { word: String },
    #[error("a rule that matches nothing in particular would take every frame: expected at least one of {fields}", fields = kind.words().join(", "))]
    Empty { kind: FlowKind },
    #[error("expected what becomes of the frames, `queue N` or `drop`, found nothing")]
    NoAction,
    #[error(
        "`vf {found}`: a queue of a virtual function belongs to the guest that has it, and frames sent there \
         are out of this host's sight; expected a queue of the port itself, as in `queue 2`"
    )]
    VirtualFunction { found: String },
    #[error("the rule drops frames where a queue is asked for; expected `queue N`")]
    DropForQueue,
}

impl FlowKind {
    const ALL: [(FlowKind, &'static str); 9] = [
        (Self::Ether, "ether"),
        (Self::Ip4, "ip4"),
        (Self::Ip6, "ip6"),
        (Self::Tcp4, "tcp4"),
        (Self::Udp4, "udp4"),
        (Self::Sctp4, "sctp4"),
        (Self::Tcp6, "tcp6"),
        (Self::Udp6, "udp6"),
        (Self::Sctp6, "sctp6"),
    ];

    /// Words of the fields that such a rule can match.
    #[must_use]
    pub fn words(self) -> &'static [&'static str] {
        match self {
            Self::Ether => &["src", "dst", "proto", "vlan-etype", "vlan"],
            Self::Ip4 | Self::Ip6 => &["src-ip", "dst-ip", "vlan-etype", "vlan"],
            _ => &["src-ip", "dst-ip", "src-port", "dst-port", "vlan-etype", "vlan"],
        }
    }

    fn is_v6(self) -> bool {
        matches!(self, Self::Ip6 | Self::Tcp6 | Self::Udp6 | Self::Sctp6)
    }
}

impl FlowRule {
    /// The rule that puts a stream of ours on a queue.
    #[must_use]
    pub fn of_stream(stream: u16, queue: u32) -> Self {
        Self {
            kind: FlowKind::Ether,
            fields: vec![("proto", FieldValue::Ethertype(ETHERTYPE_BASE + stream))],
            action: FlowAction::Queue(queue),
            location: None,
        }
    }

    /// One rule per stream: stream n goes to the n-th of `queues`.
    ///
    /// # Errors
    /// More streams than queues, or a number of streams that cannot be. The text says what was expected.
    pub fn of_streams(streams: u16, queues: &[u32]) -> Result<Vec<Self>, String> {
        if !(1..=MOST_STREAMS).contains(&streams) {
            return Err(format!("expected 1 to {MOST_STREAMS} streams, found {streams}"));
        }
        if queues.len() < usize::from(streams) {
            return Err(format!(
                "{streams} streams need a queue each, found {} queues; name more, or one of them twice on purpose",
                queues.len()
            ));
        }
        Ok((0..streams).zip(queues).map(|(stream, queue)| Self::of_stream(stream, *queue)).collect())
    }

    /// What the rule says of a field.
    #[must_use]
    pub fn field(&self, word: &str) -> Option<FieldValue> {
        self.fields.iter().find(|(name, _)| *name == word).map(|(_, value)| *value)
    }
}

/// A queue's number as a user writes it in a list of queues.
///
/// # Errors
/// `drop`, a virtual function, or no number, each by itself.
pub fn queue(text: &str) -> Result<u32, FlowRuleError> {
    if text == "drop" {
        return Err(FlowRuleError::DropForQueue);
    }
    // The kernel keeps the function's number above the 32 bits of the queue (ethtool_get_flow_spec_ring_vf).
    if let Ok(cookie) = text.parse::<u64>()
        && cookie > u64::from(u32::MAX)
    {
        return Err(FlowRuleError::VirtualFunction { found: (cookie >> 32).to_string() });
    }
    text.parse().map_err(|_| value("queue", "a queue's number from 0 on", text))
}

impl FromStr for FlowRule {
    type Err = FlowRuleError;

    fn from_str(text: &str) -> Result<Self, FlowRuleError> {
        let mut words = text.split_whitespace();
        let first = words.next().unwrap_or_default();
        let kind = FlowKind::ALL.iter().find(|(_, name)| *name == first);
        let kind = kind.ok_or_else(|| FlowRuleError::Kind { found: first.to_owned() })?.0;
        let (mut fields, mut action, mut location) = (Vec::new(), None, None);
        while let Some(word) = words.next() {
            let twice = || FlowRuleError::Twice { word: word.to_owned() };
            let mut next = || words.next().unwrap_or_default();
            match word {
                "drop" | "queue" if action.is_some() => return Err(twice()),
                "drop" => action = Some(FlowAction::Drop),
                "queue" => action = Some(FlowAction::Queue(queue(next())?)),
                "vf" => return Err(FlowRuleError::VirtualFunction { found: next().to_owned() }),
                "loc" if location.is_some() => return Err(twice()),
                "loc" => {
                    let found = next();
                    // The top bit asks the driver to choose, which is refused by ice (RX_CLS_LOC_SPECIAL).
                    let place = found.parse().ok().filter(|place| *place < 1 << 31);
                    location = Some(place.ok_or_else(|| value(word, "a place in the card's table", found))?);
                }
                _ => {
                    let known = kind.words().iter().position(|known| *known == word);
                    let at = known.ok_or_else(|| FlowRuleError::Field { kind, found: word.to_owned() })?;
                    if fields.iter().any(|(seen, _, _)| *seen == at) {
                        return Err(twice());
                    }
                    fields.push((at, kind.words()[at], field(kind, word, next())?));
                }
            }
        }
        fields.sort_by_key(|(at, _, _)| *at);
        if fields.is_empty() {
            return Err(FlowRuleError::Empty { kind });
        }
        let fields = fields.into_iter().map(|(_, word, value)| (word, value)).collect();
        Ok(Self { kind, fields, action: action.ok_or(FlowRuleError::NoAction)?, location })
    }
}

fn field(kind: FlowKind, word: &str, text: &str) -> Result<FieldValue, FlowRuleError> {
    let (found, expected) = match word {
        "src" | "dst" => (mac(text).map(FieldValue::Mac), "an address like 02:66:74:00:00:0b"),
        "proto" | "vlan-etype" => (ethertype(text).map(FieldValue::Ethertype), "an ethertype like 0x88b5"),
        "vlan" => {
            let tag = text.parse().ok().filter(|tag| *tag < 4096);
            (tag.map(FieldValue::Number), "a VLAN's number from 0 to 4095")
        }
        "src-port" | "dst-port" => (text.parse().ok().map(FieldValue::Number), "a port from 0 to 65535"),
        _ if kind.is_v6() => (text.parse().ok().map(FieldValue::V6), "an IPv6 address"),
        _ => (text.parse().ok().map(FieldValue::V4), "an IPv4 address"),
    };
    found.ok_or_else(|| value(word, expected, text))
}

fn value(word: &str, expected: &'static str, found: &str) -> FlowRuleError {
    FlowRuleError::Value { word: word.to_owned(), expected, found: found.to_owned() }
}

fn ethertype(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    digits.map_or_else(|| text.parse().ok(), |hex| u16::from_str_radix(hex, 16).ok())
}

fn mac(text: &str) -> Option<[u8; 6]> {
    let bytes = text.split(':').map(|byte| (byte.len() <= 2).then(|| u8::from_str_radix(byte, 16).ok())?);
    bytes.collect::<Option<Vec<u8>>>()?.try_into().ok()
}

fn kinds() -> String {
    FlowKind::ALL.map(|(_, name)| name).join(", ")
}

impl fmt::Display for FlowKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::ALL.iter().find(|(kind, _)| kind == self).map_or("", |(_, name)| name))
    }
}

impl fmt::Display for FieldValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mac([a, b, c, d, e, g]) => write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}"),
            Self::V4(address) => write!(f, "{address}"),
            Self::V6(address) => write!(f, "{address}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Ethertype(number) => write!(f, "{number:#06x}"),
        }
    }
}

impl fmt::Display for FlowAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Queue(queue) => write!(f, "queue {queue}"),
            Self::Drop => f.write_str("drop"),
        }
    }
}

impl fmt::Display for FlowRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        self.fields.iter().try_for_each(|(word, value)| write!(f, " {word} {value}"))?;
        write!(f, " {}", self.action)?;
        self.location.map_or(Ok(()), |place| write!(f, " loc {place}"))
    }
}

impl TryFrom<String> for FlowRule {
    type Error = FlowRuleError;

    fn try_from(text: String) -> Result<Self, FlowRuleError> {
        text.parse()
    }
}

impl From<FlowRule> for String {
    fn from(rule: FlowRule) -> String {
        rule.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_reads_back_as_it_is_written() {
        for text in [
            "ether proto 0x88b5 queue 3",
            "ether src 02:66:74:00:00:0a dst 02:66:74:00:00:0b proto 0x0800 vlan-etype 0x8100 vlan 5 drop loc 0",
            "ip4 dst-ip 192.0.2.1 queue 4294967295",
            "ip6 src-ip fd00::1 drop",
            "tcp4 src-ip 192.0.2.1 dst-ip 192.0.2.2 src-port 1 dst-port 65535 queue 0 loc 2147483647",
            "udp4 dst-port 4789 drop",
            "sctp4 src-port 1 queue 1",
            "tcp6 dst-ip fd00::2 vlan 7 queue 1",
            "udp6 dst-port 9 queue 1",
            "sctp6 dst-port 9 queue 1",
        ] {
            let rule: FlowRule = text.parse().expect(text);
            assert_eq!(rule.to_string(), text);
            let json = serde_json::to_string(&rule).expect("json");
            assert_eq!(serde_json::from_str::<FlowRule>(&json).expect("json"), rule);
        }
        let rule: FlowRule = " ether  queue 3 vlan 5 proto 34997 loc 1".parse().expect("any order");
        assert_eq!(rule.to_string(), "ether proto 0x88b5 vlan 5 queue 3 loc 1");
    }

    #[test]
    fn each_mistake_has_an_error_of_its_own_that_says_what_was_expected() {
        for (text, said) in [
            ("", "one of ether, ip4"),
            ("eth proto 0x88b5 queue 1", "found \"eth\""),
            ("ether dst-port 5 queue 1", "expected one of src, dst, proto, vlan-etype, vlan"),
            ("ether proto 0x88b5x queue 1", "an ethertype like 0x88b5"),
            ("ether proto", "an ethertype like 0x88b5 after `proto`, found \"\""),
            ("ether src 02:00 queue 1", "an address like"),
            ("ether vlan 4096 queue 1", "0 to 4095"),
            ("tcp4 dst-ip fd00::1 queue 1", "an IPv4 address"),
            ("tcp6 dst-ip 192.0.2.1 queue 1", "an IPv6 address"),
            ("udp4 dst-port 65536 queue 1", "0 to 65535"),
            ("udp4 dst-port 1 dst-port 2 queue 1", "given twice"),
            ("udp4 dst-port 1 queue 1 drop", "given twice"),
            ("udp4 queue 1", "at least one of src-ip"),
            ("udp4 dst-port 1", "`queue N` or `drop`"),
            ("udp4 dst-port 1 queue", "a queue's number"),
            ("udp4 dst-port 1 queue -1", "a queue's number"),
            ("udp4 dst-port 1 queue 2 vf 1", "virtual function"),
            ("udp4 dst-port 1 queue 8589934594", "virtual function"),
            ("udp4 dst-port 1 queue 2 loc 2147483648", "a place in the card's table"),
            ("udp4 dst-port 1 queue 2 loc any", "a place in the card's table"),
        ] {
            let error = text.parse::<FlowRule>().expect_err(text).to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
        assert_eq!(queue("drop"), Err(FlowRuleError::DropForQueue));
    }

    #[test]
    fn each_stream_has_a_queue() {
        let rules = FlowRule::of_streams(2, &[4, 2, 7]).expect("two streams");
        let texts: Vec<String> = rules.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["ether proto 0x88b5 queue 4", "ether proto 0x88b6 queue 2"]);
        assert!(FlowRule::of_streams(0, &[1]).is_err() && FlowRule::of_streams(17, &[1; 17]).is_err());
        assert!(FlowRule::of_streams(2, &[1]).expect_err("too few").contains("found 1 queues"));
    }
}
