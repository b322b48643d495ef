//! Sums of squares of balanced data, by sweeping means out of marginal tables.
//!
//! Linear in the number of cells, so that ten thousand of them need no design matrix. With every
//! combination observed equally often all terms are orthogonal and the kinds of sums of squares agree.

use super::factor::Table;

/// Sum of squares of each term (a list of factors, by place in the table), and what the cell means
/// have beyond all terms.
pub fn sums(table: &Table, terms: &[Vec<usize>]) -> (Vec<f64>, f64) {
    let each = table.cells.first().map_or(0.0, |cell| cell.n);
    let mut rest: Vec<f64> = table.cells.iter().map(|cell| cell.mean).collect();
    let mut sums = Vec::with_capacity(terms.len());
    for term in terms {
        let places: Vec<usize> =
            table.cells.iter().map(|cell| place(term, &table.sizes, &cell.codes)).collect();
        let effects = effects(table, term, &places);
        let repeats = table.cells.len() as f64 / effects.len() as f64;
        sums.push(each * repeats * effects.iter().map(|effect| effect * effect).sum::<f64>());
        for (rest, place) in rest.iter_mut().zip(&places) {
            *rest -= effects[*place];
        }
    }
    (sums, each * rest.iter().map(|rest| rest * rest).sum::<f64>())
}

/// Where a cell lies in the marginal table of a term.
fn place(term: &[usize], sizes: &[usize], codes: &[usize]) -> usize {
    term.iter().fold(0, |place, factor| place * sizes[*factor] + codes[*factor])
}

/// The marginal means of a term with all that its parts explain swept out, axis by axis.
fn effects(table: &Table, term: &[usize], places: &[usize]) -> Vec<f64> {
    let sizes: Vec<usize> = term.iter().map(|factor| table.sizes[*factor]).collect();
    let mut means = vec![0.0; sizes.iter().product()];
    for (cell, place) in table.cells.iter().zip(places) {
        means[*place] += cell.mean;
    }
    let repeats = (table.cells.len() / means.len()) as f64;
    means.iter_mut().for_each(|mean| *mean /= repeats);
    let mut stride = means.len();
    for size in sizes {
        let whole = stride;
        stride /= size;
        for start in (0..means.len()).step_by(whole).flat_map(|outer| outer..outer + stride) {
            let along = || (0..size).map(|level| start + level * stride);
            let mean = along().map(|at| means[at]).sum::<f64>() / size as f64;
            along().for_each(|at| means[at] -= mean);
        }
    }
    means
}
