//! What `packet-receive` shows to people.

use comfy_table::Table;

use super::receive_result::{CountResult, Distribution, ReceiveResult};
use crate::packet::receiver::Progress;

/// A row for every second, under a header that stands once above them.
#[derive(Debug, Default)]
pub struct LiveTable {
    seconds: u64,
    last: Progress,
}

impl LiveTable {
    /// The row for what came since the last one; `gaps` are frames missing so far.
    pub fn row(&mut self, now: Progress, gaps: u64) -> String {
        self.seconds += 1;
        let rate = now.own.saturating_sub(self.last.own);
        self.last = now;
        let row = format!(
            "{:>7} s  {rate:>12}  {:>14}  {gaps:>9}  {:>8}  {:>8}",
            self.seconds, now.own, now.foreign, now.drops
        );
        if self.seconds > 1 {
            return row;
        }
        let header = ["time", "frames/s", "frames", "missing", "foreign", "dropped"];
        let [time, per_second, frames, missing, foreign, dropped] = header;
        format!("{time:>9}  {per_second:>12}  {frames:>14}  {missing:>9}  {foreign:>8}  {dropped:>8}\n{row}")
    }
}

/// The result as a table and some lines.
#[must_use]
pub fn plain(result: &ReceiveResult) -> String {
    let mut table = table(["stream", "sent", "intact", "lost", "duplicated", "reordered", "corrupted"]);
    for (stream, s) in &result.streams {
        let sent = s.sent.map_or_else(|| "?".to_owned(), |sent| sent.to_string());
        let counts = [s.intact, s.lost, s.duplicated, s.reordered, s.corrupted].map(|n| n.to_string());
        table.add_row([stream.to_string(), sent].into_iter().chain(counts));
    }
    let mut lines = vec![table.to_string()];
    lines.push(result.rx_rate.map_or_else(
        || "no rate: the traffic filled no whole tenth of a second after settling, or has no stamps".into(),
        |rate| {
            format!("{:.0} frames/s over {:.1} s by {} stamps", rate.per_second, rate.seconds, result.stamps)
        },
    ));
    let kinds = result.foreign_kinds.iter().filter(|(_, count)| **count > 0);
    let kinds: Vec<_> = kinds.map(|(kind, count)| format!("{count} {kind}")).collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
    lines.push(format!("{} foreign{kinds}, {} dropped by the kernel", result.foreign, result.kernel_drops));
    let offset = result.clock_offset_bound_ns.map_or_else(String::new, |ns| format!(" ± {ns} by the clocks"));
    for (stream, s) in &result.streams {
        for (what, times, more) in [("apart", &s.inter_arrival, ""), ("one way", &s.latency, &offset)] {
            if let Some(times) = times.as_ref().filter(|times| times.count > 0) {
                lines.push(format!("stream {stream} {what}: {} ns{more}", percentiles(times)));
            }
        }
    }
    lines.join("\n")
}

/// A count as lines.
#[must_use]
pub fn plain_count(result: &CountResult) -> String {
    let counted = result.counted.iter().map(|(stream, count)| format!("stream {stream}: {count} frames"));
    let mut lines: Vec<_> = counted.collect();
    lines.push("only counted: neither content nor order was looked at, so this proves nothing".into());
    lines.join("\n")
}

fn percentiles(times: &Distribution) -> String {
    let told = times.percentiles.iter().filter_map(|(name, ns)| ns.map(|ns| format!("{name} {ns}")));
    let extremes = times.max_ns.map(|ns| format!("max {ns}"));
    told.chain(extremes).collect::<Vec<_>>().join(", ")
}

fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(header);
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_stands_once_above_rows_of_what_each_second_brought() {
        let mut live = LiveTable::default();
        let progress = |own| Progress { own, foreign: 1, drops: 2, ..Progress::default() };
        let (first, second) = (live.row(progress(1_000), 0), live.row(progress(2_500), 3));
        let words = |row: &str| row.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let (header, first) = first.split_once('\n').expect("two lines");
        assert_eq!(words(header), ["time", "frames/s", "frames", "missing", "foreign", "dropped"]);
        assert_eq!(words(first), ["1", "s", "1000", "1000", "0", "1", "2"]);
        assert_eq!(words(&second), ["2", "s", "1500", "2500", "3", "1", "2"]);
        assert_eq!(header.len(), second.len(), "columns stand under their names");
    }
}
