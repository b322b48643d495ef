//! Numbers of two records: unpaired runs of each cell, by the tests that judge every other effect.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use super::Pair;
use super::comparison::{Comparison, Level, Moved, Way};
use crate::analysis::findings::{Effect, Findings};
use crate::analysis::trial::{Arm, Block, Cell, Trial};
use crate::analysis::{holm, judge, of_record};
use crate::evidence::fold::Evidence;
use crate::model::arm::ArmKind;
use crate::model::cell::CellId;
use crate::model::response::Better;

const ALPHA: f64 = 0.05;
const CELL: &str = "cell";

/// Every response that both records have, of every cell that both have.
pub fn numbers(before: &Evidence, after: &Evidence, pairs: &[Pair]) -> Vec<Moved> {
    let (old, new) = (of_record::trial(before), of_record::trial(after));
    let trial = both(&old, &new, pairs);
    let findings = judge::judge_trial(&trial);
    let mut numbers: Vec<Moved> = trial
        .responses
        .iter()
        .flat_map(|response| pairs.iter().map(|pair| one(&findings, &response.name, response.better, pair)))
        .collect();
    let known: Vec<usize> = (0..numbers.len()).filter(|at| numbers[*at].p.is_some()).collect();
    let p: Vec<f64> = known.iter().filter_map(|at| numbers[*at].p).collect();
    for (at, adjusted) in known.into_iter().zip(holm::adjust(&p)) {
        numbers[at].p_adjusted = Some(adjusted);
        numbers[at].way = way(&numbers[at]);
    }
    numbers
}

/// The two records as one trial without blocks: the earlier is the control at every grid point.
fn both(old: &Trial, new: &Trial, pairs: &[Pair]) -> Trial {
    let kept: Vec<(usize, usize)> = old
        .responses
        .iter()
        .enumerate()
        .filter_map(|(at, own)| {
            let other = new.responses.iter().position(|r| r.name == own.name && r.unit == own.unit)?;
            Some((at, other))
        })
        .collect();
    let side = |trial: &Trial, id: &CellId, name: &str, kind: ArmKind, places: Vec<usize>| {
        let mut cell = trial.cells.iter().find(|cell| cell.id == *id)?.clone();
        let planned = trial.planned_blocks();
        cell.runs.retain(|run| planned.contains(&run.block));
        for run in &mut cell.runs {
            (run.block, run.session) = (0, 0);
            run.readings = places.iter().map(|at| run.readings[*at].clone()).collect();
        }
        Some(Cell {
            id: CellId(format!("{name}/{}", arm(kind))),
            arm: arm(kind).to_owned(),
            kind,
            levels: IndexMap::from([(CELL.to_owned(), name.to_owned())]),
            ..cell
        })
    };
    let cells = pairs.iter().filter(|pair| pair.obstacle.is_none()).flat_map(|pair| {
        let (a, b) = kept.iter().copied().unzip();
        let old = side(old, &pair.before, &pair.name, ArmKind::Control, a);
        let new = side(new, &pair.after, &pair.name, ArmKind::Treatment, b);
        old.zip(new).map(|(old, new)| [old, new]).into_iter().flatten()
    });
    Trial {
        responses: kept.iter().map(|(at, _)| old.responses[*at].clone()).collect(),
        deadlines: kept.iter().map(|(at, _)| old.deadlines[*at]).collect(),
        pilot: false,
        arms: [ArmKind::Control, ArmKind::Treatment]
            .map(|kind| Arm { name: arm(kind).to_owned(), kind })
            .to_vec(),
        cells: cells.collect(),
        blocks: vec![Block::named("")],
        differences: BTreeMap::new(),
        hard_to_change: vec![],
    }
}

fn arm(kind: ArmKind) -> &'static str {
    if kind == ArmKind::Control { "before" } else { "after" }
}

