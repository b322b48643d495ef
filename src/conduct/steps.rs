//! One timed run of a `packets` cell: a single pass under one load, or one pass after the other.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::accept::broken_rule;
use super::cautions::{Cautions, HOST_BOUND, cautions};
use super::delivery::{self, result};
use super::direction::Direction;
use super::frame_rates::{self, Values, bits_l1, bits_l2};
use super::lab::Lab;
use super::packets::{Offer, timed_roles};
use super::pass::{self, PassEnd, Trouble};
use super::search::{End, Next, Search, Trial, best_of};
use super::watch::Stop;
use crate::campaign::Campaign;
use crate::evidence::event::Sample;
use crate::model::metric::OFFERED_RATE;
use crate::model::proof::Proof;
use crate::model::work_counts::WorkCounts;
use crate::model::workload::{Load, PacketWork};
use crate::verify::{Difference, Verified, confirm};

/// What a run showed.
pub struct Measured {
    pub found: Values,
    pub cautions: Cautions,
    pub proof: Proof,
    /// A rule of acceptance that it breaks, or its difference from the proof.
    pub broken: Option<Difference>,
    /// Of the pass that decided, which is the last one where none did.
    pub end: PassEnd,
    /// What became of the declared units of work; None for frames, which have counts of their own.
    pub work: Option<WorkCounts>,
}

/// Runs all passes of one run within its one deadline.
pub fn measure(
    lab: &mut dyn Lab,
    campaign: &Campaign,
    verified: &Verified,
    work: &PacketWork,
    stop: &dyn Fn() -> Stop,
) -> Measured {
    let deadline = Duration::from_millis(campaign.timeout_ms);
    let mut steps = Steps {
        lab,
        campaign,
        verified,
        work,
        stop,
        began: Instant::now(),
        deadline,
        taken: vec![],
        found: Values::default(),
        cautions: Cautions::new(),
        broken: None,
    };
    match &work.load {
        Load::Steady(rate) => {
            steps.pass(*rate, work.duration_ms);
            let found = steps.taken.last().map(|(_, end)| frame_rates::values(work, &end.roles));
            steps.found = found.unwrap_or_default();
            steps.close(None)
        }
        Load::List(loads) => {
            let mut trials = vec![];
            for load in loads {
                trials.extend(steps.trial(Some(*load), work.duration_ms, true));
                if steps.in_trouble() {
                    return steps.close(None);
                }
            }
            let best = best_of(&trials);
            steps.answer(best, "every load of the list, or one below each that lost none, lost frames");
            steps.close(best)
        }
        Load::Search(plan) => {
            let mut search = Search::new(plan, work.duration_ms);
            loop {
                match search.next() {
                    Next::Try { offered, full } => {
                        let duration_ms = if full { work.duration_ms } else { plan.trial_ms };
                        match steps.trial(offered, duration_ms, full) {
                            Some(trial) => search.answer(trial),
                            None => return steps.close(None),
                        }
                    }
                    Next::End { best, why } => {
                        steps.ended(best, why);
                        return steps.close(best);
                    }
                }
            }
        }
    }
}

struct Steps<'a> {
    lab: &'a mut dyn Lab,
    campaign: &'a Campaign,
    verified: &'a Verified,
    work: &'a PacketWork,
    stop: &'a dyn Fn() -> Stop,
    began: Instant,
    deadline: Duration,
    taken: Vec<(Offer, PassEnd)>,
    found: Values,
    cautions: Cautions,
    broken: Option<Difference>,
}

