//! `analyse`: data of any origin, judged as a record is.

use std::io::{Read, Write};

use super::args::{AnalyseArgs, BetterWay, SamplesAs, ScaleOf};
use super::exit::Exit;
use super::failure::{Failure, Outcome, unreadable};
use super::voice::{columns, counted};
use crate::analysis::analyse::analyse as judge;
use crate::analysis::findings::Findings;
use crate::analysis::hyperfine;
use crate::analysis::question::{Along, Deadline, Question, Reduction};
use crate::analysis::table::Complaint;
use crate::model::response::Better;
use crate::model::scale::Scale;
use crate::report::table;

/// Complaints that are told; the others are counted.
const SHOWN: usize = 20;

pub fn analyse(args: &AnalyseArgs) -> Outcome {
    let name =
        if args.file.as_os_str() == "-" { "standard input".into() } else { args.file.display().to_string() };
    let text = text_of(args, &name)?;
    let question = question(args, &text)?;
    let findings = judge(&text, &question, &name).map_err(|complaints| told(&name, &complaints))?;
    print(&findings, args.json)?;
    let used = findings.table.as_ref().map_or(0, |t| t.used);
    Ok(if used == 0 { vec![Exit::NothingMeasured] } else { vec![] })
}

fn text_of(args: &AnalyseArgs, name: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    if args.file.as_os_str() == "-" {
        std::io::stdin().lock().read_to_end(&mut bytes).map_err(|e| unreadable(&args.file, &e))?;
    } else {
        bytes = std::fs::read(&args.file).map_err(|e| unreadable(&args.file, &e))?;
    }
    String::from_utf8(bytes)
        .map_err(|e| Failure::Input(format!("{name} is not UTF-8 text: {}", e.utf8_error())))
}

fn question(args: &AnalyseArgs, text: &str) -> Result<Question, Failure> {
    let exported = hyperfine::recognises(text);
    let responses = match (args.response.as_slice(), exported) {
        ([], true) => vec![hyperfine::TIME.to_owned()],
        ([], false) => {
            let header = text.trim_start_matches('\u{feff}').lines().next().unwrap_or_default();
            return Err(Failure::Input(format!(
                "expected --response with the column of the measured values\nthe columns are: {header}"
            )));
        }
        (named, _) => named.to_vec(),
    };
    let seconds = matches!(args.unit.as_str(), "" | "s");
    let scale = match args.scale {
        ScaleOf::Log => Scale::Log,
        ScaleOf::Linear => Scale::Linear,
    };
    let timed = args.censored_at.as_deref().is_some_and(|limit| limit.parse::<f64>().is_err());
    let deadline = args.censored_at.as_deref().map(|limit| deadline(limit, seconds, text)).transpose()?;
    let in_seconds = timed && matches!(deadline, Some(Deadline::At(_)));
    Ok(Question {
        responses,
        factors: args.factors.clone(),
        block: args.block.clone(),
        control: args.control.clone(),
        order: args.order.clone(),
        status: args.status.clone(),
        deadline,
        whole_plot: args.whole_plot.clone(),
        group: args.group.clone(),
        samples: args.samples.map(|how| match how {
            SamplesAs::Median => Reduction::Median,
            SamplesAs::Mean => Reduction::Mean,
        }),
        scale,
        better: match args.better {
            BetterWay::Lower => Better::Lower,
            BetterWay::Higher => Better::Higher,
        },
        margin: args.margin.as_deref().map(|margin| margin_of(margin, scale)).transpose()?,
        along: (args.history.clone().map(Along::History)).or(args.ladder.clone().map(Along::Ladder)),
        unit: if in_seconds { "s".to_owned() } else { args.unit.clone() },
    })
}

/// A number, a time, or else the name of a column.
fn deadline(limit: &str, seconds: bool, text: &str) -> Result<Deadline, Failure> {
    if let Ok(at) = limit.parse::<f64>() {
        return match at.is_finite() {
            true => Ok(Deadline::At(at)),
            false => Err(Failure::Input(format!("--censored-at: expected a finite number, found {limit}"))),
        };
    }
    let header = text.trim_start_matches('\u{feff}').lines().next().unwrap_or_default();
    if header.split([',', ';', '\t']).any(|name| name.trim().trim_matches('"') == limit) {
        return Ok(Deadline::Column(limit.to_owned()));
    }
    match crate::yaml::quantity::duration_ms(limit, 1..=u64::from(u32::MAX) * 1000) {
        Ok(ms) if seconds => Ok(Deadline::At(ms as f64 / 1e3)),
        Ok(_) => Err(Failure::Input(format!(
            "--censored-at {limit}: a time is in seconds, and --unit names another unit\nnext: give the number in that unit"
        ))),
        Err(_) => Err(Failure::Input(format!(
            "--censored-at: expected a number, a time like 10s, or a column, found {limit}\nthe columns are: {header}"
        ))),
    }
}

fn margin_of(margin: &str, scale: Scale) -> Result<f64, Failure> {
    let expected = |what: &str| Failure::Input(format!("--margin: expected {what}, found {margin}"));
    match scale {
        Scale::Log => crate::yaml::quantity::percent(margin).map_err(|why| {
            expected(&format!("{why}; a margin in the unit of the response needs --scale linear"))
        }),
        Scale::Linear => margin.parse::<f64>().ok().filter(|m| m.is_finite() && *m > 0.0).ok_or_else(|| {
            expected("a number above 0 in the unit of the response; a margin in per cent needs --scale log")
        }),
    }
}

fn told(name: &str, complaints: &[Complaint]) -> Failure {
    let mut lines: Vec<String> = complaints.iter().take(SHOWN).map(|c| line(name, c)).collect();
    if complaints.len() > SHOWN {
        lines.push(format!("and {} more", counted((complaints.len() - SHOWN) as u64, "complaint")));
    }
    Failure::Input(lines.join("\n"))
}

fn line(name: &str, complaint: &Complaint) -> String {
    let mut at = name.to_owned();
    for part in complaint.line.into_iter().chain(complaint.field.map(|f| f as u64)) {
        at.push_str(&format!(":{part}"));
    }
    let next =
        if complaint.help.is_empty() { String::new() } else { format!("\n  next: {}", complaint.help) };
    format!("{at}: {}{next}", complaint.message)
}

fn print(findings: &Findings, json: bool) -> Result<(), Failure> {
    if json {
        return super::voice::answer_json(findings);
    }
    let mut out = super::voice::words();
    let written = write!(out, "{}", table(findings, columns()));
    let mut cautions =
        || findings.cautions.iter().try_for_each(|caution| writeln!(out, "caution: {caution}"));
    super::voice::written(written.and_then(|()| cautions()).and_then(|()| out.flush()))
}
