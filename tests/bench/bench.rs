//! What the benchmarks share: the program, and numbers summed up.

/// The program, built by `cargo bench` in its release form.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_fieldtrial");

/// Least, middle and greatest of some readings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    pub min: f64,
    pub median: f64,
    pub max: f64,
    pub count: usize,
}

/// Sums readings up; panics where there are none, since a benchmark of nothing is no benchmark.
pub fn sum_up(mut readings: Vec<f64>) -> Summary {
    assert!(!readings.is_empty(), "no readings");
    readings.sort_by(f64::total_cmp);
    let count = readings.len();
    let median = (readings[(count - 1) / 2] + readings[count / 2]) / 2.0;
    Summary { min: readings[0], median, max: readings[count - 1], count }
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Summary { min, median, max, count } = self;
        write!(f, "median {median:9.3} ms   min {min:9.3}   max {max:9.3}   n {count}")
    }
}

/// Whether a goal is met, in a word for the end of a line.
pub fn verdict(met: bool) -> &'static str {
    if met { "met" } else { "MISSED" }
}
