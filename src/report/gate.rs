//! The gate's answer in words: a sentence for each cell, and the whole for a terminal.

use super::look::{line, wrapped};
use super::number::quantity;
use crate::gate::judge::{Below, CellVerdict, Gate, InForce};
use crate::gate::verdict::Verdict;
use crate::model::response::Better;

/// Fills in the sentence of every cell.
pub fn told(mut gate: Gate) -> Gate {
    let published = gate.published.clone();
    for cell in &mut gate.cells {
        cell.sentence = sentence(cell, published.as_ref());
    }
    let below: Vec<String> = gate.controls_below.iter().map(below).collect();
    gate.notes.splice(0..0, below);
    gate
}

/// What a control under a cliff means.
pub fn below(own: &Below) -> String {
    let (word, part) = match own.better {
        Better::Higher => ("below", 1.0 - own.value / own.best.value),
        Better::Lower => ("above", own.value / own.best.value - 1.0),
    };
    format!(
        "the control {} itself stands {:.1} % {word} the best known {} ({} in {}): what agrees with it may have \
         fallen with it",
        own.cell,
        100.0 * part,
        own.response,
        quantity(own.best.value, &own.unit),
        own.best.record
    )
}

fn sentence(own: &CellVerdict, published: Option<&InForce>) -> String {
    let (unit, response) = (own.unit.as_str(), own.response.as_str());
    let show = |value: f64| quantity(value, unit);
    let (lowest, floor, below, above) = match own.better {
        Better::Higher => ("lowest", "floor", "below", "above"),
        Better::Lower => ("highest", "ceiling", "above", "below"),
    };
    let mut text = match own.verdict {
        Verdict::NothingMeasured => {
            format!("{response} has no value: {}", own.reason.as_deref().unwrap_or("no run was measured"))
        }
        Verdict::NoBaseline => {
            format!(
                "{response} is {}, and nothing is published to hold it against",
                value(own, &show, lowest)
            )
        }
        _ if own.anchor.is_some() => of_anchor(own),
        Verdict::NotComparable if own.reason.is_none() => {
            format!(
                "{response} is {}, but it cannot be compared with what is published",
                value(own, &show, lowest)
            )
        }
        _ => {
            let side = match (own.value, own.floor) {
                (Some(value), Some(floor)) if crate::gate::floor::worse(own.better, value, floor) => below,
                _ => "within",
            };
            format!(
                "{response} is {}, {side} the {floor} of {}",
                value(own, &show, lowest),
                own.floor.map_or("nothing".into(), show)
            )
        }
    };
    if let Some(again) = &own.again {
        text += &format!(
            "; measured again with its control it is {} (median of {}, {lowest} {})",
            show(again.value),
            again.n,
            show(again.worst)
        );
    } else if matches!(own.verdict, Verdict::Regression | Verdict::Inconclusive) && own.anchor.is_none() {
        text += match own.n {
            n if n < 3 => "; fewer than three replicates decide nothing",
            _ => "; it was measured once, and `--again` measures it again with its control",
        };
    }
    if let (Verdict::Inconclusive, Some(worst), Some(limit)) = (own.verdict, own.worst, own.floor)
        && own.n >= 3
        && own.anchor.is_none()
    {
        text += &format!("; its {lowest} replicate {} is {below} {}", show(worst), show(limit));
    }
    if let (Some(baseline), Some(published)) = (own.published, published) {
        text += &format!("; published {} in {}{}", show(baseline), published.record, age(published));
    }
    if own.verdict == Verdict::StaleBaseline {
        text += &format!("; {} stood {above} that, and nobody published it", own.above.join(" and "));
    }
    if let (Some(band), Some(best)) = (own.band_in_force, &own.best_known)
        && band > own.tolerance * 1.001
        && own.verdict != Verdict::NotComparable
    {
        text += &format!(
            "; {:.3} % is now {:.1} %: that far may it fall from the best known {} ({}) before anything trips",
            100.0 * own.tolerance,
            100.0 * band,
            show(best.value),
            best.record
        );
        text = text.replace(".000 %", " %");
    }
    if let Some(reason) = own.reason.as_ref().filter(|_| own.verdict != Verdict::NothingMeasured) {
        text += &format!("; {reason}");
    }
    text + "."
}

