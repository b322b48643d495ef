//! The `packets` workload, as read from the file.

use super::draft::{Blank, Draft, PacketsShape};
use super::work::Field;
use super::workload::{blank, note_keys};
use crate::model::workload::{LoadDeclared, PacketsDeclared, SearchDeclared, Stamps};
use crate::yaml::{Complaint, Entry, Fields, Node};

pub(super) const PACKETS_KEYS: [&str; 18] = [
    "between",
    "both_ways",
    "frame_size",
    "streams",
    "batch",
    "rate",
    "load",
    "duration",
    "settle",
    "tx",
    "rx",
    "xdp_copy",
    "attach",
    "queues",
    "cpus",
    "stamps",
    "latency",
    "ring",
];
pub(super) const LOAD_KEYS: [&str; 7] = ["list", "search", "precision", "trial", "from", "to", "most_trials"];

const BOTH_WAYS: &str = "false";
const STREAMS: &str = "1";
const BATCH: &str = "64";
const RATE: &str = "max";
const PATH: &str = "af_packet";
const AUTO: &str = "auto";
/// Time until rates are steady on real links; a lab that needs less declares it.
pub(super) const SETTLE: &str = "5s";
/// MiB: about 80 ms of the largest frames at a million a second, so that a receiver which shares its
/// CPU loses none while it waits for its turn.
const RING: &str = "128";
/// Frames of the untimed proof, per stream.
const PROOF_FRAMES: u64 = 10_000;
const MOST_PROOF_FRAMES: u64 = 10_000_000;
const PRECISION: &str = "1%";
const FROM: &str = "1000/s";
/// Bisection from a hundredfold interval down to 1 % needs fourteen; the rest is for loss that comes and goes.
const MOST_TRIALS: &str = "30";

/// Reads `packets` and its part of `verify`; None when too little of it could be read.
pub(super) fn read<'a>(
    entry: &'a Entry,
    verify: Option<Fields<'a>>,
    draft: &mut Draft<'a>,
) -> Option<PacketsDeclared> {
    let what = "`packets`";
    let fields = Fields::open(&entry.value, entry.key.span, what, &PACKETS_KEYS, &mut draft.out)?;
    note_keys(&fields, &PACKETS_KEYS, "workload.packets", draft);
    let required = ["between", "frame_size", "duration"].map(|key| fields.need(key, what, &mut draft.out));
    let load = load(&fields, draft);
    let stamps = fields.get("stamps").map(|entry| {
        let words = [("hardware", Stamps::Hardware), ("software", Stamps::Software)];
        entry.value.choice("`stamps`", &words, &mut draft.out)
    });
    let latency =
        fields.get("latency").map_or(Some(false), |entry| entry.value.flag("`latency`", &mut draft.out));
    if latency == Some(true)
        && stamps.is_none()
        && let Some(entry) = fields.get("latency")
    {
        let message = "`latency` needs stamps of received frames, and the workload asks for none";
        draft.out.push(
            Complaint::error(entry.key.span, message).help("write `stamps: hardware` or `stamps: software`"),
        );
    }
    let mut field = |key: &str, kind: Field, default: &str| match fields.get(key) {
        Some(entry) => blank(&entry.value, key, kind, draft),
        None => Some(default.to_owned()),
    };
    let both_ways = field("both_ways", Field::Flag, BOTH_WAYS);
    let read = (
        field("frame_size", Field::FrameSize, ""),
        field("streams", Field::Streams, STREAMS),
        field("batch", Field::Batch, BATCH),
        field("duration", Field::Duration, ""),
        field("settle", Field::Settle, SETTLE),
        field("tx", Field::TxPath, PATH),
        field("rx", Field::RxPath, PATH),
        field("xdp_copy", Field::XdpCopy, AUTO),
        field("attach", Field::Attach, AUTO),
        field("ring", Field::Ring, RING),
    );
    let queues = numbers("queues", Field::Queue, &fields, draft);
    let cpus = numbers("cpus", Field::Cpu, &fields, draft);
    let between = fields.get("between").and_then(|entry| between(&entry.value, draft));
    let proof_frames = match verify.and_then(|verify| verify.get("frames")) {
        Some(entry) => entry.value.count("`verify.frames`", 1..=MOST_PROOF_FRAMES, &mut draft.out),
        None => Some(PROOF_FRAMES),
    };
    draft.packets = Some(PacketsShape {
        stepped: load.as_ref().is_some_and(|load| !matches!(load, LoadDeclared::Steady(_))),
        searched: matches!(load, Some(LoadDeclared::Search(_))),
        one_way: both_ways.as_deref() == Some("false"),
        stamps: stamps.flatten(),
        latency: latency == Some(true),
    });
    if required.contains(&None) {
        return None;
    }
    Some(PacketsDeclared {
        between: between?,
        both_ways: both_ways?,
        frame_size: read.0?,
        streams: read.1?,
        batch: read.2?,
        load: load?,
        duration: read.3?,
        settle: read.4?,
        tx: read.5?,
        rx: read.6?,
        xdp_copy: read.7?,
        attach: read.8?,
        ring: read.9?,
        queues: queues?,
        cpus: cpus?,
        stamps: match stamps {
            Some(stamps) => Some(stamps?),
            None => None,
        },
        latency: latency?,
        proof_frames: proof_frames?,
    })
}

