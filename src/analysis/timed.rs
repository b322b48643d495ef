//! A response that is a time with a deadline: means and medians that timeouts do not spoil.

use std::collections::BTreeMap;

use super::findings::TimeSummary;
use super::moments;
use super::survival::{Time, median, restricted_mean};
use super::trial::{Cell, Reading};

/// Summarises the times of a cell; None where no run has one.
pub fn summarise(cell: &Cell, blocks: &[u32], response: usize, deadline: f64) -> Option<TimeSummary> {
    let time = |reading: &Reading| match reading {
        Reading::Value(at) => Some(Time { at: *at, ended: true }),
        Reading::AtLeast(at) => Some(Time { at: *at, ended: false }),
        Reading::AtMost(_) | Reading::Absent(_) => None,
    };
    let runs = blocks.iter().flat_map(|b| cell.in_block(*b));
    let mut times: Vec<Time> = runs.filter_map(|r| time(&r.readings[response])).collect();
    if times.is_empty() {
        return None;
    }
    times.sort_unstable_by(|a, b| a.at.total_cmp(&b.at));
    let completed: Vec<f64> = times.iter().filter(|t| t.ended).map(|t| t.at).collect();
    let mut found = TimeSummary {
        deadline,
        restricted_mean: restricted_mean(&times, deadline),
        km_median: median(&times),
        mean_of_completed: moments::mean(&completed),
        absent: BTreeMap::new(),
    };
    for (name, value, why) in [
        ("restricted_mean", found.restricted_mean, "the last run was given up before the deadline"),
        ("km_median", found.km_median, "more than half of the runs were still running at the deadline"),
        ("mean_of_completed", found.mean_of_completed, "no run completed"),
    ] {
        if value.is_none() {
            found.absent.insert(name.to_owned(), why.to_owned());
        }
    }
    Some(found)
}
