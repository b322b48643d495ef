//! The verdict of one effect, with the sentence that says it.

use super::completion;
use super::effect::{ALPHA, Measured};
use super::findings::{Effect, Verdict};
use super::signed_rank::FEWEST_PAIRS;
use crate::model::arm::ArmKind;
use crate::model::response::Better;
use crate::model::scale::Scale;

/// What decides beside the numbers.
#[derive(Debug, Clone, Default)]
pub struct Circumstances {
    pub pilot: bool,
    /// The p that must be at most alpha: adjusted where the effect is in the family.
    pub p: Option<f64>,
    /// How many comparisons `p` was adjusted for; 1 is unadjusted.
    pub family: u64,
    /// Set for a cell of an arm whose pooled effect did not pass: it gets no verdict of its own.
    pub gate: Option<String>,
}

/// Fills in verdict and sentence: not comparable, equivalent, better or worse, inconclusive, in this
/// precedence.
pub fn decide(measured: Measured, circumstances: &Circumstances) -> Effect {
    let Measured { mut effect, obstacle } = measured;
    let said = match obstacle {
        Some(why) => {
            effect.verdict = Verdict::NotComparable;
            format!(
                "{} cannot be compared with the control on {}{}: {why}.",
                effect.arm,
                effect.response,
                place(&effect)
            )
        }
        None => weigh(&mut effect, circumstances),
    };
    effect.sentence = match (effect.exploratory, effect.kind) {
        (true, _) => format!("Exploratory: {}", inside(said)),
        (false, ArmKind::Anchor) => format!("Anchor, outside the family: {}", inside(said)),
        _ => said,
    };
    effect
}

/// A sentence after a colon: only our own first word loses its capital, never the name of an arm.
fn inside(said: String) -> String {
    match said.strip_prefix("No verdict") {
        Some(rest) => format!("no verdict{rest}"),
        None => said,
    }
}

fn weigh(effect: &mut Effect, circumstances: &Circumstances) -> String {
    if let Some(why) = no_verdict(effect, circumstances) {
        return inconclusive(effect, &why);
    }
    let detected = detected(effect, circumstances);
    if within_margin(effect) {
        return match completion::bars_equivalent(effect) {
            None => {
                effect.verdict = Verdict::Equivalent;
                equivalent(effect, detected)
            }
            Some(why) => inconclusive(effect, &format!("{why}, so it cannot be called equivalent")),
        };
    }
    let Some(higher) = detected else {
        return inconclusive(effect, &undetected(effect, circumstances));
    };
    let good = higher == (effect.better == Better::Higher);
    match completion::bars_better(effect).filter(|_| good) {
        Some(why) => inconclusive(effect, &format!("{why}, so it cannot be called better")),
        None => {
            effect.verdict = if good { Verdict::Better } else { Verdict::Worse };
            directed(effect, circumstances, higher)
        }
    }
}

/// Grounds on which no verdict is given whatever the numbers are.
fn no_verdict(effect: &Effect, circumstances: &Circumstances) -> Option<String> {
    let Some(interval) = effect.interval else {
        let why = effect.absent.get("ratio").or(effect.absent.get("difference"));
        let why = why.filter(|_| effect.bounds.is_none()).or(effect.absent.get("interval"));
        return Some(match (effect.n, why) {
            (1, _) if is_paired(effect) => too_few(effect, 1.0),
            (_, Some(why)) => why.clone(),
            (_, None) => "there is no estimate".to_owned(),
        });
    };
    if circumstances.pilot {
        return Some("the campaign is a pilot, which describes and does not decide".to_owned());
    }
    // What the interval attains is what the rarest outcome leaves, and rounding is no reason.
    if interval.confidence < 1.0 - ALPHA - 1e-9 {
        return Some(too_few(effect, 1.0 - interval.confidence));
    }
    circumstances.gate.clone()
}

