//! What a page shows, as texts that a template only has to place.

use serde::Serialize;

use super::ledger::{self, AddedView, CellView, MisfireView, RejectedView, RunView};
use super::number;
use super::origin::{self, CommandView, HostView, SessionView};
use crate::analysis::findings::{Effect, Findings, RerunFinding};
use crate::analysis::verdict::{confidence, p_text, percent, ratio};
use crate::evidence::fold::Evidence;
use crate::model::cell::CellId;

/// Everything on the page, top-down.
#[derive(Debug, Serialize)]
pub struct View {
    pub title: String,
    pub campaign: String,
    pub record: String,
    pub opened_at: String,
    pub question: Option<String>,
    pub hypothesis: Option<String>,
    pub pilot: bool,
    pub complete: bool,
    pub design: String,
    pub answers: Vec<EffectView>,
    pub exploratory: Vec<EffectView>,
    pub sums: Vec<SumView>,
    pub added_attempts: u64,
    pub cautions: Vec<String>,
    pub effects: Vec<EffectView>,
    pub cells: Vec<CellView>,
    pub rejected: Vec<RejectedView>,
    pub misfires: Vec<MisfireView>,
    pub reruns: Vec<RerunView>,
    pub added: Vec<AddedView>,
    pub response_names: Vec<String>,
    pub runs: Vec<RunView>,
    pub hosts: Vec<HostView>,
    pub sessions: Vec<SessionView>,
    pub commands: Vec<CommandView>,
    pub method: Vec<(String, String)>,
    pub rests_on: Vec<String>,
    pub strip_width: f64,
    pub strip_height: f64,
}

/// One of the two sums.
#[derive(Debug, Serialize)]
pub struct SumView {
    pub holds: bool,
    pub words: String,
}

/// One effect as a row.
#[derive(Debug, Serialize)]
pub struct EffectView {
    pub arm: String,
    pub kind: String,
    /// Grid point, or `all grid points`.
    pub place: String,
    pub anchor: Option<String>,
    pub response: String,
    pub better: String,
    pub ratio: String,
    pub change: String,
    pub interval: String,
    pub confidence: String,
    pub p: String,
    pub n: u64,
    pub verdict: String,
    /// For the style sheet.
    pub class: String,
    pub sentence: String,
    pub exploratory: bool,
    pub left_out: Vec<String>,
}

/// A rerun beside its first measurement.
#[derive(Debug, Serialize)]
pub struct RerunView {
    pub cell: String,
    pub anchor: String,
    pub response: String,
    pub blocks: String,
    pub rows: Vec<(String, EffectView)>,
    pub differences: Vec<String>,
}