fn one(findings: &Findings, response: &str, better: Better, pair: &Pair) -> Moved {
    let level = |kind: ArmKind| {
        let id = format!("{}/{}", pair.name, arm(kind));
        let cell = findings.cells.iter().find(|cell| cell.cell.0 == id);
        let found = cell.and_then(|cell| cell.responses.iter().find(|r| r.response == response));
        found.map_or(Level { n: 0, median: None, interval: None }, |r| Level {
            n: r.n,
            median: r.median,
            interval: r.interval,
        })
    };
    let own = |effect: &&Effect| {
        effect.response == response && effect.levels.get(CELL).is_some_and(|cell| *cell == pair.name)
    };
    let effect = findings.effects.iter().find(own);
    let missing = effect.and_then(|e| e.points_missing.first().cloned());
    let why = pair.obstacle.clone().or(missing).or_else(|| {
        let absent = effect.filter(|e| e.ratio.is_none() && e.difference.is_none()).map(|e| &e.absent);
        absent.and_then(|absent| absent.values().next().cloned())
    });
    let comparable = pair.obstacle.is_none() && effect.is_some_and(|e| e.points_missing.is_empty());
    Moved {
        cell: pair.name.clone(),
        response: response.to_owned(),
        unit: effect.map_or(String::new(), |e| e.unit.clone()),
        better,
        before: level(ArmKind::Control),
        after: level(ArmKind::Treatment),
        ratio: effect.and_then(|e| e.ratio),
        difference: effect.and_then(|e| e.difference),
        interval: effect.and_then(|e| e.interval),
        p: effect.filter(|_| comparable).and_then(|e| e.p),
        p_adjusted: None,
        way: if comparable { Way::NotShown } else { Way::NotComparable },
        why,
    }
}

/// Both the interval and the adjusted test have to say so.
fn way(own: &Moved) -> Way {
    let none = if own.difference.is_some() { 0.0 } else { 1.0 };
    let sure = own.p_adjusted.is_some_and(|p| p <= ALPHA);
    let Some(interval) = own.interval.filter(|_| sure) else { return own.way };
    match own.better {
        Better::Higher if interval.low > none => Way::Better,
        Better::Lower if interval.high < none => Way::Better,
        _ if interval.low > none || interval.high < none => Way::Worse,
        _ => own.way,
    }
}

/// Fills in the answer and what must be known about it.
pub fn tell(found: &mut Comparison, before: &Evidence, after: &Evidence) {
    let count = |way: Way| found.numbers.iter().filter(|own| own.way == way).count();
    let (better, worse, open) = (count(Way::Better), count(Way::Worse), count(Way::NotShown));
    let compared = better + worse + open;
    let facts = match found.facts.len() {
        1 => "1 fact differs".to_owned(),
        n => format!("{n} facts differ"),
    };
    found.sentence = match compared {
        0 => format!("{facts}, and no number of these records can be compared."),
        _ => format!(
            "{facts}. Of {compared} numbers {worse} moved to the worse and {better} to the better; of {open} the runs \
             show no move."
        ),
    };
    let [quiet, plain] = [true, false].map(|q| {
        [before, after].iter().any(|e| e.opening.as_ref().is_some_and(|o| (o.condition == "quiet") == q))
    });
    if quiet && plain && compared > 0 && better + worse == 0 {
        found.sentence += " Quieting the hosts moved nothing that these runs could show.";
    }
    if compared > 0 {
        found.notes.push(
            "The two were measured at two times. From one day to the next 3 % are common without any cause in the product; \
             only arms of one campaign, in the same blocks, are free of that."
                .to_owned(),
        );
    }
    let few = found.numbers.iter().filter(|own| own.before.n.min(own.after.n) < 4 && own.p.is_some()).count();
    if few > 0 {
        found.notes.push(format!(
            "{few} numbers have fewer than 4 runs on a side, which is too few for any move to show: their smallest p is above 0.05."
        ));
    }
    for (evidence, when) in [(before, "earlier"), (after, "later")] {
        if !evidence.complete {
            found.notes.push(format!("The {when} record is not complete."));
        }
        if evidence.opening.as_ref().is_some_and(|o| o.pilot) {
            found.notes.push(format!("The {when} record is a pilot."));
        }
    }
}
