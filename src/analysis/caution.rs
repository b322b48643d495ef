//! What could be wrong with a record's numbers, in sentences.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde_json::Value;

use super::drift::Halves;
use super::effect::ALPHA;
use super::findings::{Effect, Findings, Verdict};
use super::reversal::{Agreement, Reversal};
use super::split_plot::SplitPlot;
use super::trial::Trial;
use super::verdict::percent;
use super::whole_plot::SplitPlotFinding;
use super::{foresight, rise, setup};
use crate::evidence::event::{ChangeNote, HostNote};
use crate::evidence::fold::Evidence;
use crate::model::scale::Scale;

/// Where a campaign says `verify: {output: ignored}`.
const OUTPUTS_MAY_DIFFER: &str = "Outputs may differ: nothing but the exit status was compared, so that all arms did the same work is the \
    campaign's claim and was not proven.";

/// Lists cautions that this very record gives ground for, the gravest first.
pub fn of_record(trial: &Trial, evidence: &Evidence, findings: &Findings) -> Vec<String> {
    let mut found = vec![];
    pilot(findings, &mut found);
    if evidence.opening.as_ref().is_some_and(|o| o.outputs_may_differ) {
        found.push(OUTPUTS_MAY_DIFFER.to_owned());
    }
    if findings.sums.as_ref().is_some_and(|s| !s.cells_hold || !s.runs_hold) {
        found.push("The sums do not hold: something that was planned is not accounted for.".to_owned());
    }
    if !findings.complete {
        found.push(
            "The record is not complete: the trial ended before all planned runs were decided.".to_owned(),
        );
    }
    completion(findings, &mut found);
    annotated(findings, &mut found);
    left_out(findings, &mut found);
    links(evidence, &mut found);
    sessions(trial, evidence, &mut found);
    hosts(evidence, &mut found);
    moved(evidence, &mut found);
    family(findings, &mut found);
    confounded(findings, &mut found);
    underpowered(trial, findings, &mut found);
    environment(findings, &mut found);
    let left_behind: u32 =
        evidence.runs.iter().flat_map(|r| &r.note.roles).map(|role| role.report.left_behind).sum();
    match left_behind {
        0 => {}
        1 => found.push("1 process outlived the program that started it and was killed; it may have run beside a later measurement's start.".to_owned()),
        n => found.push(format!("{n} processes outlived the program that started them and were killed; they may have run beside a later measurement's start.")),
    }
    found
}

/// Those that the numbers of any data give ground for.
pub fn of_numbers(findings: &Findings) -> Vec<String> {
    let mut found = vec![];
    pilot(findings, &mut found);
    completion(findings, &mut found);
    left_out(findings, &mut found);
    family(findings, &mut found);
    confounded(findings, &mut found);
    environment(findings, &mut found);
    found
}

/// An effect that cannot be told from the one time that its setting was made.
fn confounded(findings: &Findings, found: &mut Vec<String>) {
    let primary = |f: &&SplitPlotFinding| findings.family.responses.contains(&f.response);
    for seen in findings.split_plots.iter().filter(primary) {
        let open = seen.found.as_ref().is_none_or(SplitPlot::is_confounded);
        if open && !found.contains(&seen.sentence) {
            found.push(seen.sentence.clone());
        }
    }
}

/// Inconclusive answers whose blocks could hardly have found a change of the margin, by the spread that they show.
fn underpowered(trial: &Trial, findings: &Findings, found: &mut Vec<String>) {
    let primary = findings.family.responses.first();
    let open = |a: &&Effect| {
        a.verdict == Verdict::Inconclusive
            && Some(&a.response) == primary
            && a.scale == Scale::Log.word()
            && a.n >= super::signed_rank::FEWEST_PAIRS as u64
    };
    let open: Vec<&Effect> = findings.answers.iter().filter(open).collect();
    if findings.pilot || open.is_empty() {
        return;
    }
    let blocks = trial.planned_blocks().len();
    let reaches = foresight::of_trial(trial, blocks, findings.family.comparisons as usize);
    for answer in open {
        let reach = reaches.iter().find(|(arm, _)| *arm == answer.arm).map(|(_, reach)| reach);
        if let Some((reach, margin)) = reach.zip(answer.margin).filter(|(r, margin)| r.change > *margin) {
            found.push(format!(
                "{} on {} is underpowered for its margin of {}: {}",
                answer.arm,
                answer.response,
                percent(margin),
                reach.sentence
            ));
        }
    }
}

fn annotated(findings: &Findings, found: &mut Vec<String>) {
    let runs: Vec<&str> = findings.annotations.iter().filter(|a| a.holds).map(|a| a.run.as_str()).collect();
    match runs.as_slice() {
        [] => {}
        [run] => found
            .push(format!("A person annotated 1 run as invalid, which took it out of the analysis: {run}.")),
        runs => found.push(format!(
            "A person annotated {} runs as invalid, which took them out of the analysis: {}.",
            runs.len(),
            runs.join(", ")
        )),
    }
}

