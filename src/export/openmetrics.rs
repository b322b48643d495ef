//! OpenMetrics text (version 1.0), as Prometheus and its kin read it.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::name::{measure, unit, word};
use crate::analysis::findings::{CellSummary, Effect, Findings, Verdict};
use crate::model::outcome::Fate;
use crate::model::scale::Scale::Linear;

/// Metrics of one name: they stand together, under one description.
#[derive(Default)]
struct Family {
    kind: &'static str,
    unit: String,
    help: String,
    /// The end of the sample's name, its labels, and its value.
    samples: Vec<(&'static str, Labels, f64)>,
}

type Labels = Vec<(String, String)>;

/// The findings as gauges. A value that does not exist has no sample; `fieldtrial_absent_info` says why.
pub fn openmetrics(findings: &Findings) -> String {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    record(findings, &mut families);
    for cell in &findings.cells {
        of_cell(findings, cell, &mut families);
    }
    for effect in findings.answers.iter().chain(&findings.effects) {
        of_effect(findings, effect, &mut families);
    }
    let mut text = String::new();
    for (name, family) in families {
        let _ = writeln!(text, "# TYPE {name} {}", family.kind);
        if !family.unit.is_empty() {
            let _ = writeln!(text, "# UNIT {name} {}", family.unit);
        }
        let _ = writeln!(text, "# HELP {name} {}", escaped(&family.help));
        for (end, labels, value) in family.samples {
            let labels: Vec<String> =
                labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
            let _ = writeln!(text, "{name}{end}{{{}}} {value}", labels.join(","));
        }
    }
    text + "# EOF\n"
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn put(
    families: &mut BTreeMap<String, Family>,
    name: &str,
    (kind, unit, help): (&'static str, &str, &str),
    sample: (&'static str, Labels, f64),
) {
    let family = families.entry(name.to_owned()).or_insert_with(|| Family {
        kind,
        unit: unit.to_owned(),
        help: help.to_owned(),
        samples: vec![],
    });
    family.samples.push(sample);
}

/// Campaign and record, then what is named.
fn labels<'a>(findings: &Findings, more: impl IntoIterator<Item = (&'a str, &'a str)>) -> Labels {
    let own = |value: &Option<String>| value.clone().unwrap_or_default();
    let mut labels =
        vec![("campaign".to_owned(), own(&findings.campaign)), ("record".to_owned(), own(&findings.record))];
    labels.extend(more.into_iter().map(|(label, value)| (label.to_owned(), value.to_owned())));
    labels
}

fn record(findings: &Findings, families: &mut BTreeMap<String, Family>) {
    let truth = |holds: bool| if holds { "true" } else { "false" };
    let about = [("complete", truth(findings.complete)), ("pilot", truth(findings.pilot))];
    let help = ("info", "", "The record that these metrics are from.");
    put(families, "fieldtrial_record", help, ("_info", labels(findings, about), 1.0));
    for fate in [Fate::Excluded, Fate::Refused, Fate::Live] {
        let count = findings.cells.iter().filter(|c| c.fate == fate).count() as f64;
        let help = ("gauge", "", "Planned cells by what became of them before timing.");
        put(families, "fieldtrial_cells", help, ("", labels(findings, [("fate", fate.name())]), count));
    }
}

fn of_cell(findings: &Findings, cell: &CellSummary, families: &mut BTreeMap<String, Family>) {
    let mut own =
        labels(findings, [("cell", cell.cell.0.as_str()), ("arm", &cell.arm), ("kind", cell.kind.name())]);
    own.extend(cell.levels.iter().map(|(name, level)| (format!("level_{}", word(name)), level.clone())));
    let with = |label: &str, value: &str| {
        let mut labels = own.clone();
        labels.push((label.to_owned(), value.to_owned()));
        labels
    };
    for (outcome, count) in &cell.outcomes {
        let help = ("gauge", "", "Runs of planned blocks by their outcome.");
        put(families, "fieldtrial_runs", help, ("", with("outcome", outcome), *count as f64));
    }
    for found in &cell.responses {
        let name = format!("fieldtrial_{}", measure(&found.response, &found.unit));
        let unit = unit(&found.unit);
        let help = "Over the measured runs of a cell, one value a run; low and high are the ends of the median's interval.";
        let interval = found.interval.filter(|i| i.low.is_finite() && i.high.is_finite());
        let statistics = [
            ("median", found.median),
            ("low", interval.map(|i| i.low)),
            ("high", interval.map(|i| i.high)),
            ("min", found.min),
            ("q1", found.q1),
            ("q3", found.q3),
            ("max", found.max),
            ("mean", found.mean),
            ("sd", found.sd),
        ];
        for (statistic, value) in statistics {
            if let Some(value) = value.filter(|v| v.is_finite()) {
                let mut labels = with("response", &found.response);
                labels.push(("statistic".to_owned(), statistic.to_owned()));
                put(families, &name, ("gauge", &unit, help), ("", labels, value));
                continue;
            }
            let reason = match statistic {
                "low" | "high" => found.absent.get("interval"),
                other => found.absent.get(other),
            };
            let mut labels = with("response", &found.response);
            let reason = reason.map_or("no value, or an open end", |why| why);
            labels.extend(
                [("statistic", statistic), ("reason", reason)].map(|(l, v)| (l.to_owned(), v.to_owned())),
            );
            let help = ("info", "", "Why a statistic of a cell has no value.");
            put(families, "fieldtrial_absent", help, ("_info", labels, 1.0));
        }
        let help = ("gauge", "", "Measured runs of a cell with a value.");
        put(
            families,
            "fieldtrial_measured_runs",
            help,
            ("", with("response", &found.response), found.n as f64),
        );
    }
}

fn of_effect(findings: &Findings, effect: &Effect, families: &mut BTreeMap<String, Family>) {
    let cell = effect.cell.as_ref().map_or("", |cell| cell.0.as_str());
    let own = || {
        let about = [("arm", effect.arm.as_str()), ("cell", cell), ("response", effect.response.as_str())];
        labels(findings, about)
    };
    let linear = effect.scale == Linear.word();
    let (name, unit, help) = if linear {
        let name = measure("fieldtrial_effect_difference", &effect.unit);
        (
            name,
            unit(&effect.unit),
            "An arm minus the control, with the ends of its interval; cell is empty where it is pooled over the grid.",
        )
    } else {
        let help = "An arm over the control, with the ends of its interval; cell is empty where it is pooled over the grid.";
        ("fieldtrial_effect_ratio".to_owned(), "ratio".to_owned(), help)
    };
    let interval = effect.interval;
    let ends = [
        ("estimate", effect.ratio.or(effect.difference)),
        ("low", interval.map(|i| i.low)),
        ("high", interval.map(|i| i.high)),
    ];
    for (end, value) in ends {
        if let Some(value) = value.filter(|v| v.is_finite()) {
            let mut labels = own();
            labels.push(("end".to_owned(), end.to_owned()));
            put(families, &name, ("gauge", &unit, help), ("", labels, value));
        }
    }
    if let Some(interval) = interval {
        let help = ("gauge", "ratio", "Confidence that the interval of an effect attains.");
        put(families, "fieldtrial_effect_confidence_ratio", help, ("", own(), interval.confidence));
    }
    let all =
        [Verdict::NotComparable, Verdict::Equivalent, Verdict::Better, Verdict::Worse, Verdict::Inconclusive];
    for verdict in all {
        let mut labels = own();
        labels.push(("fieldtrial_verdict".to_owned(), verdict.word().replace(' ', "_")));
        let holds = f64::from(u8::from(effect.verdict == verdict));
        let help = ("stateset", "", "Verdict on an arm; cell is empty where it is pooled over the grid.");
        put(families, "fieldtrial_verdict", help, ("", labels, holds));
    }
}
