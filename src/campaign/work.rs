//! The work of one cell: a declared workload with every template filled in.

use std::ops::RangeInclusive;

use super::blank::fill;
use crate::model::hosts::PortRef;
use crate::model::setting;
use crate::model::workload::{
    CommandDeclared, CommandWork, Invocation, PacketWork, PacketsDeclared, ResolvedProgram, Work, Workload,
};
use crate::yaml::quantity;

/// Bytes with FCS (RFC 2544).
const FRAME_SIZE: RangeInclusive<u64> = 64..=1518;
/// Each stream has an ethertype of its own, from 0x88b5 on and short of LLDP's 0x88cc.
const STREAMS: RangeInclusive<u64> = 1..=16;
/// One `sendmmsg` takes at most 1024 messages (`UIO_MAXIOV`).
const BATCH: RangeInclusive<u64> = 1..=1024;
/// Shorter than 10 ms a rate is no rate; longer than a day nobody waits.
const DURATION_MS: RangeInclusive<u64> = 10..=86_400_000;
const SETTLE_MS: RangeInclusive<u64> = 0..=600_000;

/// What a filled-in template must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    FrameSize,
    Streams,
    Batch,
    Rate,
    Duration,
    Settle,
    /// `host.port`.
    Port,
    Driver,
    Host,
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
            Field::FrameSize => quantity::count(text, FRAME_SIZE).map(drop),
            Field::Streams => quantity::count(text, STREAMS).map(drop),
            Field::Batch => quantity::count(text, BATCH).map(drop),
            Field::Rate => quantity::rate(text).map(drop),
            Field::Duration => quantity::duration_ms(text, DURATION_MS).map(drop),
            Field::Settle => quantity::duration_ms(text, SETTLE_MS).map(drop),
            Field::Port => port(text).map(drop),
            Field::Driver if text == "af_packet" => Ok(()),
            Field::Driver if text == "af_xdp" => Err("`af_packet`; `af_xdp` is not there yet".to_owned()),
            Field::Driver => Err("`af_packet`".to_owned()),
            Field::Host if is_name(text) => Ok(()),
            Field::Host => Err("the name of a host in the hosts file".to_owned()),
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
        Workload::Packets(declared) => packets(declared, lookup, ports, seed).map(Work::Packets),
        Workload::Command(declared) => command(declared, lookup).map(Work::Command),
    }
}

type Lookup<'l, 'a> = &'l dyn Fn(&str) -> Option<&'a str>;

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
    let count = |what: &str, template: &str, range: RangeInclusive<u64>| {
        field(what, template, lookup, |text| quantity::count(text, range.clone()))
    };
    let span = |what: &str, template: &str, range: RangeInclusive<u64>| {
        field(what, template, lookup, |text| quantity::duration_ms(text, range.clone()))
    };
    let (tx, tx_interface) = end(&declared.between.0)?;
    let (rx, rx_interface) = end(&declared.between.1)?;
    if tx == rx {
        return Err(format!("between: expected two ports, found `{tx}` twice"));
    }
    Ok(PacketWork {
        tx,
        tx_interface,
        rx,
        rx_interface,
        frame_size: count("frame_size", &declared.frame_size, FRAME_SIZE)? as u32,
        streams: count("streams", &declared.streams, STREAMS)? as u16,
        batch: count("batch", &declared.batch, BATCH)? as u32,
        rate: field("rate", &declared.rate, lookup, quantity::rate)?,
        duration_ms: span("duration", &declared.duration, DURATION_MS)?,
        settle_ms: span("settle", &declared.settle, SETTLE_MS)?,
        proof_frames: declared.proof_frames,
        seed,
    })
}

fn command(declared: &CommandDeclared, lookup: Lookup<'_, '_>) -> Result<CommandWork, String> {
    let text = |what: &str, template: &str, kind: Field| {
        field(what, template, lookup, |text| kind.check(text).map(|()| text.to_owned()))
    };
    let maybe = |what: &str, template: &Option<String>| {
        template.as_deref().map(|template| text(what, template, Field::Words)).transpose()
    };
    let program = match &declared.program {
        Invocation::Shell(script) => ResolvedProgram::Shell(text("shell", script, Field::Words)?),
        Invocation::Argv(argv) => {
            let kind = |at: usize| if at == 0 { Field::Words } else { Field::Text };
            let argv = argv.iter().enumerate().map(|(at, each)| text("run", each, kind(at)));
            ResolvedProgram::Argv(argv.collect::<Result<_, _>>()?)
        }
    };
    let env = declared.env.iter().map(|(name, value)| Ok((name.clone(), text("env", value, Field::Text)?)));
    Ok(CommandWork {
        host: text("on", &declared.on, Field::Host)?,
        program,
        env: env.collect::<Result<_, String>>()?,
        cwd: maybe("cwd", &declared.cwd)?,
        stdin: maybe("stdin", &declared.stdin)?,
        inputs: declared
            .inputs
            .iter()
            .map(|each| text("inputs", each, Field::Words))
            .collect::<Result<_, _>>()?,
        compare: declared.compare,
    })
}

