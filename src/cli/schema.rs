//! `schema` and `completions`: what editors and shells want to know.

use clap::CommandFactory;

use super::args::{Arguments, SchemaArgs, SchemaOf};
use super::failure::{Failure, Outcome};
use super::voice::answer;
use crate::evidence::{counters, rows, runs, sheet};
use crate::export::summary;
use crate::{analysis, campaign, compare, dead_end, gate, inventory, report};

pub fn schema(args: &SchemaArgs) -> Outcome {
    let schema = match args.file {
        SchemaOf::Campaign => campaign::schema(),
        SchemaOf::Hosts => inventory::schema(),
        SchemaOf::DeadEnds => dead_end::schema(),
        SchemaOf::Findings => analysis::findings::schema(),
        SchemaOf::Comparison => compare::comparison::schema(),
        SchemaOf::Gate => gate::judge::schema(),
        SchemaOf::Ladder => report::ladder::schema(),
        SchemaOf::Columns => {
            let sheets =
                [runs::any()].into_iter().chain(rows::any()).chain([counters::any(), summary::any()]);
            let heads: Vec<_> = sheets.map(|sheet| sheet.head).collect();
            answer(sheet::dictionary(&heads).csv().trim_end())?;
            return Ok(vec![]);
        }
    };
    let text = serde_json::to_string_pretty(&schema).map_err(|e| Failure::Fault(e.to_string()))?;
    answer(text)?;
    Ok(vec![])
}

pub fn completions(shell: clap_complete::Shell) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "fieldtrial", &mut script);
    answer(String::from_utf8_lossy(&script).trim_end())?;
    Ok(vec![])
}
