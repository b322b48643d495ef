//! The analysis of variance as a table, and which changes explain how much.

use serde::Serialize;

use super::crossings::scale;
use super::number::short;
use crate::analysis::anova::{Line, Remainder, Row};
use crate::analysis::findings::{FactorialFinding, Findings};
use crate::analysis::verdict::p_text;

/// The table of one response on one scale.
#[derive(Debug, Serialize)]
pub struct VarianceView {
    pub response: String,
    pub scale: String,
    /// On the scale of the answers.
    pub main: bool,
    pub factors: String,
    pub balanced: bool,
    pub n: u64,
    pub not_used: u64,
    pub rows: Vec<TermView>,
    /// Why there is no table.
    pub absent: Option<String>,
    pub notes: Vec<String>,
    pub r_squared: Option<String>,
    /// Term, effect high minus low, interval, p or flag; where every factor has two levels.
    pub two_level: Vec<[String; 4]>,
}

/// One row of the table.
#[derive(Debug, Serialize)]
pub struct TermView {
    pub term: String,
    /// Degrees of freedom, sum of squares, mean square, F, p and partial η², by type II.
    pub cells: Vec<String>,
    /// F and p by type III, which differ where the data are not balanced.
    pub type3: Option<[String; 2]>,
    /// Why a cell is empty.
    pub why: Option<String>,
}

/// Tables of the primary responses, on the scale of the answers first.
pub fn variances(findings: &Findings) -> Vec<VarianceView> {
    let primary = |f: &&FactorialFinding| findings.family.responses.contains(&f.response);
    let mut found: Vec<VarianceView> = findings
        .factorials
        .iter()
        .filter(primary)
        .map(|f| variance(f, f.scale == scale(findings, &f.response).word()))
        .collect();
    found.sort_by_key(|v| !v.main);
    found
}

fn variance(found: &FactorialFinding, main: bool) -> VarianceView {
    let anova = found.anova.as_ref();
    let mut rows: Vec<TermView> = vec![];
    if let Some(anova) = anova {
        rows.extend(anova.block.iter().chain(&anova.terms).map(|row| term(row, anova.balanced)));
        rows.extend([("residual", &anova.residual), ("total", &anova.total)].map(remainder));
    }
    let two_level = found.two_level.iter().flat_map(|t| {
        t.effects.iter().map(|e| {
            let interval = e
                .effect
                .interval
                .map_or("–".to_owned(), |i| format!("{} to {}", short(i.low), short(i.high)));
            let p = p(e.effect.p, e.effect.p_below).or(e.flag.clone()).unwrap_or_else(|| "–".to_owned());
            [e.term.clone(), e.effect.difference.map_or("–".to_owned(), short), interval, p]
        })
    });
    VarianceView {
        response: found.response.clone(),
        scale: found.scale.clone(),
        main,
        factors: found.factors.join(", "),
        balanced: anova.is_none_or(|a| a.balanced),
        n: anova.map_or(0, |a| a.n),
        not_used: found.not_used,
        rows,
        absent: anova.is_none().then(|| {
            let why = found.absent.get("anova").or(found.absent.values().next());
            why.cloned().unwrap_or_else(|| "there is nothing to analyse".to_owned())
        }),
        notes: anova.map_or(vec![], |a| a.notes.clone()),
        r_squared: anova.and_then(|a| a.r_squared).map(|r| format!("{:.1} %", 100.0 * r)),
        two_level: two_level.collect(),
    }
}

fn term(row: &Row, balanced: bool) -> TermView {
    let line = &row.type2;
    let number = |value: Option<f64>| value.map_or("–".to_owned(), short);
    TermView {
        term: row.term.replace(':', " × "),
        cells: vec![
            line.df.map_or("–".to_owned(), |df| df.to_string()),
            number(line.ss),
            number(line.ms),
            number(line.f),
            of_p(line),
            line.partial_eta2.map_or("–".to_owned(), |e| format!("{e:.3}")),
        ],
        type3: (!balanced).then(|| [number(row.type3.f), of_p(&row.type3)]),
        why: line.absent.iter().find(|(name, _)| *name != "p").map(|(_, why)| why.clone()),
    }
}

fn of_p(line: &Line) -> String {
    p(line.p, line.p_below).unwrap_or_else(|| "–".to_owned())
}

fn p(p: Option<f64>, below: Option<f64>) -> Option<String> {
    p.map(p_text).or(below.map(|b| format!("below {b:.0e}")))
}

fn remainder((name, rest): (&str, &Remainder)) -> TermView {
    let ms = rest.ms.map_or("–".to_owned(), short);
    let dash = || "–".to_owned();
    TermView {
        term: name.to_owned(),
        cells: vec![rest.df.to_string(), short(rest.ss), ms, dash(), dash(), dash()],
        type3: None,
        why: None,
    }
}
