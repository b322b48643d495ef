//! Analysis of variance of factors crossed with each other, blocks beside them, balanced or not.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::balanced;
use super::factor::{Factor, Table};
use super::tail::{SMALLEST_P, f_upper};
use super::unbalanced::{Added, Model};

/// Most empty combinations that a reason names.
const MOST_NAMED: usize = 4;

/// The table of one response. Everything is on the scale of the values handed in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Anova {
    /// Observations.
    pub n: u64,
    pub mean: f64,
    /// Every combination, of the block too, was observed equally often: then both types agree.
    pub balanced: bool,
    /// The block, where there is one; it takes part in no interaction.
    pub block: Option<Row>,
    pub terms: Vec<Row>,
    pub residual: Remainder,
    pub total: Remainder,
    /// Part of the total sum of squares that block and terms explain together.
    pub r_squared: Option<f64>,
    /// What to know before reading the table, one sentence each.
    pub notes: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
}

/// One term, by both kinds of sums of squares.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// Factor names joined by `:`.
    pub term: String,
    pub factors: Vec<String>,
    /// Degrees of freedom with every combination observed.
    pub full_df: u64,
    /// What the term adds to all terms that do not contain it.
    pub type2: Line,
    /// What the term adds to all others, each level counting alike however often it was observed.
    pub type3: Line,
}

/// Sum of squares, F test and sizes of one term.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Line {
    pub df: Option<u64>,
    pub ss: Option<f64>,
    pub ms: Option<f64>,
    pub f: Option<f64>,
    pub p: Option<f64>,
    /// Set instead of `p` where p is below this and too small for a number.
    pub p_below: Option<f64>,
    /// SS ÷ (SS + residual SS).
    pub partial_eta2: Option<f64>,
    /// df·(F − 1) ÷ (df·(F − 1) + n): the same for the population, without the upward bias; below 0
    /// where the term explains less than chance would.
    pub partial_omega2: Option<f64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
}

/// A sum of squares that is not a term's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Remainder {
    pub df: u64,
    pub ss: f64,
    /// None without degrees of freedom.
    pub ms: Option<f64>,
}

impl Remainder {
    fn of(df: usize, ss: f64) -> Remainder {
        Remainder { df: df as u64, ss, ms: (df > 0).then(|| ss / df as f64) }
    }
}

/// Analyses `y` by factors and their interactions up to `order` factors (their number for the full
/// model), with an additive block. A complaint where nothing can be analysed.
pub fn analyse(y: &[f64], factors: &[Factor], block: Option<&Factor>, order: usize) -> Result<Anova, String> {
    let all: Vec<&Factor> = block.into_iter().chain(factors).collect();
    if let Some(flat) = all.iter().find(|factor| factor.levels.len() < 2) {
        return Err(format!("expected at least two levels of {}, found {}", flat.name, flat.levels.len()));
    }
    let table = Table::gather(y, &all)?;
    let first = usize::from(block.is_some());
    let mut terms: Vec<Vec<usize>> = (0..first).map(|block| vec![block]).collect();
    terms.extend(crossed(first..all.len(), order));
    let sheet = Sheet::of(&table, &all, terms)?;
    let mut rows = sheet.rows();
    let block = block.map(|_| rows.remove(0));
    let residual = Remainder::of(sheet.residual_df, sheet.residual);
    let mut absent = BTreeMap::new();
    if table.squares <= table.rounding {
        absent.insert("r_squared".to_owned(), "all values are the same".to_owned());
    }
    Ok(Anova {
        n: table.n as u64,
        mean: table.mean,
        balanced: sheet.balanced,
        block,
        terms: rows,
        total: Remainder::of(table.n - 1, table.squares),
        r_squared: absent.is_empty().then(|| 1.0 - residual.ss / table.squares),
        residual,
        notes: sheet.notes(first),
        absent,
    })
}

/// All sets of one to `order` factors, single ones first.
fn crossed(factors: std::ops::Range<usize>, order: usize) -> Vec<Vec<usize>> {
    let mut terms: Vec<Vec<usize>> = vec![];
    let mut last: Vec<Vec<usize>> = vec![vec![]];
    for _ in 0..order.min(factors.len()) {
        let grow = |term: &Vec<usize>| {
            let from = term.last().map_or(factors.start, |f| f + 1);
            (from..factors.end).map(|f| [term.as_slice(), &[f]].concat()).collect::<Vec<_>>()
        };
        last = last.iter().flat_map(grow).collect();
        terms.extend(last.iter().cloned());
    }
    terms
}

/// Sums of squares of all terms, before they become rows.
struct Sheet<'a> {
    table: &'a Table,
    factors: &'a [&'a Factor],
    terms: Vec<Vec<usize>>,
    balanced: bool,
    type2: Vec<Added>,
    type3: Vec<Added>,
    residual: f64,
    residual_df: usize,
}

