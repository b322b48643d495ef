//! The last look at a plan before any host is touched: hosts, ports and links it needs.

use std::collections::{BTreeMap, BTreeSet};

use super::plan::{Decision, Plan};
use super::repeat::repeats;
use crate::model::arm::ArmKind;
use crate::model::hosts::{PortRef, Transport};
use crate::model::role::Invocation;
use crate::model::workload::{Work, Workload};

/// A complaint about a plan, with the key path of the campaign file that it concerns.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    pub at: String,
    pub message: String,
    pub help: String,
}

/// Everything that is wrong with the plan as far as files can tell; empty means go.
pub fn audit(plan: &Plan) -> Vec<Fault> {
    let mut faults = BTreeSet::new();
    let mut kept = 0u64;
    if plan.campaign.exclude.is_empty() {
        kept = plan.cells();
    } else {
        for cell in 0..plan.cells() {
            match plan.decision(cell) {
                Decision::Excluded(_) => {}
                Decision::Broken(why) => {
                    kept += 1;
                    faults.insert(fault("exclude", why, "a rule must answer true or false for every cell"));
                }
                _ => kept += 1,
            }
        }
    }
    if plan.cells() == 0 {
        faults.insert(fault(
            "variables",
            "the grid is empty: 0 cells".into(),
            "give every variable at least one level",
        ));
    } else if kept == 0 {
        let message = format!("the rules exclude all {} cells, so nothing would be measured", plan.cells());
        faults.insert(fault(
            "exclude",
            message,
            "loosen or remove a rule; `fieldtrial plan` shows each cell's reason",
        ));
    }
    strangers(plan, &mut faults);
    for cell in representatives(plan) {
        match plan.work(cell) {
            Ok(work) => check_work(plan, &work, &mut faults),
            Err(why) => {
                faults.insert(fault("workload", why, ""));
            }
        }
    }
    cell_by_cell(plan, &mut faults);
    faults.into_iter().collect()
}

/// What hangs on more than the places of a cell: queues for its streams, and known dead ends. The first
/// cell of each kind is told.
fn cell_by_cell(plan: &Plan, faults: &mut BTreeSet<Fault>) {
    let (campaign, mut told) = (&plan.campaign, BTreeSet::new());
    for name in campaign.reattempt.keys().filter(|name| !plan.dead_ends.iter().any(|e| e.name == **name)) {
        let known: Vec<&str> = plan.dead_ends.iter().map(|entry| entry.name.as_str()).collect();
        let known =
            if known.is_empty() { "none, since `dead_ends` names no file".into() } else { known.join(", ") };
        let message = format!("no dead end is called `{name}`");
        faults.insert(fault(&format!("reattempt.{name}"), message, &format!("known are: {known}")));
    }
    if campaign.steer.is_none() && plan.dead_ends.is_empty() {
        return;
    }
    for cell in (0..plan.cells()).filter(|cell| !matches!(plan.decision(*cell), Decision::Excluded(_))) {
        let Ok(work) = plan.work(cell) else { continue };
        if let Work::Packets(packets) = &work
            && let Err(why) = plan.steer(cell, packets.streams)
            && told.insert("steer")
        {
            let help = "this holds of other cells too, where they have as many streams";
            faults.insert(fault("steer", format!("{}: {why}", plan.id(cell)), help));
        }
        for (entry, repeat) in repeats(plan, cell, &work, &BTreeMap::new()) {
            // Where facts are to decide, they do once the hosts tell them.
            if !repeat.untold && told.insert(entry.name.as_str()) {
                let message = format!("{} {}", plan.id(cell), repeat.reason);
                faults.insert(fault(&place(plan, cell), message, &entry.next_step()));
            }
        }
    }
}

/// Where the arm of a cell stands in the file.
fn place(plan: &Plan, cell: u64) -> String {
    let arm = plan.arm_of(cell);
    let like = plan.arms().iter().filter(|other| other.kind == arm.kind);
    let at = like.take_while(|other| other.name != arm.name).count();
    match arm.kind {
        ArmKind::Control => "control".into(),
        ArmKind::Treatment => format!("treatments.{at}"),
        ArmKind::Combination => "combine".into(),
        ArmKind::Anchor => format!("anchors.{at}"),
        ArmKind::Twin => "aa".into(),
    }
}

