//! The whole judgement of one record.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use super::effect::{ALPHA, Measured, Point, measure};
use super::findings::{Effect, Family, Findings, Method, RerunFinding, VERSION, Verdict};
use super::pairs::Pairing;
use super::rerun::{self, Rerun};
use super::verdict::{self, Circumstances, decide};
use super::{caution, holm, summary, sums};
use crate::evidence::event::{ArmNote, CellNote};
use crate::evidence::fold::Evidence;
use crate::evidence::rows::Loss;
use crate::model::arm::ArmKind;
use crate::model::outcome::Fate;
use crate::model::response::Response;

/// Judges evidence. Pure and repeatable: the same evidence yields the same findings.
pub fn judge(evidence: &Evidence) -> Findings {
    let pairing = Pairing::new(evidence);
    let opening = evidence.opening.as_ref();
    let responses = opening.map_or(&[][..], |o| &o.responses);
    let arms: Vec<(&ArmNote, Vec<Point>)> = opening
        .map_or(&[][..], |o| &o.arms)
        .iter()
        .filter(|arm| arm.kind != ArmKind::Control)
        .map(|arm| (arm, points(evidence, arm)))
        .collect();
    let family = family(responses, &arms);
    let blocks = pairing.planned_blocks();
    let mut bench = Bench {
        pairing: &pairing,
        pilot: opening.is_some_and(|o| o.pilot),
        blocks: &blocks,
        found: Verdicts::default(),
    };
    bench.judge(responses, &arms, family.comparisons);
    let Verdicts { answers, effects, reruns } = bench.found;
    let cells =
        in_grid_order(evidence).map(|c| summary::summarise(&pairing, c, responses, &blocks)).collect();
    let mut findings = Findings {
        version: VERSION,
        record: opening.map_or(String::new(), |o| o.record.clone()),
        campaign: opening.map_or(String::new(), |o| o.campaign.clone()),
        pilot: opening.is_some_and(|o| o.pilot),
        complete: evidence.complete,
        method: method(),
        family,
        sums: sums::count(evidence),
        cells,
        answers,
        effects,
        effects_with_reruns: reruns,
        cautions: vec![],
        run_cautions: caution::of_runs(pairing.evidence()),
    };
    findings.cautions = caution::list(&pairing, &findings);
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

/// Cells as the campaign declares them: level by level, at each grid point arm by arm. The journal
/// has them in the order they were decided, which puts those turned down first.
fn in_grid_order(evidence: &Evidence) -> impl Iterator<Item = &CellNote> {
    let opening = evidence.opening.as_ref();
    let place = |cell: &&CellNote| {
        let levels = opening.into_iter().flat_map(|o| &o.variables).map(|(name, levels)| {
            let level = cell.levels.get(name);
            level.and_then(|level| levels.iter().position(|l| l == level)).unwrap_or(levels.len())
        });
        let arm = opening.and_then(|o| o.arms.iter().position(|a| a.kind == cell.kind && a.name == cell.arm));
        (levels.collect::<Vec<_>>(), arm.unwrap_or(usize::MAX))
    };
    let mut cells: Vec<&CellNote> = evidence.cells.values().collect();
    cells.sort_by_cached_key(place);
    cells.into_iter()
}

#[derive(Default)]
struct Verdicts {
    answers: Vec<Effect>,
    effects: Vec<Effect>,
    reruns: Vec<RerunFinding>,
}

/// Responses with whether they are exploratory; without a declared primary one the first is it.
fn ranked(responses: &[Response]) -> impl Iterator<Item = (&Response, bool)> {
    let any = responses.iter().any(|r| r.primary);
    responses.iter().enumerate().map(move |(i, r)| (r, if any { !r.primary } else { i > 0 }))
}

fn family(responses: &[Response], arms: &[(&ArmNote, Vec<Point>)]) -> Family {
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
fn is_compared(arm: &ArmNote, points: &[Point]) -> bool {
    arm.kind != ArmKind::Anchor && points.iter().any(|p| p.obstacle.is_none())
}

/// Where an arm may be compared with the control: every grid point where it was planned to run.
fn points(evidence: &Evidence, arm: &ArmNote) -> Vec<Point> {
    let controls: BTreeMap<Vec<(&String, &String)>, &CellNote> = evidence
        .cells
        .values()
        .filter(|c| c.kind == ArmKind::Control)
        .map(|c| (sorted(&c.levels), c))
        .collect();
    let own = in_grid_order(evidence).filter(|c| c.kind != ArmKind::Control && c.arm == arm.name);
    own.filter(|c| c.fate != Fate::Excluded)
        .filter_map(|c| {
            let control = *controls.get(&sorted(&c.levels))?;
            (control.fate != Fate::Excluded).then(|| Point {
                levels: c.levels.clone(),
                cell: c.cell.clone(),
                control: control.cell.clone(),
                obstacle: refusal(c, "it").or_else(|| refusal(control, "its control")),
            })
        })
        .collect()
}

fn sorted(levels: &IndexMap<String, String>) -> Vec<(&String, &String)> {
    let mut levels: Vec<_> = levels.iter().collect();
    levels.sort();
    levels
}

fn refusal(cell: &CellNote, who: &str) -> Option<String> {
    (cell.fate == Fate::Refused)
        .then(|| format!("{who} was refused: {}", cell.reason.as_deref().unwrap_or("no reason was recorded")))
}

/// A pooled effect with what it was made from.
struct Pooled<'a> {
    response: &'a Response,
    exploratory: bool,
    arm: &'a ArmNote,
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
    pairing: &'a Pairing<'a>,
    pilot: bool,
    blocks: &'a [u32],
    found: Verdicts,
}

impl Bench<'_> {
    /// Pooled effects first, adjusted as one family; then cell by cell.
    fn judge(&mut self, responses: &[Response], arms: &[(&ArmNote, Vec<Point>)], comparisons: u64) {
        let mut pooled = vec![];
        for (response, exploratory) in ranked(responses) {
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

    fn measure(&self, response: &Response, exploratory: bool, arm: &ArmNote, points: &[Point]) -> Measured {
        let mut measured = measure(self.pairing, response, arm, points, self.blocks);
        measured.effect.exploratory = exploratory;
        measured
    }

    fn decide(&mut self, pooled: Pooled, comparisons: u64) {
        let in_family = pooled.in_family();
        let Pooled { response, exploratory, arm, points, measured } = pooled;
        let (p, family) =
            if in_family { (measured.effect.p_adjusted, comparisons) } else { (measured.effect.p, 1) };
        let whole = Circumstances { pilot: self.pilot, p, family, gate: None };
        self.found.answers.push(decide(measured, &whole));
        for point in points {
            let measured = self.measure(response, exploratory, arm, std::slice::from_ref(point));
            let circumstances = of_cell(&whole, &measured, points.len());
            let first = &decide(measured, &circumstances);
            let again = Rerun { response, exploratory, arm, point, first, circumstances: &circumstances };
            self.found.reruns.extend(rerun::judge(self.pairing, &again));
            self.found.effects.push(first.clone());
        }
    }
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

fn method() -> Method {
    Method {
        scale: "log: effects are ratios to the control".to_owned(),
        estimate: "Hodges–Lehmann pseudo-median of the log ratios of block pairs".to_owned(),
        test: "exact two-sided signed-rank test over all sign flips, midranks, zeros after Pratt".to_owned(),
        interval: "inversion of the same test at 95 %, with the confidence it really attains; below six pairs the range under its own level; not adjusted for the number of comparisons".to_owned(),
        summary: "median, minimum and maximum over measured runs; interval of the median by order statistics".to_owned(),
        rests_on: vec![
            "The block is the unit of replication; samples inside a run are reduced to one value before.".to_owned(),
            "The test is exact where the differences inside pairs are symmetric about their centre.".to_owned(),
            "Mirrored order is not the randomisation that the test assumes: a disturbance that comes back every two blocks gives 6.7 to 8.5 % false alarms instead of 5 %.".to_owned(),
            "Runs that were rejected, timed out, failed or were interrupted leave the estimate with their pair and are counted; an unequal count bars the verdicts better and equivalent.".to_owned(),
        ],
    }
}