fn environment(findings: &Findings, found: &mut Vec<String>) {
    for seen in findings.environment.iter().filter(|e| findings.family.responses.contains(&e.response)) {
        found.extend(seen.drift.iter().filter(|d| d.found).map(|d| d.sentence.clone()));
        found.extend(seen.first_place.iter().filter(|f| f.found).map(|f| f.sentence.clone()));
        found.extend(seen.noise_floor.iter().filter(|f| f.alarm).map(|f| f.sentence.clone()));
        for arm in &seen.arms {
            let mut say = |sentence: &str| found.push(format!("{}: {sentence}", arm.arm));
            let differ = |h: &&Halves| h.p.is_some_and(|p| p <= ALPHA);
            arm.halves.iter().filter(differ).for_each(|h| say(&h.sentence));
            let apart = |r: &&Reversal| matches!(r.agreement, Agreement::Reversed | Agreement::Mixed);
            arm.hosts.iter().chain(&arm.days).filter(apart).for_each(|r| say(&r.sentence));
            if arm.together.together {
                say(&arm.together.sentence);
            }
        }
    }
}

fn pilot(findings: &Findings, found: &mut Vec<String>) {
    if findings.pilot {
        found.push("This is a pilot: it describes, and nothing in it is a verdict.".to_owned());
    }
}

fn completion(findings: &Findings, found: &mut Vec<String>) {
    let of = |name: &str| -> u64 { findings.cells.iter().filter_map(|c| c.outcomes.get(name)).sum() };
    let all: u64 = findings.cells.iter().flat_map(|c| c.outcomes.values()).sum();
    let missing = all - of("measured");
    if missing > 0 {
        let were = if missing == 1 { "was" } else { "were" };
        found.push(format!(
            "{missing} of {all} runs {were} not measured ({} rejected, {} timed out, {} failed, {} interrupted); those that timed out count as bounds, the others leave the numbers, and runs do not go missing at random.",
            of("rejected"),
            of("timed_out"),
            of("failed"),
            of("interrupted")
        ));
    }
}

fn left_out(findings: &Findings, found: &mut Vec<String>) {
    for answer in findings.answers.iter().filter(|a| !a.exploratory) {
        if !answer.left_out.is_empty() && answer.points > 0 {
            found.push(format!(
                "{} of {} blocks are not in the pooled estimate of {} on {}, because a pair in them is not complete.",
                answer.left_out.len(),
                answer.left_out.len() as u64 + answer.n,
                answer.arm,
                answer.response
            ));
        }
        // Where nothing could be compared, the answer itself says so.
        if answer.points > 0 && !answer.points_missing.is_empty() {
            found.push(format!(
                "{} was compared at {} of {} grid points: {}.",
                answer.arm,
                answer.points,
                answer.points + answer.points_missing.len() as u64,
                answer.points_missing.join("; ")
            ));
        }
    }
}

fn links(evidence: &Evidence, found: &mut Vec<String>) {
    for (session, note) in evidence.links.iter().filter(|(_, note)| !note.clean) {
        found.push(format!(
            "The link {} was refused in session {}: it did not deliver all of the untouched control {}. {}",
            note.link,
            session + 1,
            note.cell,
            note.faults.first().map_or("", String::as_str)
        ));
    }
}

/// What single runs give ground for, each kind once with its count and the first that was seen, and what all
/// runs of a cell cost more than the control's.
pub fn of_runs(evidence: &Evidence) -> Vec<String> {
    let mut kinds: BTreeMap<&String, (usize, &String)> = BTreeMap::new();
    for (what, seen) in evidence.runs.iter().flat_map(|row| &row.note.cautions) {
        kinds.entry(what).or_insert((0, seen)).0 += 1;
    }
    let all = evidence.runs.len();
    let line = |(what, (count, seen)): (&String, (usize, &String))| {
        format!("In {count} of {all} runs: {what} (first: {seen}).")
    };
    kinds.into_iter().map(line).chain(rise::rises(evidence)).collect()
}

fn sessions(trial: &Trial, evidence: &Evidence, found: &mut Vec<String>) {
    for after in 1..evidence.sessions.len() {
        let differing = trial.differences(after as u32 - 1, after as u32);
        if !differing.is_empty() {
            found.push(format!(
                "Session {} had another set-up than session {after}: {}. Only pairs within one set-up are compared.",
                after + 1,
                differing.join("; ")
            ));
        }
    }
}