fn value(own: &CellVerdict, show: &dyn Fn(f64) -> String, lowest: &str) -> String {
    match (own.value, own.worst) {
        (Some(value), Some(worst)) => {
            format!("{} (median of {}, {lowest} {})", show(value), own.n, show(worst))
        }
        _ => "unknown".into(),
    }
}

fn of_anchor(own: &CellVerdict) -> String {
    let Some(against) = &own.anchor else { return String::new() };
    format!(
        "{} is {:.4} times as good as the published artifact, which ran as {} in the same {} blocks (lowest {:.4}; it \
         must be {:.4} or more)",
        own.response,
        against.ratio,
        against.arm,
        against.blocks,
        against.lowest,
        1.0 - own.tolerance
    )
}

/// How old a publication is.
pub fn age(published: &InForce) -> String {
    let days = published.age_days.map(|days| counted(days.unsigned_abs(), "day"));
    let releases = published.age_releases.map(|releases| counted(releases, "release"));
    match (days, releases) {
        (Some(days), Some(releases)) => format!(", {days} and {releases} ago"),
        (Some(age), None) | (None, Some(age)) => format!(", {age} ago"),
        (None, None) => String::new(),
    }
}

fn counted(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// The whole answer for a terminal of `width` columns.
pub fn text(gate: &Gate, width: u16) -> String {
    let width = usize::from(width.max(40));
    let mut out = wrapped(&line(&headline(gate)), width);
    for cell in &gate.cells {
        let words = format!("{}  {}: {}", cell.verdict.word(), cell.cell, cell.sentence);
        out += &wrapped(&line(&words), width);
        for text in &cell.differences {
            out += &wrapped(&line(&format!("  differs: {text}")), width);
        }
    }
    for note in &gate.notes {
        out += &wrapped(&line(&format!("note: {note}")), width);
    }
    for each in next(gate).lines() {
        out += &wrapped(&line(each), width);
    }
    out.trim_end().to_owned()
}

/// The verdict of the record in a sentence.
pub fn headline(gate: &Gate) -> String {
    let count = |verdict: Verdict| gate.cells.iter().filter(|cell| cell.verdict == verdict).count();
    let parts: Vec<String> = Verdict::ALL
        .iter()
        .filter(|verdict| count(**verdict) > 0)
        .map(|verdict| format!("{} {}", count(*verdict), verdict.word()))
        .collect();
    let parts = if parts.is_empty() { "no cell was measured".to_owned() } else { parts.join(", ") };
    format!("gate: {} for {} {} ({parts})", gate.overall.word(), gate.campaign, gate.record)
}

/// What to do about it.
pub fn next(gate: &Gate) -> String {
    let record = format!("reports/{}/{}", gate.campaign, gate.record);
    match gate.overall {
        Verdict::Pass => "every gated value stands".into(),
        Verdict::Regression
            if gate
                .cells
                .iter()
                .any(|c| c.verdict == Verdict::Regression && c.again.is_none() && c.anchor.is_none()) =>
        {
            format!(
                "next: `fieldtrial gate {record} --again` measures what failed once more; `fieldtrial ladder` finds the release"
            )
        }
        Verdict::Regression => "next: `fieldtrial ladder` finds the release that fell".into(),
        Verdict::StaleBaseline => format!(
            "the product did not fail; what is published is too low to catch a fall\n\
             next: `fieldtrial publish RECORD --why TEXT` with the newest good record ({record} if it is one)"
        ),
        Verdict::NoBaseline => {
            format!("next: `fieldtrial publish {record} --why TEXT` makes these numbers the gate")
        }
        Verdict::NotComparable => {
            "next: measure on the host and with the work that were published, or publish a record of these"
                .into()
        }
        Verdict::Inconclusive if !gate.controls_below.is_empty() => {
            "next: `fieldtrial ladder` finds the release in which the control fell".into()
        }
        Verdict::Inconclusive => {
            format!("next: `fieldtrial gate {record} --again`, or a campaign with more blocks")
        }
        Verdict::NothingMeasured => "next: see the reasons above; a gate without a value is no pass".into(),
    }
}
