//! How the numbers of findings were made, in words.

use super::findings::Method;
use crate::model::scale::Scale;

/// What is told with every set of findings.
pub fn method(scale: Scale) -> Method {
    let (named, of) = match scale {
        Scale::Log => ("log: effects are ratios to the control", "log ratios"),
        Scale::Linear => ("linear: effects are differences from the control", "differences"),
    };
    Method {
        scale: named.to_owned(),
        estimate: format!("Hodges–Lehmann: pseudo-median of the {of} of block pairs; without pairing the median of all {of} inside of a block"),
        test: "exact two-sided signed-rank test over all sign flips, midranks, zeros after Pratt; without pairing the exact rank-sum test over all permutations of the labels within blocks (Mann–Whitney where there is one block), midranks; where there are too many to count, the normal law of the same sum, and the effect says so".to_owned(),
        interval: "inversion of the same test at 95 %, with the confidence it really attains; below six pairs the range under its own level; not adjusted for the number of comparisons".to_owned(),
        summary: "median with interval by order statistics; quartiles of type 7; percentiles by nearest rank and type 7; mean and standard deviation (n − 1) from shifted values with compensated sums; MAD not scaled; shares of completed runs after Clopper–Pearson, and after Wilson under that name".to_owned(),
        rests_on: vec![
            "The block is the unit of replication; samples inside a run are reduced to one value before.".to_owned(),
            "The test is exact where the differences inside pairs are symmetric about their centre; without pairing, where labels could be exchanged within a block.".to_owned(),
            "Mirrored order is not the randomisation that the test assumes: a disturbance that comes back every two blocks gives 6.7 to 8.5 % false alarms instead of 5 %.".to_owned(),
            "A run that timed out ranks worst: it is a bound of its value, and what bounds leave open stays open in estimate and interval.".to_owned(),
            "Runs that were rejected, failed or were interrupted leave the estimate and are counted. An arm that completed less of its work is neither better nor equivalent, and rates that an exact test tells apart bar both.".to_owned(),
        ],
    }
}
