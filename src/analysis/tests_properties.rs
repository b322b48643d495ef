//! What has to hold for any data: order of rows, units and the names of the arms change nothing.

use proptest::prelude::*;

use super::analyse::analyse;
use super::findings::{Findings, Verdict};
use super::question::Question;
use crate::model::response::Better;
use crate::model::scale::Scale;

fn question(control: &str, paired: bool) -> Question {
    Question {
        responses: vec!["y".into()],
        factors: vec!["size".into()],
        block: paired.then(|| "block".into()),
        control: Some(("arm".into(), control.into())),
        order: None,
        status: None,
        deadline: None,
        whole_plot: if paired { vec!["size".into()] } else { vec![] },
        group: None,
        samples: None,
        scale: Scale::Log,
        along: None,
        better: Better::Lower,
        margin: Some(0.03),
        unit: String::new(),
    }
}

fn judged(rows: &[String], control: &str, paired: bool) -> Findings {
    let text = format!("size,block,arm,y\n{}", rows.join("\n"));
    analyse(&text, &question(control, paired), "data").unwrap_or_else(|why| panic!("{why:?}"))
}

/// Two sizes, eight blocks, two arms; timeouts where the effect of a row is 0.
fn rows(effects: &[u8], scale: f64) -> Vec<String> {
    let mut rows = vec![];
    for (at, effect) in effects.iter().enumerate() {
        let (size, block) = (1 + at % 2, 1 + at / 2);
        // Never on a tie between the arms, which rounding in another unit could break.
        let base =
            (f64::from(size as u32) * 100.0 + (at * 37 % 11) as f64 * 1.37 + at as f64 * 0.0123) * scale;
        rows.push(format!("{size},{block},old,{base}"));
        rows.push(match effect {
            0 => format!("{size},{block},new,>{}", 1000.0 * scale),
            e => format!("{size},{block},new,{}", base * (0.9 + f64::from(*e) / 50.0)),
        });
    }
    rows
}

fn verdicts(findings: &Findings) -> Vec<Verdict> {
    findings.answers.iter().chain(&findings.effects).map(|e| e.verdict).collect()
}

fn mirrored(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Better => Verdict::Worse,
        Verdict::Worse => Verdict::Better,
        other => other,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_order_of_rows_changes_nothing(
        effects in prop::collection::vec(0u8..10, 16), turn in 1usize..31, paired: bool
    ) {
        let rows = rows(&effects, 1.0);
        let mut turned = rows.clone();
        turned.rotate_left(turn);
        turned.swap(0, turn);
        prop_assert_eq!(judged(&rows, "old", paired), judged(&turned, "old", paired));
    }

    #[test]
    fn another_unit_changes_no_ratio_and_no_verdict(
        effects in prop::collection::vec(0u8..10, 16), power in -9i32..10, paired: bool
    ) {
        let (one, other) = (
            judged(&rows(&effects, 1.0), "old", paired),
            judged(&rows(&effects, 10f64.powi(power)), "old", paired),
        );
        prop_assert_eq!(verdicts(&one), verdicts(&other));
        for (a, b) in one.answers.iter().zip(&other.answers) {
            match (a.ratio, b.ratio) {
                (Some(a), Some(b)) => prop_assert!((a / b - 1.0).abs() < 1e-9),
                (a, b) => prop_assert_eq!(a, b),
            }
        }
    }

    #[test]
    fn swapping_control_and_treatment_inverts_every_verdict(
        effects in prop::collection::vec(1u8..10, 16), paired: bool
    ) {
        let rows = rows(&effects, 1.0);
        let (one, other) = (judged(&rows, "old", paired), judged(&rows, "new", paired));
        let turned: Vec<Verdict> = verdicts(&other).into_iter().map(mirrored).collect();
        prop_assert_eq!(verdicts(&one), turned);
        for (a, b) in one.answers.iter().chain(&one.effects).zip(other.answers.iter().chain(&other.effects)) {
            prop_assert!((a.ratio.unwrap() * b.ratio.unwrap() - 1.0).abs() < 1e-9);
            prop_assert!((a.p.unwrap() - b.p.unwrap()).abs() < 1e-12);
            let (i, j) = (a.interval.unwrap(), b.interval.unwrap());
            prop_assert!((i.low * j.high - 1.0).abs() < 1e-9 && (i.high * j.low - 1.0).abs() < 1e-9);
        }
    }
}
