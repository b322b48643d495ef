//! What a page shows, as texts that a template only has to place.

use std::collections::BTreeMap;

use serde::Serialize;

use super::again::{self, RepeatView, RerunView};
use super::annotated::{self, AnnotatedView};
use super::asked::{self, AskedView};
use super::cells::{self, CellView};
use super::crossings::{self, CrossingsView};
use super::effects;
use super::held::{self, HeldView};
use super::identity::{self, IdentityView};
use super::ledger::{self, RunView, TurnedDown};
use super::number::Scale;
use super::origin::{self, HostView, SessionView};
use super::points::{self, PointView};
use super::sums::{self, SumView};
use super::trail::Trail;
use super::variance::{self, VarianceView};
use crate::analysis::findings::{Effect, Findings};
use crate::analysis::verdict::{between, confidence, p_text, percent, ratio};
use crate::evidence::fold::Evidence;
use crate::model::cell::CellId;
use crate::model::scale::Scale::Linear;

/// Everything on the page, top-down.
#[derive(Debug, Serialize)]
pub struct View {
    pub title: String,
    pub campaign: String,
    pub record: String,
    pub pilot: bool,
    pub complete: bool,
    pub asked: AskedView,
    pub answers: Vec<AnswerView>,
    /// How far identical controls are apart, on primary responses.
    pub noise: Vec<String>,
    pub sums: Vec<SumView>,
    pub added: String,
    pub cautions: Vec<String>,
    /// Primary responses first.
    pub responses: Vec<ResponseView>,
    pub rejected: Vec<TurnedDown>,
    pub all_rejected: usize,
    /// Measured losses as entries of a dead-ends file.
    pub dead_ends: Option<String>,
    pub misfires: Vec<TurnedDown>,
    pub all_misfires: usize,
    pub annotated: Vec<AnnotatedView>,
    /// Effects that the annotations moved, as they would be without.
    pub with_annotated: Vec<EffectView>,
    pub reruns: Vec<RerunView>,
    pub repeats: Vec<RepeatView>,
    /// Name and unit of each response, in the order of the runs' values.
    pub columns: Vec<(String, String)>,
    pub runs: Vec<RunView>,
    /// All of them, also those that only `runs.csv` has.
    pub all_runs: usize,
    pub any_samples: bool,
    pub crossings: Vec<CrossingsView>,
    pub variances: Vec<VarianceView>,
    pub points: Vec<PointView>,
    pub all_cells: usize,
    pub full_cells: usize,
    pub held: HeldView,
    pub identity: IdentityView,
    /// Unit of the runs' own durations.
    pub took: String,
    pub hosts: Vec<HostView>,
    pub sessions: Vec<SessionView>,
    pub method: Vec<(String, String)>,
    pub rests_on: Vec<String>,
    pub strip_width: f64,
    pub strip_height: f64,
}

/// The answer of one arm on a primary response.
#[derive(Debug, Serialize)]
pub struct AnswerView {
    pub effect: EffectView,
    /// The same at single grid points; empty where there is one only, or more than a glance takes in.
    pub points: Vec<EffectView>,
}

/// Grid points that one answer lists below itself; the table of effects has all.
const POINTS_AT_A_GLANCE: usize = 8;

/// One response with its effects and cells.
#[derive(Debug, Serialize)]
pub struct ResponseView {
    pub name: String,
    pub unit: String,
    pub better: String,
    pub exploratory: bool,
    /// Why it has no value at all; None where some run has one.
    pub absent: Option<String>,
    /// Axis of the forest plot; None where there is no number.
    pub axis: Option<String>,
    pub effects: Vec<EffectView>,
    pub effects_left_out: usize,
    pub cells: Vec<CellView>,
    pub cells_left_out: usize,
}

/// One effect as a row.
#[derive(Debug, Serialize)]
pub struct EffectView {
    pub arm: String,
    pub kind: String,
    /// Pooled over the grid.
    pub pooled: bool,
    /// Grid point, or `all grid points`.
    pub place: String,
    pub anchor: Option<String>,
    pub response: String,
    pub ratio: String,
    /// The ratio's distance from 1, in per cent.
    pub change: String,
    /// Interval of the ratio.
    pub interval: String,
    /// Interval of the change.
    pub changes: String,
    pub confidence: String,
    /// Adjusted where the effect is in the family.
    pub p: String,
    pub p_raw: Option<String>,
    pub n: u64,
    pub verdict: String,
    /// For the style sheet.
    pub class: String,
    pub sentence: String,
    /// Why there is no number; None where there is one.
    pub missing: Option<String>,
    pub left_out: Vec<String>,
    /// Interval and blocks on the axis of its table; None outside of one.
    pub plot: Option<String>,
}

