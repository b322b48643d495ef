//! Search for the highest load without loss: which load to try next, given what earlier trials showed.
//!
//! It is the method of RFC 9971 (MLRsearch) with the goal of RFC 2544 §26.1: a loss ratio of zero, and
//! no lossy trial forgiven. Loss at a low load after none at a higher one decides against the higher
//! one, so the upper bound is the lowest load that ever lost a frame, and the answer is the highest load
//! below it that lost none over the full duration. Its rate is the one that was really sent there (the
//! conditional throughput), not the one that was asked for.

use crate::model::workload::SearchPlan;

/// What one trial showed. Loads are frames per second and stream.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    /// None: as fast as possible.
    pub offered: Option<f64>,
    /// What the sender did offer.
    pub achieved: f64,
    pub lost: u64,
    /// Part of the frames that arrived, 0 to 1.
    pub arrived: f64,
    /// It lasted the full duration; shorter ones only narrow the search.
    pub full: bool,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Next {
    Try { offered: Option<f64>, full: bool },
    End { best: Option<usize>, why: End },
}

/// Why a search ended. All but `Bottom` may have a best trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The interval between no loss and loss is as narrow as asked.
    Narrow,
    /// The sender could offer no more, and nothing was lost.
    Sender,
    /// No loss at the highest load that may be tried.
    Top,
    /// Loss at the lowest load that may be tried.
    Bottom,
    /// The most trials were made.
    Trials,
}

/// A search under way.
#[derive(Debug, Clone)]
pub struct Search {
    plan: SearchPlan,
    /// Short trials narrow the search, full ones confirm what they find.
    short_first: bool,
    trials: Vec<Trial>,
}

impl Search {
    /// `duration_ms` is the full length of a trial.
    pub fn new(plan: &SearchPlan, duration_ms: u64) -> Search {
        Search { plan: plan.clone(), short_first: plan.trial_ms < duration_ms, trials: vec![] }
    }

    /// Takes the answer of the trial that was asked for.
    pub fn answer(&mut self, trial: Trial) {
        self.trials.push(trial);
    }

    /// The next trial, or the end.
    pub fn next(&self) -> Next {
        let Some(last) = self.trials.last() else { return self.narrowing(self.plan.to) };
        let upper = self.upper();
        let end = |why| Next::End { best: best_of(&self.trials), why };
        if self.trials.len() >= self.plan.most_trials as usize {
            return end(End::Trials);
        }
        let why = match (upper, self.lower(upper)) {
            // The first trial was at the top.
            (None, _) if self.reached(&self.trials[0]) => End::Top,
            (None, _) => End::Sender,
            (Some(upper), None) if upper <= self.plan.from * (1.0 + self.plan.precision) => {
                return Next::End { best: None, why: End::Bottom };
            }
            (Some(upper), None) => return self.narrowing(Some(self.below(upper))),
            (Some(_), Some(_)) if last.lost == 0 && !self.reached(last) => End::Sender,
            (Some(upper), Some(lower)) if upper - lower.0 > self.plan.precision * upper => {
                return self.narrowing(Some(self.between(lower.0, upper)));
            }
            (Some(_), Some(_)) => End::Narrow,
        };
        match (self.lower(upper), best_of(&self.trials)) {
            (Some((lower, _)), Some(best))
                if load(&self.trials[best]) >= lower * (1.0 - self.plan.precision) =>
            {
                end(why)
            }
            (Some((_, offered)), _) => Next::Try { offered, full: true },
            (None, _) => end(why),
        }
    }

    /// Half way; or less far above what was clean, in steps that double as long as nothing is lost: what got
    /// through at overload is often close to the answer.
    fn between(&self, lower: f64, upper: f64) -> f64 {
        let middle = f64::midpoint(upper, lower);
        match self.trials.iter().rev().take_while(|trial| trial.lost == 0).count() as i32 {
            0 => middle,
            clean => middle.min(lower * (1.0 + self.plan.precision * 2f64.powi(clean - 1))),
        }
    }

    fn narrowing(&self, offered: Option<f64>) -> Next {
        Next::Try { offered, full: !self.short_first }
    }

