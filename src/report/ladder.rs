//! The page of a ladder: every release with its level, and the release in which the level changed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tera::Context;

use super::along::{Along, Stop};
use super::figures::FigureView;
use super::number::{Scale, plural};
use super::page::{PageError, render};
use super::view::levels;
use crate::analysis::change_point::{ChangePoint, none_between, step};
use crate::analysis::rungs::{Climb, Rung, cliff};
use crate::model::outcome::Fate;

/// Version of the shape of `ladder.json`.
pub const VERSION: u32 = 1;

/// A whole ladder, as `ladder.json` has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ladder {
    pub version: u32,
    /// Name of the campaign that the records are of.
    pub campaign: String,
    /// How it was asked for, ready to paste.
    pub command: String,
    /// Oldest first.
    pub releases: Vec<Released>,
    /// Which of them the others were proven against.
    pub control: String,
    /// Every record that was made, in order: one, or the steps of a bisection.
    pub steps: Vec<Step>,
}

/// One release.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Released {
    pub name: String,
    /// What the setting became: a path, a version.
    pub level: String,
    /// Of its file, where it has one; None for a level that names no file here.
    pub sha256: Option<String>,
    /// What the file says of its making, in words.
    pub says: Option<String>,
}

/// One record of a ladder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Its folder, as it was when the ladder ended.
    pub record: String,
    /// Which of its releases is its control; another than the ladder's where a step left that one out.
    pub control: String,
    pub climbs: Vec<Climb>,
}

#[derive(Serialize)]
struct View<'l> {
    title: String,
    ladder: &'l Ladder,
    answers: Vec<AnswerView>,
    turned_down: Vec<String>,
    steps: Vec<StepView<'l>>,
    responses: Vec<String>,
    rows: Vec<Row<'l>>,
}

/// What was found at one grid point on the response that decides.
#[derive(Serialize)]
struct AnswerView {
    headlines: Vec<String>,
    sentences: Vec<String>,
}

#[derive(Serialize)]
struct StepView<'l> {
    record: &'l str,
    /// From the folder of any other record of the ladder.
    page: String,
    /// What was measured, in a few words.
    of: String,
    climbs: Vec<ClimbView<'l>>,
}

#[derive(Serialize)]
struct ClimbView<'l> {
    climb: &'l Climb,
    title: String,
    figure: Option<FigureView>,
    /// Why there is no figure.
    absent: String,
}

/// A release with the levels of the last step in which it was measured.
#[derive(Serialize)]
struct Row<'l> {
    release: &'l Released,
    is_control: bool,
    /// A text for each response, and the reason where there is no value.
    levels: Vec<String>,
}

/// Kinds of marks: releases, and the one that is the control.
const KINDS: [(usize, &str); 2] = [(1, "release, small dots are its runs"), (0, "the control")];

/// The page, for the folder of any of its records.
///
/// # Errors
/// Only a fault in our own templates.
pub fn ladder_page(ladder: &Ladder) -> Result<String, PageError> {
    let names = responses(ladder);
    let row = |release| Row {
        release,
        is_control: release.name == ladder.control,
        levels: names.iter().map(|name| level(ladder, release, name)).collect(),
    };
    let view = View {
        title: format!("{} · ladder", ladder.campaign),
        ladder,
        answers: answers(ladder),
        turned_down: turned_down(ladder),
        steps: ladder.steps.iter().map(step_view).collect(),
        rows: ladder.releases.iter().map(row).collect(),
        responses: names,
    };
    render("ladder.html", Context::from_serialize(&view)?)
}

/// JSON schema of `ladder.json`.
pub fn schema() -> serde_json::Value {
    let generator = schemars::generate::SchemaSettings::draft07().into_generator();
    generator.into_root_schema_for::<Ladder>().to_value()
}

/// What was found, of the last step, which looked closest.
fn answers(ladder: &Ladder) -> Vec<AnswerView> {
    let Some(last) = ladder.steps.last() else { return vec![] };
    let Some(primary) = last.climbs.first().map(|climb| climb.response.as_str()) else { return vec![] };
    let of = |climb: &Climb| {
        let real = || climb.found.changes.iter().filter(|change| !change.below_smallest_step);
        let headline = |change: &ChangePoint| {
            format!("{}: {} between {} and {}", title(climb), step(change.change), change.after, change.name)
        };
        let mut headlines: Vec<String> = real().map(headline).collect();
        if headlines.is_empty() {
            headlines.push(format!("{}: {}", title(climb), climb.found.sentence));
        }
        let mut sentences: Vec<String> = real().map(|change| change.sentence.clone()).collect();
        sentences.push(format!("{}.", control(ladder, climb)));
        sentences.extend(climb.found.notes.iter().cloned());
        AnswerView { headlines, sentences }
    };
    let mut told: Vec<AnswerView> =
        last.climbs.iter().filter(|climb| climb.response == primary).map(of).collect();
    if ladder.steps.len() > 1 && cliff(&last.climbs).is_none() {
        let end = |release: Option<&Released>| release.map_or(String::new(), |release| release.name.clone());
        let sentence = none_between(&end(ladder.releases.first()), &end(ladder.releases.last()));
        told.push(AnswerView { headlines: vec![], sentences: vec![sentence] });
    }
    told
}