fn between<'a>(node: &'a Node, draft: &mut Draft<'a>) -> Option<(String, String)> {
    let items = node.items("`between`", &mut draft.out)?;
    let [tx, rx] = items else {
        let message =
            format!("`between`: expected the sending and the receiving port, found {}", items.len());
        draft.out.push(Complaint::error(node.span, message).help("write `[tx.port0, rx.port0]`"));
        return None;
    };
    let (tx, rx) = (blank(tx, "between", Field::Port, draft), blank(rx, "between", Field::Port, draft));
    tx.zip(rx)
}

/// A list in which every item is a template; empty where the key is not given.
fn numbers<'a>(key: &str, kind: Field, fields: &Fields<'a>, draft: &mut Draft<'a>) -> Option<Vec<String>> {
    let Some(entry) = fields.get(key) else { return Some(vec![]) };
    let items = entry.value.items(&format!("`{key}`"), &mut draft.out)?;
    if items.is_empty() {
        entry.value.expected(&format!("`{key}`"), "at least one number", &mut draft.out);
        return None;
    }
    each(items, key, kind, draft)
}

/// Every item is read before the first failure counts, so that all are complained about.
fn each<'a>(items: &'a [Node], key: &str, kind: Field, draft: &mut Draft<'a>) -> Option<Vec<String>> {
    let read: Vec<Option<String>> = items.iter().map(|item| blank(item, key, kind, draft)).collect();
    read.into_iter().collect()
}

/// `rate` is one steady load, `load` a list of them or a search.
fn load<'a>(fields: &Fields<'a>, draft: &mut Draft<'a>) -> Option<LoadDeclared> {
    match (fields.get("rate"), fields.get("load")) {
        (None, None) => Some(LoadDeclared::Steady(RATE.to_owned())),
        (Some(rate), None) => blank(&rate.value, "rate", Field::Rate, draft).map(LoadDeclared::Steady),
        (None, Some(load)) => steps(load, draft),
        (Some(rate), Some(load)) => {
            let message = "expected one of `rate` and `load`, found both";
            let help = "`rate` is one steady load, `load` a list of them or a search";
            draft.out.push(
                Complaint::error(load.key.span, message).also(rate.key.span, "the other one").help(help),
            );
            None
        }
    }
}

fn steps<'a>(entry: &'a Entry, draft: &mut Draft<'a>) -> Option<LoadDeclared> {
    let fields = Fields::open(&entry.value, entry.key.span, "`load`", &LOAD_KEYS, &mut draft.out)?;
    match (fields.get("list"), fields.get("search")) {
        (Some(list), None) => {
            for key in &LOAD_KEYS[2..] {
                if let Some(entry) = fields.get(key) {
                    let message = format!("`{key}` belongs to a search, and this is a list");
                    draft.out.push(Complaint::error(entry.key.span, message).help("take it out"));
                }
            }
            let items = list.value.items("`list`", &mut draft.out)?;
            if items.len() < 2 {
                let wanted = "at least two loads; one alone is a `rate`";
                list.value.expected("`list`", wanted, &mut draft.out);
                return None;
            }
            each(items, "list", Field::Step, draft).map(LoadDeclared::List)
        }
        (None, Some(kind)) => {
            kind.value.choice("`search`", &[("zero_loss", ())], &mut draft.out)?;
            search(entry, &fields, draft).map(LoadDeclared::Search)
        }
        (list, _) => {
            let found = if list.is_some() { "both" } else { "neither" };
            let message = format!("`load`: expected `list` or `search`, found {found}");
            let help = "write `{list: [100000/s, 200000/s]}` or `{search: zero_loss}`";
            draft.out.push(Complaint::error(entry.key.span, message).help(help));
            None
        }
    }
}

fn search<'a>(entry: &'a Entry, fields: &Fields<'a>, draft: &mut Draft<'a>) -> Option<SearchDeclared> {
    // A default is checked like what was typed, so that it counts towards the length of a run.
    let mut field = |key: &str, kind: Field, default: &'static str| match fields.get(key) {
        Some(entry) => blank(&entry.value, key, kind, draft),
        None => {
            draft.blanks.push(Blank {
                what: key.to_owned(),
                field: kind,
                node: &entry.value,
                template: default,
                artifact: false,
            });
            Some(default.to_owned())
        }
    };
    let precision = field("precision", Field::Precision, PRECISION);
    let from = field("from", Field::Step, FROM);
    let to = field("to", Field::Rate, RATE);
    let most_trials = field("most_trials", Field::MostTrials, MOST_TRIALS);
    let trial = match fields.get("trial") {
        Some(entry) => blank(&entry.value, "trial", Field::Trial, draft).map(Some),
        None => Some(None),
    };
    Some(SearchDeclared {
        precision: precision?,
        trial: trial?,
        from: from?,
        to: to?,
        most_trials: most_trials?,
    })
}
