//! Drift, first places, noise floors and reversals: found where they are, and not where they are not.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::drift::{ControlRun, halves, of_controls};
use super::findings::{Findings, Verdict};
use super::first_place::{PlacedRun, penalty};
use super::judge::{judge, judge_trial};
use super::noise_floor::{move_together, of_twins};
use super::power::normal;
use super::reversal::{Agreement, across};
use super::trial::Trial;
use crate::evidence::event::Event;
use crate::evidence::example::{self, Record};
use crate::model::arm::ArmKind;
use crate::model::job::End;
use crate::model::outcome::Fate;

/// Controls of `cells` grid points over `blocks`, with a drift from first to last, spread of blocks
/// and spread of runs.
fn controls(
    seed: u64,
    (blocks, cells): (usize, usize),
    drift: f64,
    (of_block, of_run): (f64, f64),
) -> Vec<ControlRun> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut runs = vec![];
    for block in 0..blocks {
        let height = of_block * normal(&mut random);
        for cell in 0..cells {
            let order = (block * cells + cell) as f64;
            let value =
                drift * order / (blocks * cells) as f64 + height + of_run * normal(&mut random) + cell as f64;
            runs.push(ControlRun { cell, block, order, value });
        }
    }
    runs
}

fn found(rounds: u64, shape: (usize, usize), drift: f64, spread: (f64, f64)) -> f64 {
    let hits = (0..rounds).filter(|seed| of_controls(&controls(*seed, shape, drift, spread)).found).count();
    hits as f64 / rounds as f64
}

#[test]
fn drift_of_four_controls_is_found_where_one_control_could_not() {
    let rounds = 300;
    let four = found(rounds, (8, 4), 0.03, (0.0, 0.01));
    let one = found(rounds, (8, 1), 0.03, (0.0, 0.01));
    assert!(four > 0.8, "{four}");
    assert!(one < 0.4, "{one}");
}

#[test]
fn blocks_that_merely_differ_are_no_drift() {
    // The band of 1 % over 1,000 campaigns reaches to about 1.9 %.
    for spread in [(0.0, 0.01), (0.01, 0.01), (0.02, 0.01)] {
        let false_alarms = found(1000, (8, 4), 0.0, spread);
        assert!(false_alarms <= 0.026, "{spread:?}: {false_alarms}");
    }
}

#[test]
fn a_drift_tells_its_size_and_a_control_without_runs_says_why_not() {
    let drift = of_controls(&controls(1, (10, 4), -0.1, (0.0, 0.005)));
    assert!(drift.found && (drift.change.expect("change") + 0.095).abs() < 0.02, "{drift:?}");
    assert!(drift.sentence.contains("drifts over the campaign by about -"), "{}", drift.sentence);
    let none = of_controls(&controls(1, (1, 4), 0.0, (0.0, 0.1)));
    assert_eq!((none.p, none.found), (None, false));
    assert!(none.sentence.contains("not tested"), "{}", none.sentence);
    let mut reordered = controls(1, (10, 4), -0.1, (0.0, 0.005));
    reordered.reverse();
    assert_eq!(of_controls(&reordered).p, drift.p);
}

#[test]
fn an_effect_that_fades_shows_between_the_halves() {
    let fading = [0.05, 0.06, 0.055, 0.052, 0.01, 0.012, 0.011, 0.013];
    let found = halves(&fading, 0.05);
    assert!((found.p.expect("p") - 2.0 / 70.0).abs() < 1e-12);
    assert!(found.sentence.contains("not the same in both halves"));
    assert!(found.first > found.second);
    let few = halves(&fading[..7], 0.05);
    assert_eq!(few.p, None);
    assert!(few.absent["p"].contains("7 pairs are too few"));
    assert_eq!(halves(&[0.5; 8], 0.05).p, None);
}

/// Runs of `cells` arms over ten blocks whose first run costs `cost`; `turn` rotates the order.
fn placed(cost: f64, cells: usize, turn: bool) -> Vec<PlacedRun> {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    (0..10)
        .flat_map(|block| (0..cells).map(move |place| (block, place)))
        .map(|(block, place)| {
            let cell = if turn { (place + block) % cells } else { place };
            let first = if place == 0 { cost } else { 0.0 };
            let value = first + 0.1 * cell as f64 + 0.05 * block as f64 + 0.002 * normal(&mut random);
            PlacedRun { cell, block, place: place + 1, value }
        })
        .collect()
}

