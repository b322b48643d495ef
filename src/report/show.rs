//! One cell of a record on a terminal: what it is, what came of it, and how to measure it again.

use std::fmt::Write;

use super::asked::asked;
use super::cells::scale;
use super::dots::dots;
use super::intervals::in_words;
use super::ledger::{self, end};
use super::look::{Look, line, wrapped};
use super::number::{exact, moment, plural, visible};
use super::origin::commands;
use super::view::word;
use crate::analysis::findings::{CellSummary, Findings};
use crate::analysis::verdict::confidence;
use crate::evidence::event::CellNote;
use crate::evidence::fold::{Evidence, RunRow};
use crate::evidence::rows::metrics;
use crate::model::arm::ArmKind;
use crate::model::cell::CellId;

/// Everything about one cell as text; None where the record has no such cell. `rerun` measures it again.
pub fn show(
    evidence: &Evidence,
    findings: &Findings,
    cell: &CellId,
    rerun: &str,
    look: &Look,
) -> Option<String> {
    let note = evidence.cells.get(cell)?;
    let mut text = String::new();
    head(evidence, note, look, &mut text);
    if let Some(summary) = findings.cells.iter().find(|c| c.cell == *cell) {
        numbers(findings, summary, look, &mut text);
        plots(evidence, findings, summary, look, &mut text);
    }
    runs(evidence, cell, look, &mut text);
    proof(evidence, cell, look, &mut text);
    programs(evidence, cell, look, &mut text);
    section("measure it again", look, &mut text);
    // Ready to paste, so never broken.
    let _ = writeln!(text, "  {rerun}");
    Some(look.letters(&text))
}

fn section(name: &str, look: &Look, text: &mut String) {
    let _ = write!(text, "\n{}", wrapped(name, look.room()));
}

/// A line of a section, with its words kept on the screen.
fn put(words: &str, look: &Look, text: &mut String) {
    for line in wrapped(words, look.room() - 2).lines() {
        let _ = writeln!(text, "  {line}");
    }
}

/// A line that belongs to the one above it.
fn put_below(words: &str, look: &Look, text: &mut String) {
    for line in wrapped(words, look.room() - 4).lines() {
        let _ = writeln!(text, "    {line}");
    }
}

fn head(evidence: &Evidence, note: &CellNote, look: &Look, text: &mut String) {
    text.push_str(&wrapped(
        &format!("{}: {}, {}", line(&note.cell.0), word(note.kind), note.fate.name()),
        look.room(),
    ));
    for arm in asked(evidence).arms.iter().filter(|arm| arm.name == note.arm) {
        for setting in &arm.settings {
            put(&line(setting), look, text);
        }
        if let Some(because) = &arm.because {
            put(&format!("because {}", line(because)), look, text);
        }
    }
    if let Some(reason) = &note.reason {
        let stage = note.stage.as_ref().map_or(String::new(), |stage| format!(" by {stage}"));
        put(&format!("{}{stage}: {}", note.fate.name(), line(reason)), look, text);
    }
    for fact in &note.evidence {
        put(&line(fact), look, text);
    }
}

fn numbers(findings: &Findings, cell: &CellSummary, look: &Look, text: &mut String) {
    if cell.responses.iter().all(|r| r.n == 0 && r.timed_out == 0) {
        return;
    }
    section("values", look, text);
    for found in &cell.responses {
        let scale = scale(findings, &found.response, &found.unit);
        let median = match found.median {
            Some(median) => format!("median {}", scale.with_unit(median)),
            None => format!("no median: {}", found.absent.get("median").map_or("no value", |why| why)),
        };
        let interval = found.interval.map_or(String::new(), |i| {
            format!(" [{} at {}]", scale.between(i.low, i.high), confidence(i.confidence))
        });
        let range = match (found.min, found.max) {
            (Some(min), Some(max)) => format!(", range {} to {}", scale.text(min), scale.text(max)),
            _ => String::new(),
        };
        let spread = match found.sd {
            Some(sd) => format!(", sd {}", scale.with_unit(sd)),
            None => format!(", no sd: {}", found.absent.get("sd").map_or("no value", |why| why)),
        };
        put(&format!("{}: {median}{interval}{range}{spread}, n = {}", found.response, found.n), look, text);
    }
    let own = findings.effects.iter().chain(&findings.as_run).filter(|e| e.cell.as_ref() == Some(&cell.cell));
    for (place, effect) in own.enumerate() {
        let without = findings.effects.iter().filter(|e| e.cell.as_ref() == Some(&cell.cell)).count();
        let with = if place >= without { "with the annotated runs: " } else { "" };
        put(&format!("{with}{}: {}", effect.response, in_words(effect)), look, text);
        put(&line(&effect.sentence), look, text);
    }
    for again in findings.effects_with_reruns.iter().filter(|r| r.cell == cell.cell) {
        put(&format!("rerun alone: {}", line(&again.rerun_alone.sentence)), look, text);
        if let Some(both) = &again.with_reruns {
            put(&format!("first and rerun together: {}", line(&both.sentence)), look, text);
        }
    }
}

