//! The work of one cell: a declared workload with every template filled in.

use std::ops::RangeInclusive;

use super::blank::fill;
use super::role_work;
use crate::model::frame_size::Sizes;
use crate::model::hosts::PortRef;
use crate::model::job::PageCache;
use crate::model::setting;
use crate::model::shell::{self, NoWords};
use crate::model::workload::{
    Load, LoadDeclared, PacketWork, PacketsDeclared, RxPath, SearchPlan, TxPath, Work, Workload,
};
use crate::rule::Assertion;
use crate::yaml::quantity;

/// Each stream has an ethertype of its own, from 0x88b5 on and short of LLDP's 0x88cc.
const STREAMS: RangeInclusive<u64> = 1..=16;
/// One `sendmmsg` takes at most 1024 messages (`UIO_MAXIOV`).
const BATCH: RangeInclusive<u64> = 1..=1024;
/// Shorter than 10 ms a rate is no rate; longer than a day nobody waits.
const DURATION_MS: RangeInclusive<u64> = 10..=86_400_000;
const SETTLE_MS: RangeInclusive<u64> = 0..=600_000;
/// Queues of an interface, more than any card has.
const QUEUE: RangeInclusive<u64> = 0..=4095;
/// `CPU_SETSIZE` of the C library.
const CPU: RangeInclusive<u64> = 0..=1023;
const CPU_COUNT: RangeInclusive<u64> = 1..=1024;
/// An agent remembers 4096 jobs at once, and one run has to fit in beside others.
const INVOCATIONS: RangeInclusive<u64> = 1..=1000;
const TCP_PORT: RangeInclusive<u64> = 1..=65535;
const PATIENCE_MS: RangeInclusive<u64> = 1..=86_400_000;
const UNITS: RangeInclusive<u64> = 1..=1_000_000_000_000;
const EFFECT: &str = "a condition like `bytes_read <= 1MiB`";
/// What the receiver's tool takes, in MiB.
const RING_MIB: RangeInclusive<u64> = 4..=4096;
const MOST_TRIALS: RangeInclusive<u64> = 2..=1000;
const XDP_COPY: [&str; 3] = ["auto", "copy", "zero_copy"];
const ATTACH: [&str; 3] = ["auto", "native", "generic"];

/// What a filled-in template must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    FrameSize,
    Streams,
    Batch,
    /// One steady load, or `max`.
    Rate,
    /// One of several loads.
    Step,
    Precision,
    Trial,
    MostTrials,
    Duration,
    Settle,
    /// `host.port`.
    Port,
    Flag,
    TxPath,
    RxPath,
    XdpCopy,
    Attach,
    Queue,
    Cpu,
    Ring,
    Host,
    /// How many processors a role is confined to.
    CpuCount,
    /// `cold` or `warm`.
    Cache,
    /// How often a program is started.
    Invocations,
    /// A SHA-256 in hex digits.
    Digest,
    /// A TCP port to be listened on.
    TcpPort,
    /// A regular expression over lines.
    Pattern,
    /// How long a role may take until it is ready.
    Patience,
    /// A line that has words without a shell.
    Line,
    /// Units of work of one run.
    Units,
    /// A condition on figures of the work.
    Effect,
    /// A file below the working folder.
    Below,
    /// A path or program: any text that is not empty.
    Words,
    /// Any text.
    Text,
    /// The value of a setting of hosts or ports, by the setting's name.
    Held(&'static str),
}

