//! The verdict of one effect, with the sentence that says it.

use super::effect::{ALPHA, Measured};
use super::findings::{Effect, Verdict};
use super::signed_rank::FEWEST_PAIRS;
use crate::model::arm::ArmKind;
use crate::model::response::Better;

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
    let unequal = unequal_completion(effect);
    if let Some(why) = no_verdict(effect, circumstances) {
        return inconclusive(effect, &why);
    }
    let detected = detected(effect, circumstances);
    if within_margin(effect) {
        match &unequal {
            None => {
                effect.verdict = Verdict::Equivalent;
                return equivalent(effect, detected);
            }
            Some(why) => return inconclusive(effect, &format!("{why}, so it cannot be called equivalent")),
        }
    }
    let Some(higher) = detected else {
        return inconclusive(effect, &undetected(effect, circumstances));
    };
    let good = higher == (effect.better == Better::Higher);
    match (good, unequal) {
        (true, Some(why)) => inconclusive(effect, &format!("{why}, so it cannot be called better")),
        (true, None) => {
            effect.verdict = Verdict::Better;
            directed(effect, circumstances, higher)
        }
        (false, _) => {
            effect.verdict = Verdict::Worse;
            directed(effect, circumstances, higher)
        }
    }
}

/// Grounds on which no verdict is given whatever the numbers are.
fn no_verdict(effect: &Effect, circumstances: &Circumstances) -> Option<String> {
    if effect.ratio.is_none() || effect.interval.is_none() {
        let why = effect.absent.get("ratio").or(effect.absent.get("interval"));
        return Some(why.map_or("there is no estimate".to_owned(), Clone::clone));
    }
    if circumstances.pilot {
        return Some("the campaign is a pilot, which describes and does not decide".to_owned());
    }
    if effect.n < FEWEST_PAIRS as u64 {
        let pairs = if effect.n == 1 { "block pair is" } else { "block pairs are" };
        return Some(format!("{} {pairs} too few, a verdict needs {FEWEST_PAIRS}", effect.n));
    }
    circumstances.gate.clone()
}

/// True for higher, false for lower; None where the test does not tell.
fn detected(effect: &Effect, circumstances: &Circumstances) -> Option<bool> {
    let interval = effect.interval?;
    if circumstances.p? > ALPHA {
        return None;
    }
    if interval.low > 1.0 {
        Some(true)
    } else if interval.high < 1.0 {
        Some(false)
    } else {
        None
    }
}

fn within_margin(effect: &Effect) -> bool {
    let (Some(margin), Some(interval)) = (effect.margin, effect.interval) else { return false };
    interval.low >= 1.0 / (1.0 + margin) && interval.high <= 1.0 + margin
}

/// Any difference in the number of completed runs bars both good verdicts: runs that did not
/// complete are not missing at random. Stricter than a test of the two rates, on purpose.
fn unequal_completion(effect: &Effect) -> Option<String> {
    let count = |outcomes: &std::collections::BTreeMap<String, u64>| {
        let all: u64 = outcomes.values().sum();
        (outcomes.get("measured").copied().unwrap_or(0), all)
    };
    let ((done, all), (control_done, control_all)) =
        (count(&effect.outcomes), count(&effect.control_outcomes));
    (all - done != control_all - control_done).then(|| {
        format!(
            "{} completed {done} of its {all} runs and the control {control_done} of {control_all}",
            effect.arm
        )
    })
}

fn undetected(effect: &Effect, circumstances: &Circumstances) -> String {
    let (Some(interval), Some(p)) = (effect.interval, circumstances.p) else {
        return "there is no test".to_owned();
    };
    let margin = effect.margin.map_or(String::new(), |m| format!(" and is not within ±{}", percent(m)));
    if interval.low <= 1.0 && interval.high >= 1.0 {
        format!("the interval holds 1{margin}, so the data fit no change as well as a change")
    } else {
        format!(
            "the interval leaves 1 out, but adjusted for {} comparisons p is {}",
            circumstances.family,
            p_text(p)
        )
    }
}

fn inconclusive(effect: &mut Effect, why: &str) -> String {
    effect.verdict = Verdict::Inconclusive;
    let numbers = numbers(effect).map_or(String::new(), |n| format!(" ({n})"));
    format!("No verdict on {} for {}{}: {why}{numbers}.", effect.arm, effect.response, place(effect))
}

fn equivalent(effect: &Effect, detected: Option<bool>) -> String {
    let margin = effect.margin.map_or(String::new(), percent);
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
    let change = effect.ratio.map_or(String::new(), |r| percent((r - 1.0).abs()));
    let p = circumstances.p.map_or(String::new(), |p| match circumstances.family {
        0 | 1 => format!("; p {}", p_text(p)),
        m => format!("; p {} adjusted for {m} comparisons", p_text(p)),
    });
    format!(
        "{} is {} than the control: {}{} is {change} {} ({}{p}).",
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

/// Ratio, interval, attained confidence, n and scale of an effect; None without a ratio.
pub fn numbers(effect: &Effect) -> Option<String> {
    let ratio_shown = ratio(effect.ratio?);
    let interval = effect.interval.map_or("no interval".to_owned(), |i| {
        let of = if effect.n < FEWEST_PAIRS as u64 { "range" } else { "interval" };
        format!("{of} {} to {} at {} confidence", ratio(i.low), ratio(i.high), confidence(i.confidence))
    });
    let n = match (effect.n, effect.points) {
        (1, 1) => "1 block pair".to_owned(),
        (n, 1) => format!("{n} block pairs"),
        (1, points) => format!("1 block over {points} grid points"),
        (n, points) => format!("{n} blocks over {points} grid points"),
    };
    Some(format!("ratio {ratio_shown}, {interval}, n = {n}, log scale"))
}

/// A ratio for reading: four decimals near 1, else four digits.
pub fn ratio(value: f64) -> String {
    match value {
        v if (0.1..10.0).contains(&v) => format!("{v:.4}"),
        v if (10.0..100_000.0).contains(&v) => format!("{v:.1}"),
        v => format!("{v:.3e}"),
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