fn too_few(effect: &Effect, rarest: f64) -> String {
    if !is_paired(effect) {
        return format!(
            "{} and {} runs are too few: were all of one side above the other, p would still be {}",
            effect.n,
            effect.control_n,
            p_text(rarest)
        );
    }
    let pairs = if effect.n == 1 { "block pair is" } else { "block pairs are" };
    format!("{} {pairs} too few, a verdict needs {FEWEST_PAIRS}", effect.n)
}

fn is_paired(effect: &Effect) -> bool {
    effect.test.starts_with("signed-rank")
}

/// The effect that is no effect, on the scale of this one.
fn neutral(effect: &Effect) -> f64 {
    scale(effect).neutral()
}

fn scale(effect: &Effect) -> Scale {
    if effect.scale == Scale::Linear.word() { Scale::Linear } else { Scale::Log }
}

/// True for higher, false for lower; None where the test does not tell.
fn detected(effect: &Effect, circumstances: &Circumstances) -> Option<bool> {
    let interval = effect.interval?;
    if circumstances.p? > ALPHA {
        return None;
    }
    if interval.low > neutral(effect) {
        Some(true)
    } else if interval.high < neutral(effect) {
        Some(false)
    } else {
        None
    }
}

fn within_margin(effect: &Effect) -> bool {
    let (Some(margin), Some(interval)) = (effect.margin, effect.interval) else { return false };
    let (low, high) = match scale(effect) {
        Scale::Log => (1.0 / (1.0 + margin), 1.0 + margin),
        Scale::Linear => (-margin, margin),
    };
    interval.low >= low && interval.high <= high
}

fn undetected(effect: &Effect, circumstances: &Circumstances) -> String {
    let (Some(interval), Some(p)) = (effect.interval, circumstances.p) else {
        return "there is no test".to_owned();
    };
    let none = neutral(effect);
    let margin =
        effect.margin.map_or(String::new(), |m| format!(" and is not within ±{}", margin(effect, m)));
    if interval.low <= none && interval.high >= none {
        format!("the interval holds {none}{margin}, so the data fit no change as well as a change")
    } else if circumstances.family > 1 {
        format!(
            "the interval leaves {none} out, but adjusted for {} comparisons p is {}",
            circumstances.family,
            p_text(p)
        )
    } else {
        format!("the interval leaves {none} out, but p is {}", p_text(p))
    }
}

fn margin(effect: &Effect, margin: f64) -> String {
    match scale(effect) {
        Scale::Log => percent(margin),
        Scale::Linear => format!("{} {}", ratio(margin), effect.unit).trim_end().to_owned(),
    }
}

fn inconclusive(effect: &mut Effect, why: &str) -> String {
    effect.verdict = Verdict::Inconclusive;
    let numbers = numbers(effect).map_or(String::new(), |n| format!(" ({n})"));
    format!("No verdict on {} for {}{}: {why}{numbers}.", effect.arm, effect.response, place(effect))
}

fn equivalent(effect: &Effect, detected: Option<bool>) -> String {
    let margin = effect.margin.map_or(String::new(), |m| margin(effect, m));
    let sign = match detected {
        Some(true) => " A rise is detected all the same, but it is smaller than the margin.",
        Some(false) => " A fall is detected all the same, but it is smaller than the margin.",
        None => "",
    };
    format!(
        "{} is equivalent to the control: {}{} stays within ±{margin} ({}).{sign}",
        effect.arm,
        effect.response,
        place(effect),
        numbers(effect).unwrap_or_default()
    )
}