/// The cell beside its control, on primary responses.
fn plots(evidence: &Evidence, findings: &Findings, cell: &CellSummary, look: &Look, text: &mut String) {
    let mut near = findings.clone();
    near.cells.retain(|c| c.levels == cell.levels && (c.cell == cell.cell || c.kind == ArmKind::Control));
    for response in &findings.family.responses {
        let drawn = dots(evidence, &near, response, look);
        if !drawn.is_empty() {
            let _ = write!(text, "\n{drawn}");
        }
    }
}

fn runs(evidence: &Evidence, cell: &CellId, look: &Look, text: &mut String) {
    let mut rows = evidence.runs.iter().filter(|row| row.note.run.cell == *cell).peekable();
    if rows.peek().is_none() {
        return;
    }
    let units = metrics(evidence);
    section(
        "runs, as #block.attempt; `annotate --run` takes them with the cell's id before the #",
        look,
        text,
    );
    let responses = evidence.opening.as_ref().map_or(&[][..], |o| &o.responses);
    let order: Vec<&str> = responses.iter().map(|r| r.name.as_str()).collect();
    let mut why: Vec<String> = vec![];
    for row in rows {
        put(&run(&units, &order, row), look, text);
        let reasons = row.note.absent.iter().map(|(name, reason)| format!("no {name}: {}", line(reason)));
        reasons.for_each(|reason| {
            if !why.contains(&reason) {
                why.push(reason)
            }
        });
        let mut details: Vec<String> = row.note.reason.iter().flat_map(|r| r.lines()).map(line).collect();
        details.extend(
            row.as_run.iter().map(|as_run| format!("as it ran: {}", as_run.outcome.name().replace('_', " "))),
        );
        details
            .extend(row.note.cautions.iter().map(|(what, seen)| format!("{}: {}", line(what), line(seen))));
        for detail in details {
            put_below(&detail, look, text);
        }
    }
    for reason in why {
        put(&reason, look, text);
    }
}

/// The values of one run with all their digits, responses first.
fn run(units: &[(String, String)], order: &[&str], row: &RunRow) -> String {
    let note = &row.note;
    let unit = |name: &str| units.iter().find(|(n, _)| n == name).map_or("", |(_, unit)| unit.as_str());
    let rank = |name: &str| order.iter().position(|known| *known == name).unwrap_or(order.len());
    let mut measured: Vec<(&String, &f64)> = note.values.iter().collect();
    measured.sort_by_key(|(name, _)| rank(name));
    let values = measured.into_iter().map(|(name, v)| format!("{name} {} {}", exact(*v), unit(name)));
    let absent = note.absent.keys().map(|name| format!("no {name}"));
    let work = note.work.iter().map(|w| {
        let parts = [w.success, w.timeout, w.transport_error, w.wrong_answer];
        format!(
            "work {} = {} success + {} timeout + {} transport error + {} wrong answer",
            w.declared, parts[0], parts[1], parts[2], parts[3]
        )
    });
    let values: Vec<String> = values.chain(absent).chain(work).map(|v| v.trim_end().to_owned()).collect();
    format!(
        "#{}.{} {}, place {}, session {}, ended {}: {}",
        note.run.block,
        note.run.attempt,
        note.outcome.name().replace('_', " "),
        note.position,
        row.session + 1,
        moment(&row.at),
        if values.is_empty() { "no value".to_owned() } else { values.join(", ") }
    )
}

fn proof(evidence: &Evidence, cell: &CellId, look: &Look, text: &mut String) {
    let Some(note) = evidence.proofs.iter().rev().find(|proof| proof.cell == *cell) else { return };
    section(if note.accepted { "proof, accepted" } else { "proof, not accepted" }, look, text);
    for (kind, facts) in [("work", &note.proof.identity), ("answer", &note.proof.answer)] {
        for (name, value) in facts {
            put(&format!("{kind}, {}: {}", line(name), line(value)), look, text);
        }
    }
    for (command, digest) in &note.proof.programs {
        put(&format!("program, sha256: {} of {}", line(digest), line(command)), look, text);
    }
}

fn programs(evidence: &Evidence, cell: &CellId, look: &Look, text: &mut String) {
    let all = commands(evidence, |c| c == cell);
    let of_runs = all.iter().filter(|c| c.cell == cell.0).flat_map(|c| &c.roles);
    let refused = evidence.proofs.iter().filter(|p| p.cell == *cell && !p.accepted).flat_map(|p| &p.roles);
    let told: Vec<(String, &str)> = of_runs
        .map(|r| (format!("{} on {}, {}", r.role, r.host, plural(r.runs as u64, "run")), r.command.as_str()))
        .chain(
            refused
                .map(|r| (format!("{} on {}, {}", r.role, r.host, end(&r.report.end)), r.command.as_str())),
        )
        .collect();
    if told.is_empty() {
        return;
    }
    section("commands", look, text);
    for (what, command) in told {
        put(&format!("{}:", line(&what)), look, text);
        // Ready to paste, so never broken.
        let _ = writeln!(text, "    {}", visible(command).replace('\n', "\n    "));
    }
    for turned in ledger::misfires(evidence).iter().filter(|t| t.what.starts_with(&format!("{}#", cell.0))) {
        for (name, head) in turned.roles.iter().flat_map(|role| &role.heads) {
            put(&format!("{}, {name}:", line(&turned.what)), look, text);
            for written in head.lines() {
                put_below(&line(written), look, text);
            }
        }
    }
}