#[test]
fn a_penalty_of_the_first_place_is_found_or_said_to_be_confounded() {
    let turned = penalty(&placed(0.03, 4, true), 0.05);
    assert!(turned.found && (turned.change.expect("change") - 0.0305).abs() < 0.004, "{turned:?}");
    let none = penalty(&placed(0.0, 4, true), 0.05);
    assert!(none.p.is_some() && none.change.expect("change").abs() < 0.004, "{none:?}");
    let fixed = penalty(&placed(0.03, 4, false), 0.05);
    assert_eq!((fixed.p, fixed.blocks), (None, 0));
    assert!(fixed.sentence.contains("would look like an effect of that cell"), "{}", fixed.sentence);
}

#[test]
fn two_identical_controls_give_the_floor_of_noise() {
    let calm = of_twins(&[0.01, -0.012, 0.003, -0.004, 0.006, -0.002, 0.001, -0.009], 0.05);
    assert!(!calm.alarm && calm.floor.expect("floor") < 0.013, "{calm:?}");
    let apart = of_twins(&[0.01, 0.012, 0.011, 0.013, 0.009, 0.014], 0.05);
    assert!(apart.alarm && apart.sentence.contains("something other than the change"), "{apart:?}");
    let one = of_twins(&[0.01], 0.05);
    assert_eq!((one.floor, one.paired_sd), (None, None));
    assert!(one.absent.contains_key("floor"));
}

#[test]
fn arms_that_move_together_say_that_the_environment_moves() {
    let weather = [0.0, 0.1, -0.05, 0.2, 0.07, -0.1, 0.15, 0.02];
    let treatment: Vec<f64> =
        weather.iter().enumerate().map(|(i, w)| w + 0.3 + 0.001 * (i % 3) as f64).collect();
    let found = move_together(&weather, &treatment, 0.05);
    assert!(found.together && found.taken_out.expect("part") > 0.99, "{found:?}");
    assert!(found.sentence.contains("the environment moves both"));
    let apart = move_together(&weather, &[0.1, 0.0, 0.12, 0.05, 0.2, 0.03, 0.15, 0.01], 0.05);
    assert!(!apart.together);
    assert_eq!(move_together(&[1.0; 6], &[1.0; 6], 0.05).tau, None);
}

#[test]
fn a_host_that_says_the_opposite_is_never_averaged_away() {
    let group = |name: &str, centre: f64| {
        (name.to_owned(), [-0.002, 0.001, 0.0, 0.003, -0.001, 0.002].map(|d| d + centre).to_vec())
    };
    let reversed = across("host", &[group("a", 0.1), group("b", 0.12), group("c", -0.02)], 0.05);
    assert_eq!(reversed.agreement, Agreement::Reversed);
    assert!(reversed.sentence.contains("up on a, down on c"), "{}", reversed.sentence);
    assert_eq!(across("host", &[group("a", 0.1), group("b", 0.02)], 0.05).agreement, Agreement::Same);
    assert_eq!(across("day", &[group("mon", 0.1), group("tue", -0.0015)], 0.05).agreement, Agreement::Mixed);
    assert_eq!(across("day", &[group("mon", 0.1)], 0.05).agreement, Agreement::Unknown);
}

/// A judged record of 10 blocks: `new` on two sizes, run on the hosts that `host` names, and perhaps the
/// control again. `change` gives the log of new over old by size and block.
fn judged(host: [&str; 2], twin: Option<f64>, change: impl Fn(usize, u32) -> f64) -> Findings {
    let mut arms = vec![("new", ArmKind::Treatment)];
    arms.extend(twin.map(|_| ("old-again", ArmKind::Twin)));
    let mut record = Record::open(&arms, 10);
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let names: Vec<&str> = std::iter::once("old").chain(arms.iter().map(|arm| arm.0)).collect();
    let mut cells = vec![];
    for (at, size) in ["1", "8"].into_iter().enumerate() {
        cells.extend(
            names.iter().map(|arm| (at, *arm, record.cell(&[("size", size)], arm, Fate::Live, None))),
        );
    }
    for block in 1..=10 {
        record.block(block, None, &cells.iter().map(|cell| &cell.2).collect::<Vec<_>>());
        let height = 0.2 * normal(&mut random);
        for (size, arm, cell) in &cells {
            let own = match *arm {
                "new" => change(*size, block),
                "old-again" => twin.unwrap_or(0.0),
                _ => 0.0,
            };
            let mut run = example::run(&cell.0, block, (height + own + 0.003 * normal(&mut random)).exp());
            run.roles = vec![example::role("run", host[*size], "scan", End::Exited(0))];
            record.run(run);
        }
    }
    record.push(Event::Closed { complete: true, reason: None });
    judge(&record.evidence)
}