fn directed(effect: &Effect, circumstances: &Circumstances, higher: bool) -> String {
    let change = match (effect.ratio, effect.difference) {
        (Some(r), _) => format!("{} ", percent((r - 1.0).abs())),
        (_, Some(d)) => format!("{} ", format!("{} {}", ratio(d.abs()), effect.unit).trim_end()),
        // Timeouts leave a bound, which the numbers show.
        (None, None) => String::new(),
    };
    let p = circumstances.p.map_or(String::new(), |p| match circumstances.family {
        0 | 1 => format!("; p {}", p_text(p)),
        m => format!("; p {} adjusted for {m} comparisons", p_text(p)),
    });
    format!(
        "{} is {} than the control: {}{} is {change}{} ({}{p}).",
        effect.arm,
        effect.verdict.word(),
        effect.response,
        place(effect),
        if higher { "higher" } else { "lower" },
        numbers(effect).unwrap_or_default()
    )
}

fn place(effect: &Effect) -> String {
    if effect.levels.is_empty() {
        return String::new();
    }
    let levels: Vec<String> = effect.levels.iter().map(|(k, v)| format!("{k}={v}")).collect();
    format!(" at {}", levels.join(","))
}

/// Estimate, interval, attained confidence, n and scale of an effect; None without an estimate.
pub fn numbers(effect: &Effect) -> Option<String> {
    let estimate = match (effect.ratio, effect.difference, effect.bounds) {
        (Some(value), ..) => format!("ratio {}", ratio(value)),
        (_, Some(value), _) => format!("difference {}", ratio(value)),
        (_, _, Some(bounds)) => {
            let name = if scale(effect) == Scale::Log { "ratio" } else { "difference" };
            format!("{name} {}", between(bounds.low, bounds.high))
        }
        (None, None, None) => return None,
    };
    let interval = effect.interval.map_or("no interval".to_owned(), |i| {
        let of = if i.confidence < 1.0 - ALPHA - 1e-9 { "range" } else { "interval" };
        format!("{of} {} at {} confidence", between(i.low, i.high), confidence(i.confidence))
    });
    let n = match (is_paired(effect), effect.n, effect.points) {
        (false, n, _) => format!("{n} and {} runs", effect.control_n),
        (true, 1, 1) => "1 block pair".to_owned(),
        (true, n, 1) => format!("{n} block pairs"),
        (true, 1, points) => format!("1 block over {points} grid points"),
        (true, n, points) => format!("{n} blocks over {points} grid points"),
    };
    let timed_out = match effect.timed_out + effect.control_timed_out {
        0 => String::new(),
        t => format!(" of which {t} timed out"),
    };
    Some(format!("{estimate}, {interval}, n = {n}{timed_out}, {} scale", effect.scale))
}

/// Two ends in words; an open one is left out.
pub fn between(low: f64, high: f64) -> String {
    match (low.is_finite(), high.is_finite()) {
        (true, true) => format!("{} to {}", ratio(low), ratio(high)),
        (true, false) => format!("above {}", ratio(low)),
        (false, true) => format!("below {}", ratio(high)),
        (false, false) => "unbounded".to_owned(),
    }
}

/// A ratio or difference for reading: four decimals near 1, else four digits.
pub fn ratio(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        v if (0.1..10.0).contains(&v) => format!("{value:.4}"),
        v if (10.0..100_000.0).contains(&v) => format!("{value:.1}"),
        _ => format!("{value:.3e}"),
    }
}

/// A fraction as a percentage for reading: 0.0588 is `5.88 %`.
pub fn percent(fraction: f64) -> String {
    let percent = fraction * 100.0;
    match percent.abs() {
        p if p >= 1000.0 => format!("{percent:.0} %"),
        p if p >= 10.0 => format!("{percent:.1} %"),
        _ => format!("{percent:.2} %"),
    }
}

/// An attained confidence: one decimal, more where that would claim 100 %.
pub fn confidence(level: f64) -> String {
    let shown = (1..=6).map(|digits| format!("{:.digits$}", level * 100.0));
    let text = shown.into_iter().find(|t| !t.starts_with("100")).unwrap_or_else(|| "over 99.999999".into());
    format!("{text} %")
}

/// A p-value for reading; never 0.
pub fn p_text(p: f64) -> String {
    if p < 0.0001 { format!("{p:.1e}") } else { format!("{p:.4}") }
}
