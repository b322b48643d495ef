//! The settings of hosts and ports that a campaign may hold: their names, what each takes, and where it was tried.

use super::cpus;
use super::flow_rule::{self, FlowRule};

/// One setting as a campaign may name it under `hold`.
#[derive(Debug)]
pub struct Known {
    pub name: &'static str,
    pub scope: Scope,
    pub takes: Takes,
    pub tried: Tried,
    /// What it is, for tables.
    pub what: &'static str,
}

/// What a setting belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Host,
    Port,
}

/// The values that a setting takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// `on` or `off`.
    Switch,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A word that the host itself knows.
    Word,
    /// A whole number from the first to the second.
    Count(u64, u64),
    /// A word, or a whole number up to the bound.
    WordOrCount(&'static str, u64),
    /// A list of processors.
    Cpus,
    /// A list of processors, or `off`.
    CpusOrOff,
    /// Names of services, joined by commas.
    Services,
    /// A receive queue for each stream, such as `1,2,3`, or `none`.
    StreamQueues,
}

/// Where a setting was really exercised by the tests of fieldtrial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tried {
    /// Changed and put back on virtual cables of a real kernel.
    Veth,
    /// Changed and put back on a model of the kernel's files; real hardware was not part of it.
    Model,
    /// A service of the host's own scripts was really stopped and started again; systemd was not part of it.
    Scripts,
    /// Changed and put back on a model of a card's driver that Debian's own ethtool agrees with.
    DriverModel,
    /// Compiled, and refused where it is absent; it needs hardware that the tests do not have.
    Hardware,
}

impl Tried {
    pub fn name(self) -> &'static str {
        match self {
            Tried::Veth => "veth",
            Tried::Model => "model",
            Tried::Scripts => "init scripts",
            Tried::DriverModel => "driver model",
            Tried::Hardware => "hardware only",
        }
    }
}

const MOST: u64 = u32::MAX as u64;

const fn host(name: &'static str, takes: Takes, tried: Tried, what: &'static str) -> Known {
    Known { name, scope: Scope::Host, takes, tried, what }
}

const fn port(name: &'static str, takes: Takes, tried: Tried, what: &'static str) -> Known {
    Known { name, scope: Scope::Port, takes, tried, what }
}

/// The setting that `steer` of a campaign brings about.
pub const STREAM_QUEUES: &str = "stream_queues";

/// Every setting, in the order in which they are applied: what makes queues first, then what lives in
/// them. They are put back in the reverse order.
pub const KNOWN: [Known; 33] = [
    host("stopped_services", Takes::Services, Tried::Scripts, "services that do not run meanwhile"),
    host("governor", Takes::Word, Tried::Model, "frequency governor of every processor"),
    host("energy_preference", Takes::Word, Tried::Model, "energy performance preference of every processor"),
    host("turbo", Takes::Switch, Tried::Model, "frequencies above the nominal one"),
    host("power_mode", Takes::Word, Tried::Model, "platform profile of the firmware"),
    host(
        "cstates",
        Takes::WordOrCount("all", 1_000_000),
        Tried::Model,
        "idle states, by the longest exit latency allowed in µs",
    ),
    port("autoneg", Takes::Switch, Tried::Hardware, "autonegotiation of the link"),
    port(
        "fec",
        Takes::OneOf(&["off", "auto", "rs", "baser", "llrs"]),
        Tried::Hardware,
        "forward error correction",
    ),
    port(
        "pause",
        Takes::OneOf(&["off", "on", "rx", "tx"]),
        Tried::Hardware,
        "pause frames; on they hide loss",
    ),
    port("lldp", Takes::Switch, Tried::Hardware, "LLDP agent in the firmware of the card"),
    port("queues", Takes::Count(1, MOST), Tried::Veth, "channels: receive and transmit queues"),
    port("rings", Takes::Count(1, MOST), Tried::Hardware, "descriptors of every receive and transmit ring"),
    port("mtu", Takes::Count(1280, 65_535), Tried::Veth, "largest packet in bytes"),
    port("tx_checksum", Takes::Switch, Tried::Veth, "offload: checksums of sent packets"),
    port("rx_checksum", Takes::Switch, Tried::Veth, "offload: checksums of received packets"),
    port("scatter_gather", Takes::Switch, Tried::Veth, "offload: packets in pieces"),
    port("tso", Takes::Switch, Tried::Veth, "offload: TCP segmentation by the card"),
    port("gso", Takes::Switch, Tried::Veth, "offload: segmentation before the driver"),
    port("gro", Takes::Switch, Tried::Veth, "offload: merging of received packets"),
    port("lro", Takes::Switch, Tried::Hardware, "offload: merging of received packets by the card"),
    port("rx_hash", Takes::Switch, Tried::Hardware, "offload: hashes of received packets"),
    port("ntuple", Takes::Switch, Tried::Hardware, "offload: flow steering rules"),
    port(
        STREAM_QUEUES,
        Takes::StreamQueues,
        Tried::DriverModel,
        "receive queue of each stream, by a flow rule for its ethertype",
    ),
    port("coalesce", Takes::WordOrCount("adaptive", MOST), Tried::Hardware, "interrupt delay in µs"),
    port("rx_filter", Takes::Word, Tried::Hardware, "which received frames get a hardware time stamp"),
    port("promiscuous", Takes::Switch, Tried::Veth, "frames to any address are received"),
    port("ipv6", Takes::Switch, Tried::Veth, "IPv6, which sends frames of its own"),
    port("threaded_napi", Takes::Switch, Tried::Veth, "receive work in threads"),
    port("gro_flush_timeout", Takes::Count(0, MOST), Tried::Veth, "ns until merged packets are passed on"),
    port(
        "napi_defer_hard_irqs",
        Takes::Count(0, i32::MAX as u64),
        Tried::Veth,
        "empty polls before interrupts are on again",
    ),
    port("irq_affinity", Takes::Cpus, Tried::Model, "processors of the interrupts, one each in turn"),
    port("rps", Takes::CpusOrOff, Tried::Veth, "processors that share the packets of every receive queue"),
    port("xps", Takes::CpusOrOff, Tried::Veth, "processors of the transmit queues, one each in turn"),
];

