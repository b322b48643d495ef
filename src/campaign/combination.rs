//! The combinations of levels that a template or rule can see, without expanding the whole grid.

use std::collections::{BTreeSet, HashMap};

use super::draft::Draft;
use crate::model::level::Level;

/// Beyond this many the checks leave it to planning, so that a large campaign is read quickly.
const MOST: usize = 100_000;

/// Levels for the names that were asked for, and the cells that have them.
pub(super) struct Combination<'d> {
    pub(super) levels: Vec<(&'d str, &'d Level)>,
    /// How many of `levels` belong to variables; those come first.
    pub(super) variables: usize,
    /// Positions of the arms that have these levels of settings.
    pub(super) arms: &'d [usize],
}

impl<'d> Combination<'d> {
    pub(super) fn text(&self, name: &str) -> Option<&'d str> {
        self.levels.iter().find(|(known, _)| *known == name).map(|(_, level)| level.text.as_str())
    }

    /// `frame_size=32, rx=af_packet`.
    pub(super) fn shown(&self) -> String {
        self.levels
            .iter()
            .map(|(name, level)| format!("{name}={}", level.text))
            .collect::<Vec<_>>()
            .join(", ")
    }
}

/// Calls `visit` for every combination of the levels of `names`; names that are no variable or
/// setting are left out. False when there are too many, and then none was visited.
pub(super) fn each(
    names: &BTreeSet<&str>,
    draft: &Draft<'_>,
    visit: &mut dyn FnMut(&Combination<'_>),
) -> bool {
    let axes: Vec<(&str, &[Level])> = draft
        .variables
        .iter()
        .filter(|(name, _)| names.contains(name.as_str()))
        .map(|(name, levels)| (name.as_str(), levels.as_slice()))
        .collect();
    let projections = projections(names, draft);
    let count = axes.iter().map(|(_, levels)| levels.len()).try_fold(projections.len(), usize::checked_mul);
    if count.is_none_or(|count| count > MOST) {
        return false;
    }
    for (settings, arms) in &projections {
        for index in 0..count.unwrap_or(0) / projections.len().max(1) {
            let mut rest = index;
            let mut levels = Vec::with_capacity(axes.len() + settings.len());
            for (name, all) in &axes {
                levels.push((*name, &all[rest % all.len()]));
                rest /= all.len();
            }
            levels.extend(settings.iter().copied());
            visit(&Combination { levels, variables: axes.len(), arms });
        }
    }
    true
}

type Settings<'d> = Vec<(&'d str, &'d Level)>;

/// The different sets of levels that the arms give to `names`, each with its arms.
fn projections<'d>(names: &BTreeSet<&str>, draft: &'d Draft<'_>) -> Vec<(Settings<'d>, Vec<usize>)> {
    let mut found: Vec<(Settings<'d>, Vec<usize>)> = Vec::new();
    let mut known: HashMap<Vec<&str>, usize> = HashMap::new();
    for (at, arm) in draft.arms.iter().enumerate() {
        let settings: Settings<'d> = arm
            .settings
            .iter()
            .filter(|(name, _)| names.contains(name.as_str()))
            .map(|(name, level)| (name.as_str(), level))
            .collect();
        let texts = settings.iter().map(|(_, level)| level.text.as_str()).collect();
        let place = *known.entry(texts).or_insert(found.len());
        if place == found.len() {
            found.push((settings, Vec::new()));
        }
        found[place].1.push(at);
    }
    found
}
