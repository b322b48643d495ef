//! What the counters of ports and the kernel's log said beside each run, as a sheet.

use serde_json::Value;

use super::fold::{Evidence, RunRow};
use super::rows::{run_columns, run_fields};
use super::sheet::{Column, Field, Sheet};

fn columns() -> Vec<Column> {
    let mut columns = run_columns();
    columns.extend([
        Column::text("role", "role that read the port: counters of the sending or of the receiving side"),
        Column::text("host", "host of the port"),
        Column::text("interface", "interface of the port"),
        Column::text(
            "source",
            "kernel or driver: a counter that moved; backward: a counter that went back, which counts as no change; log: \
             a line of the kernel's log",
        ),
        Column::text("counter", "name of the counter, or the words where there is no number"),
        Column::integer("change", "", "by how much it moved during the run; empty where there is no number"),
    ]);
    columns
}

/// An empty sheet with the columns.
pub fn any() -> Sheet<'static> {
    Sheet::new("counters.csv", columns(), [])
}

/// One row for each counter that moved during a run, each that went back, and each new line of the
/// kernel's log.
pub fn counters(evidence: &Evidence) -> Sheet<'_> {
    Sheet::new("counters.csv", columns(), evidence.runs.iter().flat_map(of_run))
}

fn of_run(row: &RunRow) -> Vec<Vec<Field<'_>>> {
    let mut rows = vec![];
    for role in row.note.roles.iter().filter(|role| role.role.starts_with("counters")) {
        let Some(result) = &role.report.result else { continue };
        let interface = result.get("interface").and_then(Value::as_str).unwrap_or("");
        for (source, counter, change) in told(result) {
            let mut fields = run_fields(row);
            fields.extend([&role.role, &role.host].map(Field::from));
            fields.extend([interface.into(), source.into(), counter.into(), change.into()]);
            rows.push(fields);
        }
    }
    rows
}

fn told(result: &Value) -> Vec<(&'static str, String, Option<u64>)> {
    let mut found = vec![];
    for source in ["kernel", "driver"] {
        let counters = result.get(source).and_then(Value::as_object);
        for (name, change) in counters.into_iter().flatten() {
            found.push((source, name.clone(), change.as_u64()));
        }
    }
    for step in result.get("backward").and_then(Value::as_array).into_iter().flatten() {
        let text = |key: &str| step.get(key).map_or(String::new(), Value::to_string);
        let name = step.get("counter").and_then(Value::as_str).unwrap_or("?");
        found.push(("backward", format!("{name} from {} to {}", text("before"), text("after")), None));
    }
    let log = result.get("kernel_log");
    for line in log.and_then(|log| log.get("lines")).and_then(Value::as_array).into_iter().flatten() {
        found.push(("log", line.as_str().unwrap_or_default().to_owned(), None));
    }
    if let Some(why) = log.and_then(|log| log.get("unreadable")).and_then(Value::as_str) {
        found.push(("log", format!("not readable: {why}"), None));
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::evidence::example::{self, Record};
    use crate::model::job::End;
    use crate::model::outcome::Fate;

    #[test]
    fn every_counter_that_moved_and_every_new_line_is_a_row() {
        let mut record = Record::open(&[], 1);
        let cell = record.cell(&[("size", "1")], "old", Fate::Live, None);
        record.block(1, None, &[&cell]);
        let mut note = example::run(&cell.0, 1, 1.0);
        let mut role = example::role("counters-rx", "rx", "fieldtrial tool nic-counters", End::Exited(0));
        role.report.result = Some(json!({
            "interface": "eth1", "kernel": {"rx_packets": 7, "rx_crc_errors": 0}, "driver": {"rx_queue_0_drops": 2},
            "backward": [{"counter": "rx_bytes", "at_ns": 5, "before": 9, "after": 1}],
            "kernel_log": {"lines": ["=ice: link is down"]}
        }));
        note.roles.push(role);
        record.run(note);
        let text = counters(&record.evidence).csv();
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let rows: Vec<String> = reader
            .records()
            .map(|row| row.expect("a row").iter().skip(4).collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(
            rows,
            [
                "rx eth1 kernel rx_crc_errors 0",
                "rx eth1 kernel rx_packets 7",
                "rx eth1 driver rx_queue_0_drops 2",
                "rx eth1 backward rx_bytes from 9 to 1 ",
                "rx eth1 log '=ice: link is down ",
            ]
        );
    }
}
