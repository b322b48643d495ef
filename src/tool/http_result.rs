//! The JSON shape of what became of an HTTP load, and its plain text.

use std::collections::BTreeMap;

use serde::Serialize;

use super::http_client::Fate;

/// Samples told one by one; counts and latencies are of all requests.
const MOST_SAMPLES: usize = 2_000;
/// Different reasons told.
const MOST_REASONS: usize = 8;

/// One request and its fate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub number: u64,
    /// Since the start; None in a closed loop.
    pub due_ns: Option<u64>,
    /// Since the start; None where its deadline had passed before a connection was free.
    pub sent_ns: Option<u64>,
    /// From when it was due, or from its start in a closed loop, to its fate.
    pub latency_ns: u64,
    pub fate: Fate,
}

/// What was declared.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Declared {
    pub requests: u64,
    pub concurrency: u32,
    pub deadline_ns: u64,
    /// Arrivals per second; None in a closed loop.
    pub rate: Option<f64>,
}

/// Last line of `http-load`. The four fates add up to `declared`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoadResult {
    pub event: &'static str,
    pub concurrency: u32,
    pub deadline_ns: u64,
    pub rate: Option<f64>,
    pub declared: u64,
    pub success: u64,
    pub timeout: u64,
    pub transport_error: u64,
    pub wrong_answer: u64,
    /// From the start to the last fate.
    pub wall_seconds: f64,
    /// Successes per second of it.
    pub useful_rate: f64,
    pub latency: Latency,
    /// Longest time that a request was due before it was sent; None in a closed loop.
    pub most_behind_ns: Option<u64>,
    pub connections: u64,
    /// Why requests broke or were answered wrongly, with their number.
    pub reasons: BTreeMap<String, u64>,
    pub samples: Vec<Sample>,
    /// Requests whose samples are not among them, since there are too many.
    pub samples_left_off: u64,
}

/// Latencies by nearest rank over all declared requests. One without a right answer in time took longer than any
/// with one, so a rank that falls on it has no figure: None is above the deadline, or never.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Latency {
    pub p10_ns: Option<u64>,
    pub p50_ns: Option<u64>,
    pub p90_ns: Option<u64>,
    pub p99_ns: Option<u64>,
    pub most_ns: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sample {
    pub number: u64,
    pub due_ns: Option<u64>,
    pub sent_ns: Option<u64>,
    pub latency_ns: u64,
    pub outcome: &'static str,
}

impl LoadResult {
    /// `asked` may be in any order.
    #[must_use]
    pub fn new(declared: Declared, mut asked: Vec<Asked>, wall_ns: u64, connections: u64) -> Self {
        asked.sort_by_key(|asked| asked.number);
        let count = |name: &str| asked.iter().filter(|asked| outcome(&asked.fate) == name).count() as u64;
        let success = count("success");
        let wall_seconds = wall_ns as f64 / 1e9;
        let behind = |asked: &Asked| asked.sent_ns?.checked_sub(asked.due_ns?);
        Self {
            event: "result",
            concurrency: declared.concurrency,
            deadline_ns: declared.deadline_ns,
            rate: declared.rate,
            declared: declared.requests,
            success,
            timeout: count("timeout"),
            transport_error: count("transport_error"),
            wrong_answer: count("wrong_answer"),
            wall_seconds,
            useful_rate: if wall_ns == 0 { 0.0 } else { success as f64 / wall_seconds },
            latency: Latency::new(&asked),
            most_behind_ns: asked.iter().filter_map(behind).max(),
            connections,
            reasons: reasons(&asked),
            samples: asked.iter().take(MOST_SAMPLES).map(Sample::from).collect(),
            samples_left_off: asked.len().saturating_sub(MOST_SAMPLES) as u64,
        }
    }

    /// For people.
    #[must_use]
    pub fn plain(&self) -> String {
        let deadline_ms = self.deadline_ns as f64 / 1e6;
        let mut lines = vec![
            format!(
                "success          {:>6} of {}, {:.1} a second over {:.3} s",
                self.success, self.declared, self.useful_rate, self.wall_seconds
            ),
            format!("timeout          {:>6} without an answer after {deadline_ms} ms", self.timeout),
            format!("transport error  {:>6}", self.transport_error),
            format!("wrong answer     {:>6}", self.wrong_answer),
        ];
        let shown = |ns: Option<u64>| {
            let late = format!("above {deadline_ms} ms or never");
            ns.map_or(late, |ns| format!("{:.3} ms", ns as f64 / 1e6))
        };
        let Latency { p50_ns, p90_ns, p99_ns, .. } = self.latency;
        for (name, ns) in [("half", p50_ns), ("90 %", p90_ns), ("99 %", p99_ns)] {
            lines.push(format!("{name} within      {}", shown(ns)));
        }
        if let Some(ns) = self.most_behind_ns {
            lines.push(format!("sent at most     {:.3} ms after it was due", ns as f64 / 1e6));
        }
        lines.extend(self.reasons.iter().map(|(why, count)| format!("{count:>6} times: {why}")));
        lines.join("\n")
    }
}