impl Steps<'_> {
    fn pass(&mut self, rate: Option<f64>, duration_ms: u64) {
        let left = self.deadline.saturating_sub(self.began.elapsed());
        let offer = Offer { rate, duration_ms, deadline_ms: (left.as_millis() as u64).max(1) };
        let end = pass::run(self.lab, &timed_roles(self.work, offer), self.stop);
        if end.trouble.is_none() && self.broken.is_none() {
            let rule = broken_rule(&self.campaign.accept, self.work, &end.roles);
            let proof = delivery::timed_proof(self.work, &end.roles);
            self.broken = rule.or_else(|| confirm(self.verified, &proof, &Default::default()).err());
        }
        self.cautions.extend(cautions(self.work, offer, &end.roles));
        self.taken.push((offer, end));
    }

    fn in_trouble(&self) -> bool {
        self.taken.last().is_some_and(|(_, end)| end.trouble.is_some())
    }

    /// One load among several, kept as samples; None when the pass came to no end of its own.
    fn trial(&mut self, offered: Option<f64>, duration_ms: u64, full: bool) -> Option<Trial> {
        self.pass(offered, duration_ms);
        let step = self.taken.len() as u32;
        let at_ns = self.began.elapsed().as_nanos() as u64;
        let work = self.work;
        let (_, end) = self.taken.last_mut()?;
        if end.trouble.is_some() {
            return None;
        }
        let mut achieved = f64::MAX;
        let (mut handed, mut lost) = (0, 0);
        let pass = frame_rates::values(work, &end.roles);
        for direction in Direction::of(work) {
            let streams = delivery::streams(&end.roles, *direction);
            handed += streams.iter().map(|s| s.handed).sum::<u64>();
            lost += streams.iter().map(|s| s.lost).sum::<u64>();
            let rate = pass.values.get(&direction.metric("handed_rate"));
            let Some(rate) = rate else {
                let why = format!("{}: it gave no rate over {duration_ms} ms", direction.sender());
                end.trouble = Some(Trouble::Failed(why));
                return None;
            };
            achieved = achieved.min(rate / f64::from(work.streams));
            let offered = offered.map(|offered| offered * f64::from(work.streams));
            let mut sample = |metric: &str, value: Option<f64>| {
                let metric = direction.metric(metric).into();
                let sample = |value| Sample { metric, at_ns, value, settling: false, step: Some(step) };
                self.found.samples.extend(value.map(sample));
            };
            sample(OFFERED_RATE, offered);
            for metric in ["handed_rate", "tx_rate", "rx_rate", "lost"] {
                sample(metric, pass.values.get(&direction.metric(metric)).copied());
            }
            for metric in ["lost", "sender_cpu_time", "receiver_cpu_time"] {
                let name = direction.metric(metric);
                match (pass.values.get(&name), pass.absent.get(&name)) {
                    (Some(value), _) => *self.found.values.entry(name).or_default() += value,
                    (None, why) => drop(self.found.absent.insert(name, why.cloned().unwrap_or_default())),
                }
            }
        }
        // Doubled and damaged frames count like lost ones.
        let lost = if delivery::is_clean(work, &end.roles) { 0 } else { lost.max(1) };
        let arrived = if handed == 0 { 0.0 } else { 1.0 - (lost as f64 / handed as f64).min(1.0) };
        Some(Trial { offered, achieved, lost, arrived, full })
    }

    fn ended(&mut self, best: Option<usize>, why: End) {
        let trials = self.taken.len();
        let missing = match why {
            End::Bottom => "frames were lost at the lowest load that may be tried".to_owned(),
            _ => format!("no load was found without loss over the full duration in {trials} trials"),
        };
        self.answer(best, &missing);
        match why {
            End::Sender => drop(self.cautions.insert(HOST_BOUND.into(), format!("after {trials} trials"))),
            End::Trials => {
                let what = "a search ended at its last trial, before it was as narrow as asked";
                self.cautions.insert(what.into(), format!("{trials} trials"));
            }
            End::Top => {
                let what = "no frame was lost at the highest load that the search may try";
                self.cautions.insert(what.into(), format!("after {trials} trials"));
            }
            End::Narrow | End::Bottom => {}
        }
    }

    /// The highest load without loss, at the rate that was really sent.
    fn answer(&mut self, best: Option<usize>, missing: &str) {
        for direction in Direction::of(self.work) {
            let roles = best.and_then(|at| self.taken.get(at)).map(|(_, end)| &end.roles);
            let sent = roles.and_then(|roles| result(roles, direction.sender()));
            let rate = sent.and_then(|sent| sent.pointer("/handed/per_second")).and_then(Value::as_f64);
            let mut put = |name: &str, value| self.found.put(direction.metric(name), value, missing);
            put("zero_loss_rate", rate);
            put("zero_loss_bits_l1", rate.map(|rate| bits_l1(self.work, rate)));
            put("zero_loss_bits_l2", rate.map(|rate| bits_l2(self.work, rate)));
        }
    }

    fn close(mut self, decided: Option<usize>) -> Measured {
        let last = self.taken.len() - 1;
        let at = decided.unwrap_or(last);
        let (_, mut end) = self.taken.swap_remove(at);
        end.elapsed = self.began.elapsed();
        let proof = delivery::timed_proof(self.work, &end.roles);
        Measured { found: self.found, cautions: self.cautions, proof, broken: self.broken, end, work: None }
    }
}