impl Field {
    /// Whether `text` is such a thing. The error says what was expected.
    pub(super) fn check(self, text: &str) -> Result<(), String> {
        if text.contains('\0') {
            return Err("text without the character NUL".to_owned());
        }
        match self {
            Field::FrameSize => frame_size(text).map(drop),
            Field::Streams => streams(text).map(drop),
            Field::Batch => batch(text).map(drop),
            Field::Rate => quantity::rate(text).map(drop),
            Field::Step => step(text).map(drop),
            Field::Precision => quantity::percent(text).map(drop),
            Field::MostTrials => most_trials(text).map(drop),
            Field::Duration | Field::Trial => duration_ms(text).map(drop),
            Field::Settle => settle_ms(text).map(drop),
            Field::Port => port(text).map(drop),
            Field::Flag => flag(text).map(drop),
            Field::TxPath => word(text, &TxPath::ALL).map(drop),
            Field::RxPath => word(text, &RxPath::ALL).map(drop),
            Field::XdpCopy => xdp_copy(text).map(drop),
            Field::Attach => attach(text).map(drop),
            Field::Queue => queue(text).map(drop),
            Field::Cpu => cpu(text).map(drop),
            Field::Ring => ring_mib(text).map(drop),
            Field::CpuCount => cpu_count(text).map(drop),
            Field::Cache => cache(text).map(drop),
            Field::Invocations => invocations(text).map(drop),
            Field::Digest if text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit()) => Ok(()),
            Field::Digest => Err("a SHA-256 in 64 hex digits".to_owned()),
            Field::TcpPort => tcp_port(text).map(drop),
            Field::Pattern => pattern(text).map(drop),
            Field::Patience => patience_ms(text).map(drop),
            Field::Units => quantity::count(text, UNITS).map(drop),
            Field::Effect => Assertion::parse(text).map(drop).map_err(|_| EFFECT.to_owned()),
            Field::Below => below(text),
            Field::Host if is_name(text) => Ok(()),
            Field::Host => Err("the name of a host in the hosts file".to_owned()),
            Field::Line => line(text).map(drop),
            Field::Words if text.trim().is_empty() => Err("text that is not empty".to_owned()),
            Field::Held(name) => setting::known(name).map_or(Ok(()), |known| known.check(text)),
            Field::Words | Field::Text => Ok(()),
        }
    }
}

/// Fills in `workload` for one cell: `lookup` gives the text of a variable or setting, `ports` the
/// interface of a port. Fails with a sentence that names the field.
pub fn resolve<'a>(
    workload: &Workload,
    lookup: &dyn Fn(&str) -> Option<&'a str>,
    ports: &dyn Fn(&PortRef) -> Option<String>,
    seed: u64,
) -> Result<Work, String> {
    match workload {
        Workload::Packets(declared) => {
            packets(declared, lookup, ports, seed).map(|work| Work::Packets(Box::new(work)))
        }
        Workload::Command(declared) => {
            role_work::resolve(declared, lookup).map(|work| Work::Command(Box::new(work)))
        }
    }
}

pub(super) type Lookup<'l, 'a> = &'l dyn Fn(&str) -> Option<&'a str>;

fn packets(
    declared: &PacketsDeclared,
    lookup: Lookup<'_, '_>,
    ports: &dyn Fn(&PortRef) -> Option<String>,
    seed: u64,
) -> Result<PacketWork, String> {
    let end = |template: &str| -> Result<(PortRef, String), String> {
        let port = field("between", template, lookup, port)?;
        let interface =
            ports(&port).ok_or_else(|| format!("between: the hosts file has no port `{port}`"))?;
        Ok((port, interface))
    };
    let numbers = |what: &str, templates: &[String], read: fn(&str) -> Result<u32, String>| {
        templates.iter().map(|each| field(what, each, lookup, read)).collect::<Result<Vec<u32>, String>>()
    };
    let (tx, tx_interface) = end(&declared.between.0)?;
    let (rx, rx_interface) = end(&declared.between.1)?;
    if tx == rx {
        return Err(format!("between: expected two ports, found `{tx}` twice"));
    }
    let duration_ms = field("duration", &declared.duration, lookup, duration_ms)?;
    Ok(PacketWork {
        tx,
        tx_interface,
        rx,
        rx_interface,
        both_ways: field("both_ways", &declared.both_ways, lookup, flag)?,
        frame_size: field("frame_size", &declared.frame_size, lookup, frame_size)?,
        streams: field("streams", &declared.streams, lookup, streams)?,
        batch: field("batch", &declared.batch, lookup, batch)?,
        load: load(&declared.load, duration_ms, lookup)?,
        duration_ms,
        settle_ms: field("settle", &declared.settle, lookup, settle_ms)?,
        tx_path: field("tx", &declared.tx, lookup, |text| word(text, &TxPath::ALL))?,
        rx_path: field("rx", &declared.rx, lookup, |text| word(text, &RxPath::ALL))?,
        xdp_copy: field("xdp_copy", &declared.xdp_copy, lookup, xdp_copy)?,
        attach: field("attach", &declared.attach, lookup, attach)?,
        queues: numbers("queues", &declared.queues, queue)?,
        cpus: numbers("cpus", &declared.cpus, cpu)?,
        stamps: declared.stamps,
        latency: declared.latency,
        ring_mib: field("ring", &declared.ring, lookup, ring_mib)?,
        proof_frames: declared.proof_frames,
        seed,
    })
}

