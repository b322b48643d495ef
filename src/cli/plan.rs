//! `plan`: every run in order, excluded cells with reasons, counts, time and size.

use std::io::{self, Write};

use super::args::PlanArgs;
use super::exit::Exit;
use super::failure::{Failure, Outcome};
use super::load::{cache, load};
use super::voice::counted;
use crate::analysis::effect::ALPHA;
use crate::analysis::foresight;
use crate::analysis::power::change_found;
use crate::analysis::verdict::percent;
use crate::conduct::SETTLE_MS;
use crate::design::estimate::{Estimate, estimate};
use crate::design::plan::{Decision, Plan};
use crate::model::arm::ArmKind;
use crate::model::until::STEP;
use crate::record::{Folder, last_seen, read};

pub fn plan(args: &PlanArgs) -> Outcome {
    let loaded = load(&args.campaign.campaign, args.campaign.hosts.as_deref())?;
    let plan = loaded.plan(&last_seen(&cache(), &loaded.hosts_source.text))?;
    let estimate = estimate(&plan);
    let reach = could_detect(args, &plan)?;
    let written = if args.campaign.json {
        let mut out = super::voice::json();
        print_json(&mut out, &plan, &estimate, &reach).and_then(|()| out.flush())
    } else {
        loaded.print_warnings();
        let mut out = super::voice::words();
        print_text(&mut out, &plan, &estimate, &reach, args.limit).and_then(|()| out.flush())
    };
    super::voice::written(written)?;
    Ok(if estimate.runs == 0 { vec![Exit::NothingMeasured] } else { vec![] })
}

/// What the design could detect, in sentences: by the spread that was named, or that an earlier record of
/// this campaign has.
fn could_detect(args: &PlanArgs, plan: &Plan) -> Result<Vec<String>, Failure> {
    let campaign = &plan.campaign;
    let compared = |kind| matches!(kind, ArmKind::Treatment | ArmKind::Combination);
    let family = campaign.arms.iter().filter(|arm| compared(arm.kind)).count();
    let blocks = campaign.blocks.count as usize;
    if let Some(text) = &args.sd {
        let sd = crate::yaml::quantity::percent(text)
            .map_err(|why| Failure::Input(format!("--sd: expected {why}, found {text}")))?;
        let found = change_found(sd.ln_1p(), blocks, family, ALPHA);
        return Ok(vec![match found.filter(|_| family > 0) {
            Some(change) => format!(
                "by a spread of {} from block to block, {} would find a change of {} with a chance of 80 %",
                percent(sd),
                counted(campaign.blocks.count, "block"),
                percent(change)
            ),
            None => {
                "this design cannot tell any change from none; `fieldtrial check` says what lacks".to_owned()
            }
        }]);
    }
    let Some(folder) = Folder::newest(&args.reports, &campaign.name) else { return Ok(vec![]) };
    let Ok(earlier) = read(&folder) else { return Ok(vec![]) };
    let known = foresight::of_record(&earlier.evidence, blocks, family);
    let known = known
        .into_iter()
        .filter(|(arm, _)| campaign.arms.iter().any(|own| own.name == *arm && compared(own.kind)));
    let record = folder.path().display();
    Ok(known.map(|(arm, reach)| format!("{arm}, by the spread in {record}: {}", reach.sentence)).collect())
}

fn print_text(
    out: &mut impl Write,
    plan: &Plan,
    estimate: &Estimate,
    reach: &[String],
    limit: u64,
) -> io::Result<()> {
    let blocks = &plan.campaign.blocks;
    let (fewest, most) = (estimate.runs, estimate.runs_at_most);
    let runs = if most > fewest { format!("{fewest} to {most} runs") } else { counted(fewest, "run") };
    let cells = counted(estimate.cells, "cell");
    writeln!(out, "{}: {cells}, {}, {runs}", plan.campaign.name, blocks.words())?;
    if let Some(until) = &blocks.until {
        writeln!(
            out,
            "goes on after {} blocks, {STEP} at a time, until every pooled effect on {} is known to ±{}",
            blocks.count,
            until.of,
            percent(until.halfwidth)
        )?;
    }
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
    for line in super::plan_roles::lines(&plan.campaign.workload) {
        writeln!(out, "{line}")?;
    }
    for (name, reason) in &plan.campaign.reattempt {
        writeln!(out, "tries the dead end `{name}` again: {reason}")?;
    }
    for line in reach {
        writeln!(out, "{line}")?;
    }
    if reach.is_empty() {
        writeln!(out, "what it could detect is not known: name a spread with --sd, or run a pilot first")?;
    }
    print_turned_down(out, plan, estimate, limit)?;
    let mut shown = 0;
    for block in 1..=blocks.most() {
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
    if shown < most {
        writeln!(out, "\n… and {} more runs; --limit N shows more, --json all", most - shown)?;
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
pub fn print_json(
    out: &mut impl Write,
    plan: &Plan,
    estimate: &Estimate,
    reach: &[String],
) -> io::Result<()> {
    write!(out, "{{\"campaign\":{},\"estimate\":{},", text(&plan.campaign.name), text(estimate))?;
    write!(out, "\"reattempt\":{},", text(&plan.campaign.reattempt))?;
    write!(out, "\"could_detect\":{},", text(reach))?;
    write!(out, "\"roles\":{},", text(&super::plan_roles::lines(&plan.campaign.workload)))?;
    write!(
        out,
        "\"blocks\":{},\"most_blocks\":{},\"seed\":{},\"cells\":[",
        plan.campaign.blocks.count,
        plan.campaign.blocks.most(),
        plan.campaign.blocks.seed
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
    for block in 1..=plan.campaign.blocks.most() {
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
