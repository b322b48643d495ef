//! Simulated campaigns that hold what the method promises: coverage, false alarms, families, margins, power.

use fieldtrial::analysis::drift::{ControlRun, of_controls};
use fieldtrial::analysis::findings::Interval;
use fieldtrial::analysis::holm;
use fieldtrial::analysis::power::{normal, uniform};
use fieldtrial::analysis::signed_rank::{self, Estimate};
use fieldtrial::analysis::stopping::precise;
use fieldtrial::analysis::tail::t_two_sided;
use fieldtrial::model::until::Until;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

#[path = "ladders.rs"]
mod ladders;

const ALPHA: f64 = 0.05;
/// Treatments of a family; all are compared with one control.
const FAMILY: usize = 3;
/// Relative difference that counts as none.
const MARGIN: f64 = 0.02;

/// What one promise came to.
#[derive(Debug, Clone)]
pub struct Check {
    pub what: String,
    /// Share of campaigns.
    pub found: f64,
    /// Where it has to lie, the band of chance included.
    pub low: f64,
    pub high: f64,
}

impl Check {
    pub fn holds(&self) -> bool {
        self.low <= self.found && self.found <= self.high
    }
}

/// How runs of a campaign vary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    Normal,
    /// Exponential: never faster than the best, often a little slower.
    Skewed,
    /// Student's t with two degrees of freedom.
    HeavyTailed,
    /// The treatment stalls in every tenth run, by up to a half.
    Stalling,
    /// Everything gets slower over the campaign, in mirrored order.
    Drifting,
}

impl Shape {
    pub const ALL: [Shape; 5] =
        [Shape::Normal, Shape::Skewed, Shape::HeavyTailed, Shape::Stalling, Shape::Drifting];

    pub fn name(self) -> &'static str {
        match self {
            Shape::Normal => "normal",
            Shape::Skewed => "skewed",
            Shape::HeavyTailed => "heavy-tailed",
            Shape::Stalling => "stalling",
            Shape::Drifting => "drifting",
        }
    }

    /// Noise of one run, as a logarithm. `arm` 0 is the control.
    fn noise(self, arm: usize, random: &mut ChaCha8Rng) -> f64 {
        match self {
            Shape::Normal | Shape::Drifting => 0.01 * normal(random),
            Shape::Skewed => -0.01 * (1.0 - uniform(random)).ln(),
            Shape::HeavyTailed => 0.01 * normal(random) / (-(1.0 - uniform(random)).ln()).sqrt(),
            Shape::Stalling => {
                let stalls = arm > 0 && uniform(random) < 0.1;
                0.01 * normal(random) + if stalls { 0.5 * uniform(random) } else { 0.0 }
            }
        }
    }

    /// Log ratios of each treatment over the control, block by block.
    fn campaign(self, blocks: usize, random: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
        let arms = FAMILY + 1;
        let mut logs: Vec<Vec<f64>> = vec![vec![]; FAMILY];
        for block in 0..blocks {
            let height = 0.02 * normal(random);
            let values: Vec<f64> = (0..arms)
                .map(|arm| {
                    let place = if block % 2 == 0 { arm } else { arms - 1 - arm };
                    let drift =
                        if self == Shape::Drifting { 0.001 * (block * arms + place) as f64 } else { 0.0 };
                    height + drift + self.noise(arm, random)
                })
                .collect();
            for (log, value) in logs.iter_mut().zip(&values[1..]) {
                log.push(value - values[0]);
            }
        }
        logs
    }

    /// The pseudo-median of one log ratio: 0 for symmetric differences, else by many draws.
    fn pseudo_median(self) -> f64 {
        if self != Shape::Stalling {
            return 0.0;
        }
        let mut random = ChaCha8Rng::seed_from_u64(99);
        let mut draw = || self.noise(1, &mut random) - self.noise(0, &mut random);
        let mut means: Vec<f64> = (0..400_000).map(|_| (draw() + draw()) / 2.0).collect();
        means.sort_by(f64::total_cmp);
        means[means.len() / 2]
    }
}

