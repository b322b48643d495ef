//! Whether a cell repeats a known dead end.

use std::collections::BTreeMap;

use serde_json::Value;

use super::plan::Plan;
use crate::dead_end::{DeadEnd, Repeat, Values};
use crate::model::facts::Facts;
use crate::model::hosts::PortRef;
use crate::model::level::{Level, Scalar};
use crate::model::workload::{Load, PacketWork, Stamps, Work};

/// The threads of the built-in tools are the kernel's own, so nothing but the kernel places them.
const RUNTIME: &str = "native";

/// Dead ends that a cell repeats and has no declared reason to. Facts of hosts decide where they are
/// known, and before that what the hosts file expects of ports.
pub fn repeats<'a>(
    plan: &'a Plan,
    cell: u64,
    work: &Work,
    facts: &BTreeMap<String, Facts>,
) -> Vec<(&'a DeadEnd, Repeat)> {
    let mut open =
        plan.dead_ends.iter().filter(|e| !plan.campaign.reattempt.contains_key(&e.name)).peekable();
    if open.peek().is_none() {
        return vec![];
    }
    let values = values(plan, cell, work);
    let ends: Vec<Values> =
        places(plan, work).iter().map(|place| known(plan, place, &values, facts)).collect();
    open.filter_map(|entry| Some((entry, entry.repeated(&values, &ends)?))).collect()
}

/// What a cell does, by the names of its levels, of what it holds, and of its workload's keys.
fn values(plan: &Plan, cell: u64, work: &Work) -> Values {
    let mut values = Values::new();
    let point = plan.point_of(cell);
    let levels = plan.grid.levels(point).map(|(name, level)| (name.to_owned(), plain(&level.text)));
    let settings = plan.arm_of(cell).settings.iter().map(|(name, level)| (name.clone(), plain(&level.text)));
    values.extend(levels.chain(settings));
    let held = plan.hold(cell).unwrap_or_default();
    values.extend(held.iter().map(|(name, text)| (name.clone(), plain(text))));
    match work {
        Work::Packets(work) => values.extend(packets(work)),
        Work::Command(work) => {
            let env = work.roles.iter().flat_map(|role| &role.env);
            values.extend(env.map(|(name, text)| (name.clone(), plain(text))));
        }
    }
    values
}

fn packets(work: &PacketWork) -> Values {
    let numbers = |list: &[u32], none: &str| match list {
        [] => none.to_owned(),
        list => list.iter().map(u32::to_string).collect::<Vec<_>>().join(","),
    };
    let rate = match &work.load {
        Load::Steady(rate) => rate.map_or(Value::from("max"), Value::from),
        Load::List(_) => "list".into(),
        Load::Search(_) => "search".into(),
    };
    let entries: [(&str, Value); 15] = [
        ("runtime", RUNTIME.into()),
        ("both_ways", work.both_ways.to_string().into()),
        ("frame_size", plain(&work.frame_size.to_string())),
        ("streams", work.streams.into()),
        ("batch", work.batch.into()),
        ("rate", rate),
        ("tx", work.tx_path.name().into()),
        ("rx", work.rx_path.name().into()),
        ("xdp_copy", work.xdp_copy.clone().into()),
        ("attach", work.attach.clone().into()),
        ("queues", numbers(&work.queues, "all").into()),
        ("cpus", numbers(&work.cpus, "any").into()),
        ("stamps", work.stamps.map_or("none", Stamps::name).into()),
        ("latency", work.latency.to_string().into()),
        ("ring", work.ring_mib.into()),
    ];
    entries.map(|(name, value)| (name.to_owned(), value)).into()
}

/// Host and, where it has one, port of each end.
fn places(plan: &Plan, work: &Work) -> Vec<(String, Option<String>)> {
    let end = |port: &PortRef| (port.host.clone(), Some(port.port.clone()));
    match work {
        Work::Packets(work) => vec![end(&work.tx), end(&work.rx)],
        Work::Command(_) => {
            let mut places = vec![];
            for host in work.hosts() {
                let ports = plan.hosts.hosts.get(host).into_iter().flat_map(|host| host.ports.keys());
                let before = places.len();
                places.extend(ports.map(|port| (host.to_owned(), Some(port.clone()))));
                if places.len() == before {
                    places.push((host.to_owned(), None));
                }
            }
            places
        }
    }
}

/// What is known of one place: what the cell does, beneath what its hosts file expects, beneath its facts.
fn known(
    plan: &Plan,
    (host, port): &(String, Option<String>),
    cell: &Values,
    facts: &BTreeMap<String, Facts>,
) -> Values {
    let mut known = cell.clone();
    let declared = plan.hosts.hosts.get(host).zip(port.as_ref()).and_then(|(h, port)| h.ports.get(port));
    known
        .extend(declared.into_iter().flat_map(|d| &d.expect).map(|(fact, text)| (fact.clone(), plain(text))));
    if let Some(seen) = facts.get(host) {
        known.extend(seen.iter().map(|(fact, value)| (fact.clone(), value.clone())));
        let of_port = port.as_ref().and_then(|port| seen.get("ports")?.get(port)?.as_object());
        known.extend(of_port.into_iter().flatten().map(|(fact, value)| (fact.clone(), value.clone())));
    }
    known.retain(|_, value| !value.is_null());
    known
}

/// A number where it looks like one: an entry is about what is done, however a campaign quotes it.
fn plain(text: &str) -> Value {
    match Level::plain(text).scalar() {
        Scalar::Int(int) => int.into(),
        Scalar::Float(float) => float.into(),
        Scalar::Text(text) => text.into(),
    }
}