/// The setting of that name.
pub fn known(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name == name)
}

impl Known {
    /// Whether the setting takes this value.
    ///
    /// # Errors
    /// What was expected.
    pub fn check(&self, value: &str) -> Result<(), String> {
        let count = |most: u64, least: u64| {
            value.parse::<u64>().is_ok_and(|n| (least..=most).contains(&n)).then_some(()).ok_or(())
        };
        match self.takes {
            Takes::Switch if ["on", "off"].contains(&value) => Ok(()),
            Takes::Switch => Err("`on` or `off`".into()),
            Takes::OneOf(words) if words.contains(&value) => Ok(()),
            Takes::OneOf(words) => Err(format!("one of {}", words.join(", "))),
            Takes::Word if is_word(value) => Ok(()),
            Takes::Word => Err("one word".into()),
            Takes::Count(least, most) => {
                count(most, least).map_err(|()| format!("a whole number from {least} to {most}"))
            }
            Takes::WordOrCount(word, _) if value == word => Ok(()),
            Takes::WordOrCount(word, most) => {
                count(most, 0).map_err(|()| format!("`{word}` or a whole number up to {most}"))
            }
            Takes::CpusOrOff if value == "off" => Ok(()),
            Takes::Cpus | Takes::CpusOrOff => cpus::parse(value).map(drop),
            Takes::Services if value.split(',').all(|name| service(name.trim())) => Ok(()),
            Takes::Services => Err("names of services, such as `cron,docker`".into()),
            Takes::StreamQueues => stream_queues(value).map(drop),
        }
    }
}

/// The rules of streams 0, 1, 2 … that put each on the queue named for it; `none` has no rules.
///
/// # Errors
/// What was expected.
pub fn stream_queues(value: &str) -> Result<Vec<FlowRule>, String> {
    if value == "none" {
        return Ok(vec![]);
    }
    let queues = value.split(',').map(|text| flow_rule::queue(text.trim()).map_err(|e| e.to_string()));
    let queues: Vec<u32> = queues.collect::<Result<_, _>>()?;
    FlowRule::of_streams(u16::try_from(queues.len()).unwrap_or(u16::MAX), &queues)
}

/// Whether this may be the name of a service.
pub fn service(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "@_.:-".contains(c);
    (1..=128).contains(&name.len()) && name.chars().all(plain) && !name.starts_with(['-', '.'])
}

fn is_word(text: &str) -> bool {
    let odd = |each: char| each.is_whitespace() || each.is_control() || "/[]".contains(each);
    (1..=64).contains(&text.len()) && !text.contains(odd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_takes_what_it_says_and_nothing_else() {
        let good = [
            ("governor", "performance"),
            ("turbo", "off"),
            ("cstates", "all"),
            ("cstates", "0"),
            ("pause", "rx"),
            ("queues", "7"),
            ("mtu", "1500"),
            ("coalesce", "adaptive"),
            ("coalesce", "50"),
            ("rps", "off"),
            ("xps", "0-3,8"),
            ("irq_affinity", "2"),
            ("fec", "rs"),
            ("rx_filter", "all"),
            ("stream_queues", "1,2,3"),
            ("stream_queues", "none"),
        ];
        for (name, value) in good {
            assert_eq!(known(name).unwrap().check(value), Ok(()), "{name}: {value}");
        }
        let bad = [
            ("governor", ""),
            ("governor", "a b"),
            ("governor", "../x"),
            ("turbo", "true"),
            ("cstates", "deep"),
            ("pause", "maybe"),
            ("queues", "0"),
            ("queues", "-1"),
            ("mtu", "64"),
            ("coalesce", "fast"),
            ("irq_affinity", "off"),
            ("xps", "3-1"),
            ("fec", "on"),
            ("stream_queues", ""),
            ("stream_queues", "1,drop"),
            ("stream_queues", "1;2"),
        ];
        for (name, value) in bad {
            assert!(known(name).unwrap().check(value).is_err(), "{name}: {value}");
        }
        assert!(known("governer").is_none());
    }
}