/// Lays a record out.
pub fn view(evidence: &Evidence, findings: &Findings) -> View {
    let opening = evidence.opening.as_ref();
    let trail = Trail::of(evidence, findings);
    let (rejected, misfires) = (ledger::rejected(evidence, findings), ledger::misfires(evidence));
    let named_by = |name: &Option<String>| name.clone().unwrap_or_default();
    let method = &findings.method;
    let named = [
        ("Scale", &method.scale),
        ("Estimate", &method.estimate),
        ("Test", &method.test),
        ("Interval", &method.interval),
        ("Cell summaries", &method.summary),
        ("Family", &findings.family.correction),
    ];
    let declared = opening.map_or(&[][..], |o| &o.responses);
    let scales: BTreeMap<String, Scale> =
        declared.iter().map(|r| (r.name.clone(), cells::scale(findings, &r.name, &r.unit))).collect();
    let column = |r: &crate::model::response::Response| {
        (r.name.clone(), scales.get(&r.name).map_or(String::new(), |s| s.heading.clone()))
    };
    let took = ledger::elapsed(evidence);
    let runs = ledger::runs(&trail, &scales, &took);
    let unit = |name: &str| scales.get(name).cloned().unwrap_or_else(|| Scale::of([], ""));
    let primary = declared.iter().find(|r| findings.family.responses.contains(&r.name)).or(declared.first());
    View {
        title: format!("{} · {}", named_by(&findings.campaign), named_by(&findings.record)),
        campaign: named_by(&findings.campaign),
        record: named_by(&findings.record),
        pilot: findings.pilot,
        complete: findings.complete,
        asked: asked::asked(evidence),
        answers: findings.answers.iter().filter(|a| !a.exploratory).map(|a| answer(findings, a)).collect(),
        noise: findings
            .environment
            .iter()
            .filter(|e| findings.family.responses.contains(&e.response))
            .filter_map(|e| Some(format!("{}: {}", e.response, e.noise_floor.as_ref()?.sentence)))
            .collect(),
        cautions: findings.cautions.iter().chain(&findings.run_cautions).cloned().collect(),
        sums: sums::sums(findings),
        added: added(findings.sums.as_ref().map_or(0, |s| s.added_attempts)),
        responses: responses(&trail, findings, &scales),
        crossings: crossings::crossings(findings, &unit),
        variances: variance::variances(findings),
        points: primary.map_or(vec![], |r| points::points(&trail, findings, r, &unit(&r.name))),
        all_cells: findings.cells.len(),
        full_cells: trail.full(),
        held: held::held(evidence),
        identity: identity::identity(evidence),
        all_rejected: rejected.len(),
        rejected: rejected.into_iter().take(ledger::MOST_ROWS).collect(),
        dead_ends: super::dead_ends::dead_ends(evidence, findings),
        all_misfires: misfires.len(),
        misfires: misfires.into_iter().take(ledger::MOST_ROWS).collect(),
        annotated: annotated::annotated(findings),
        with_annotated: findings.as_run.iter().map(effect).collect(),
        reruns: again::reruns(evidence, findings),
        repeats: again::repeats(evidence),
        columns: declared.iter().map(column).collect(),
        took: took.heading,
        any_samples: runs.iter().any(|r| r.samples > 0),
        all_runs: evidence.runs.len(),
        runs,
        hosts: origin::hosts(evidence),
        sessions: origin::sessions(evidence),
        method: named.into_iter().map(|(name, text)| (name.to_owned(), text.clone())).collect(),
        rests_on: method.rests_on.clone(),
        strip_width: super::strip::WIDTH,
        strip_height: super::strip::HEIGHT,
    }
}

fn answer(findings: &Findings, pooled: &Effect) -> AnswerView {
    let same = |e: &&Effect| e.arm == pooled.arm && e.kind == pooled.kind && e.response == pooled.response;
    let points: Vec<EffectView> = findings.effects.iter().filter(same).map(effect).collect();
    let glance = (2..=POINTS_AT_A_GLANCE).contains(&points.len()) && pooled.points > 0;
    AnswerView { effect: effect(pooled), points: if glance { points } else { vec![] } }
}

fn responses(trail: &Trail, findings: &Findings, scales: &BTreeMap<String, Scale>) -> Vec<ResponseView> {
    let evidence = trail.evidence;
    let declared = evidence.opening.as_ref().map_or(&[][..], |o| &o.responses);
    let (primary, others): (Vec<_>, Vec<_>) =
        declared.iter().partition(|r| findings.family.responses.contains(&r.name));
    let view = |r: &crate::model::response::Response| {
        let valueless =
            findings.cells.iter().flat_map(|c| &c.responses).all(|s| s.response != r.name || s.n == 0);
        let why = evidence.runs.iter().find_map(|row| row.note.absent.get(&r.name));
        let scale = scales.get(&r.name).cloned().unwrap_or_else(|| Scale::of([], &r.unit));
        let effects = effects::effects(trail, findings, &r.name);
        let mut cells = cells::cells(trail, findings, &r.name, &scale);
        // Of exploratory responses the cells of a large grid are in the files alone.
        let all_cells = cells.len();
        let exploratory = !findings.family.responses.contains(&r.name);
        cells.retain(|cell| !exploratory || cell.full);
        ResponseView {
            cells_left_out: all_cells - cells.len(),
            axis: effects.axis,
            effects_left_out: effects.left_out,
            name: r.name.clone(),
            unit: scale.heading.clone(),
            better: format!("{} is better", word(r.better)),
            exploratory: !findings.family.responses.contains(&r.name),
            absent: valueless.then(|| why.cloned().unwrap_or_else(|| "no run was measured".to_owned())),
            effects: effects.rows,
            cells,
        }
    };
    primary.into_iter().chain(others).map(view).collect()
}

