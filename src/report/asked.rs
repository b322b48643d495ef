//! What the campaign asked: arms, levels, responses and rules.

use serde::Serialize;

use super::number::{duration, moment, plural};
use super::view::word;
use crate::analysis::verdict::percent;
use crate::evidence::event::{ArmNote, Opening};
use crate::evidence::fold::Evidence;
use crate::model::arm::ArmKind;
use crate::model::scale::Scale;

/// The question as the campaign put it.
#[derive(Debug, Serialize)]
pub struct AskedView {
    pub opened_at: String,
    pub question: Option<String>,
    pub hypothesis: Option<String>,
    /// Workload, blocks, order and timeout in a line.
    pub design: String,
    pub arms: Vec<ArmView>,
    pub variables: Vec<VariableView>,
    pub responses: Vec<AskedResponse>,
    pub accept: Vec<String>,
    /// Known dead ends that are tried again, each with the reason.
    pub reattempt: Vec<(String, String)>,
}

/// One arm.
#[derive(Debug, Serialize)]
pub struct ArmView {
    pub name: String,
    pub kind: String,
    /// Settings of the control, or what another arm changes from what.
    pub settings: Vec<String>,
    pub because: Option<String>,
}

/// One variable with its levels.
#[derive(Debug, Serialize)]
pub struct VariableView {
    pub name: String,
    pub levels: Vec<String>,
    /// Of a long list: how many more there are, in words, and what they are.
    pub more: Option<(String, String)>,
}

/// Levels that a glance takes in, and those that are shown of more.
const LEVELS_AT_A_GLANCE: usize = 32;
const FIRST_LEVELS: usize = 12;

/// One response.
#[derive(Debug, Serialize)]
pub struct AskedResponse {
    pub name: String,
    pub words: String,
}

/// Lays out the opening of a record; nothing without one.
pub fn asked(evidence: &Evidence) -> AskedView {
    let opening = evidence.opening.as_ref();
    let arms = opening.map_or(&[][..], |o| &o.arms);
    let control = arms.iter().find(|a| a.kind == ArmKind::Control);
    AskedView {
        opened_at: moment(&evidence.opened_at),
        question: opening.and_then(|o| o.question.clone()),
        hypothesis: opening.and_then(|o| o.hypothesis.clone()),
        design: opening.map_or(String::new(), design),
        arms: arms.iter().map(|a| arm(a, control)).collect(),
        variables: opening.map_or(vec![], |o| o.variables.iter().map(variable).collect()),
        responses: opening.map_or(vec![], responses),
        reattempt: opening
            .map_or(vec![], |o| o.reattempt.iter().map(|(name, why)| (name.clone(), why.clone())).collect()),
        accept: opening.map_or(vec![], |o| o.accept.iter().map(|a| a.replace('_', " ")).collect()),
    }
}

fn variable((name, levels): (&String, &Vec<String>)) -> VariableView {
    let first = if levels.len() > LEVELS_AT_A_GLANCE { FIRST_LEVELS } else { levels.len() };
    let (first, rest) = levels.split_at(first);
    let words = |last: &String| format!("and {}, up to {last}", plural(rest.len() as u64, "more level"));
    VariableView {
        name: name.clone(),
        levels: first.to_vec(),
        more: rest.last().map(|last| (words(last), rest.join(", "))),
    }
}

fn arm(arm: &ArmNote, control: Option<&ArmNote>) -> ArmView {
    let setting = |(name, value): (&String, &String)| {
        let before = control.filter(|c| c.kind != arm.kind).and_then(|c| c.changes.get(name));
        match before {
            Some(before) => format!("{name}: {value} instead of {before}"),
            None => format!("{name}: {value}"),
        }
    };
    ArmView {
        name: arm.name.clone(),
        kind: word(arm.kind),
        settings: arm.changes.iter().map(setting).collect(),
        because: arm.because.clone(),
    }
}

fn responses(opening: &Opening) -> Vec<AskedResponse> {
    let decides = |name: &str| {
        let any = opening.responses.iter().find(|r| r.primary).or(opening.responses.first());
        any.is_some_and(|r| r.name == name)
    };
    let words = |r: &crate::model::response::Response| {
        let margin = r.margin.map_or("no margin, so nothing can be called equivalent".to_owned(), |m| {
            let size = match r.scale {
                Scale::Log => percent(m),
                Scale::Linear => format!("{m} {}", r.unit),
            };
            format!("a change within ±{size} counts as none")
        });
        let rank = if decides(&r.name) { "decides" } else { "exploratory" };
        format!("{rank}; {}, {} is better; {margin}", r.unit, word(r.better))
    };
    opening.responses.iter().map(|r| AskedResponse { name: r.name.clone(), words: words(r) }).collect()
}

fn design(opening: &Opening) -> String {
    let blocks = match &opening.until {
        None => plural(u64::from(opening.blocks), "block"),
        Some(until) => format!(
            "{} to {} blocks, until every pooled effect on {} is known to ±{},",
            opening.blocks,
            until.most,
            until.of,
            percent(until.halfwidth)
        ),
    };
    format!(
        "{} workload; {blocks} of every cell in {} order, seed {}; timeout {} a run",
        opening.workload,
        opening.order,
        opening.seed,
        duration(opening.timeout_ms.saturating_mul(1_000_000))
    )
}
