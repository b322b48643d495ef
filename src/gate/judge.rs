//! Judging a record by what was published and by everything that was reached since.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::anchor::{self, AgainstAnchor};
use super::floor::{FEWEST, Level, band_in_force, level, stale_above, worse};
use super::history::{self, Line};
use super::key;
use super::measured::{Measured, MeasuredCell, Values};
use super::publication::{Baseline, Book, Published};
use super::verdict::{Verdict, overall};
use crate::model::arm::ArmKind;
use crate::model::cell::CellId;
use crate::model::gate::Band;
use crate::model::response::{Better, Response};

/// Version of the answer's shape.
pub const VERSION: u32 = 1;

/// The answer of the gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    pub version: u32,
    pub campaign: String,
    pub record: String,
    pub overall: Verdict,
    /// The publication in force; null where nothing is published.
    pub published: Option<InForce>,
    pub cells: Vec<CellVerdict>,
    /// Controls that stand below a level that was reached before: such a record is no pass.
    pub controls_below: Vec<Below>,
    /// What a reader must know besides, in words.
    pub notes: Vec<String>,
}

/// The publication that a record is judged by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InForce {
    pub record: String,
    pub at: String,
    pub by: String,
    pub why: String,
    /// From the published record's beginning to this one's.
    pub age_days: Option<i64>,
    /// Different programs among the valid trials since then, this one included; null where programs cannot be
    /// told apart.
    pub age_releases: Option<u64>,
    pub forced: Option<String>,
    pub lowered: Option<String>,
}

/// One response of one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellVerdict {
    #[schemars(with = "String")]
    pub cell: CellId,
    pub arm: String,
    pub response: String,
    pub unit: String,
    #[schemars(with = "String")]
    pub better: Better,
    pub verdict: Verdict,
    /// The verdict in a sentence.
    pub sentence: String,
    /// Why, where numbers alone do not tell.
    pub reason: Option<String>,
    /// Median of the replicates.
    pub value: Option<f64>,
    /// The worst replicate.
    pub worst: Option<f64>,
    pub n: u64,
    /// The second measurement of a cell that failed the first.
    pub again: Option<Again>,
    pub published: Option<f64>,
    /// The worst value that passes; a ceiling where lower is better.
    pub floor: Option<f64>,
    pub tolerance: f64,
    /// The fall that the floor really lets through from the best known level; 0.447 is 44.7 %.
    pub band_in_force: Option<f64>,
    pub best_known: Option<BestKnown>,
    /// The strictest floor that ever was.
    pub strictest_floor: Option<f64>,
    /// Where the published artifact ran in the same blocks.
    pub anchor: Option<AgainstAnchor>,
    /// Records that stand above the published level.
    pub above: Vec<String>,
    /// Facts in which this record differs from the published one.
    pub differences: Vec<String>,
}

/// A second measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Again {
    pub value: f64,
    pub worst: f64,
    pub n: u64,
    pub verdict: Verdict,
}

/// The best median under the same key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BestKnown {
    pub value: f64,
    pub record: String,
}

/// A control that stands below a level that was reached before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Below {
    #[schemars(with = "String")]
    pub cell: CellId,
    pub response: String,
    pub unit: String,
    #[schemars(with = "String")]
    pub better: Better,
    pub value: f64,
    pub best: BestKnown,
}