fn load(declared: &LoadDeclared, duration_ms: u64, lookup: Lookup<'_, '_>) -> Result<Load, String> {
    match declared {
        LoadDeclared::Steady(rate) => Ok(Load::Steady(field("rate", rate, lookup, quantity::rate)?)),
        LoadDeclared::List(list) => {
            let steps = list.iter().map(|each| field("list", each, lookup, step));
            Ok(Load::List(steps.collect::<Result<_, _>>()?))
        }
        LoadDeclared::Search(search) => {
            let trial = search.trial.as_deref().map(|trial| field("trial", trial, lookup, self::duration_ms));
            let plan = SearchPlan {
                precision: field("precision", &search.precision, lookup, quantity::percent)?,
                trial_ms: trial.transpose()?.unwrap_or(duration_ms),
                from: field("from", &search.from, lookup, step)?,
                to: field("to", &search.to, lookup, quantity::rate)?,
                most_trials: field("most_trials", &search.most_trials, lookup, most_trials)? as u32,
            };
            if plan.trial_ms > duration_ms {
                return Err("trial: expected no more than `duration`, over which the end is confirmed".into());
            }
            if let Some(to) = plan.to.filter(|to| *to <= plan.from) {
                return Err(format!("load: expected `to` above `from`, found {to}/s and {}/s", plan.from));
            }
            Ok(Load::Search(plan))
        }
    }
}

pub(super) fn line(text: &str) -> Result<Vec<String>, String> {
    shell::words(text).map_err(|why| match why {
        NoWords::NeedsShell(sign) => format!(
            "a program and plain words, since `{}` needs a shell (write `shell:` in place of `run:`, or quote it)",
            sign.escape_debug()
        ),
        NoWords::Open(quote) => format!("a line in which every `{quote}` is closed"),
        NoWords::Empty => "a program and its arguments".to_owned(),
    })
}

/// A template with every name replaced by its level's text. Fails with a sentence.
pub fn filled<'a>(template: &str, lookup: &dyn Fn(&str) -> Option<&'a str>) -> Result<String, String> {
    fill(template, lookup)
}

