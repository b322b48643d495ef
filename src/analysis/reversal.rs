//! Hosts and days as groups of blocks: one that says the opposite is never averaged away.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::findings::Interval;
use super::signed_rank;

/// Whether groups agree on the direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Agreement {
    /// All point the same way.
    Same,
    /// They point in different directions, but no two of them are sure of it.
    Mixed,
    /// Two groups have intervals on opposite sides of no effect: there is no common verdict.
    Reversed,
    /// Fewer than two groups have a pair.
    Unknown,
}

/// The effect group by group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reversal {
    /// What the groups are: `host` or `day`.
    pub of: String,
    pub groups: Vec<Group>,
    pub agreement: Agreement,
    pub sentence: String,
}

/// One host or day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    pub name: String,
    pub n: u64,
    pub ratio: Option<f64>,
    /// Under its own level, which few pairs make low.
    pub interval: Option<Interval>,
}

/// From the paired log ratios of each group, in any order.
pub fn across(of: &str, groups: &[(String, Vec<f64>)], alpha: f64) -> Reversal {
    let judged: Vec<(Group, Option<f64>, Option<Interval>)> = groups
        .iter()
        .map(|(name, logs)| {
            let estimate = signed_rank::estimate(logs, alpha);
            let interval = estimate.and_then(|e| e.interval);
            let group = Group {
                name: name.clone(),
                n: logs.len() as u64,
                ratio: estimate.map(|e| e.pseudo_median.exp()).filter(|r| r.is_finite()),
                interval: interval.map(|i| Interval { low: i.low.exp(), high: i.high.exp(), ..i }),
            };
            (group, estimate.map(|e| e.pseudo_median), interval)
        })
        .collect();
    // Below four pairs the range has less than 87.5 %, which is too little to overturn a verdict.
    let sure = |(group, _, interval): &&(Group, Option<f64>, Option<Interval>), up: bool| {
        group.n >= 4 && interval.is_some_and(|i| if up { i.low > 0.0 } else { i.high < 0.0 })
    };
    let surely = |up: bool| judged.iter().find(|group| sure(group, up)).map(|group| &group.0.name);
    let signs: Vec<f64> = judged.iter().filter_map(|group| group.1).collect();
    let (agreement, sentence) = match (surely(true), surely(false)) {
        (Some(up), Some(down)) => (
            Agreement::Reversed,
            format!(
                "The effect is reversed between {of}s: up on {up}, down on {down}. An average over them would describe neither, so there is no common verdict."
            ),
        ),
        _ if signs.len() < 2 => (Agreement::Unknown, format!("Fewer than two {of}s have pairs to compare.")),
        _ if signs.iter().any(|s| *s > 0.0) && signs.iter().any(|s| *s < 0.0) => (
            Agreement::Mixed,
            format!(
                "The effect points in different directions on different {of}s; no two of them are sure of it. Look at each."
            ),
        ),
        _ => (Agreement::Same, format!("The effect points the same way on every {of}.")),
    };
    Reversal {
        of: of.to_owned(),
        groups: judged.into_iter().map(|group| group.0).collect(),
        agreement,
        sentence,
    }
}