#[test]
fn hosts_that_say_the_opposite_leave_no_common_verdict() {
    let reversed = judged(["h1", "h2"], None, |size, _| if size == 0 { -0.3 } else { 0.1 });
    let hosts = reversed.environment[0].arms[0].hosts.as_ref().expect("two hosts");
    assert_eq!((hosts.agreement, hosts.groups.len()), (Agreement::Reversed, 2));
    assert_eq!(reversed.answers[0].verdict, Verdict::Inconclusive, "{}", reversed.answers[0].sentence);
    assert!(reversed.answers[0].sentence.contains("not the same on every host"));
    assert!(
        reversed.cautions.iter().any(|c| c.contains("reversed between hosts")),
        "{:?}",
        reversed.cautions
    );
    // On one host the same numbers are an interaction with the size, and the average stands.
    let one_host = judged(["h1", "h1"], None, |size, _| if size == 0 { -0.3 } else { 0.1 });
    assert_eq!(
        (one_host.answers[0].verdict, &one_host.environment[0].arms[0].hosts),
        (Verdict::Better, &None)
    );
    let same = judged(["h1", "h2"], None, |_, _| -0.1);
    assert_eq!(same.answers[0].verdict, Verdict::Better);
}

#[test]
fn arms_that_move_together_and_halves_that_differ_are_told() {
    let found = judged(["h1", "h1"], None, |_, block| if block > 5 { -0.2 } else { -0.1 });
    let arm = &found.environment[0].arms[0];
    assert!(arm.together.together, "blocks differ by a fifth: {:?}", arm.together);
    assert!(arm.halves.as_ref().and_then(|h| h.p).is_some_and(|p| p < 0.05), "{:?}", arm.halves);
    for said in ["not the same in both halves", "rise and fall together"] {
        assert!(found.cautions.iter().any(|c| c.starts_with("new: ") && c.contains(said)), "{said}");
    }
    let steady = judged(["h1", "h1"], None, |_, _| -0.1);
    assert!(!steady.cautions.iter().any(|c| c.contains("both halves")), "{:?}", steady.cautions);
}

#[test]
fn the_control_measured_again_gives_the_noise_floor_and_never_a_verdict() {
    let quiet = judged(["h1", "h1"], Some(0.0), |_, _| -0.1);
    let floor = quiet.environment[0].noise_floor.as_ref().expect("a noise floor");
    assert!(!floor.alarm && floor.n == 10 && floor.floor.is_some_and(|f| f < 0.01), "{floor:?}");
    assert!(quiet.answers.iter().chain(&quiet.effects).all(|e| e.arm == "new"));
    assert_eq!((quiet.family.comparisons, &quiet.family.arms[..]), (1, &["new".to_owned()][..]));
    let without = judged(["h1", "h1"], None, |_, _| -0.1);
    assert_eq!(quiet.factorials[0].factors, without.factorials[0].factors);
    assert!(without.environment[0].absent["noise_floor"].contains("aa: true"));
    let alarmed = judged(["h1", "h1"], Some(0.05), |_, _| -0.1);
    assert!(alarmed.environment[0].noise_floor.as_ref().is_some_and(|f| f.alarm));
    assert!(
        alarmed.cautions.iter().any(|c| c.contains("Two identical controls differ")),
        "{:?}",
        alarmed.cautions
    );
}

#[test]
fn days_that_say_the_opposite_are_told_like_hosts() {
    let mut trial = of_two_days(-0.1, 0.1);
    let found = judge_trial(&trial);
    let days = found.environment[0].arms[0].days.as_ref().expect("two days");
    assert_eq!(days.agreement, Agreement::Reversed);
    assert!(found.answers[0].sentence.contains("not the same on every day"), "{}", found.answers[0].sentence);
    trial.blocks.iter_mut().for_each(|block| block.day = Some("2026-11-30".into()));
    assert_eq!(judge_trial(&trial).environment[0].arms[0].days, None);
}

/// Twelve blocks on two days, with the log of the effect on each.
fn of_two_days(first: f64, second: f64) -> Trial {
    let mut record = Record::open(&[("new", ArmKind::Treatment)], 12);
    let cells = ["old", "new"].map(|arm| record.cell(&[("size", "1")], arm, Fate::Live, None));
    let mut random = ChaCha8Rng::seed_from_u64(6);
    for block in 1..=12 {
        record.block(block, None, &cells.iter().collect::<Vec<_>>());
        let effect = if block <= 6 { first } else { second };
        record.measured(&cells[0], block, (0.003 * normal(&mut random)).exp());
        record.measured(&cells[1], block, (effect + 0.003 * normal(&mut random)).exp());
    }
    let mut trial = super::of_record::trial(&record.evidence);
    assert!(trial.blocks.iter().all(|block| block.day.as_deref() == Some("2026-11-30")));
    for block in &mut trial.blocks[6..] {
        block.day = Some("2026-12-01".into());
    }
    trial
}