impl<'a> Sheet<'a> {
    fn of(table: &'a Table, factors: &'a [&'a Factor], terms: Vec<Vec<usize>>) -> Result<Sheet<'a>, String> {
        let balanced = table.is_balanced();
        let (type2, type3, (lack, lack_df)) = if balanced {
            let (sums, lack) = balanced::sums(table, &terms);
            let added: Vec<Added> = sums
                .into_iter()
                .zip(&terms)
                .map(|(squares, term)| Added { squares, df: full_df(table, term) })
                .collect();
            let spent: usize = 1 + added.iter().map(|a| a.df).sum::<usize>();
            (added.clone(), added, (lack, table.cells.len() - spent))
        } else {
            let model = Model::of(table, &terms)?;
            let contains = |outer: &[usize], inner: &[usize]| inner.iter().all(|f| outer.contains(f));
            let others = |of: usize| (0..terms.len()).filter(move |other| *other != of);
            let type2 =
                |of: usize| model.added(of, others(of).filter(|other| !contains(&terms[*other], &terms[of])));
            let type3 = |of: usize| model.added(of, others(of));
            let all = 0..terms.len();
            (all.clone().map(type2).collect(), all.map(type3).collect(), model.lack())
        };
        // What is left of a model that explains every cell is rounding, not an observation.
        let lack = if lack_df == 0 { 0.0 } else { lack };
        let residual = lack + table.within;
        Ok(Sheet {
            table,
            factors,
            terms,
            balanced,
            type2,
            type3,
            residual: if residual <= table.rounding { 0.0 } else { residual },
            residual_df: lack_df + table.within_df,
        })
    }

    fn rows(&self) -> Vec<Row> {
        let row = |(i, term): (usize, &Vec<usize>)| {
            let full_df = full_df(self.table, term);
            let type3 = if self.type3[i].df < full_df {
                Line::without(&format!(
                    "not estimable: {}, so its value would depend on which level is the reference; type II answers \
                     with the degrees of freedom that there are",
                    self.why_aliased(term)
                ))
            } else {
                self.line(self.type3[i])
            };
            let type2 = if self.type2[i].df == 0 {
                Line::without(&format!("not estimable: {}", self.why_aliased(term)))
            } else {
                self.line(self.type2[i])
            };
            let names = || term.iter().map(|f| self.factors[*f].name.clone());
            let factors: Vec<String> = names().collect();
            Row { term: factors.join(":"), factors, full_df: full_df as u64, type2, type3 }
        };
        self.terms.iter().enumerate().map(row).collect()
    }

    fn line(&self, added: Added) -> Line {
        let (df, ss, n) = (added.df as f64, added.squares, self.table.n as f64);
        let mut line = Line { df: Some(added.df as u64), ss: Some(ss), ms: Some(ss / df), ..Line::default() };
        let why = if self.residual_df == 0 {
            "no runs are left to tell the error: the residual has 0 degrees of freedom"
        } else if self.residual == 0.0 {
            "repeated runs agree to the last digit, so there is no error to compare with"
        } else {
            let error = self.residual / self.residual_df as f64;
            let f = ss / df / error;
            line.f = Some(f);
            (line.p, line.p_below) = told(f_upper(f, df, self.residual_df as f64));
            if line.p.is_none() {
                line.absent.insert("p".to_owned(), "too small for a number, see p_below".to_owned());
            }
            line.partial_eta2 = Some(ss / (ss + self.residual));
            line.partial_omega2 = Some(df * (f - 1.0) / (df * (f - 1.0) + n)).filter(|w| w.is_finite());
            return line;
        };
        for name in ["f", "p", "partial_eta2", "partial_omega2"] {
            line.absent.insert(name.to_owned(), why.to_owned());
        }
        line
    }

    /// Names the combinations without runs that a term depends on.
    fn why_aliased(&self, term: &[usize]) -> String {
        let own = self.table.empty(term, MOST_NAMED);
        let all: Vec<usize> = (0..self.factors.len()).collect();
        let (factors, empty) =
            if own.is_empty() { (&all[..], self.table.empty(&all, MOST_NAMED)) } else { (term, own) };
        match empty.as_slice() {
            [] => "other terms explain the same differences".to_owned(),
            [one] => format!("cell {} is empty", self.named(factors, one)),
            many => {
                let names: Vec<String> = many.iter().map(|codes| self.named(factors, codes)).collect();
                let more = if many.len() == MOST_NAMED { " and maybe more" } else { "" };
                format!("cells {}{more} are empty", names.join(", "))
            }
        }
    }

    fn named(&self, factors: &[usize], codes: &[usize]) -> String {
        let level = |(f, code): (&usize, &usize)| {
            format!("{}={}", self.factors[*f].name, self.factors[*f].levels[*code])
        };
        format!("({})", factors.iter().zip(codes).map(level).collect::<Vec<_>>().join(", "))
    }

    fn notes(&self, first: usize) -> Vec<String> {
        let mut notes = vec![];
        if !self.balanced {
            notes.push(
                "Not every combination was observed equally often, so the kind of sum of squares matters: type II asks what \
                 a term adds to those that do not contain it, type III counts every level alike."
                    .to_owned(),
            );
        }
        let reduced = self.type2.iter().zip(&self.terms).filter(|(a, t)| a.df < full_df(self.table, t));
        if reduced.count() > 0 {
            let crossed: Vec<usize> = (first..self.factors.len()).collect();
            notes.push(format!(
                "Some terms have fewer degrees of freedom than their levels would give: {}.",
                self.why_aliased(&crossed)
            ));
        }
        if self.residual_df == 0 {
            notes.push(
                "The model has as many terms as there are runs, so there is no error, no F and no p; repeat runs, or leave out \
                 the highest interactions."
                    .to_owned(),
            );
        }
        notes
    }
}

impl Line {
    fn without(why: &str) -> Line {
        let names = ["df", "ss", "ms", "f", "p", "partial_eta2", "partial_omega2"];
        Line { absent: names.map(|name| (name.to_owned(), why.to_owned())).into(), ..Line::default() }
    }
}

/// A p as a number, or as a bound where it is too small for one.
pub fn told(p: f64) -> (Option<f64>, Option<f64>) {
    if p < SMALLEST_P { (None, Some(SMALLEST_P)) } else { (Some(p), None) }
}

fn full_df(table: &Table, term: &[usize]) -> usize {
    term.iter().map(|f| table.sizes[*f] - 1).product()
}
