//! Where values lie along one side of a figure, and which of them are written there.

/// A range of values laid along a range of pixels, linearly or by logarithms.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    low: f64,
    high: f64,
    log: bool,
    from: f64,
    to: f64,
}

/// Part of the span that stays free at each end, so that marks are not cut.
const FREE: f64 = 0.05;

impl Axis {
    /// Over all finite values (above 0 on a logarithmic one), along `from` to `to` in pixels; None without any.
    pub fn over(values: impl IntoIterator<Item = f64>, log: bool, (from, to): (f64, f64)) -> Option<Axis> {
        let fits = values.into_iter().filter(|v| v.is_finite() && (!log || *v > 0.0));
        let (low, high) = fits.fold(None, |ends, v| match ends {
            None => Some((v, v)),
            Some((low, high)) => Some((v.min(low), v.max(high))),
        })?;
        let along = |v: f64| if log { v.ln() } else { v };
        let back = |v: f64| if log { v.exp() } else { v };
        let (a, b) = (along(low), along(high));
        // Halves first: the span of the largest values would be infinite.
        let span = 2.0 * (b / 2.0 - a / 2.0);
        let free = match span > 0.0 && span.is_finite() {
            true => span * FREE,
            false if log => 0.05,
            false => (b.abs() * 0.05).max(f64::MIN_POSITIVE),
        };
        let (low, high) = (back(a - free), back(b + free));
        let whole = low.is_finite() && high.is_finite() && (!log || low > 0.0);
        let (low, high) = if whole { (low, high) } else { (back(a), back(b)) };
        Some(Axis { low, high, log, from, to })
    }

    /// With these ends exactly; None where they are no range.
    pub fn between((low, high): (f64, f64), log: bool, (from, to): (f64, f64)) -> Option<Axis> {
        let fits = low.is_finite() && high.is_finite() && low < high && (!log || low > 0.0);
        fits.then_some(Axis { low, high, log, from, to })
    }

    /// Pixel of a value; beyond the ends the pixel of the end, and the middle for what is no number.
    pub fn at(&self, value: f64) -> f64 {
        let along = |v: f64| if self.log { v.ln() } else { v };
        let (low, high) = (along(self.low), along(self.high));
        let part = (along(value) / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
        let part = if part.is_nan() { 0.5 } else { part.clamp(0.0, 1.0) };
        self.from + part * (self.to - self.from)
    }

    /// Whether a value lies between the ends.
    pub fn has(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Both ends.
    pub fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// Round values to write along the axis, about `wanted` of them and at most twice as many.
    pub fn ticks(&self, wanted: usize) -> Vec<f64> {
        let wanted = wanted.max(2) as f64;
        if self.log && self.high / self.low > 20.0 {
            return decades(self.low, self.high, wanted);
        }
        let span = self.high - self.low;
        if !span.is_finite() || span <= 0.0 {
            return vec![self.low];
        }
        let step = round_step(span / wanted);
        let first = (self.low / step).ceil();
        let count = ((self.high / step).floor() - first).clamp(0.0, 2.0 * wanted);
        (0..=count as u32).map(|i| (first + f64::from(i)) * step).filter(|v| self.has(*v)).collect()
    }
}

/// The round step, 1, 2 or 5 times a power of ten, that is at least this one.
fn round_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    let times = [1.0, 2.0, 5.0, 10.0].into_iter().find(|t| t * power >= least * (1.0 - 1e-9)).unwrap_or(10.0);
    times * power
}

fn decades(low: f64, high: f64, wanted: f64) -> Vec<f64> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let every = ((f64::from(last - first)) / wanted).ceil().max(1.0) as usize;
    let times: &[f64] =
        if every == 1 && f64::from(last - first) * 3.0 <= 2.0 * wanted { &[1.0, 2.0, 5.0] } else { &[1.0] };
    // Whole multiples, so that 1 is among them wherever it lies inside.
    let first = first.div_euclid(every as i32) * every as i32;
    let powers = (first..=last).step_by(every).map(|p| 10_f64.powi(p));
    powers.flat_map(|p| times.iter().map(move |t| t * p)).filter(|v| (low..=high).contains(v)).collect()
}