    /// Where nothing was clean yet: what got through, then ever larger steps down.
    fn below(&self, upper: f64) -> f64 {
        let lossy = self.trials.len() as i32;
        let step = (self.plan.precision * 2f64.powi(lossy)).min(0.5);
        let through = self.trials[0].achieved * self.trials[0].arrived;
        let next = if lossy == 1 { through.min(upper * (1.0 - step)) } else { upper * (1.0 - step) };
        next.max(self.plan.from)
    }

    fn upper(&self) -> Option<f64> {
        upper(&self.trials)
    }

    /// The highest load below `upper` that lost none, with what was offered for it.
    fn lower(&self, upper: Option<f64>) -> Option<(f64, Option<f64>)> {
        let clean =
            self.loads().filter(|(load, trial)| trial.lost == 0 && upper.is_none_or(|upper| *load < upper));
        clean.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(load, trial)| (load, trial.offered))
    }

    fn loads(&self) -> impl Iterator<Item = (f64, &Trial)> {
        self.trials.iter().map(|trial| (load(trial), trial))
    }

    /// Whether the sender offered what was asked; nobody can ask for more than as fast as possible.
    fn reached(&self, trial: &Trial) -> bool {
        trial.offered.is_some_and(|offered| trial.achieved >= offered * (1.0 - self.plan.precision))
    }
}

/// The load that a trial speaks of: what was really sent.
fn load(trial: &Trial) -> f64 {
    trial.offered.map_or(trial.achieved, |offered| offered.min(trial.achieved))
}

/// The lowest load that lost a frame, in a trial of any length.
fn upper(trials: &[Trial]) -> Option<f64> {
    trials.iter().filter(|trial| trial.lost > 0).map(load).reduce(f64::min)
}