pub(super) fn field<T>(
    what: &str,
    template: &str,
    lookup: Lookup<'_, '_>,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<T, String> {
    let text = fill(template, lookup).map_err(|why| format!("{what}: {why}"))?;
    read(&text).map_err(|expected| format!("{what}: expected {expected}, found `{text}`"))
}

fn frame_size(text: &str) -> Result<Sizes, String> {
    text.parse().map_err(|_| {
        "bytes with FCS from 64 to 1518: one size, a list (`64,512,1518`), a sweep (`64-1518/64`), `imix` or `imix-csit`"
            .to_owned()
    })
}

fn streams(text: &str) -> Result<u16, String> {
    quantity::count(text, STREAMS).map(|count| count as u16)
}

fn batch(text: &str) -> Result<u32, String> {
    quantity::count(text, BATCH).map(|count| count as u32)
}

fn step(text: &str) -> Result<f64, String> {
    quantity::rate(text).ok().flatten().ok_or("frames per second and stream (like `200000/s`)".to_owned())
}

fn most_trials(text: &str) -> Result<u64, String> {
    quantity::count(text, MOST_TRIALS)
}

fn duration_ms(text: &str) -> Result<u64, String> {
    quantity::duration_ms(text, DURATION_MS)
}

fn settle_ms(text: &str) -> Result<u64, String> {
    quantity::duration_ms(text, SETTLE_MS)
}

fn queue(text: &str) -> Result<u32, String> {
    quantity::count(text, QUEUE).map(|count| count as u32)
}

pub(super) fn cpu(text: &str) -> Result<u32, String> {
    quantity::count(text, CPU).map(|count| count as u32)
}

pub(super) fn cpu_count(text: &str) -> Result<u32, String> {
    quantity::count(text, CPU_COUNT).map(|count| count as u32)
}

pub(super) fn invocations(text: &str) -> Result<u32, String> {
    quantity::count(text, INVOCATIONS).map(|count| count as u32)
}

pub(super) fn cache(text: &str) -> Result<PageCache, String> {
    word(text, &[("cold", PageCache::Cold), ("warm", PageCache::Warm)])
}

pub(super) fn tcp_port(text: &str) -> Result<u16, String> {
    quantity::count(text, TCP_PORT).map(|port| port as u16)
}

/// The text itself, once it has been compiled.
pub(super) fn pattern(text: &str) -> Result<String, String> {
    let wanted = |why: String| format!("a regular expression ({why})");
    match regex::Regex::new(text) {
        Ok(_) if text.is_empty() => Err(wanted("an empty one fits every line".into())),
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(wanted(error.to_string().lines().last().unwrap_or_default().trim().to_owned())),
    }
}

pub(super) fn patience_ms(text: &str) -> Result<u64, String> {
    quantity::duration_ms(text, PATIENCE_MS)
}

fn ring_mib(text: &str) -> Result<u32, String> {
    quantity::count(text, RING_MIB).map(|count| count as u32)
}

fn flag(text: &str) -> Result<bool, String> {
    word(text, &[("true", true), ("false", false)])
}

fn xdp_copy(text: &str) -> Result<String, String> {
    word(text, &XDP_COPY.map(|name| (name, name))).map(str::to_owned)
}

fn attach(text: &str) -> Result<String, String> {
    word(text, &ATTACH.map(|name| (name, name))).map(str::to_owned)
}

/// A file that leads out of the working folder is nobody's result.
fn below(text: &str) -> Result<(), String> {
    let steps = text.split('/');
    let stays = !text.is_empty() && steps.clone().all(|step| !step.is_empty() && step != "..");
    if stays { Ok(()) } else { Err("a file below the working folder, like `out/result.json`".to_owned()) }
}

/// One of a few words.
fn word<T: Copy>(text: &str, words: &[(&str, T)]) -> Result<T, String> {
    words.iter().find(|(name, _)| *name == text).map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<String> = words.iter().map(|(name, _)| format!("`{name}`")).collect();
        names.join(" or ")
    })
}