/// Lays a record out.
pub fn view(evidence: &Evidence, findings: &Findings) -> View {
    let opening = evidence.opening.as_ref();
    let (exploratory, answers): (Vec<&Effect>, Vec<&Effect>) =
        findings.answers.iter().partition(|a| a.exploratory);
    let sums = &findings.sums;
    let holds = [sums.cells_hold, sums.runs_hold];
    let sum = |(words, holds): (&String, bool)| SumView { holds, words: words.clone() };
    let method = &findings.method;
    let named = [
        ("Scale", &method.scale),
        ("Estimate", &method.estimate),
        ("Test", &method.test),
        ("Interval", &method.interval),
        ("Cell summaries", &method.summary),
        ("Family", &findings.family.correction),
    ];
    View {
        title: format!("{} · {}", findings.campaign, findings.record),
        campaign: findings.campaign.clone(),
        record: findings.record.clone(),
        opened_at: evidence.opened_at.clone(),
        question: opening.and_then(|o| o.question.clone()),
        hypothesis: opening.and_then(|o| o.hypothesis.clone()),
        pilot: findings.pilot,
        complete: findings.complete,
        design: opening.map_or(String::new(), design),
        answers: answers.into_iter().map(effect).collect(),
        exploratory: exploratory.into_iter().map(effect).collect(),
        sums: sums.words.iter().zip(holds).map(sum).collect(),
        added_attempts: sums.added_attempts,
        cautions: findings.cautions.clone(),
        effects: findings.effects.iter().map(effect).collect(),
        cells: ledger::cells(evidence, findings),
        rejected: ledger::rejected(evidence, findings),
        misfires: ledger::misfires(evidence),
        reruns: findings.effects_with_reruns.iter().map(rerun).collect(),
        added: ledger::added(evidence, findings),
        response_names: opening.map_or(vec![], |o| o.responses.iter().map(|r| r.name.clone()).collect()),
        runs: ledger::runs(evidence),
        hosts: origin::hosts(evidence),
        sessions: origin::sessions(evidence),
        commands: origin::commands(evidence),
        method: named.into_iter().map(|(name, text)| (name.to_owned(), text.clone())).collect(),
        rests_on: method.rests_on.clone(),
        strip_width: super::strip::WIDTH,
        strip_height: super::strip::HEIGHT,
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

fn design(opening: &crate::evidence::event::Opening) -> String {
    let plural = |n: usize, one: &str| if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") };
    format!(
        "{} workload; {}; {}; {} in {} order, seed {}; timeout {}",
        opening.workload,
        plural(opening.variables.len(), "variable"),
        plural(opening.arms.len(), "arm"),
        plural(opening.blocks as usize, "block"),
        opening.order,
        opening.seed,
        number::duration(opening.timeout_ms.saturating_mul(1_000_000))
    )
}

pub(super) fn effect(effect: &Effect) -> EffectView {
    let missing = |name: &str| effect.absent.get(name).map_or("–", |_| "none").to_owned();
    let place = match (&effect.cell, effect.points) {
        (Some(_), _) => levels(&effect.levels),
        (None, 0) => "no grid point".to_owned(),
        (None, 1) => "the one grid point".to_owned(),
        (None, n) => format!("all {n} grid points"),
    };
    let p = match (effect.p_adjusted, effect.p) {
        (Some(adjusted), Some(p)) if adjusted != p => format!("{} (raw {})", p_text(adjusted), p_text(p)),
        (Some(p), _) | (None, Some(p)) => p_text(p),
        (None, None) => missing("p"),
    };
    let interval = effect.interval;
    EffectView {
        arm: effect.arm.clone(),
        kind: word(effect.kind),
        place,
        anchor: effect.cell.as_ref().map(anchor),
        response: effect.response.clone(),
        better: format!("{} is better", word(effect.better)),
        ratio: effect.ratio.map_or_else(|| missing("ratio"), ratio),
        change: effect.ratio.map_or_else(|| missing("ratio"), change),
        interval: interval
            .map_or_else(|| missing("interval"), |i| format!("{} to {}", ratio(i.low), ratio(i.high))),
        confidence: interval.map_or_else(|| "–".to_owned(), |i| confidence(i.confidence)),
        p,
        n: effect.n,
        verdict: effect.verdict.word().to_owned(),
        class: effect.verdict.word().replace(' ', "-"),
        sentence: effect.sentence.clone(),
        exploratory: effect.exploratory,
        left_out: effect.left_out.iter().map(|l| format!("block {}: {}", l.block, l.reason)).collect(),
    }
}

/// A ratio as a signed change, with a true minus sign.
pub fn change(ratio: f64) -> String {
    let sign = if ratio < 1.0 { "−" } else { "+" };
    format!("{sign}{}", percent((ratio - 1.0).abs()))
}

fn rerun(found: &RerunFinding) -> RerunView {
    let mut rows = vec![
        ("first, planned blocks".to_owned(), effect(&found.first)),
        ("rerun alone".to_owned(), effect(&found.rerun_alone)),
    ];
    rows.extend(found.with_reruns.as_ref().map(|e| ("both together".to_owned(), effect(e))));
    RerunView {
        cell: found.cell.0.clone(),
        anchor: anchor(&found.cell),
        response: found.response.clone(),
        blocks: found.blocks.iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
        rows,
        differences: found.differences.clone(),
    }
}
