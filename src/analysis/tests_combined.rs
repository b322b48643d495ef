//! Treatments that were combined: each is a factor, and it shows whether their gains add.

use super::findings::Findings;
use super::interaction::Adds;
use super::judge::judge;
use crate::evidence::example::Record;
use crate::model::arm::ArmKind;
use crate::model::outcome::Fate;

/// Eight blocks of the control at 10 and of these arms; None is refused.
fn judged(arms: &[(&str, ArmKind, Option<f64>)]) -> Findings {
    let kinds: Vec<(&str, ArmKind)> = arms.iter().map(|(name, kind, _)| (*name, *kind)).collect();
    let mut record = Record::open(&kinds, 8);
    let control = ("old", ArmKind::Control, Some(10.0));
    let mut cells = vec![];
    for (name, _, value) in std::iter::once(&control).chain(arms) {
        match value {
            Some(value) => cells.push((record.cell(&[], name, Fate::Live, None), *value)),
            None => drop(record.cell(&[], name, Fate::Refused, Some(("proof", "another answer", "a != b")))),
        }
    }
    let order: Vec<_> = cells.iter().map(|(cell, _)| cell.clone()).collect();
    for block in 1..=8 {
        record.block(block, None, &order.iter().collect::<Vec<_>>());
        for (at, (cell, value)) in cells.iter().enumerate() {
            // Blocks and arms wobble apart from each other.
            let wobble = 1.0 + f64::from(block * 7 % 5) / 100.0 + f64::from(block) * at as f64 / 10_000.0;
            record.measured(cell, block, value * wobble);
        }
    }
    record.push(crate::evidence::event::Event::Closed { complete: true, reason: None });
    judge(&record.evidence)
}

const A: (&str, ArmKind, Option<f64>) = ("a", ArmKind::Treatment, Some(8.0));
const B: (&str, ArmKind, Option<f64>) = ("b", ArmKind::Treatment, Some(5.0));

fn both(value: f64) -> (&'static str, ArmKind, Option<f64>) {
    ("a+b", ArmKind::Combination, Some(value))
}

#[test]
fn gains_that_multiply_add_as_ratios_and_others_do_not() {
    for (together, log) in [(4.0, Adds::Add), (5.0, Adds::DoNotAdd)] {
        let findings = judged(&[A, B, both(together), ("base", ArmKind::Anchor, Some(20.0))]);
        let factors: Vec<&[String]> = findings.factorials.iter().map(|of| of.factors.as_slice()).collect();
        assert!(factors.iter().all(|names| *names == ["a", "b"]), "an anchor is no level: {factors:?}");
        assert!(findings.factorials.iter().all(|of| of.two_level.is_some() && of.anova.is_some()));
        let [pair] = &findings.interactions[0].pairs[..] else { panic!("{:?}", findings.interactions) };
        assert_eq!((pair.first.as_str(), pair.second.as_str()), ("a", "b"));
        let square = &pair.squares[0];
        assert_eq!(
            (&square.first, &square.second),
            (&["no", "yes"].map(String::from), &["no", "yes"].map(String::from))
        );
        assert_eq!(square.log.adds, log, "{}", square.log.sentence);
        assert!((square.log.estimate.expect("an estimate") - together / 4.0).abs() < 0.01, "{square:?}");
        let medians: Vec<f64> =
            square.log.corners.iter().map(|corner| corner.median.expect("runs").round()).collect();
        assert_eq!(medians, [10.0, 8.0, 5.0, together], "neither, the first, the second, both");
    }
}

#[test]
fn what_was_not_combined_in_full_stays_one_factor() {
    let c = ("c", ArmKind::Treatment, Some(9.0));
    let refused = ("a+b", ArmKind::Combination, None);
    for arms in [&[A, B][..], &[A, B, c, both(4.0)], &[A, B, refused]] {
        let findings = judged(arms);
        assert!(findings.factorials.iter().all(|of| of.factors == ["arm"]), "{:?}", findings.factorials);
        assert!(findings.interactions.is_empty());
    }
}