/// Judges every gated response of every cell; twins and anchors are not products and are not judged.
pub fn judge(measured: &Measured, book: Option<&Book>, history: &[Line]) -> Gate {
    let active = book.and_then(Book::active);
    let mut cells = vec![];
    let products = measured.cells.iter().filter(|c| !matches!(c.kind, ArmKind::Twin | ArmKind::Anchor));
    for cell in products {
        for (response, band) in &measured.responses {
            cells.push(Bench { measured, book, active, history }.cell(cell, response, *band));
        }
    }
    // Who only stands beside others as the published artifact is judged through them.
    let anchors: BTreeSet<String> =
        cells.iter().filter_map(|c| c.anchor.as_ref().map(|a| a.arm.clone())).collect();
    for own in &mut cells {
        if anchors.contains(&own.arm) && own.anchor.is_none() && own.verdict == Verdict::NotComparable {
            own.verdict = Verdict::Pass;
            own.reason = Some("the published artifact itself; others are judged by their ratio to it".into());
        }
    }
    missing(measured, active, &mut cells);
    let verdict = match cells.is_empty() {
        true => Verdict::NothingMeasured,
        false => overall(cells.iter().map(|cell| cell.verdict)),
    };
    let below = control_below(measured, book, history);
    // A product that agrees with a control under the cliff has shown nothing.
    let hollow = measured.pilot || !below.is_empty();
    let verdict = if hollow && verdict == Verdict::Pass { Verdict::Inconclusive } else { verdict };
    Gate {
        version: VERSION,
        campaign: measured.campaign.clone(),
        record: measured.record.clone(),
        overall: verdict,
        published: active.map(|published| in_force(measured, published, history)),
        notes: notes(measured, &cells),
        controls_below: below,
        cells,
    }
}

struct Bench<'a> {
    measured: &'a Measured,
    book: Option<&'a Book>,
    active: Option<&'a Published>,
    history: &'a [Line],
}

impl Bench<'_> {
    fn cell(&self, cell: &MeasuredCell, response: &Response, band: Band) -> CellVerdict {
        let values = cell.values.get(&response.name).cloned().unwrap_or_default();
        let level = level(response.better, &values.numbers());
        let baseline = self.active.and_then(|published| published.of(&cell.cell, &response.name));
        let beside =
            self.active.and_then(|published| anchor::beside(self.measured, published, cell, response));
        let against = beside.and_then(|(anchor, baseline)| anchor::against(cell, anchor, baseline, response));
        let mut own = CellVerdict {
            cell: cell.cell.clone(),
            arm: cell.arm.clone(),
            response: response.name.clone(),
            unit: response.unit.clone(),
            better: response.better,
            verdict: Verdict::Pass,
            sentence: String::new(),
            reason: None,
            value: level.map(|level| level.median),
            worst: level.map(|level| level.worst),
            n: level.map_or(0, |level| level.n as u64),
            again: None,
            published: baseline.map(|baseline| baseline.median),
            floor: baseline.map(|baseline| baseline.floor),
            tolerance: baseline.map_or(band.tolerance, |baseline| baseline.tolerance),
            band_in_force: None,
            best_known: self.best_known(cell, response, level),
            strictest_floor: self.book.and_then(|book| book.strictest_floor(&cell.cell, &response.name)),
            anchor: against,
            above: vec![],
            differences: vec![],
        };
        if let (Some(floor), Some(best)) = (own.floor, &own.best_known) {
            own.band_in_force = band_in_force(response.better, floor, best.value);
        }
        self.decide(&mut own, cell, response, level, &values, baseline);
        own
    }

    fn decide(
        &self,
        own: &mut CellVerdict,
        cell: &MeasuredCell,
        response: &Response,
        level: Option<Level>,
        values: &Values,
        baseline: Option<&Baseline>,
    ) {
        let Some(level) = level else {
            let outcomes: Vec<String> = cell.outcomes.iter().map(|(name, n)| format!("{n} {name}")).collect();
            own.verdict = Verdict::NothingMeasured;
            own.reason = Some(format!("no valid sample ({})", outcomes.join(", ")));
            return;
        };
        if let Some(against) = &own.anchor {
            own.verdict = against.verdict;
            return;
        }
        let Some(baseline) = baseline else {
            own.verdict = Verdict::NoBaseline;
            return;
        };
        own.differences = key::differences(&baseline.key, &cell.key);
        if !own.differences.is_empty() {
            own.verdict = Verdict::NotComparable;
            return;
        }
        own.verdict = stored(level, baseline);
        if matches!(own.verdict, Verdict::Regression | Verdict::Inconclusive) {
            own.again = again(values, baseline);
            if let Some(again) = &own.again {
                own.verdict = again.verdict;
            }
        }
        if own.verdict == Verdict::Regression
            && !cell.programs.is_empty()
            && cell.programs == baseline.programs
        {
            own.verdict = Verdict::NotComparable;
            own.reason = Some(
                "the very program that was published is slower here than it was: the host has changed, not the product"
                    .into(),
            );
            return;
        }
        if own.verdict != Verdict::Regression {
            own.above = self.above(cell, response, level, baseline);
            if !own.above.is_empty() {
                own.verdict = Verdict::StaleBaseline;
            }
        }
    }

    /// Records that stand above the published level: this one alone, or two in a row of the history.
    fn above(
        &self,
        cell: &MeasuredCell,
        response: &Response,
        level: Level,
        baseline: &Baseline,
    ) -> Vec<String> {
        let threshold = stale_above(response.better, baseline.median, baseline.tolerance);
        if worse(response.better, threshold, level.worst) {
            return vec![self.measured.record.clone()];
        }
        let Some(published) = self.active else { return vec![] };
        let key = key::name(&cell.key);
        let lines = history::of(self.history, &cell.cell, &response.name, &key);
        // What was reached before counts too, unless somebody said why less is official now.
        let since = |line: &Line| published.lowered.is_none() || line.at > published.record_at;
        let lines: Vec<_> = lines
            .into_iter()
            .filter(|(line, _)| line.record != self.measured.record && line.record != published.record)
            .filter(|(line, _)| since(line))
            .collect();
        let stands = |reached: &history::LineCell| {
            reached.n >= FEWEST as u64 && worse(response.better, threshold, reached.worst)
        };
        let two = lines.windows(2).rev().find(|two| two.iter().all(|(_, reached)| stands(reached)));
        two.map(|two| two.iter().map(|(line, _)| line.record.clone()).collect()).unwrap_or_default()
    }

    fn best_known(
        &self,
        cell: &MeasuredCell,
        response: &Response,
        level: Option<Level>,
    ) -> Option<BestKnown> {
        let key = key::name(&cell.key);
        let mut best: Option<BestKnown> = None;
        let mut offer = |value: f64, record: &str| {
            if best.as_ref().is_none_or(|best| worse(response.better, best.value, value)) {
                best = Some(BestKnown { value, record: record.to_owned() });
            }
        };
        if let Some(level) = level {
            offer(level.median, &self.measured.record);
        }
        for (line, reached) in history::of(self.history, &cell.cell, &response.name, &key) {
            offer(reached.median, &line.record);
        }
        for published in self.book.into_iter().flat_map(Book::published) {
            if let Some(own) = published.of(&cell.cell, &response.name).filter(|own| own.key == cell.key) {
                offer(own.median, &published.record);
            }
        }
        best
    }
}

