//! The whole judgement: cells, pooled effects, effects at grid points, reruns.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use super::effect::{ALPHA, Measured, Point, measure};
use super::findings::{Effect, Family, Findings, Interval, RerunFinding, VERSION, Verdict};
use super::permutation::Laws;
use super::rerun::{self, Rerun};
use super::summary::{Shares, summarise};
use super::trial::{Arm, Cell, Trial};
use super::verdict::{self, Circumstances, decide};
use super::{
    annotations, caution, completion, environment, factorial, holm, method, of_record, sums, whole_plot,
};
use crate::evidence::fold::Evidence;
use crate::evidence::rows::Loss;
use crate::model::arm::ArmKind;
use crate::model::outcome::Fate;
use crate::model::response::Response;
use crate::model::scale::Scale;

/// Judges the evidence of a record. Pure and repeatable: the same evidence yields the same findings.
pub fn judge(evidence: &Evidence) -> Findings {
    let trial = of_record::trial(evidence);
    let mut findings = judge_trial(&trial);
    let opening = evidence.opening.as_ref();
    findings.record = opening.map(|o| o.record.clone());
    findings.campaign = opening.map(|o| o.campaign.clone());
    findings.complete = evidence.complete;
    findings.sums = Some(sums::count(evidence));
    findings.absent.remove("sums");
    if opening.is_some() {
        findings.absent.remove("record");
        findings.absent.remove("campaign");
    }
    findings.absent.insert("table".to_owned(), "the data are a record".to_owned());
    findings.annotations = annotations::annotations(evidence);
    findings.as_run = annotations::as_run(evidence, &findings);
    findings.cautions = caution::of_record(&trial, evidence, &findings);
    findings.run_cautions = caution::of_runs(evidence);
    findings.run_cautions.extend(completion::undone(&findings.cells));
    findings
}

/// Judges runs of any origin.
pub fn judge_trial(trial: &Trial) -> Findings {
    let (twins, arms): (Vec<_>, Vec<_>) =
        points(trial).into_iter().partition(|(arm, _)| arm.kind == ArmKind::Twin);
    let family = family(&trial.responses, &arms);
    let blocks = trial.planned_blocks();
    let mut bench = Bench { trial, blocks: &blocks, laws: Laws::default(), found: Verdicts::default() };
    bench.judge(&arms, family.comparisons);
    let Verdicts { answers, effects, reruns } = bench.found;
    let mut shares = Shares::default();
    let mut findings = Findings {
        version: VERSION,
        record: None,
        campaign: None,
        table: None,
        pilot: trial.pilot,
        complete: true,
        method: method::method(primary_scale(&trial.responses)),
        family,
        sums: None,
        cells: trial.cells.iter().map(|c| summarise(trial, c, &blocks, &mut shares)).collect(),
        answers,
        effects,
        effects_with_reruns: reruns,
        factorials: factorial::analyse(trial, &blocks),
        interactions: factorial::interactions(trial, &blocks),
        split_plots: whole_plot::split_plots(trial, &blocks),
        environment: environment::look(trial, &blocks, &twins, &arms),
        change_points: vec![],
        annotations: vec![],
        as_run: vec![],
        cautions: vec![],
        run_cautions: vec![],
        absent: ["record", "campaign", "sums"]
            .map(|name| (name.to_owned(), "the data are not a record".to_owned()))
            .into(),
    };
    whole_plot::warn(&mut findings.factorials, &findings.split_plots);
    findings.cautions = caution::of_numbers(&findings);
    findings
}

/// Cells that were measured and lost, for the table of rejected configurations; an anchor that is
/// slower than the control is progress, not a loss.
pub fn losses(findings: &Findings) -> Vec<Loss> {
    let lost = findings
        .effects
        .iter()
        .filter(|e| e.verdict == Verdict::Worse && !e.exploratory && e.kind != ArmKind::Anchor);
    lost.filter_map(|e| {
        let cell = e.cell.clone()?;
        Some(Loss { cell, reason: e.sentence.clone(), evidence: verdict::numbers(e).unwrap_or_default() })
    })
    .collect()
}

#[derive(Default)]
struct Verdicts {
    answers: Vec<Effect>,
    effects: Vec<Effect>,
    reruns: Vec<RerunFinding>,
}

