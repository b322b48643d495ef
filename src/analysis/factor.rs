//! Factors of a model, and observations gathered into the cells that they make.

use std::collections::{BTreeMap, BTreeSet};

use super::accurate::{shifted, squares_about, sum};

/// One factor with the level of every observation.
#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    pub name: String,
    pub levels: Vec<String>,
    /// For each observation, which of `levels` it has.
    pub codes: Vec<usize>,
}

impl Factor {
    /// From one label for each observation. Levels are in the order of numbers where all are
    /// numbers, else of text, so that the order of rows decides nothing.
    pub fn of(name: &str, labels: &[impl AsRef<str>]) -> Factor {
        let mut levels: Vec<&str> =
            labels.iter().map(AsRef::as_ref).collect::<BTreeSet<_>>().into_iter().collect();
        let number = |label: &str| label.trim().parse::<f64>().ok().filter(|n| n.is_finite());
        if levels.iter().all(|label| number(label).is_some()) {
            levels.sort_by(|a, b| number(a).unwrap_or(0.0).total_cmp(&number(b).unwrap_or(0.0)));
        }
        let place: BTreeMap<&str, usize> = levels.iter().enumerate().map(|(i, label)| (*label, i)).collect();
        let codes = labels.iter().map(|label| place[label.as_ref()]).collect();
        Factor { name: name.to_owned(), levels: levels.into_iter().map(str::to_owned).collect(), codes }
    }

    /// The same with one level in front, which is then the reference of comparisons.
    pub fn led_by(mut self, level: &str) -> Factor {
        if let Some(place) = self.levels.iter().position(|l| l == level) {
            self.levels[..=place].rotate_right(1);
            for code in self.codes.iter_mut().filter(|code| **code <= place) {
                *code = if *code == place { 0 } else { *code + 1 };
            }
        }
        self
    }

    fn complaint(&self, n: usize) -> Option<String> {
        if self.codes.len() != n {
            return Some(format!(
                "expected a level of {} for each of {n} observations, found {}",
                self.name,
                self.codes.len()
            ));
        }
        self.codes
            .iter()
            .find(|code| **code >= self.levels.len())
            .map(|code| format!("{} has {} levels, found number {}", self.name, self.levels.len(), code + 1))
    }
}

/// Observations of one combination of levels, reduced to what a model of fixed factors needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    pub codes: Vec<usize>,
    pub n: f64,
    /// Measured from the shift of the table.
    pub mean: f64,
}

/// All cells with observations, in the order of their codes.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    pub cells: Vec<Cell>,
    /// Number of levels of each factor.
    pub sizes: Vec<usize>,
    pub n: usize,
    /// Mean of all observations, from zero.
    pub mean: f64,
    /// Sum of squares of all observations about their mean.
    pub squares: f64,
    /// Sum of squares inside the cells, and its degrees of freedom: what no model can explain.
    pub within: f64,
    pub within_df: usize,
    /// Sums of squares at or below this are rounding.
    pub rounding: f64,
}

impl Table {
    /// Gathers observations; a complaint where a value is not finite or a factor does not fit.
    pub fn gather(y: &[f64], factors: &[&Factor]) -> Result<Table, String> {
        if let Some(why) = factors.iter().find_map(|factor| factor.complaint(y.len())) {
            return Err(why);
        }
        let Some((shift, distances)) = shifted(y) else {
            return Err("expected at least one observation and only finite values".to_owned());
        };
        let mut groups: BTreeMap<Vec<usize>, Vec<f64>> = BTreeMap::new();
        for (i, distance) in distances.iter().enumerate() {
            groups.entry(factors.iter().map(|f| f.codes[i]).collect()).or_default().push(*distance);
        }
        let (mut cells, mut within) = (vec![], vec![]);
        for (codes, mut values) in groups {
            // In this order sums are the same, to the last bit, for any order of the rows.
            values.sort_by(f64::total_cmp);
            let mean = sum(values.iter().copied()) / values.len() as f64;
            within.push(squares_about(&values, mean));
            cells.push(Cell { codes, n: values.len() as f64, mean });
        }
        let offset = sum(cells.iter().map(|cell| cell.n * cell.mean)) / y.len() as f64;
        for cell in &mut cells {
            cell.mean -= offset;
        }
        let between = sum(cells.iter().map(|cell| cell.n * cell.mean * cell.mean));
        let within = sum(within);
        let largest = y.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
        Ok(Table {
            sizes: factors.iter().map(|f| f.levels.len()).collect(),
            n: y.len(),
            mean: shift + offset,
            squares: between + within,
            within,
            within_df: y.len() - cells.len(),
            rounding: y.len() as f64 * (4.0 * f64::EPSILON * largest).powi(2),
            cells,
        })
    }