/// Expected outcomes of cells that the plan does not have: a slip there would turn a failure into none.
fn strangers(plan: &Plan, faults: &mut BTreeSet<Fault>) {
    let expect = &plan.campaign.expect;
    let lists = [
        ("expect.refused", &expect.refused),
        ("expect.rejected", &expect.rejected),
        ("expect.timed_out", &expect.timed_out),
        ("expect.failed", &expect.failed),
    ];
    for (at, patterns) in lists {
        for pattern in patterns.iter().filter(|p| !(0..plan.cells()).any(|cell| plan.id(cell).fits(p))) {
            let example = if plan.cells() > 0 { plan.id(plan.cells() - 1).0 } else { "/control".into() };
            faults.insert(fault(
                at,
                format!("`{pattern}` is no cell of this campaign"),
                &format!("ids look like `{example}`, and `*` stands for anything"),
            ));
        }
    }
}

fn fault(at: &str, message: String, help: &str) -> Fault {
    Fault { at: at.into(), message, help: help.into() }
}

/// Names of the hosts that the plan's cells use, and all of them where a rule asks for facts of hosts.
pub fn hosts_used(plan: &Plan) -> BTreeSet<String> {
    if plan.campaign.exclude.iter().any(|e| e.rule.names().contains("hosts")) {
        return plan.hosts.hosts.keys().cloned().collect();
    }
    let mut used = BTreeSet::new();
    for work in representatives(plan).into_iter().filter_map(|cell| plan.work(cell).ok()) {
        used.extend(work.hosts().into_iter().map(str::to_owned));
    }
    used
}

/// One cell for each combination of the levels that place the work on hosts.
fn representatives(plan: &Plan) -> Vec<u64> {
    let places: Vec<&String> = match &plan.campaign.workload {
        Workload::Packets(p) => vec![&p.between.0, &p.between.1],
        Workload::Command(c) => {
            let on = c.roles.iter().map(|role| &role.on);
            let texts = c.roles.iter().filter_map(|role| match &role.program {
                Invocation::Shell(text) | Invocation::Line(text) => Some(text),
                _ => None,
            });
            on.chain(texts).collect()
        }
    };
    let named = |name: &str| places.iter().any(|p| p.contains(&format!("${{{name}}}")));
    let corners: Vec<u64> = plan.grid.corners(&named).collect();
    corners.iter().flat_map(|point| (0..plan.arms().len()).map(|arm| plan.index(*point, arm))).collect()
}

fn check_work(plan: &Plan, work: &Work, faults: &mut BTreeSet<Fault>) {
    match work {
        Work::Command(w) => {
            for role in w.roles.iter().filter(|role| !plan.hosts.hosts.contains_key(&role.host)) {
                let known: Vec<&str> = plan.hosts.hosts.keys().map(String::as_str).collect();
                faults.insert(fault(
                    &format!("workload.roles.{}.on", role.name),
                    format!("no host is called `{}` in the hosts file", role.host),
                    &format!("it has: {}", known.join(", ")),
                ));
            }
        }
        Work::Packets(w) => {
            for port in [&w.tx, &w.rx] {
                if plan.interface(port).is_none() {
                    faults.insert(fault(
                        "workload.packets.between",
                        format!("the hosts file has no port `{port}`"),
                        &format!("it has: {}", known_ports(plan)),
                    ));
                }
            }
            if w.tx == w.rx {
                faults.insert(fault(
                    "workload.packets.between",
                    format!("`{}` is named as both ends", w.tx),
                    "name two ports that are cabled to each other",
                ));
            } else if !plan
                .hosts
                .links
                .iter()
                .any(|(a, b)| (a == &w.tx && b == &w.rx) || (a == &w.rx && b == &w.tx))
            {
                faults.insert(fault(
                    "workload.packets.between",
                    format!("the hosts file has no link between `{}` and `{}`", w.tx, w.rx),
                    "say which port is cabled to which under `links:`",
                ));
            }
            let netns =
                |port: &PortRef| plan.hosts.hosts.get(&port.host).map(|h| h.transport == Transport::Netns);
            if netns(&w.tx) != netns(&w.rx) {
                faults.insert(fault(
                    "workload.packets.between",
                    format!(
                        "`{}` and `{}` cannot be cabled: only one of them is in the embedded lab",
                        w.tx, w.rx
                    ),
                    "use two hosts of the same kind",
                ));
            }
        }
    }
}

fn known_ports(plan: &Plan) -> String {
    let ports: Vec<String> = plan
        .hosts
        .hosts
        .iter()
        .flat_map(|(h, host)| host.ports.keys().map(move |p| format!("{h}.{p}")))
        .collect();
    if ports.is_empty() { "no ports at all".into() } else { ports.join(", ") }
}
