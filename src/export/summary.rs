//! A row for each cell and response: its numbers, its effect and its verdict, as a sheet.

use std::collections::BTreeMap;

use crate::analysis::findings::{CellSummary, Effect, Findings, ResponseSummary};
use crate::evidence::sheet::{Column, Field, Sheet};
use crate::model::cell::CellId;
use crate::model::outcome::RunOutcome;

/// Effects at grid points by cell and response.
type Effects<'a> = BTreeMap<(CellId, String), &'a Effect>;

/// The summary of a record. Only exports have it, because findings.json says the same.
pub fn summary(findings: &Findings) -> Sheet<'_> {
    let mut variables: Vec<String> = vec![];
    for name in findings.cells.iter().flat_map(|cell| cell.levels.keys()) {
        if !variables.contains(name) {
            variables.push(name.clone());
        }
    }
    let of = |e: &'_ Effect| Some((e.cell.clone()?, e.response.clone()));
    let effects: Effects = findings.effects.iter().filter_map(|e| Some((of(e)?, e))).collect();
    let mut rows = vec![];
    for cell in &findings.cells {
        if cell.responses.is_empty() {
            rows.push(row(&effects, cell, None, &variables));
        }
        for found in &cell.responses {
            rows.push(row(&effects, cell, Some(found), &variables));
        }
    }
    Sheet::new("summary.csv", columns(&variables), rows)
}

/// An empty sheet whose columns stand for those of any record; capitals stand for what differs between records.
pub fn any() -> Sheet<'static> {
    Sheet::new("summary.csv", columns(&["VARIABLE".to_owned()]), [])
}

fn columns(variables: &[String]) -> Vec<Column> {
    let mut columns = vec![
        Column::text("cell", "id of the cell: its levels, a slash, its arm"),
        Column::text("arm", "control, treatment, combination, anchor or twin, by its name"),
        Column::text("kind", "which of these the arm is"),
    ];
    columns.extend(
        variables.iter().map(|v| {
            Column::text(format!("level.{v}"), format!("level of the variable {v}, as it was typed"))
        }),
    );
    columns.push(Column::text("fate", "live, excluded or refused: what became of the cell before timing"));
    columns.extend(RunOutcome::ALL.map(|outcome| {
        let name = outcome.name();
        Column::integer(
            format!("runs.{name}"),
            "",
            format!("runs of planned blocks that were {}", name.replace('_', " ")),
        )
    }));
    let number = |name: &str, meaning: &str| Column::number(name, "", meaning);
    columns.extend([
        Column::text("response", "what was measured"),
        Column::text("unit", "unit of the numbers from `median` to `sd`"),
        Column::integer("n", "", "measured runs with a value: one value a run"),
        number("median", "median of the runs, in `unit`"),
        number(
            "low",
            "lower end of the median's interval, in `unit`; empty where it is open or there is none",
        ),
        number(
            "high",
            "upper end of the median's interval, in `unit`; empty where it is open or there is none",
        ),
        number("confidence", "confidence that this interval attains: 0.969 is 96.9 %"),
        number("min", "lowest value, in `unit`"),
        number("q1", "lower quartile, in `unit`"),
        number("q3", "upper quartile, in `unit`"),
        number("max", "highest value, in `unit`"),
        number("mean", "mean of the runs, in `unit`; empty where runs timed out"),
        number(
            "sd",
            "standard deviation with n - 1, in `unit`; empty for a single value, 0 where all are equal",
        ),
        Column::text(
            "scale",
            "log: the effect is a ratio to the control; linear: a difference from it, in `unit`",
        ),
        number("effect", "ratio or difference, by block pairs"),
        number("effect_low", "lower end of its interval; empty where it is open or there is none"),
        number("effect_high", "upper end of its interval; empty where it is open or there is none"),
        number("effect_confidence", "confidence that this interval attains"),
        number("p", "two-sided p-value of the effect, not adjusted"),
        Column::integer("pairs", "", "block pairs in the effect"),
        Column::text(
            "verdict",
            "not comparable, equivalent, better, worse or inconclusive; empty for a control",
        ),
        Column::text("absent", "numbers that do not exist, a line each: `name: why`"),
    ]);
    columns
}