impl Latency {
    fn new(asked: &[Asked]) -> Self {
        let mut in_time: Vec<u64> =
            asked.iter().filter(|asked| asked.fate == Fate::Success).map(|asked| asked.latency_ns).collect();
        in_time.sort_unstable();
        let rank = |percent: usize| {
            let rank = (asked.len() * percent).div_ceil(100);
            in_time.get(rank.checked_sub(1)?).copied()
        };
        Self { p10_ns: rank(10), p50_ns: rank(50), p90_ns: rank(90), p99_ns: rank(99), most_ns: rank(100) }
    }
}

impl From<&Asked> for Sample {
    fn from(asked: &Asked) -> Self {
        let Asked { number, due_ns, sent_ns, latency_ns, ref fate } = *asked;
        Self { number, due_ns, sent_ns, latency_ns, outcome: outcome(fate) }
    }
}

fn outcome(fate: &Fate) -> &'static str {
    match fate {
        Fate::Success => "success",
        Fate::Timeout => "timeout",
        Fate::TransportError(_) => "transport_error",
        Fate::WrongAnswer(_) => "wrong_answer",
    }
}

fn reasons(asked: &[Asked]) -> BTreeMap<String, u64> {
    let mut reasons = BTreeMap::new();
    for asked in asked {
        if let Fate::TransportError(why) | Fate::WrongAnswer(why) = &asked.fate {
            let known = reasons.len() < MOST_REASONS || reasons.contains_key(why);
            let why = if known { why.clone() } else { "other reasons".to_owned() };
            *reasons.entry(why).or_default() += 1;
        }
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn asked(number: u64, latency_ms: u64, fate: Fate) -> Asked {
        Asked { number, due_ns: None, sent_ns: Some(number), latency_ns: latency_ms * MS, fate }
    }

    fn declared(requests: u64) -> Declared {
        Declared { requests, concurrency: 8, deadline_ns: 80 * MS, rate: None }
    }

    #[test]
    fn ranks_are_over_all_requests_and_those_that_timed_out_are_above_the_deadline() {
        // Case T03.
        let latencies = [41, 78, 30, 62, 55];
        let successes = latencies.iter().zip(0..).map(|(ms, number)| asked(number, *ms, Fate::Success));
        let timeouts = (5..40).map(|number| asked(number, 80, Fate::Timeout));
        let result = LoadResult::new(declared(40), timeouts.chain(successes).collect(), 410 * MS, 40);
        assert_eq!((result.success, result.timeout), (5, 35));
        let Latency { p10_ns, p50_ns, p90_ns, p99_ns, most_ns } = result.latency;
        assert_eq!((p10_ns, p50_ns, p90_ns, p99_ns, most_ns), (Some(62 * MS), None, None, None, None));
        assert!((result.useful_rate - 5.0 / 0.41).abs() < 1e-9);
        assert!(result.plain().contains("half within      above 80 ms or never"), "{}", result.plain());
        assert_eq!(
            result.samples.iter().map(|sample| sample.number).collect::<Vec<_>>(),
            (0..40).collect::<Vec<_>>()
        );
    }

    #[test]
    fn four_fates_add_up_and_samples_and_reasons_are_bounded() {
        let fate = |number: u64| match number % 4 {
            0 => Fate::Success,
            1 => Fate::Timeout,
            2 => Fate::TransportError(format!("reason {number}")),
            _ => Fate::WrongAnswer("another".into()),
        };
        let all: Vec<Asked> = (0..4_000).map(|number| asked(number, 1, fate(number))).collect();
        let result = LoadResult::new(declared(4_000), all, MS, 1);
        let LoadResult { success, timeout, transport_error, wrong_answer, .. } = result;
        assert_eq!((success, timeout, transport_error, wrong_answer), (1000, 1000, 1000, 1000));
        assert_eq!((result.samples.len(), result.samples_left_off), (2_000, 2_000));
        assert_eq!(result.reasons.values().sum::<u64>(), 2_000);
        assert!(result.reasons.len() <= MOST_REASONS + 1, "{:?}", result.reasons.keys());
        assert_eq!(result.reasons.get("another"), Some(&1_000));
        let line = serde_json::to_string(&result).expect("JSON");
        assert!(line.len() < 512 * 1024, "an agent reads no longer event: {}", line.len());
    }
}