/// By the stored floor: the median decides, and every replicate has to stand for a pass.
fn stored(level: Level, baseline: &Baseline) -> Verdict {
    match (
        worse(baseline.better, level.median, baseline.floor),
        worse(baseline.better, level.worst, baseline.floor),
    ) {
        _ if level.n < FEWEST => Verdict::Inconclusive,
        (true, _) => Verdict::Regression,
        (false, true) => Verdict::Inconclusive,
        (false, false) => Verdict::Pass,
    }
}

fn again(values: &Values, baseline: &Baseline) -> Option<Again> {
    let level = level(baseline.better, &values.again).filter(|level| level.n >= FEWEST)?;
    Some(Again {
        value: level.median,
        worst: level.worst,
        n: level.n as u64,
        verdict: stored(level, baseline),
    })
}

/// What was published and is not there any more is told, never left out.
fn missing(measured: &Measured, active: Option<&Published>, cells: &mut Vec<CellVerdict>) {
    let products = |own: &&Baseline| !matches!(own.kind, ArmKind::Twin | ArmKind::Anchor);
    for own in active.into_iter().flat_map(|published| &published.cells).filter(products) {
        let gated = measured.responses.iter().any(|(response, _)| response.name == own.response);
        if measured.cell(&own.cell).is_some() && gated {
            continue;
        }
        let why = match measured.not_live.get(&own.cell) {
            Some(why) => why.clone(),
            None if measured.cell(&own.cell).is_some() => "its response is not gated any more".into(),
            None => "the campaign has this cell no more".into(),
        };
        cells.push(CellVerdict {
            cell: own.cell.clone(),
            arm: own.cell.0.rsplit('/').next().unwrap_or_default().to_owned(),
            response: own.response.clone(),
            unit: own.unit.clone(),
            better: own.better,
            verdict: Verdict::NothingMeasured,
            sentence: String::new(),
            reason: Some(why),
            value: None,
            worst: None,
            n: 0,
            again: None,
            published: Some(own.median),
            floor: Some(own.floor),
            tolerance: own.tolerance,
            band_in_force: None,
            best_known: None,
            strictest_floor: None,
            anchor: None,
            above: vec![],
            differences: vec![],
        });
    }
}