fn row<'f>(
    effects: &Effects<'f>,
    cell: &'f CellSummary,
    found: Option<&'f ResponseSummary>,
    variables: &[String],
) -> Vec<Field<'f>> {
    let mut fields: Vec<Field> = vec![(&cell.cell.0).into(), (&cell.arm).into(), cell.kind.name().into()];
    fields.extend(variables.iter().map(|v| Field::from(cell.levels.get(v))));
    fields.push(cell.fate.name().into());
    fields.extend(
        RunOutcome::ALL.map(|outcome| cell.outcomes.get(outcome.name()).copied().unwrap_or(0).into()),
    );
    fields.extend([
        found.map(|f| &f.response).into(),
        found.map(|f| &f.unit).into(),
        found.map(|f| f.n).into(),
    ]);
    let interval = found.and_then(|f| f.interval);
    let of = |pick: fn(&ResponseSummary) -> Option<f64>| Field::from(found.and_then(pick));
    fields.extend([
        of(|f| f.median),
        interval.map(|i| i.low).into(),
        interval.map(|i| i.high).into(),
        interval.map(|i| i.confidence).into(),
        of(|f| f.min),
        of(|f| f.q1),
        of(|f| f.q3),
        of(|f| f.max),
        of(|f| f.mean),
        of(|f| f.sd),
    ]);
    let effect = found.and_then(|f| effects.get(&(cell.cell.clone(), f.response.clone())));
    let interval = effect.and_then(|e| e.interval);
    fields.extend([
        effect.map(|e| &e.scale).into(),
        effect.and_then(|e| e.ratio.or(e.difference)).into(),
        interval.map(|i| i.low).into(),
        interval.map(|i| i.high).into(),
        interval.map(|i| i.confidence).into(),
        effect.and_then(|e| e.p).into(),
        effect.map(|e| e.n).into(),
        effect.map(|e| e.verdict.word()).into(),
    ]);
    let reasons = found.iter().flat_map(|f| &f.absent).map(|(name, why)| format!("{name}: {why}"));
    let of_effect = effect.iter().flat_map(|e| &e.absent).map(|(name, why)| format!("effect {name}: {why}"));
    fields.push(reasons.chain(of_effect).collect::<Vec<_>>().join("\n").into());
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::judge::judge;
    use crate::evidence::example::Record;
    use crate::export::openmetrics::openmetrics;

    #[test]
    fn no_spread_and_a_spread_of_zero_are_told_apart() {
        // Cases R03 and R04: one value, three equal ones, none.
        let of = |values: &[f64]| judge(&Record::pairs(values, values).evidence);
        let sd = |findings: &Findings| {
            let text = summary(findings).csv();
            let mut reader = csv::Reader::from_reader(text.as_bytes());
            let at = reader.headers().unwrap().iter().position(|h| h == "sd").unwrap();
            let row = reader.records().next().unwrap().unwrap();
            (row[at].to_owned(), row[row.len() - 1].to_owned())
        };
        let (one, why) = sd(&of(&[5.0]));
        assert!(one.is_empty() && why.contains("sd: "), "{why}");
        assert_eq!(sd(&of(&[5.0, 5.0, 5.0])).0, "0");
        assert_eq!(sd(&of(&[])).0, "");
        let spread = |values: &[f64]| {
            openmetrics(&of(values))
                .lines()
                .filter(|l| l.contains("statistic=\"sd\""))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert!(
            spread(&[5.0]).iter().all(|l| l.starts_with("fieldtrial_absent_info") && l.contains("reason=\""))
        );
        assert!(
            spread(&[5.0, 5.0, 5.0])
                .iter()
                .all(|l| l.starts_with("fieldtrial_wall_time_seconds") && l.ends_with(" 0"))
        );
    }
}
