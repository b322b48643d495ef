//! Sums of squares of unbalanced data: what a term adds to others, by projection of weighted cell means.
//!
//! Factors are coded so that the columns of each sum to zero, for with any other coding "type III"
//! depends on which level is the reference.

use nalgebra::DVector;

use super::basis::Basis;
use super::factor::Table;

/// Most work that is done, in multiplications; the largest take some seconds.
const MOST_WORK: f64 = 4e9;

/// What a term adds to the terms before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Added {
    pub squares: f64,
    /// Independent columns; fewer than the term has where cells are empty.
    pub df: usize,
}

/// The weighted columns of every term, and the response.
pub struct Model {
    intercept: DVector<f64>,
    columns: Vec<Vec<DVector<f64>>>,
    y: DVector<f64>,
}

impl Model {
    /// Codes the terms, each a list of factors by place in the table; a complaint where the model is
    /// too large.
    pub fn of(table: &Table, terms: &[Vec<usize>]) -> Result<Model, String> {
        let rows = table.cells.len() as f64;
        let width = |term: &Vec<usize>| term.iter().map(|f| (table.sizes[*f] - 1) as f64).product::<f64>();
        let wide: f64 = 1.0 + terms.iter().map(width).sum::<f64>();
        if 2.0 * terms.len() as f64 * rows * wide * wide.min(rows) > MOST_WORK {
            return Err(format!(
                "the data are not balanced, and {wide} columns by {rows} cells are too many to solve; next step: \
                 fewer factors, a lower order of interactions, or the missing runs"
            ));
        }
        let weights = DVector::from_iterator(table.cells.len(), table.cells.iter().map(|cell| cell.n.sqrt()));
        let means = DVector::from_iterator(table.cells.len(), table.cells.iter().map(|cell| cell.mean));
        let columns = terms.iter().map(|term| coded(table, term, &weights)).collect();
        Ok(Model { y: weights.component_mul(&means), intercept: weights, columns })
    }

    /// Sum of squares and degrees of freedom that term `of` adds to the intercept and the terms `given`.
    pub fn added(&self, of: usize, given: impl Iterator<Item = usize>) -> Added {
        let mut basis = self.basis(given);
        let (before, rest) = (basis.rank(), basis.outside(&self.y));
        let mut df = 0;
        for column in self.grown(&mut basis, of) {
            df += usize::from(column);
        }
        Added { squares: basis.share(before, &rest), df }
    }

    /// Sum of squares of the cell means that no term explains, and its degrees of freedom.
    pub fn lack(&self) -> (f64, usize) {
        let basis = self.basis(0..self.columns.len());
        (basis.outside(&self.y).norm_squared(), self.y.len() - basis.rank())
    }

    /// Coefficient of column `column` of term `of`, all else in the model held, with the squared
    /// length of what of that column is its own: variance of the coefficient = error variance ÷ it
    /// (Frisch, Waugh & Lovell). None where other columns span it.
    pub fn coefficient(&self, of: usize, column: usize) -> Option<(f64, f64)> {
        let mut basis = self.basis((0..self.columns.len()).filter(|term| *term != of));
        for (i, other) in self.columns[of].iter().enumerate() {
            if i != column {
                basis.add(other);
            }
        }
        let before = basis.rank();
        let own = basis.outside(&self.columns[of][column]);
        if !basis.add(&self.columns[of][column]) || basis.rank() == before {
            return None;
        }
        let length = own.norm_squared();
        Some((own.dot(&self.y) / length, length))
    }

    fn basis(&self, given: impl Iterator<Item = usize>) -> Basis {
        let most = 1 + self.columns.iter().map(Vec::len).sum::<usize>();
        let mut basis = Basis::new(self.y.len(), most);
        basis.add(&self.intercept);
        for term in given {
            for column in &self.columns[term] {
                basis.add(column);
            }
        }
        basis
    }

    fn grown<'a>(&'a self, basis: &'a mut Basis, term: usize) -> impl Iterator<Item = bool> + 'a {
        self.columns[term].iter().map(|column| basis.add(column))
    }
}

/// Products of the sum-to-zero codes of a term's factors, times the square root of the cell's count.
fn coded(table: &Table, term: &[usize], weights: &DVector<f64>) -> Vec<DVector<f64>> {
    let mut columns = vec![weights.clone()];
    for factor in term {
        let last = table.sizes[*factor] - 1;
        let code = |cell: usize, level: usize| match table.cells[cell].codes[*factor] {
            own if own == level => 1.0,
            own if own == last => -1.0,
            _ => 0.0,
        };
        let times = |column: &DVector<f64>, level: usize| {
            DVector::from_iterator(
                column.len(),
                column.iter().enumerate().map(|(cell, x)| x * code(cell, level)),
            )
        };
        columns =
            columns.iter().flat_map(|column| (0..last).map(move |level| times(column, level))).collect();
    }
    columns
}