fn in_force(measured: &Measured, published: &Published, history: &[Line]) -> InForce {
    let days = |from: &str, to: &str| -> Option<i64> {
        let (from, to) = (from.parse::<jiff::Timestamp>().ok()?, to.parse::<jiff::Timestamp>().ok()?);
        Some((to.as_second() - from.as_second()).div_euclid(86_400))
    };
    let old: BTreeSet<&String> = published.cells.iter().flat_map(|own| &own.programs).collect();
    let since = history.iter().filter(|line| line.at > published.record_at && line.at <= measured.at);
    let mut seen: BTreeSet<&String> =
        since.flat_map(|line| &line.cells).flat_map(|own| &own.programs).collect();
    seen.extend(measured.cells.iter().flat_map(|cell| &cell.programs));
    InForce {
        record: published.record.clone(),
        at: published.at.clone(),
        by: published.by.clone(),
        why: published.why.clone(),
        age_days: days(&published.record_at, &measured.at),
        age_releases: (!old.is_empty()).then(|| seen.difference(&old).count() as u64),
        forced: published.forced.as_ref().map(|forced| forced.reason.clone()),
        lowered: published.lowered.clone(),
    }
}

fn notes(measured: &Measured, cells: &[CellVerdict]) -> Vec<String> {
    let mut notes = vec![];
    if measured.pilot {
        notes.push("the record is a pilot: nothing it shows is a pass".into());
    }
    let moved = cells.iter().filter_map(|own| Some((own, own.anchor.as_ref()?))).find(|(own, against)| {
        against
            .host_moved
            .is_some_and(|ratio| !(1.0 - own.tolerance..=1.0 / (1.0 - own.tolerance)).contains(&ratio))
    });
    if let Some((own, against)) = moved {
        notes.push(format!(
            "the host's state changed: the published artifact itself ({}) gives {:.3} times its published {}; \
             stored numbers say nothing here, the ratio to it decides",
            against.arm,
            against.host_moved.unwrap_or(1.0),
            own.response
        ));
    }
    notes
}

/// Controls that stand below a level that was reached before under the same key: two builds that agree show
/// nothing where the cliff lies under both. Nothing is said where somebody gave a reason for the lower level.
pub fn control_below(measured: &Measured, book: Option<&Book>, history: &[Line]) -> Vec<Below> {
    let bench = Bench { measured, book, active: book.and_then(Book::active), history };
    if bench.active.is_some_and(|active| active.lowered.is_some()) {
        return vec![];
    }
    let mut found = vec![];
    for cell in measured.cells.iter().filter(|cell| cell.kind == ArmKind::Control) {
        for (response, band) in &measured.responses {
            // A second measurement stands in place of the first.
            let values = cell.values.get(&response.name).map(|values| match values.again.len() >= FEWEST {
                true => values.again.clone(),
                false => values.numbers(),
            });
            let Some(level) = level(response.better, &values.unwrap_or_default()) else { continue };
            let Some(best) = bench.best_known(cell, response, Some(level)) else { continue };
            let floor = super::floor::floor(response.better, best.value, *band);
            if best.value != 0.0 && worse(response.better, level.median, floor) {
                found.push(Below {
                    cell: cell.cell.clone(),
                    response: response.name.clone(),
                    unit: response.unit.clone(),
                    better: response.better,
                    value: level.median,
                    best,
                });
            }
        }
    }
    found
}

/// The JSON schema (draft-07) of the gate's answer.
pub fn schema() -> serde_json::Value {
    let generator = schemars::generate::SchemaSettings::draft07().into_generator();
    generator.into_root_schema_for::<Gate>().to_value()
}