/// The trial of the highest load that lost none over the full duration, below every load that lost some.
pub fn best_of(trials: &[Trial]) -> Option<usize> {
    let upper = upper(trials);
    let clean = |at: &usize| {
        let trial = &trials[*at];
        trial.full && trial.lost == 0 && upper.is_none_or(|upper| load(trial) < upper)
    };
    (0..trials.len()).filter(clean).max_by(|a, b| load(&trials[*a]).total_cmp(&load(&trials[*b])))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A simulated device and sender.
    #[derive(Debug, Clone, Copy)]
    struct Device {
        /// Loses frames above this load.
        threshold: f64,
        /// The sender's own limit.
        ceiling: f64,
        /// Loses some in this band too, though not above it.
        hole: (f64, f64),
        /// Chance in a thousand that a trial loses a frame whatever its load.
        noise: u64,
    }

    const CLEAN: Device = Device { threshold: 5e5, ceiling: 2e6, hole: (0.0, 0.0), noise: 0 };
    const SHORT_MS: u64 = 200;

    fn plan(to: Option<f64>, trial_ms: u64) -> SearchPlan {
        SearchPlan { precision: 0.01, trial_ms, from: 1000.0, to, most_trials: 60 }
    }

    fn search(plan: &SearchPlan, device: Device, seed: u64) -> (Vec<Trial>, Option<Trial>, End) {
        let mut search = Search::new(plan, 1000);
        let mut state = seed;
        loop {
            match search.next() {
                Next::End { best, why } => {
                    let best = best.map(|at| search.trials[at]);
                    return (search.trials, best, why);
                }
                Next::Try { offered, full } => {
                    let achieved = offered.unwrap_or(f64::MAX).min(device.ceiling);
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let noisy = (state >> 33) % 1000 < device.noise;
                    let over = (achieved - device.threshold).max(0.0);
                    let holed = (device.hole.0..device.hole.1).contains(&achieved);
                    let lost = over as u64 + u64::from(noisy) + 3 * u64::from(holed);
                    let arrived = 1.0 - (over / achieved);
                    search.answer(Trial { offered, achieved, lost, arrived, full });
                    assert!(search.trials.len() <= plan.most_trials as usize);
                }
            }
        }
    }

    #[test]
    fn the_threshold_of_a_steady_device_is_found_in_few_trials() {
        let (trials, best, why) = search(&plan(None, 1000), CLEAN, 1);
        let found = best.expect("a load").achieved;
        assert!(why == End::Narrow && (4.95e5..=5e5).contains(&found), "{why:?} {found} {trials:?}");
        assert!(trials.len() <= 12, "{}", trials.len());
    }

    #[test]
    fn what_the_sender_cannot_offer_is_no_loss_and_no_find_beyond_it() {
        let device = Device { ceiling: 3e5, ..CLEAN };
        let (trials, best, why) = search(&plan(None, 1000), device, 1);
        assert_eq!((trials.len(), best.expect("the ceiling").achieved, why), (1, 3e5, End::Sender));
        let (_, best, why) = search(&plan(Some(9e5), 1000), device, 1);
        assert_eq!((best.expect("the ceiling").achieved, why), (3e5, End::Sender));
    }

    #[test]
    fn both_ends_of_the_range_are_ends_of_the_search() {
        let (trials, best, why) = search(&plan(Some(4e5), 1000), CLEAN, 1);
        assert_eq!((trials.len(), best.expect("the top").achieved, why), (1, 4e5, End::Top));
        let (_, best, why) = search(&plan(Some(4e5), 1000), Device { threshold: 500.0, ..CLEAN }, 1);
        assert_eq!((best, why), (None, End::Bottom));
    }

    #[test]
    fn loss_at_a_low_load_decides_against_a_clean_higher_one() {
        // The end is above the hole at first; only the full trial falls into it.
        let mut search = Search::new(&plan(Some(1e6), SHORT_MS), 1000);
        let answers = [(true, false), (false, false), (false, false), (true, true)];
        for (lossy, full) in answers {
            let Next::Try { offered, full: asked } = search.next() else { panic!("an end") };
            let at = offered.expect("a rate");
            // A narrow interval is made by hand: the third answer is close below the first.
            let (offered, at) = if search.trials.len() == 2 { (Some(9.95e5), 9.95e5) } else { (offered, at) };
            assert_eq!(asked, full, "{:?}", search.trials);
            search.answer(Trial { offered, achieved: at, lost: lossy.into(), arrived: 0.9, full });
        }
        let Next::Try { offered: Some(next), full: false } = search.next() else {
            panic!("{:?}", search.next())
        };
        assert!(next < 9.95e5, "it goes on below the confirmed loss: {next}");
    }

    #[test]
    fn a_short_trial_is_never_the_answer() {
        let (trials, best, _) = search(&plan(None, SHORT_MS), CLEAN, 1);
        assert!(best.expect("a load").full && trials.iter().filter(|t| !t.full).count() >= 3, "{trials:?}");
    }

    proptest! {
        #[test]
        fn the_answer_is_within_the_precision_below_the_threshold(
            threshold in 2e3..1.9e6f64, to in 1.95e6..4e6f64, max in any::<bool>(), short in any::<bool>(),
        ) {
            let plan = plan((!max).then_some(to), if short { SHORT_MS } else { 1000 });
            let (trials, best, why) = search(&plan, Device { threshold, ..CLEAN }, 1);
            let found = best.expect("a load").achieved;
            prop_assert!(why == End::Narrow && found <= threshold + 1.0 && found >= threshold * 0.979,
                "{why:?} {found} of {threshold}: {trials:?}");
            prop_assert!(trials.len() <= 24, "{}", trials.len());
        }

        #[test]
        fn no_load_that_lost_a_frame_lies_at_or_below_the_answer(
            threshold in 2e3..1.9e6f64, noise in 0u64..300, seed in any::<u64>(), short in any::<bool>(),
            from in 1e3..1e6f64, width in 0.0..5e5f64,
        ) {
            let plan = plan(None, if short { SHORT_MS } else { 1000 });
            let device = Device { threshold, noise, hole: (from, from + width), ..CLEAN };
            let (trials, best, why) = search(&plan, device, seed);
            if let Some(best) = best {
                prop_assert!(best.full && best.lost == 0);
                let lowest = trials.iter().filter(|t| t.lost > 0).map(load).fold(f64::MAX, f64::min);
                prop_assert!(load(&best) < lowest, "{best:?} {trials:?}");
            } else {
                prop_assert!(matches!(why, End::Bottom | End::Trials), "{why:?} {trials:?}");
            }
        }
    }

    #[test]
    fn the_highest_clean_load_alone_would_be_the_wrong_answer() {
        // What the property above forbids does happen: a naive search would call the higher load clean.
        let device = Device { noise: 200, ..CLEAN };
        let inverted = (0..200u64).any(|seed| {
            let (trials, best, _) = search(&plan(None, SHORT_MS), device, seed);
            let naive = trials.iter().filter(|t| t.lost == 0).map(load).fold(0.0, f64::max);
            best.is_some_and(|best| naive > load(&best))
        });
        assert!(inverted);
    }
}
