//! Conditions on the figures of the work itself: bytes, faults, calls, counts.

use std::collections::BTreeMap;

use serde_json::Value;

use super::difference::Difference;
use crate::model::metric::{self, COMMAND};
use crate::model::size;
use crate::rule::Assertion;

/// Figures that a message about one of them shows as well: bytes read do not see mapped files.
const TOGETHER: [&str; 4] = ["bytes_read", "minor_faults", "major_faults", "peak_rss"];

/// The first effect that does not hold. `required` says whether a figure without a value is a failure: a
/// timed run lacks what only the proof counts.
pub fn broken(
    effects: &[String],
    figures: &BTreeMap<String, f64>,
    absent: &BTreeMap<String, String>,
    required: bool,
) -> Option<Difference> {
    let values: BTreeMap<String, Value> =
        figures.iter().map(|(name, value)| (name.clone(), number(*value))).collect();
    effects.iter().find_map(|text| {
        let no = |why: &str| format!("`{text}` cannot be asserted: {why}");
        let assertion = match Assertion::parse(text) {
            Ok(assertion) => assertion,
            Err(why) => return Some(Difference { reason: no(&why.to_string()), evidence: vec![] }),
        };
        let names = assertion.names();
        if let Some(missing) = names.iter().find(|name| !figures.contains_key(*name)) {
            let why = absent.get(missing).map_or("this run does not tell it", String::as_str);
            let reason = no(&format!("{missing} has no value, since {why}"));
            return required.then(|| Difference { reason, evidence: together(figures, absent) });
        }
        let found = names.iter().map(|name| format!("{name} is {}", shown(name, figures[name])));
        let reason = match assertion.eval(&values) {
            Ok(true) => return None,
            Ok(false) => format!("it does not hold `{text}`: {}", found.collect::<Vec<_>>().join(", ")),
            Err(why) => no(&why),
        };
        Some(Difference { reason, evidence: together(figures, absent) })
    })
}

fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9e15 { Value::from(value as i64) } else { Value::from(value) }
}

/// The figures that explain each other, in one line.
fn together(figures: &BTreeMap<String, f64>, absent: &BTreeMap<String, String>) -> Vec<String> {
    let one = |name: &&str| match (figures.get(*name), absent.get(*name)) {
        (Some(value), _) => Some(format!("{name} {}", shown(name, *value))),
        (None, Some(why)) => Some(format!("{name} unknown ({why})")),
        (None, None) => None,
    };
    let shown: Vec<String> = TOGETHER.iter().filter_map(one).collect();
    if shown.is_empty() { vec![] } else { vec![shown.join(", ")] }
}

/// A figure with its unit.
fn shown(name: &str, value: f64) -> String {
    match COMMAND.iter().find(|metric| metric.name == name).map(|metric| metric.unit) {
        Some(metric::BYTES) if value >= 1024.0 => format!("{value} B ({})", size::shown(value)),
        Some(metric::BYTES) => format!("{value} B"),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(read: f64, faults: f64) -> BTreeMap<String, f64> {
        let all =
            [("bytes_read", read), ("minor_faults", faults), ("major_faults", 0.0), ("page_faults", faults)];
        all.map(|(name, value)| (name.to_owned(), value)).into()
    }

    fn said(effect: &str, figures: &BTreeMap<String, f64>, required: bool) -> Option<Difference> {
        let absent = [("peak_rss".to_owned(), "it cannot be told apart".to_owned())].into();
        broken(&[effect.to_owned()], figures, &absent, required)
    }

    #[test]
    fn a_program_that_reads_more_than_it_may_is_told_with_the_figures_that_explain_it() {
        assert_eq!(said("bytes_read <= 1MiB", &figures(1_048_576.0, 90.0), true), None);
        let found = said("bytes_read <= 1MiB", &figures(16_777_216.0, 90.0), true).expect("too much");
        assert_eq!(
            found.reason,
            "it does not hold `bytes_read <= 1MiB`: bytes_read is 16777216 B (16.0 MiB)"
        );
        let line = "bytes_read 16777216 B (16.0 MiB), minor_faults 90, major_faults 0, \
                    peak_rss unknown (it cannot be told apart)";
        assert_eq!(found.evidence, [line]);
    }

    #[test]
    fn a_rule_over_several_figures_holds_or_names_them_all() {
        let effect = "bytes_read < 100 && page_faults < 50";
        assert_eq!(said(effect, &figures(50.0, 9.0), true), None);
        let found = said(effect, &figures(50.0, 90.0), true).expect("too many");
        assert!(found.reason.ends_with("bytes_read is 50 B, page_faults is 90"), "{}", found.reason);
    }

    #[test]
    fn what_only_the_proof_counts_is_missed_in_the_proof_alone() {
        let found = said("system_calls < 9", &figures(1.0, 1.0), true).expect("not told");
        assert!(found.reason.contains("system_calls has no value"), "{}", found.reason);
        assert_eq!(said("system_calls < 9", &figures(1.0, 1.0), false), None);
        assert!(
            said("peak_rss < 9", &figures(1.0, 1.0), true).expect("absent").reason.contains("told apart")
        );
    }
}
