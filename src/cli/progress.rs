//! Whoever watches a session: a bar on a terminal, plain lines elsewhere.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use super::signals::Signals;
use super::voice::aside;
use crate::conduct::{Stop, Watch};
use crate::evidence::event::RunNote;
use crate::model::cell::{CellId, RunKey};
use crate::model::outcome::RunOutcome;
use crate::report::number::visible;

/// Progress goes to standard error; standard output is for the answer.
pub struct Progress {
    signals: Signals,
    bar: Option<ProgressBar>,
    total: u64,
    done: u64,
    began: Instant,
    last_line: Instant,
    counts: BTreeMap<&'static str, u64>,
}

/// Without a terminal a line is printed for whatever went wrong, and else at most this often.
const LINE_EVERY: Duration = Duration::from_secs(1);
/// Lines shown of what went wrong with a cell or run; the record has them all.
const SHOWN: usize = 6;

impl Progress {
    /// From here on Ctrl-C is a request to stop, no longer the end of the process.
    pub fn new() -> Progress {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(0);
            bar.set_style(ProgressStyle::with_template("").unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        let signals = Signals::listen(bar.clone());
        let now = Instant::now();
        Progress {
            signals,
            bar,
            total: 0,
            done: 0,
            began: now,
            last_line: now - LINE_EVERY,
            counts: BTreeMap::new(),
        }
    }

    fn begin(&mut self, total: u64, doing: &'static str) {
        (self.total, self.done, self.began) = (total, 0, Instant::now());
        match &self.bar {
            Some(bar) => {
                let template = "{prefix:9} [{bar:20}] {pos}/{len}  {left}{wide_msg}";
                let style =
                    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
                bar.set_style(style.progress_chars("=> ").with_key("left", left));
                bar.reset();
                bar.set_length(total);
                bar.set_prefix(doing);
                bar.enable_steady_tick(Duration::from_millis(250));
            }
            None => aside(format_args!("{doing}: {total}")),
        }
    }

    /// What the line says in its further lines stands below it.
    fn step(&mut self, text: String, notable: bool) {
        let (line, more) = text.split_once('\n').map_or((text.as_str(), ""), |(line, more)| (line, more));
        let more: String = more.lines().take(SHOWN).map(|line| format!("\n    {line}")).collect();
        self.done += 1;
        let (done, total) = (self.done, self.total);
        if let Some(bar) = &self.bar {
            bar.inc(1);
            if notable {
                bar.println(visible(&format!("{line}{more}")));
            }
            bar.set_message(self.tally());
        } else if notable || done == total || self.last_line.elapsed() >= LINE_EVERY {
            self.last_line = Instant::now();
            let left = self.began.elapsed().mul_f64((total.saturating_sub(done)) as f64 / done as f64);
            aside(format_args!("[{done}/{total}] {line}; about {} s left{more}", left.as_secs()));
        }
    }

    fn tally(&self) -> String {
        let counts: Vec<String> = self.counts.iter().map(|(name, n)| format!("{n} {name}")).collect();
        counts.join(", ")
    }

    /// Takes the bar away so that the answer can be printed.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Nothing can be foretold before the first step has ended.
fn left(state: &ProgressState, out: &mut dyn Write) {
    if state.pos() > 0 {
        let _ = write!(out, "{} s left  ", state.eta().as_secs());
    }
}

impl Watch for Progress {
    fn proving(&mut self, cells: u64) {
        self.counts.clear();
        self.begin(cells, "proving");
    }

    fn proven(&mut self, cell: &CellId, refusal: Option<&str>) {
        *self.counts.entry(if refusal.is_some() { "refused" } else { "proven" }).or_default() += 1;
        match refusal {
            Some(why) => self.step(format!("refused  {cell}: {why}"), true),
            None => self.step(format!("proven   {cell}"), false),
        }
    }

    fn measuring(&mut self, runs: u64) {
        self.counts.clear();
        self.begin(runs, "measuring");
    }

    fn run_began(&mut self, run: &RunKey) {
        if let Some(bar) = &self.bar {
            let tally = self.tally();
            let run = visible(&run.to_string());
            bar.set_message(if tally.is_empty() { run } else { format!("{tally}  {run}") });
        }
    }

    fn run_ended(&mut self, note: &RunNote) {
        let name = note.outcome.name();
        *self.counts.entry(name).or_default() += 1;
        let notable = note.outcome != RunOutcome::Measured;
        let reason = note.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        self.step(format!("{name}  {}{reason}", note.run), notable);
    }

    fn stop(&self) -> Stop {
        self.signals.stop()
    }
}