/// Where the ladder's control stands; a step between two releases may have left it out.
fn control<'l>(ladder: &'l Ladder, like: &'l Climb) -> &'l str {
    let with_it = ladder.steps.iter().rev().find(|step| step.control == ladder.control);
    let same = |climb: &&Climb| climb.response == like.response && climb.levels == like.levels;
    &with_it.and_then(|step| step.climbs.iter().find(same)).unwrap_or(like).control
}

/// Releases that were turned down in any step, each with why.
fn turned_down(ladder: &Ladder) -> Vec<String> {
    let mut told: Vec<String> = vec![];
    for rung in ladder.steps.iter().flat_map(|step| &step.climbs).flat_map(|climb| &climb.rungs) {
        let refused = rung.reason.as_ref().filter(|reason| reason.starts_with(Fate::Refused.name()));
        let words = refused.map(|reason| format!("{} was {reason}.", rung.release));
        told.extend(words.filter(|words| !told.contains(words)));
    }
    told
}

fn title(climb: &Climb) -> String {
    match climb.levels.is_empty() {
        true => climb.response.clone(),
        false => format!("{} at {}", climb.response, levels(&climb.levels)),
    }
}

fn responses(ladder: &Ladder) -> Vec<String> {
    let mut names: Vec<String> = vec![];
    for climb in ladder.steps.iter().flat_map(|step| &step.climbs) {
        if !names.contains(&climb.response) {
            names.push(climb.response.clone());
        }
    }
    names
}

/// A text for each grid point, of the last step that measured the release.
fn level(ladder: &Ladder, release: &Released, response: &str) -> String {
    let of = |climb: &Climb| -> Option<String> {
        let own: &Rung = climb.rungs.iter().find(|rung| rung.release == release.name)?;
        let scale = Scale::of(climb.rungs.iter().filter_map(|rung| rung.median), &climb.unit);
        let place =
            if climb.levels.is_empty() { String::new() } else { format!("{}: ", levels(&climb.levels)) };
        Some(match own.median {
            Some(median) => format!("{place}{} (n = {})", scale.with_unit(median), own.n),
            None => own.reason.clone().unwrap_or_else(|| "no value".to_owned()),
        })
    };
    let found = ladder.steps.iter().rev().find_map(|step| {
        let climbs = step.climbs.iter().filter(|climb| climb.response == response);
        let mut texts: Vec<String> = climbs.filter_map(of).collect();
        // A release is turned down at every grid point for the same reason.
        texts.dedup();
        (!texts.is_empty()).then(|| texts.join("; "))
    });
    found.unwrap_or_else(|| "not measured".to_owned())
}

fn step_view(step: &Step) -> StepView<'_> {
    let name = step.record.rsplit('/').next().unwrap_or(&step.record);
    let measured = step.climbs.first().map_or(0, |climb| climb.rungs.len());
    StepView {
        record: name,
        page: format!("../{name}/index.html"),
        of: plural(measured as u64, "release"),
        climbs: step.climbs.iter().map(|climb| climb_view(&step.control, climb)).collect(),
    }
}

fn climb_view<'l>(control: &str, climb: &'l Climb) -> ClimbView<'l> {
    let readings = climb.rungs.iter().flat_map(|rung| rung.median.iter().chain(&rung.values)).copied();
    let scale = Scale::of(readings, &climb.unit);
    let stop = |rung: &Rung| Stop {
        name: rung.release.clone(),
        value: rung.median,
        replicates: rung.values.clone(),
        kind: usize::from(rung.release == control),
        told: match rung.median {
            Some(median) => {
                format!("{}: {}, median of {}", rung.release, scale.with_unit(median), plural(rung.n, "run"))
            }
            None => format!("{}: {}", rung.release, rung.reason.as_deref().unwrap_or("no value")),
        },
        href: None,
    };
    let along = Along {
        of: "release",
        response: &climb.response,
        scale: &scale,
        stops: climb.rungs.iter().map(stop).collect(),
        found: &climb.found,
        kinds: &KINDS,
        caption: "Large marks are medians; all releases were measured in the same blocks. Where the level changes stands a \
                  dashed line with the size of the step, and lines across are the levels beside it.",
    };
    let reason = climb.rungs.iter().find_map(|rung| rung.reason.clone());
    ClimbView { climb, title: title(climb), figure: along.figure(), absent: reason.unwrap_or_default() }
}
