//! Effects of factors with two levels each, with and without replicates.
//!
//! Balanced data by Yates' sums and differences (1937), which are exact for whole numbers; others by
//! projection. An effect is high minus low; its coefficient in the −1/+1 coding is half of it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::contrast::Contrast;
use super::factor::{Factor, Table};
use super::lenth::lenth;
use super::unbalanced::Model;

/// Most factors; ten are 1,023 effects.
const MOST_FACTORS: usize = 10;

/// All effects of a two-level design, on the scale of the values handed in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TwoLevel {
    pub n: u64,
    pub mean: f64,
    /// Main effects and interactions in standard order: A, B, A:B, C, A:C, …
    pub effects: Vec<TwoLevelEffect>,
    pub residual_df: u64,
    pub residual_ss: f64,
    pub total_ss: f64,
    pub notes: Vec<String>,
}

/// One effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TwoLevelEffect {
    pub term: String,
    pub factors: Vec<String>,
    /// High minus low: for an interaction half the difference of differences, as is usual.
    pub effect: Contrast,
    /// Half the effect.
    pub coefficient: Option<f64>,
    pub ss: Option<f64>,
    /// Percent of the total sum of squares; only for balanced data, where the parts add up.
    pub percent: Option<f64>,
    /// Without replicates, by Lenth: `stands out` (beyond all noise of the family), `maybe` (beyond
    /// what one effect of noise would be) or `not`; a flag without a p.
    pub flag: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
}

/// Effects of `factors`, each with two levels (the second is high), with an additive block.
pub fn effects(y: &[f64], factors: &[Factor], block: Option<&Factor>) -> Result<TwoLevel, String> {
    if factors.is_empty() || factors.len() > MOST_FACTORS {
        return Err(format!("expected 1 to {MOST_FACTORS} factors of two levels, found {}", factors.len()));
    }
    if let Some(other) = factors.iter().find(|factor| factor.levels.len() != 2) {
        return Err(format!("expected two levels of {}, found {}", other.name, other.levels.len()));
    }
    let all: Vec<&Factor> = factors.iter().chain(block.filter(|b| b.levels.len() > 1)).collect();
    let table = Table::gather(y, &all)?;
    let terms: Vec<Vec<usize>> = (1..1usize << factors.len())
        .map(|set| (0..factors.len()).filter(|f| set >> f & 1 == 1).collect())
        .chain((factors.len()..all.len()).map(|block| vec![block]))
        .collect();
    let count = (1 << factors.len()) - 1;
    let balanced = table.is_balanced();
    let (halves, (lack, lack_df)) = if balanced {
        let (_, lack) = super::balanced::sums(&table, &terms);
        let spent: usize = 1 + terms
            .iter()
            .map(|term| term.iter().map(|f| table.sizes[*f] - 1).product::<usize>())
            .sum::<usize>();
        let coefficients = yates(&table, factors.len());
        (
            coefficients.into_iter().map(|c| Some((c, table.n as f64))).collect(),
            (lack, table.cells.len() - spent),
        )
    } else {
        let model = Model::of(&table, &terms)?;
        // Sum-to-zero codes are +1 for the first level, so every factor turns the sign once.
        let sign = |term: &Vec<usize>| if term.len() % 2 == 1 { -1.0 } else { 1.0 };
        let own = |of: usize| model.coefficient(of, 0).map(|(c, own)| (sign(&terms[of]) * c, own));
        ((0..count).map(own).collect::<Vec<_>>(), model.lack())
    };
    let lack = if lack_df == 0 { 0.0 } else { lack };
    let residual = if lack + table.within <= table.rounding { 0.0 } else { lack + table.within };
    let residual_df = lack_df + table.within_df;
    let mut effects: Vec<TwoLevelEffect> = halves
        .iter()
        .zip(&terms)
        .map(|(half, term)| {
            effect(term, factors, *half, (residual, residual_df), balanced.then_some(table.squares))
        })
        .collect();
    let mut notes = vec![];
    if residual_df == 0 {
        notes.push(flag(&mut effects));
    }
    Ok(TwoLevel {
        n: table.n as u64,
        mean: table.mean,
        effects,
        residual_df: residual_df as u64,
        residual_ss: residual,
        total_ss: table.squares,
        notes,
    })
}