/// All promises, each by so many campaigns. The bands are four standard errors wide, so that a
/// hundred true promises fail less than once in a hundred times; seeds are fixed.
pub fn checks(campaigns: u32, sizes: &[usize]) -> Vec<Check> {
    let mut checks = vec![];
    for shape in Shape::ALL {
        for blocks in sizes {
            checks.extend(of_shape(shape, *blocks, campaigns));
        }
    }
    for blocks in sizes {
        checks.extend(of_power(*blocks, campaigns));
    }
    checks.push(of_stopping(campaigns));
    checks.extend(of_drift(campaigns));
    checks.extend(ladders::checks(campaigns));
    checks
}

/// Four standard errors of a share.
fn band(rate: f64, campaigns: u32) -> f64 {
    4.0 * (rate * (1.0 - rate) / f64::from(campaigns)).sqrt()
}

fn judged(logs: &[f64]) -> Estimate {
    signed_rank::estimate(logs, ALPHA).expect("pairs")
}

fn of_shape(shape: Shape, blocks: usize, campaigns: u32) -> Vec<Check> {
    let mut random = ChaCha8Rng::seed_from_u64(1000 + blocks as u64);
    let truth = shape.pseudo_median();
    let (mut held, mut confidence, mut alarms, mut families, mut equivalents) = (0, 0.0, 0, 0, 0);
    for _ in 0..campaigns {
        let logs = shape.campaign(blocks, &mut random);
        let estimate = judged(&logs[0]);
        let interval = estimate.interval.expect("interval");
        held += u32::from(interval.low <= truth && truth <= interval.high);
        confidence += interval.confidence / f64::from(campaigns);
        alarms += u32::from(estimate.p.expect("p") <= ALPHA);
        let p: Vec<f64> = logs.iter().map(|logs| signed_rank::p_value(logs, 0.0)).collect();
        families += u32::from(holm::adjust(&p).iter().any(|p| *p <= ALPHA));
        // The same campaign of a treatment that truly is better by the margin.
        let shift = MARGIN.ln_1p() - truth;
        let limit = MARGIN.ln_1p();
        equivalents += u32::from(-limit <= interval.low + shift && interval.high + shift <= limit);
    }
    let share = |count: u32| f64::from(count) / f64::from(campaigns);
    let named = |what: &str| format!("{what}, {}, {blocks} blocks", shape.name());
    let slack = if shape == Shape::Stalling { 0.015 } else { 0.01 };
    // Mirrored drift widens intervals, which is on the safe side.
    let most = if shape == Shape::Drifting { 1.0 } else { confidence + slack + band(confidence, campaigns) };
    let mut checks = vec![
        Check {
            what: named("interval holds the truth"),
            found: share(held),
            low: confidence - slack - band(confidence, campaigns),
            high: most,
        },
        Check {
            what: named("equivalent at the margin"),
            found: share(equivalents),
            low: 0.0,
            high: ALPHA + band(ALPHA, campaigns),
        },
    ];
    // With stalls on one side alone the arms do differ, so these would be no false alarms.
    if shape != Shape::Stalling {
        let level = 1.0 - confidence;
        let least = if shape == Shape::Drifting { 0.0 } else { level - band(level, campaigns) };
        checks.push(Check {
            what: named("A/A alarm"),
            found: share(alarms),
            low: least,
            high: level + band(level, campaigns),
        });
        checks.push(Check {
            what: named("family alarm"),
            found: share(families),
            low: 0.0,
            high: ALPHA + band(ALPHA, campaigns),
        });
    }
    checks
}

