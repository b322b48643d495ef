//! `plan`: every run in order, excluded cells with reasons, counts, time and size.

use std::io::{self, BufWriter, Write};

use super::args::PlanArgs;
use super::exit::Exit;
use super::failure::Outcome;
use super::load::{cache, load};
use super::voice::counted;
use crate::conduct::SETTLE_MS;
use crate::design::estimate::{Estimate, estimate};
use crate::design::plan::{Decision, Plan};
use crate::record::last_seen;

pub fn plan(args: &PlanArgs) -> Outcome {
    let loaded = load(&args.campaign.campaign, args.campaign.hosts.as_deref())?;
    let plan = loaded.plan(&last_seen(&cache(), &loaded.hosts_source.text))?;
    let estimate = estimate(&plan);
    let out = io::stdout().lock();
    let mut out = BufWriter::with_capacity(1 << 16, out);
    let written = if args.campaign.json {
        print_json(&mut out, &plan, &estimate)
    } else {
        loaded.print_warnings();
        print_text(&mut out, &plan, &estimate, args.limit)
    };
    super::voice::written(written.and_then(|()| out.flush()))?;
    Ok(if estimate.runs == 0 { vec![Exit::NothingMeasured] } else { vec![] })
}

fn print_text(out: &mut impl Write, plan: &Plan, estimate: &Estimate, limit: u64) -> io::Result<()> {
    let blocks = plan.campaign.blocks.count;
    writeln!(
        out,
        "{}: {}, {}, {}",
        plan.campaign.name,
        counted(estimate.cells, "cell"),
        counted(blocks, "block"),
        counted(estimate.runs, "run")
    )?;
    let bound = span(estimate.seconds_at_most);
    match estimate.seconds {
        Some(seconds) => {
            writeln!(out, "estimated time {} (at most {bound} if every run timed out)", span(seconds))?
        }
        None => writeln!(out, "time is known once the commands run; at most {bound} if every run timed out")?,
    }
    writeln!(out, "estimated record {}", size(estimate.record_bytes))?;
    if let Some(settle_ms) = estimate.settle_ms_least.filter(|ms| *ms < SETTLE_MS) {
        writeln!(out, "settles for {settle_ms} ms before rates count, shorter than the default of 5 s")?;
    }
    for (name, reason) in &plan.campaign.reattempt {
        writeln!(out, "tries the dead end `{name}` again: {reason}")?;
    }
    print_turned_down(out, plan, estimate, limit)?;
    let mut shown = 0;
    for block in 1..=blocks {
        if shown >= limit {
            break;
        }
        writeln!(out, "\nblock {block}")?;
        for (place, cell) in plan.order(block).enumerate() {
            if shown == limit {
                break;
            }
            writeln!(out, "{:>7}  {}", place + 1, plan.id(cell))?;
            shown += 1;
        }
    }
    if shown < estimate.runs {
        writeln!(out, "\n… and {} more runs; --limit N shows more, --json all", estimate.runs - shown)?;
    }
    Ok(())
}

fn print_turned_down(out: &mut impl Write, plan: &Plan, estimate: &Estimate, limit: u64) -> io::Result<()> {
    if estimate.excluded + estimate.undecided == 0 {
        return Ok(());
    }
    writeln!(out, "\n{} excluded", counted(estimate.excluded, "cell"))?;
    if estimate.undecided > 0 {
        let undecided = counted(estimate.undecided, "cell");
        writeln!(
            out,
            "{undecided} undecided until hosts tell their facts; `fieldtrial hosts check` asks them"
        )?;
    }
    let told = (0..plan.cells()).filter_map(|cell| match plan.decision(cell) {
        Decision::Excluded(why) => Some((cell, "excluded", why)),
        Decision::Undecided(why) => Some((cell, "undecided", why)),
        _ => None,
    });
    for (cell, what, why) in told.take(usize::try_from(limit).unwrap_or(usize::MAX)) {
        writeln!(out, "  {what}  {}  ({why})", plan.id(cell))?;
    }
    Ok(())
}

/// Streams, so that a million cells need no memory of their own.
pub fn print_json(out: &mut impl Write, plan: &Plan, estimate: &Estimate) -> io::Result<()> {
    write!(out, "{{\"campaign\":{},\"estimate\":{},", text(&plan.campaign.name), text(estimate))?;
    write!(out, "\"reattempt\":{},", text(&plan.campaign.reattempt))?;
    write!(
        out,
        "\"blocks\":{},\"seed\":{},\"cells\":[",
        plan.campaign.blocks.count, plan.campaign.blocks.seed
    )?;
    for cell in 0..plan.cells() {
        let (decision, reason) = match plan.decision(cell) {
            Decision::Live => ("planned", None),
            Decision::Excluded(why) => ("excluded", Some(why)),
            Decision::Undecided(why) => ("undecided", Some(why)),
            Decision::Broken(why) => ("broken", Some(why)),
        };
        let comma = if cell == 0 { "" } else { "," };
        write!(out, "{comma}{{\"cell\":{},\"arm\":{},", text(&plan.id(cell)), text(&plan.arm_of(cell).name))?;
        write!(out, "\"decision\":\"{decision}\",\"reason\":{}}}", text(&reason))?;
    }
    write!(out, "],\"order\":[")?;
    for block in 1..=plan.campaign.blocks.count {
        write!(out, "{}[", if block == 1 { "" } else { "," })?;
        for (place, cell) in plan.order(block).enumerate() {
            write!(out, "{}{cell}", if place == 0 { "" } else { "," })?;
        }
        write!(out, "]")?;
    }
    writeln!(out, "]}}")
}

/// Anything that serde can turn into JSON text.
fn text<T: serde::Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".into())
}

fn span(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.1} days", s / 86_400.0),
    }
}

fn size(bytes: u64) -> String {
    match bytes as f64 {
        b if b < 1e6 => format!("{:.0} kB", b / 1e3),
        b if b < 1e9 => format!("{:.1} MB", b / 1e6),
        b => format!("{:.1} GB", b / 1e9),
    }
}
