//! An orthonormal basis that grows column by column and tells which column adds nothing.

use nalgebra::{DMatrix, DVector};

/// A column of which less than this part lies outside the others is one of them but for rounding.
const ALIASED: f64 = 1e-9;

/// Orthonormal columns, by Gram–Schmidt carried out twice, which keeps them orthogonal to the last
/// digits (Giraud, Langou & Rozložník 2005).
#[derive(Debug, Clone)]
pub struct Basis {
    columns: DMatrix<f64>,
    rank: usize,
}

impl Basis {
    /// Empty, with room for `most` columns of `rows` numbers.
    pub fn new(rows: usize, most: usize) -> Basis {
        Basis { columns: DMatrix::zeros(rows, most.min(rows)), rank: 0 }
    }

    /// How many independent columns there are.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Takes a column in; false where the others already span it.
    pub fn add(&mut self, column: &DVector<f64>) -> bool {
        let whole = column.norm();
        let rest = self.outside(column);
        let length = rest.norm();
        if length <= ALIASED * whole || self.rank == self.columns.ncols() {
            return false;
        }
        self.columns.set_column(self.rank, &(rest / length));
        self.rank += 1;
        true
    }

    /// What of `y` lies outside all columns.
    pub fn outside(&self, y: &DVector<f64>) -> DVector<f64> {
        let within = self.columns.columns(0, self.rank);
        let mut rest = y.clone();
        for _ in 0..2 {
            let shares = within.tr_mul(&rest);
            rest.gemv(-1.0, &within, &shares, 1.0);
        }
        rest
    }

    /// Squared length of `y` along the columns from number `from` on: the sum of squares that they
    /// add to those before. `y` has to be free of what lies along the earlier ones, or small digits
    /// are lost; `outside` of the earlier basis makes it so.
    pub fn share(&self, from: usize, y: &DVector<f64>) -> f64 {
        self.columns.columns(from, self.rank - from).tr_mul(y).norm_squared()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_that_others_span_is_refused() {
        let mut basis = Basis::new(4, 4);
        assert!(basis.add(&DVector::from_element(4, 1.0)));
        assert!(basis.add(&DVector::from_vec(vec![1.0, 1.0, 0.0, 0.0])));
        assert!(!basis.add(&DVector::from_vec(vec![0.0, 0.0, 1.0, 1.0])));
        assert!(!basis.add(&DVector::zeros(4)));
        assert_eq!(basis.rank(), 2);
    }

    #[test]
    fn nearly_parallel_columns_stay_orthogonal() {
        let mut basis = Basis::new(3, 3);
        basis.add(&DVector::from_vec(vec![1.0, 1.0, 1.0]));
        assert!(basis.add(&DVector::from_vec(vec![1.0 + 1e-7, 1.0, 1.0])));
        let y = DVector::from_vec(vec![1.0, 2.0, 4.0]);
        let rest = basis.outside(&y);
        assert!((rest - DVector::from_vec(vec![0.0, -1.0, 1.0])).norm() < 1e-9);
        assert!((basis.share(1, &y) - 8.0 / 3.0).abs() < 1e-8, "{}", basis.share(1, &y));
    }
}