/// Responses with whether they are exploratory; without a declared primary one the first is it.
pub fn ranked(responses: &[Response]) -> impl Iterator<Item = (&Response, bool)> {
    let any = responses.iter().any(|r| r.primary);
    responses.iter().enumerate().map(move |(i, r)| (r, if any { !r.primary } else { i > 0 }))
}

/// The scale that the answers are on: that of the first primary response.
fn primary_scale(responses: &[Response]) -> Scale {
    ranked(responses).find(|(_, exploratory)| !exploratory).map_or(Scale::Log, |(r, _)| r.scale)
}

/// Intervals of the pooled effects on one response, of every arm that counts in the family.
pub fn pooled_intervals(trial: &Trial, response: &str) -> Vec<Option<Interval>> {
    let Some(at) = trial.responses.iter().position(|r| r.name == response) else { return vec![] };
    let (blocks, mut laws) = (trial.planned_blocks(), Laws::default());
    let arms = points(trial);
    let compared = arms.iter().filter(|(arm, points)| is_compared(arm, points));
    compared
        .map(|(arm, points)| measure(trial, at, arm, points, &blocks, &mut laws).effect.interval)
        .collect()
}

fn family(responses: &[Response], arms: &[(&Arm, Vec<Point>)]) -> Family {
    let primary: Vec<String> =
        ranked(responses).filter(|(_, exploratory)| !exploratory).map(|(r, _)| r.name.clone()).collect();
    let arms: Vec<String> = arms
        .iter()
        .filter(|(arm, points)| is_compared(arm, points))
        .map(|(arm, _)| arm.name.clone())
        .collect();
    Family {
        comparisons: (primary.len() * arms.len()) as u64,
        responses: primary,
        arms,
        correction: "Holm, over the pooled effects of treatments and combinations on each primary response"
            .to_owned(),
        alpha: ALPHA,
    }
}

/// Does an arm count in the family? Anchors only show where the control stands, and an arm without a
/// live pair was turned down before any timing, so that leaving it out cannot favour anything.
fn is_compared(arm: &Arm, points: &[Point]) -> bool {
    matches!(arm.kind, ArmKind::Treatment | ArmKind::Combination)
        && points.iter().any(|p| p.obstacle.is_none())
}

/// Where each arm may be compared with the control: every grid point where it was planned to run.
pub fn points(trial: &Trial) -> Vec<(&Arm, Vec<Point>)> {
    let of_control = trial.cells.iter().enumerate().filter(|(_, c)| c.kind == ArmKind::Control);
    let controls: BTreeMap<Vec<(&String, &String)>, usize> =
        of_control.map(|(at, c)| (sorted(&c.levels), at)).collect();
    let mut own: BTreeMap<&str, Vec<Point>> = BTreeMap::new();
    for (at, cell) in trial.cells.iter().enumerate().filter(|(_, c)| c.kind != ArmKind::Control) {
        let Some(control) = controls.get(&sorted(&cell.levels)).copied() else { continue };
        if cell.fate != Fate::Excluded && trial.cells[control].fate != Fate::Excluded {
            let obstacle = obstacle(cell, &trial.cells[control]);
            own.entry(&cell.arm).or_default().push(Point { cell: at, control, obstacle });
        }
    }
    let arms = trial.arms.iter().filter(|arm| arm.kind != ArmKind::Control);
    arms.map(|arm| (arm, own.remove(arm.name.as_str()).unwrap_or_default())).collect()
}

fn sorted(levels: &IndexMap<String, String>) -> Vec<(&String, &String)> {
    let mut levels: Vec<_> = levels.iter().collect();
    levels.sort();
    levels
}

fn obstacle(cell: &Cell, control: &Cell) -> Option<String> {
    let refused = |cell: &Cell, who: &str| {
        let why = cell.reason.as_deref().unwrap_or("no reason was recorded");
        (cell.fate == Fate::Refused).then(|| format!("{who} was refused: {why}"))
    };
    let told = |cell: &Cell| cell.deadlines.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
    let apart = !cell.deadlines.is_empty()
        && !control.deadlines.is_empty()
        && (cell.deadlines != control.deadlines || cell.deadlines.len() > 1);
    refused(cell, "it").or_else(|| refused(control, "its control")).or_else(|| {
        apart.then(|| {
            format!(
                "its runs had other deadlines ({}) than the control's ({}), and what a deadline cuts off differs with it",
                told(cell),
                told(control)
            )
        })
    })
}