fn hosts(evidence: &Evidence, found: &mut Vec<String>) {
    let Some(last) = evidence.sessions.len().checked_sub(1) else { return };
    let hosts =
        (0..=last).rev().map(|s| setup::hosts(evidence, s)).find(|h| !h.is_empty()).unwrap_or_default();
    if hosts.values().any(|h| h.transport == "netns") {
        found.push("The hosts are network namespaces of one machine: frames cross no wire, and rates say what its CPUs can do.".to_owned());
    }
    for (name, note) in hosts {
        host(name, note, evidence, found);
    }
}

/// Facts that did not stay what they were, each once with its first and last text.
fn moved(evidence: &Evidence, found: &mut Vec<String>) {
    let mut facts: IndexMap<(&str, &str), Vec<&ChangeNote>> = IndexMap::new();
    for (_, note) in &evidence.changes {
        facts.entry((&note.host, &note.fact)).or_default().push(note);
    }
    for ((host, fact), notes) in facts {
        let (Some(first), Some(last)) = (notes.first(), notes.last()) else { continue };
        let blocks: Vec<String> = notes.iter().map(|note| note.after.to_string()).collect();
        let after = if notes.len() == 1 { "by the end of block" } else { "by the ends of blocks" };
        found.push(format!(
            "{host}: {fact} was {} when the trial began and {} {after} {}; runs before and after it may not compare.",
            first.was,
            last.now,
            blocks.join(", ")
        ));
    }
    for (host, stuck) in evidence.stuck() {
        found.push(format!("{host} could not be put back as it was: {}.", stuck.join("; ")));
    }
}

fn host(name: &str, note: &HostNote, evidence: &Evidence, found: &mut Vec<String>) {
    let held =
        evidence.settings.iter().rev().find(|(_, s)| s.host == name && s.applied.setting == "governor");
    let governor = held.map(|(_, s)| s.applied.now.as_str());
    if let Some(governor) = governor.or(note.facts.get("governor").and_then(Value::as_str))
        && governor != "performance"
    {
        found.push(format!(
            "{name}: the frequency governor is {governor}, so the clock may move during runs."
        ));
    }
    let number = |fact: &str| note.facts.get(fact).and_then(Value::as_f64);
    if let (Some(load), Some(cpus)) = (number("load_1m"), number("cpu_count"))
        && load > cpus / 2.0
    {
        found.push(format!("{name}: the load was {load:.2} on {cpus} CPUs when its facts were read, so something else was running."));
    }
    if note.isolation == "process-group" {
        found.push(format!("{name}: jobs ran in a process group and not in a PID namespace of their own, so a stray process could escape the kill."));
    }
}

fn family(findings: &Findings, found: &mut Vec<String>) {
    if findings.family.comparisons > 1 {
        found.push(format!(
            "{} comparisons form one family ({}); pooled p-values are adjusted after Holm, intervals are not.",
            findings.family.comparisons,
            findings.family.arms.join(", ")
        ));
    }
    if findings.answers.iter().any(|a| a.exploratory) {
        found.push("Responses that are not primary are exploratory: their verdicts are outside the family and not adjusted.".to_owned());
    }
    let undecidable = |a: &&Effect| {
        !a.exploratory && a.points > 0 && a.test == "signed-rank" && a.verdict == Verdict::Inconclusive
    };
    let fewest = findings.answers.iter().filter(undecidable).map(|a| a.n).min();
    if let Some(n) = fewest.filter(|n| *n < super::signed_rank::FEWEST_PAIRS as u64) {
        let pairs = if n == 1 { "pair" } else { "pairs" };
        found.push(format!(
            "The smallest estimate rests on {n} block {pairs}; below {} there is a range and no verdict.",
            super::signed_rank::FEWEST_PAIRS
        ));
    }
}

#[cfg(test)]
mod tests {
    use crate::analysis::judge::judge;
    use crate::evidence::example::Record;

    #[test]
    fn an_answer_that_could_hardly_have_found_its_margin_says_so_and_one_that_could_does_not() {
        let cautions = |spread: f64| -> Vec<String> {
            let new: Vec<f64> = (0..10).map(|i| 1.0 + spread * [-1.0, 0.7, -0.4, 1.0, -0.8][i % 5]).collect();
            judge(&Record::pairs(&[1.0; 10], &new).evidence).cautions
        };
        let told = |all: &[String]| all.iter().filter(|words| words.contains("is underpowered")).count();
        let wide = cautions(0.2);
        assert_eq!(told(&wide), 1, "{wide:?}");
        let words = wide.iter().find(|words| words.contains("is underpowered")).expect("it");
        assert!(
            words.starts_with("new on wall_time is underpowered for its margin of 2.00 %: 10 blocks would"),
            "{words}"
        );
        assert_eq!(told(&cautions(0.001)), 0, "equivalent is no lack of power");
    }
}