/// How many attempts came later than planned, in a sentence without its end.
pub fn added(attempts: u64) -> String {
    match attempts {
        0 => "No attempt was added by resume or rerun".to_owned(),
        1 => "1 attempt was added by resume or rerun, and is counted beside these sums".to_owned(),
        n => format!("{n} attempts were added by resume or rerun, and are counted beside these sums"),
    }
}

/// Fragment id of a cell, `cell=…`; blanks would end an id, so they are written as `%20`.
pub fn anchor(cell: &CellId) -> String {
    let id: String =
        cell.0.chars().map(|c| if c.is_whitespace() { "%20".to_owned() } else { c.to_string() }).collect();
    format!("cell={id}")
}

/// A level set as `k=v,k=v`; `–` for a grid without variables.
pub fn levels(levels: &indexmap::IndexMap<String, String>) -> String {
    if levels.is_empty() {
        return "–".to_owned();
    }
    levels.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(", ")
}

/// A word of a fixed list as it stands in JSON, with blanks.
pub fn word<T: Serialize>(value: T) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or("").replace('_', " ")
}

pub(super) fn effect(effect: &Effect) -> EffectView {
    let missing = |name: &str| effect.absent.get(name).map_or("–", |_| "none").to_owned();
    let place = match (&effect.cell, effect.points) {
        (Some(_), _) => levels(&effect.levels),
        (None, 0) => "no grid point".to_owned(),
        (None, 1) => "the grid point".to_owned(),
        (None, n) => format!("all {n} grid points"),
    };
    let p = effect.p_adjusted.or(effect.p);
    let (interval, bounds) = (effect.interval, effect.bounds);
    let linear = effect.scale == Linear.word();
    let (name, value) = if linear { ("difference", effect.difference) } else { ("ratio", effect.ratio) };
    let none = || missing(name);
    // A difference has no ratio beside it, and stands as the change itself.
    let as_ratio = |text: String| if linear { "–".to_owned() } else { text };
    let in_unit = |text: String| format!("{text} {}", effect.unit).trim_end().to_owned();
    let changed = |v: f64| if linear { in_unit(signed(v)) } else { change(v) };
    let ends = |low, high| if linear { in_unit(between(low, high)) } else { changes(low, high) };
    EffectView {
        arm: effect.arm.clone(),
        kind: word(effect.kind),
        pooled: effect.cell.is_none(),
        place,
        anchor: effect.cell.as_ref().map(anchor),
        response: effect.response.clone(),
        ratio: as_ratio(value.map(ratio).or(bounds.map(|b| between(b.low, b.high))).unwrap_or_else(none)),
        change: value.map(changed).or(bounds.map(|b| ends(b.low, b.high))).unwrap_or_else(none),
        interval: as_ratio(interval.map_or_else(|| missing("interval"), |i| between(i.low, i.high))),
        changes: interval.map_or_else(|| missing("interval"), |i| ends(i.low, i.high)),
        confidence: interval.map_or_else(|| "–".to_owned(), |i| confidence(i.confidence)),
        p_raw: effect.p.filter(|raw| p != Some(*raw)).map(p_text),
        p: p.map_or_else(|| missing("p"), p_text),
        n: effect.n,
        verdict: effect.verdict.word().to_owned(),
        class: effect.verdict.word().replace(' ', "-"),
        sentence: effect.sentence.clone(),
        missing: effect.absent.get(name).filter(|_| bounds.is_none()).cloned(),
        left_out: effect.left_out.iter().map(|l| format!("block {}: {}", l.block, l.reason)).collect(),
        plot: None,
    }
}

/// Two ends of a ratio as changes; an open one is left out.
fn changes(low: f64, high: f64) -> String {
    match (low.is_finite(), high.is_finite()) {
        (true, true) => format!("{} to {}", change(low), change(high)),
        (true, false) => format!("above {}", change(low)),
        (false, true) => format!("below {}", change(high)),
        (false, false) => between(low, high),
    }
}

/// A difference with its sign, with a true minus.
fn signed(difference: f64) -> String {
    let size = ratio(difference.abs());
    match difference {
        0.0 => size,
        d if d < 0.0 => format!("−{size}"),
        _ => format!("+{size}"),
    }
}

/// A ratio as a signed change, with a true minus sign; none where it rounds to nothing.
pub fn change(ratio: f64) -> String {
    let size = percent((ratio - 1.0).abs());
    match ratio {
        _ if size == percent(0.0) => size,
        r if r < 1.0 => format!("−{size}"),
        _ => format!("+{size}"),
    }
}