    /// Every combination of levels has the same number of observations.
    pub fn is_balanced(&self) -> bool {
        let all: Option<usize> = self.sizes.iter().try_fold(1_usize, |all, size| all.checked_mul(*size));
        all == Some(self.cells.len()) && self.cells.windows(2).all(|pair| pair[0].n == pair[1].n)
    }

    /// Combinations of the levels of these factors that have no observation, at most `most`.
    pub fn empty(&self, factors: &[usize], most: usize) -> Vec<Vec<usize>> {
        let seen: BTreeSet<Vec<usize>> =
            self.cells.iter().map(|cell| factors.iter().map(|f| cell.codes[*f]).collect()).collect();
        let mut found = vec![];
        let mut codes = vec![0; factors.len()];
        // At most every seen combination is passed on the way to one that is not.
        for _ in 0..seen.len() + most {
            if !seen.contains(&codes) {
                found.push(codes.clone());
            }
            let mut place = factors.len();
            loop {
                if found.len() == most || place == 0 {
                    return found;
                }
                place -= 1;
                codes[place] += 1;
                if codes[place] < self.sizes[factors[place]] {
                    break;
                }
                codes[place] = 0;
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_that_are_numbers_are_in_the_order_of_numbers() {
        assert_eq!(Factor::of("size", &["1518", "64", "512"]).levels, ["64", "512", "1518"]);
        assert_eq!(Factor::of("size", &["64", "large", "512"]).levels, ["512", "64", "large"]);
        assert_eq!(Factor::of("a", &["1", "-1", "1"]).codes, [1, 0, 1]);
        let led = Factor::of("arm", &["new", "old", "mmap"]).led_by("old");
        assert_eq!((led.levels.join(" "), led.codes), ("old mmap new".to_owned(), vec![2, 0, 1]));
    }

    #[test]
    fn cells_have_their_means_and_what_is_left_inside() {
        let a = Factor::of("a", &["x", "x", "y", "y"]);
        let table = Table::gather(&[1.0, 3.0, 10.0, 10.0], &[&a]).expect("table");
        assert_eq!((table.mean, table.within, table.within_df), (6.0, 2.0, 2));
        assert_eq!(table.cells.iter().map(|c| c.mean).collect::<Vec<_>>(), [-4.0, 4.0]);
        assert_eq!(table.squares, 66.0);
        assert!(table.is_balanced());
    }

    #[test]
    fn empty_combinations_are_found_and_bounded() {
        let a = Factor::of("a", &["1", "1", "2"]);
        let b = Factor::of("b", &["1", "2", "1"]);
        let table = Table::gather(&[1.0, 2.0, 3.0], &[&a, &b]).expect("table");
        assert_eq!(table.empty(&[0, 1], 5), [vec![1, 1]]);
        assert_eq!(table.empty(&[0], 5), Vec::<Vec<usize>>::new());
        assert!(!table.is_balanced());
        let ids: Vec<String> = (0..50).map(|i| i.to_string()).collect();
        let wide = [Factor::of("a", &ids), Factor::of("b", &ids)];
        let diagonal = Table::gather(&[0.0; 50], &[&wide[0], &wide[1]]).expect("table");
        assert_eq!(diagonal.empty(&[0, 1], 3), [vec![0, 1], vec![0, 2], vec![0, 3]]);
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let short = Factor::of("a", &["1"]);
        let told = Table::gather(&[1.0, 2.0], &[&short]).unwrap_err();
        assert_eq!(told, "expected a level of a for each of 2 observations, found 1");
        assert!(Table::gather(&[f64::NAN], &[]).unwrap_err().contains("finite"));
        assert!(Table::gather(&[], &[]).is_err());
    }
}
