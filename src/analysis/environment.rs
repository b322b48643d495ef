//! Whether the environment is the cause: drift, first places, noise, common movement, hosts and days.

use std::collections::BTreeMap;

use super::drift::{self, ControlRun};
use super::effect::{ALPHA, Point};
use super::findings::{ArmEnvironment, EnvironmentFinding};
use super::first_place::{self, PlacedRun};
use super::noise_floor;
use super::paired::{Paired, by_block};
use super::reversal::{self, Agreement, Reversal};
use super::trial::{Arm, Reading, Trial};
use crate::model::arm::ArmKind;
use crate::model::scale::Scale;

/// An arm with the grid points where it may be compared.
type Compared<'a> = (&'a Arm, Vec<Point>);

/// Looks at every response, on the logarithmic scale. `twins` are controls that were measured again.
pub fn look(trial: &Trial, blocks: &[u32], twins: &[Compared], arms: &[Compared]) -> Vec<EnvironmentFinding> {
    let one = |response: usize| {
        let mut found = order(trial, blocks, response);
        match twins {
            [] => {
                let why = "no A/A cell was measured (`aa: true` in a campaign)";
                found.absent.insert("noise_floor".to_owned(), why.to_owned());
            }
            [(_, points), ..] => {
                let logs = log_ratios(&by_block(trial, response, &open(points), blocks));
                found.noise_floor = Some(noise_floor::of_twins(&logs, ALPHA));
            }
        }
        found.arms = arms
            .iter()
            .filter(|(_, points)| !open(points).is_empty())
            .map(|(arm, points)| of_arm(trial, blocks, response, arm, points))
            .collect();
        found
    };
    (0..trial.responses.len()).map(one).collect()
}

/// Why an arm has no common verdict: hosts or days surely say the opposite of each other.
pub fn reversed(trial: &Trial, response: usize, points: &[Point], blocks: &[u32]) -> Option<String> {
    let groups = [by_host(trial, response, points, blocks), by_day(trial, response, points, blocks)];
    let reversals = groups.into_iter().flatten().find(|r| r.agreement == Agreement::Reversed)?;
    Some(format!("it is not the same on every {}, and an average would describe none", reversals.of))
}

fn open(points: &[Point]) -> Vec<&Point> {
    points.iter().filter(|point| point.obstacle.is_none()).collect()
}

fn log_ratios(paired: &[Paired]) -> Vec<f64> {
    paired.iter().map(Paired::log_ratio).collect()
}

fn of_arm(trial: &Trial, blocks: &[u32], response: usize, arm: &Arm, points: &[Point]) -> ArmEnvironment {
    let paired = by_block(trial, response, &open(points), blocks);
    let (control, treatment): (Vec<f64>, Vec<f64>) = paired.iter().map(|p| (p.control, p.arm)).unzip();
    let mut found = ArmEnvironment {
        arm: arm.name.clone(),
        together: noise_floor::move_together(&control, &treatment, ALPHA),
        halves: None,
        hosts: by_host(trial, response, points, blocks),
        days: by_day(trial, response, points, blocks),
        absent: BTreeMap::new(),
    };
    if paired.iter().all(|p| p.order.is_some()) {
        found.halves = Some(drift::halves(&log_ratios(&paired), ALPHA));
    }
    for (name, missing, why) in [
        ("halves", found.halves.is_none(), "nothing says in what order the runs were made"),
        ("hosts", found.hosts.is_none(), "all runs used the same hosts, or nothing says which"),
        ("days", found.days.is_none(), "all blocks are of one day, or nothing says of which"),
    ] {
        if missing {
            found.absent.insert(name.to_owned(), why.to_owned());
        }
    }
    found
}

/// The effect host by host, over the grid points of each.
fn by_host(trial: &Trial, response: usize, points: &[Point], blocks: &[u32]) -> Option<Reversal> {
    let mut hosts: BTreeMap<&str, Vec<&Point>> = BTreeMap::new();
    for point in open(points) {
        hosts.entry(&trial.cells[point.cell].hosts).or_default().push(point);
    }
    let groups: Vec<(String, Vec<f64>)> = hosts
        .into_iter()
        .filter(|(host, _)| !host.is_empty())
        .map(|(host, points)| (host.to_owned(), log_ratios(&by_block(trial, response, &points, blocks))))
        .collect();
    (groups.len() > 1).then(|| reversal::across("host", &groups, ALPHA))
}

/// The effect day by day, over the blocks of each.
fn by_day(trial: &Trial, response: usize, points: &[Point], blocks: &[u32]) -> Option<Reversal> {
    let mut days: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for block in blocks {
        days.extend(trial.blocks[*block as usize].day.as_deref().map(|day| (day, vec![])));
    }
    if days.len() < 2 {
        return None;
    }
    for paired in by_block(trial, response, &open(points), blocks) {
        let day = trial.blocks[paired.block as usize].day.as_deref();
        if let Some(logs) = day.and_then(|day| days.get_mut(day)) {
            logs.push(paired.log_ratio());
        }
    }
    let groups: Vec<_> = days.into_iter().map(|(day, logs)| (day.to_owned(), logs)).collect();
    Some(reversal::across("day", &groups, ALPHA))
}

/// Drift and first places, which the order of the runs shows.
fn order(trial: &Trial, blocks: &[u32], response: usize) -> EnvironmentFinding {
    let mut found = EnvironmentFinding {
        response: trial.responses[response].name.clone(),
        drift: None,
        first_place: None,
        noise_floor: None,
        arms: vec![],
        absent: BTreeMap::new(),
    };
    match placed(trial, blocks, response) {
        Ok(runs) => {
            let controls: Vec<ControlRun> = runs
                .iter()
                .filter(|(run, _)| trial.cells[run.cell].kind == ArmKind::Control)
                .map(|(run, order)| ControlRun {
                    cell: run.cell,
                    block: run.block,
                    order: *order,
                    value: run.value,
                })
                .collect();
            found.drift = Some(drift::of_controls(&controls));
            let runs: Vec<PlacedRun> = runs.into_iter().map(|(run, _)| run).collect();
            match blocks.len() > 1 {
                true => found.first_place = Some(first_place::penalty(&runs, ALPHA)),
                false => {
                    found.absent.insert("first_place".to_owned(), "there are no blocks".to_owned());
                }
            }
        }
        Err(why) => {
            for name in ["drift", "first_place"] {
                found.absent.insert(name.to_owned(), why.clone());
            }
        }
    }
    found
}

/// Measured runs with their place in their block and their order.
fn placed(trial: &Trial, blocks: &[u32], response: usize) -> Result<Vec<(PlacedRun, f64)>, String> {
    let mut runs = vec![];
    for (at, cell) in trial.cells.iter().enumerate() {
        for run in blocks.iter().flat_map(|b| cell.in_block(*b)) {
            let Reading::Value(value) = run.readings[response] else { continue };
            let order = run.order.ok_or("nothing says in what order the runs were made")?;
            let value =
                Scale::Log.of(value).ok_or_else(|| format!("{value} of {} has no logarithm", cell.id))?;
            runs.push((PlacedRun { cell: at, block: run.block as usize, place: 0, value }, order));
        }
    }
    runs.sort_by(|(a, a_order), (b, b_order)| a.block.cmp(&b.block).then(a_order.total_cmp(b_order)));
    for block in runs.chunk_by_mut(|(a, _), (b, _)| a.block == b.block) {
        for (place, (run, _)) in block.iter_mut().enumerate() {
            run.place = place + 1;
        }
    }
    Ok(runs)
}