/// A template with every name replaced by its level's text. Fails with a sentence.
pub fn filled<'a>(template: &str, lookup: &dyn Fn(&str) -> Option<&'a str>) -> Result<String, String> {
    fill(template, lookup)
}

fn field<T>(
    what: &str,
    template: &str,
    lookup: Lookup<'_, '_>,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<T, String> {
    let text = fill(template, lookup).map_err(|why| format!("{what}: {why}"))?;
    read(&text).map_err(|expected| format!("{what}: expected {expected}, found `{text}`"))
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
    use crate::model::workload::OutputRule;

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
            rate: "1000/s".into(),
            duration: "1s".into(),
            settle: "200ms".into(),
            proof_frames: 5,
        }
    }

    fn resolved(declared: PacketsDeclared) -> Result<Work, String> {
        resolve(&Workload::Packets(declared), &lookup, &interface, 7)
    }

    #[test]
    fn packets_are_filled_in_from_levels_and_ports() {
        let expected = PacketWork {
            tx: PortRef { host: "tx".into(), port: "port0".into() },
            tx_interface: "eth-port0".into(),
            rx: PortRef { host: "tx".into(), port: "port1".into() },
            rx_interface: "eth-port1".into(),
            frame_size: 64,
            streams: 2,
            batch: 1,
            rate: Some(1000.0),
            duration_ms: 1000,
            settle_ms: 200,
            proof_frames: 5,
            seed: 7,
        };
        assert_eq!(resolved(declared()), Ok(Work::Packets(expected)));
    }

    #[test]
    fn what_does_not_fit_is_a_sentence_that_names_the_field() {
        let wrong = |change: &dyn Fn(&mut PacketsDeclared)| {
            let mut packets = declared();
            change(&mut packets);
            resolved(packets).unwrap_err()
        };
        assert!(
            wrong(&|it| it.frame_size = "63".into())
                .starts_with("frame_size: expected a whole number from 64")
        );
        assert!(wrong(&|it| it.frame_size = "1519".into()).contains("found `1519`"));
        assert!(wrong(&|it| it.streams = "65".into()).starts_with("streams: expected"));
        assert!(wrong(&|it| it.batch = "1025".into()).starts_with("batch: expected"));
        assert!(wrong(&|it| it.rate = "fast".into()).starts_with("rate: expected"));
        assert!(wrong(&|it| it.settle = "1".into()).starts_with("settle: expected"));
        assert!(wrong(&|it| it.duration = "${sizes}".into()).contains("`${sizes}` is no variable"));
        assert!(wrong(&|it| it.between.1 = "rx.p".into()).contains("the hosts file has no port `rx.p`"));
        assert!(wrong(&|it| it.between.1 = "tx.port0".into()).contains("expected two ports"));
    }

    #[test]
    fn a_command_keeps_its_arguments_apart_and_as_typed() {
        let declared = CommandDeclared {
            on: "tx".into(),
            program: Invocation::Argv(vec!["work".into(), "a b".into(), "".into(), "--size=${size}".into()]),
            env: [("SIZE".to_owned(), "${size}".to_owned())].into(),
            cwd: None,
            stdin: Some("/etc/hosts".into()),
            inputs: vec!["/data/${size}".into()],
            compare: OutputRule::Exact,
        };
        let Ok(Work::Command(work)) = resolve(&Workload::Command(declared.clone()), &lookup, &interface, 7)
        else {
            panic!("no command")
        };
        let argv = ["work", "a b", "", "--size=64"].map(String::from);
        assert_eq!(work.program, ResolvedProgram::Argv(argv.to_vec()));
        assert_eq!((work.env["SIZE"].as_str(), work.inputs[0].as_str()), ("64", "/data/64"));
        let empty = CommandDeclared { program: Invocation::Argv(vec![" ".into()]), ..declared };
        let error = resolve(&Workload::Command(empty), &lookup, &interface, 7).unwrap_err();
        assert!(error.starts_with("run: expected text that is not empty"), "{error}");
    }
}