/// A true 2 % at 1 % spread of a run and 2 % of a block: pairs in blocks beside Welch on unpaired means.
fn of_power(blocks: usize, campaigns: u32) -> Vec<Check> {
    let mut random = ChaCha8Rng::seed_from_u64(2000 + blocks as u64);
    let (mut paired, mut unpaired) = (0, 0);
    for _ in 0..campaigns {
        let rows: Vec<(f64, f64)> = (0..blocks)
            .map(|_| {
                let height = 0.02 * normal(&mut random);
                let control = height + 0.01 * normal(&mut random);
                (control, height + 0.02f64.ln_1p() + 0.01 * normal(&mut random))
            })
            .collect();
        let logs: Vec<f64> = rows.iter().map(|row| row.1 - row.0).collect();
        paired += u32::from(signed_rank::p_value(&logs, 0.0) <= ALPHA);
        unpaired += u32::from(welch(&rows) <= ALPHA);
    }
    let share = |count: u32| f64::from(count) / f64::from(campaigns);
    let expected = |n: usize| match n {
        6 => Some((0.59, 0.28)),
        8 => Some((0.87, 0.40)),
        10 => Some((0.955, 0.52)),
        _ => None,
    };
    let Some((least, most)) = expected(blocks) else { return vec![] };
    vec![
        Check {
            what: format!("2 % found by pairs, {blocks} blocks"),
            found: share(paired),
            low: least - band(least, campaigns),
            high: 1.0,
        },
        Check {
            what: format!("2 % found by Welch on unpaired means, {blocks} blocks"),
            found: share(unpaired),
            low: 0.0,
            high: most + band(most, campaigns),
        },
    ]
}

/// Two-sided p of Welch's test on two columns.
fn welch(rows: &[(f64, f64)]) -> f64 {
    let n = rows.len() as f64;
    let part = |pick: fn(&(f64, f64)) -> f64| {
        let mean = rows.iter().map(pick).sum::<f64>() / n;
        let variance = rows.iter().map(|row| (pick(row) - mean).powi(2)).sum::<f64>() / (n - 1.0) / n;
        (mean, variance)
    };
    let (a, b) = (part(|row| row.0), part(|row| row.1));
    let variance = a.1 + b.1;
    let df = variance * variance * (n - 1.0) / (a.1 * a.1 + b.1 * b.1);
    t_two_sided((a.0 - b.0) / variance.sqrt(), df)
}

/// Campaigns that stop once the interval is narrow keep two points of their coverage.
fn of_stopping(campaigns: u32) -> Check {
    let mut random = ChaCha8Rng::seed_from_u64(3000);
    let until = Until { halfwidth: 0.01, of: "rate".into(), most: 30 };
    let mut held = 0;
    for _ in 0..campaigns {
        let mut logs: Vec<f64> = vec![];
        let interval = loop {
            let more = until.look_from(10, logs.len() as u32 + 1) as usize - logs.len();
            logs.extend((0..more).map(|_| 0.02 * normal(&mut random)));
            let found = judged(&logs).interval.expect("interval");
            let ratio = Interval { low: found.low.exp(), high: found.high.exp(), ..found };
            if precise(&[Some(ratio)], &until) || logs.len() as u32 == until.most {
                break found;
            }
        };
        held += u32::from(interval.low <= 0.0 && 0.0 <= interval.high);
    }
    Check {
        what: "interval holds the truth, stopped by precision".to_owned(),
        found: f64::from(held) / f64::from(campaigns),
        low: 0.93 - band(0.93, campaigns),
        high: 1.0,
    }
}

/// Eight blocks of four controls: no drift with and without blocks that differ, and 3 % of drift.
fn of_drift(campaigns: u32) -> Vec<Check> {
    let share = |drift: f64, of_block: f64, seed: u64| {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let hits = (0..campaigns).filter(|_| {
            let heights: Vec<f64> = (0..8).map(|_| of_block * normal(&mut random)).collect();
            let runs: Vec<ControlRun> = (0..32)
                .map(|i| ControlRun {
                    cell: i % 4,
                    block: i / 4,
                    order: i as f64,
                    value: drift * i as f64 / 31.0 + heights[i / 4] + 0.01 * normal(&mut random),
                })
                .collect();
            of_controls(&runs).found
        });
        hits.count() as f64 / f64::from(campaigns)
    };
    let most = |rate: f64| rate + band(rate, campaigns);
    vec![
        Check {
            what: "drift alarm, none there".to_owned(),
            found: share(0.0, 0.0, 4000),
            low: 0.0,
            high: most(0.01),
        },
        Check {
            what: "drift alarm, blocks differ by 2 %".to_owned(),
            found: share(0.0, 0.02, 4001),
            low: 0.0,
            high: most(0.02),
        },
        Check {
            what: "3 % drift found".to_owned(),
            found: share(0.03, 0.0, 4002),
            low: 0.8 - band(0.8, campaigns),
            high: 1.0,
        },
    ]
}