/// `host.port`, each a name of the hosts file.
fn port(text: &str) -> Result<PortRef, String> {
    match text.split_once('.') {
        Some((host, port)) if is_name(host) && is_name(port) => {
            Ok(PortRef { host: host.to_owned(), port: port.to_owned() })
        }
        _ => Err("a port of a host, like `tx.port0`".to_owned()),
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|each| each.is_ascii_alphanumeric() || "_-".contains(each))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::workload::SearchDeclared;

    fn lookup(name: &str) -> Option<&'static str> {
        match name {
            "size" => Some("64"),
            "batch" => Some("1"),
            "end" => Some("port1"),
            _ => None,
        }
    }

    fn interface(port: &PortRef) -> Option<String> {
        (port.host == "tx").then(|| format!("eth-{}", port.port))
    }

    fn declared() -> PacketsDeclared {
        PacketsDeclared {
            between: ("tx.port0".into(), "tx.${end}".into()),
            frame_size: "${size}".into(),
            streams: "2".into(),
            batch: "${batch}".into(),
            both_ways: "true".into(),
            load: LoadDeclared::Steady("1000/s".into()),
            duration: "1s".into(),
            settle: "200ms".into(),
            tx: "af_packet".into(),
            rx: "af_xdp".into(),
            xdp_copy: "auto".into(),
            attach: "native".into(),
            queues: vec!["0".into(), "${batch}".into()],
            cpus: vec![],
            stamps: None,
            latency: false,
            ring: "64".into(),
            proof_frames: 5,
        }
    }

    fn resolved(declared: PacketsDeclared) -> Result<Work, String> {
        resolve(&Workload::Packets(Box::new(declared)), &lookup, &interface, 7)
    }

    #[test]
    fn packets_are_filled_in_from_levels_and_ports() {
        let expected = PacketWork {
            tx: PortRef { host: "tx".into(), port: "port0".into() },
            tx_interface: "eth-port0".into(),
            rx: PortRef { host: "tx".into(), port: "port1".into() },
            rx_interface: "eth-port1".into(),
            both_ways: true,
            frame_size: "64".parse().expect("a size"),
            streams: 2,
            batch: 1,
            load: Load::Steady(Some(1000.0)),
            duration_ms: 1000,
            settle_ms: 200,
            tx_path: TxPath::AfPacket,
            rx_path: RxPath::AfXdp,
            xdp_copy: "auto".into(),
            attach: "native".into(),
            queues: vec![0, 1],
            cpus: vec![],
            stamps: None,
            latency: false,
            ring_mib: 64,
            proof_frames: 5,
            seed: 7,
        };
        assert_eq!(resolved(declared()), Ok(Work::Packets(Box::new(expected))));
    }

    #[test]
    fn what_does_not_fit_is_a_sentence_that_names_the_field() {
        let wrong = |change: &dyn Fn(&mut PacketsDeclared)| {
            let mut packets = declared();
            change(&mut packets);
            resolved(packets).unwrap_err()
        };
        assert!(wrong(&|it| it.frame_size = "63".into()).starts_with("frame_size: expected bytes"));
        assert!(wrong(&|it| it.frame_size = "1519".into()).contains("found `1519`"));
        assert!(wrong(&|it| it.streams = "65".into()).starts_with("streams: expected"));
        assert!(wrong(&|it| it.batch = "1025".into()).starts_with("batch: expected"));
        let steady = |text: &str| LoadDeclared::Steady(text.into());
        assert!(wrong(&|it| it.load = steady("fast")).starts_with("rate: expected"));
        let list = |last: &str| LoadDeclared::List(vec!["1000/s".into(), last.into()]);
        assert!(wrong(&|it| it.load = list("max")).starts_with("list: expected frames per second"));
        let search = |trial: &str, to: &str| {
            let (trial, to) = (Some(trial.into()), to.into());
            let (precision, from, most_trials) = ("1%".into(), "1000/s".into(), "9".into());
            LoadDeclared::Search(SearchDeclared { precision, trial, from, to, most_trials })
        };
        assert!(wrong(&|it| it.load = search("2s", "max")).starts_with("trial: expected no more than"));
        assert!(wrong(&|it| it.load = search("1s", "900/s")).contains("expected `to` above `from`"));
        assert!(wrong(&|it| it.rx = "af_xpd".into()).contains("`af_packet_recvmmsg` or `af_xdp`"));
        assert!(wrong(&|it| it.queues[0] = "x".into()).starts_with("queues: expected"));
        assert!(wrong(&|it| it.settle = "1".into()).starts_with("settle: expected"));
        assert!(wrong(&|it| it.duration = "${sizes}".into()).contains("`${sizes}` is no variable"));
        assert!(wrong(&|it| it.between.1 = "rx.p".into()).contains("the hosts file has no port `rx.p`"));
        assert!(wrong(&|it| it.between.1 = "tx.port0".into()).contains("expected two ports"));
    }
}