/// Coefficients in standard order, by sums and differences of neighbours, one pass a factor. Blocks
/// are averaged over first, which balance allows.
fn yates(table: &Table, factors: usize) -> Vec<f64> {
    let mut sums = vec![0.0; 1 << factors];
    for cell in &table.cells {
        let place: usize = (0..factors).map(|f| cell.codes[f] << f).sum();
        sums[place] += cell.mean;
    }
    for factor in 0..factors {
        let apart = 1 << factor;
        for low in (0..sums.len()).filter(|place| place & apart == 0) {
            let (a, b) = (sums[low], sums[low + apart]);
            sums[low] = a + b;
            sums[low + apart] = b - a;
        }
    }
    sums[1..].iter().map(|sum| sum / table.cells.len() as f64).collect()
}

fn effect(
    term: &[usize],
    factors: &[Factor],
    half: Option<(f64, f64)>,
    (error, df): (f64, usize),
    total: Option<f64>,
) -> TwoLevelEffect {
    let names: Vec<String> = term.iter().map(|f| factors[*f].name.clone()).collect();
    let mut absent = BTreeMap::new();
    let contrast = match half {
        Some((coefficient, own)) => Contrast::of(2.0 * coefficient, 4.0 / own, error, df),
        None => {
            let why = "not estimable: cells without runs leave it to other effects".to_owned();
            absent.extend(["coefficient", "ss", "percent"].map(|name| (name.to_owned(), why.clone())));
            let names = ["difference", "standard_error", "t", "p", "interval"];
            Contrast {
                difference: None,
                standard_error: None,
                df: df as u64,
                t: None,
                p: None,
                p_below: None,
                interval: None,
                absent: names.map(|name| (name.to_owned(), why.clone())).into(),
            }
        }
    };
    let ss = half.map(|(coefficient, own)| coefficient * coefficient * own);
    let percent = ss.zip(total).filter(|(_, total)| *total > 0.0).map(|(ss, total)| 100.0 * ss / total);
    if percent.is_none() {
        let why = "the parts add up to the whole only where every combination was observed equally often";
        absent.entry("percent".to_owned()).or_insert_with(|| why.to_owned());
    }
    TwoLevelEffect {
        term: names.join(":"),
        factors: names,
        effect: contrast,
        coefficient: half.map(|(coefficient, _)| coefficient),
        ss,
        percent,
        flag: None,
        absent,
    }
}

/// Marks effects that stand out of the noise of the others, and says how.
fn flag(effects: &mut [TwoLevelEffect]) -> String {
    let sizes: Vec<f64> = effects.iter().filter_map(|effect| effect.effect.difference).collect();
    let found = if sizes.len() == effects.len() { lenth(&sizes) } else { None };
    let Some(found) = found else {
        return format!(
            "One run for each cell: no p, and {} effects are not seven, fifteen, thirty-one or sixty-three with some noise \
             among them, which Lenth's flags need. Repeat runs.",
            effects.len()
        );
    };
    for (effect, size) in effects.iter_mut().zip(&sizes) {
        let times = size.abs() / found.pseudo_error;
        let word = match times {
            t if t > found.family => "stands out",
            t if t > found.individual => "maybe",
            _ => "not",
        };
        effect.flag = Some(word.to_owned());
    }
    format!(
        "One run for each cell: no p. By Lenth's pseudo standard error of {:.4}, an effect stands out beyond {} times it, \
         and maybe does beyond {}; this assumes that most effects are none.",
        found.pseudo_error, found.family, found.individual
    )
}