/// A pooled effect with what it was made from.
struct Pooled<'a> {
    response: usize,
    exploratory: bool,
    arm: &'a Arm,
    points: &'a [Point],
    measured: Measured,
}

impl Pooled<'_> {
    fn in_family(&self) -> bool {
        !self.exploratory && is_compared(self.arm, self.points)
    }
}

/// What every judgement needs, and what came of them.
struct Bench<'a> {
    trial: &'a Trial,
    blocks: &'a [u32],
    laws: Laws,
    found: Verdicts,
}

impl Bench<'_> {
    /// Pooled effects first, adjusted as one family; then cell by cell.
    fn judge(&mut self, arms: &[(&Arm, Vec<Point>)], comparisons: u64) {
        let mut pooled = vec![];
        for (response, (_, exploratory)) in ranked(&self.trial.responses).enumerate() {
            for (arm, points) in arms {
                let mut measured = self.measure(response, exploratory, arm, points);
                measured.effect.cell = None;
                measured.effect.levels.clear();
                pooled.push(Pooled { response, exploratory, arm, points, measured });
            }
        }
        let mut primary: Vec<&mut Effect> =
            pooled.iter_mut().filter(|p| p.in_family()).map(|p| &mut p.measured.effect).collect();
        // An arm whose runs gave no p still is a comparison that was planned, hence 1.
        let p: Vec<f64> = primary.iter().map(|e| e.p.unwrap_or(1.0)).collect();
        for (effect, adjusted) in primary.iter_mut().zip(holm::adjust(&p)) {
            effect.p_adjusted = effect.p.map(|_| adjusted);
        }
        for effect in pooled {
            self.decide(effect, comparisons);
        }
    }

    fn measure(&mut self, response: usize, exploratory: bool, arm: &Arm, points: &[Point]) -> Measured {
        let mut measured = measure(self.trial, response, arm, points, self.blocks, &mut self.laws);
        measured.effect.exploratory = exploratory;
        measured
    }

    fn decide(&mut self, pooled: Pooled, comparisons: u64) {
        let in_family = pooled.in_family();
        let Pooled { response, exploratory, arm, points, measured } = pooled;
        let (p, family) =
            if in_family { (measured.effect.p_adjusted, comparisons) } else { (measured.effect.p, 1) };
        let gate = environment::reversed(self.trial, response, points, self.blocks);
        let whole = Circumstances { pilot: self.trial.pilot, p, family, gate };
        // A single grid point is the pooled effect itself, so nothing of it is worked out again.
        let alone = (points.len() == 1).then(|| measured.clone());
        self.found.answers.push(decide(measured, &whole));
        for point in points {
            let measured = match &alone {
                Some(measured) => at_point(self.trial, measured.clone(), point),
                None => self.measure(response, exploratory, arm, std::slice::from_ref(point)),
            };
            let circumstances = of_cell(&whole, &measured, points.len());
            let first = decide(measured, &circumstances);
            let again =
                Rerun { response, exploratory, arm, point, first: &first, circumstances: &circumstances };
            self.found.reruns.extend(rerun::judge(self.trial, &again, self.blocks, &mut self.laws));
            self.found.effects.push(first);
        }
    }
}

fn at_point(trial: &Trial, mut measured: Measured, point: &Point) -> Measured {
    let cell = &trial.cells[point.cell];
    measured.effect.cell = Some(cell.id.clone());
    measured.effect.levels = cell.levels.clone();
    measured.effect.p_adjusted = None;
    measured
}

/// A single grid point is the pooled effect itself and is judged like it; with several, a cell has
/// a verdict only after its arm passed, and then by its own unadjusted p.
fn of_cell(pooled: &Circumstances, cell: &Measured, points: usize) -> Circumstances {
    if points == 1 {
        return pooled.clone();
    }
    let passed = pooled.p.is_some_and(|p| p <= ALPHA);
    let gate = "its arm's pooled effect did not pass, so single grid points are shown and not judged";
    Circumstances {
        pilot: pooled.pilot,
        p: cell.effect.p,
        family: 1,
        gate: (!passed).then(|| gate.to_owned()),
    }
}
