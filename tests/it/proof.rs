//! Proof before timing and in every run, values, effects and useful work, by real runs on this machine.

use std::path::{Path, PathBuf};
use std::process::Output;

use fieldtrial::evidence::event::RunNote;
use fieldtrial::evidence::fold::Evidence;
use fieldtrial::model::job::{JobReport, PageCache};
use fieldtrial::model::outcome::{Fate, RunOutcome};
use fieldtrial::record::{Folder, read};

use crate::desk::{Desk, code, stdout};
use crate::process::told;
use crate::skip::skip;

/// A campaign of one program over a control and treatments, given as lines of the file.
fn campaign(arms: &str, command: &str, rest: &str) -> String {
    format!(
        "campaign: c\nquestion: Does it hold?\nhosts: hosts.yaml\npilot: true\n{arms}\n\
         workload:\n  command: {{on: here, {command}}}\n{rest}\nblocks: {{count: 2, order: forward}}\ntimeout: 20s\n"
    )
}

/// Three arms that print a text each: the control, one that must be equal and one that must be refused.
fn three(verify: &str, control: &str, equal: &str, other: &str) -> String {
    let arms = format!(
        "control: {{set: {{text: '{control}'}}}}\ntreatments:\n  - {{name: equal, change: {{text: '{equal}'}}}}\n  \
         - {{name: other, change: {{text: '{other}'}}}}"
    );
    campaign(&arms, "run: [printf, '${text}']", &format!("verify: {verify}"))
}

fn evidence(desk: &Desk) -> Evidence {
    read(&Folder::open(&desk.record("reports")).expect("a record")).expect("readable").evidence
}

fn run(text: &str) -> (Desk, Output, Evidence) {
    let desk = Desk::new(text);
    let output = desk.fieldtrial(&["run", "c.yaml"]);
    assert!(matches!(code(&output), 0 | 4 | 5 | 8), "{}", told(&output));
    let evidence = evidence(&desk);
    (desk, output, evidence)
}

/// Why a cell was refused, with its evidence; it must have no run.
#[track_caller]
fn refusal(evidence: &Evidence, cell: &str) -> String {
    let note = evidence.cells.values().find(|note| note.cell.0 == cell).expect(cell);
    assert_eq!(note.fate, Fate::Refused, "{cell}");
    assert!(evidence.runs.iter().all(|row| row.note.run.cell.0 != cell), "{cell} was timed");
    format!("{}\n{}", note.reason.as_deref().unwrap_or_default(), note.evidence.join("\n"))
}

fn runs<'a>(evidence: &'a Evidence, cell: &str) -> Vec<&'a RunNote> {
    evidence.runs.iter().map(|row| &row.note).filter(|note| note.run.cell.0 == cell).collect()
}

#[track_caller]
fn measured(evidence: &Evidence, cell: &str) {
    let outcomes: Vec<RunOutcome> = runs(evidence, cell).iter().map(|run| run.outcome).collect();
    assert_eq!(outcomes, [RunOutcome::Measured; 2], "{cell}");
}

/// Each kind of comparison with a pair that is equal and one that must be refused.
#[track_caller]
fn compared(verify: &str, [control, equal, other]: [&str; 3], words: &[&str]) {
    let (_, output, evidence) = run(&three(verify, control, equal, other));
    assert_eq!(code(&output), 4, "a cell is refused: {}", told(&output));
    measured(&evidence, "/control");
    measured(&evidence, "/equal");
    let reason = refusal(&evidence, "/other");
    for word in words {
        assert!(reason.contains(word), "{verify}: `{word}` is not in: {reason}");
        assert!(told(&output).contains(word), "`{word}` is not shown: {}", told(&output));
    }
}

#[test]
fn fewer_matches_are_refused_before_anything_is_timed() {
    // Case V01.
    compared(
        "{output: exact}",
        ["matches=1532 bytes=98304\\n", "matches=1532 bytes=98304\\n\\c", "matches=1519 bytes=98304\\n"],
        &[
            "it gives another answer than the control",
            "output sha256: the control has ",
            "line 1, matches: the control has 1532, this has 1519",
        ],
    );
}

#[test]
fn lines_are_compared_in_order_or_as_a_set_as_the_campaign_says() {
    // Case V08, and output that is no text: 0xff is no UTF-8.
    compared("{output: any_order}", ["b\\na\\nc\\n", "a\\nb\\nc\\n", "a\\na\\nb\\n"], &["only this has `a`"]);
    compared(
        "{output: lines}",
        ["a\\n\\377\\n", "a\\r\\n\\377", "\\377\\na\\n"],
        &["line 1: the control has `a`, this has `\\xff`"],
    );
}

#[test]
fn fields_that_may_differ_are_named_one_by_one() {
    // Case V02.
    compared(
        "{output: {fields: {ignore: [elapsed_ms]}}}",
        ["hash=ab12 elapsed_ms=31\\n", "hash=ab12 elapsed_ms=29\\n", "hash=ab13 elapsed_ms=29\\n"],
        &["line 1, hash: the control has ab12, this has ab13"],
    );
}

#[test]
fn json_is_compared_by_what_it_says() {
    compared(
        "{output: {json: {ignore: [/ms], tolerance: {/rate: 1%}}}}",
        [
            "{\"ms\": 5, \"rate\": 1000, \"n\": 3}",
            "{\"n\": 3.0, \"rate\": 1009, \"ms\": 6}",
            "{\"ms\": 5, \"rate\": 1020, \"n\": 3}",
        ],
        &["output /rate: the control has 1000, this has 1020, which is more than 1 % away"],
    );
}

#[test]
fn a_count_is_taken_by_a_pattern() {
    compared(
        "{output: {count: 'hit'}}",
        ["hit a\\nhit b\\n", "hit hit", "hit a\\n"],
        &["count of `hit`: the control has 2, this has 1"],
    );
}

#[test]
fn files_that_are_written_are_compared_and_one_of_an_earlier_run_is_none() {
    let place = tempfile::tempdir().expect("a folder");
    // In a folder of the campaign's own, where what an earlier arm wrote still lies.
    let arms = "control: {set: {text: one}}\ntreatments:\n  - {name: equal, change: {text: '\"one\"'}}\n  \
                - {name: other, change: {text: two}}\n  - {name: lazy, change: {text: none}}";
    let script = "if [ ${text} != none ]; then echo ${text} > out.bin; fi";
    let command = format!("shell: '{script}', cwd: {}", place.path().display());
    let (_, _, evidence) = run(&campaign(arms, &command, "verify: {files: [out.bin]}"));
    measured(&evidence, "/control");
    measured(&evidence, "/equal");
    assert!(refusal(&evidence, "/other").contains("file out.bin: the control has sha256"));
    let lazy = refusal(&evidence, "/lazy");
    assert!(lazy.contains("it did not write the file out.bin"), "{lazy}");
}

#[test]
fn an_output_beyond_what_is_read_is_taken_by_its_digest_and_refused_by_who_must_read_it() {
    let exact = campaign("control: {}", "shell: 'head -c 17000000 /dev/zero'", "");
    let (_, output, evidence) = run(&exact);
    assert_eq!(code(&output), 0, "{}", told(&output));
    measured(&evidence, "/control");
    let (_, _, evidence) = run(&exact.replace("blocks:", "verify: {output: lines}\nblocks:"));
    let reason = refusal(&evidence, "/control");
    assert!(reason.contains("it wrote 17000000 bytes, and at most 16.0 MiB are read"), "{reason}");
}

#[test]
fn a_run_that_answers_wrongly_is_rejected_however_fast() {
    let place = tempfile::tempdir().expect("a folder");
    let proven = place.path().join("proven");
    // The first time it does the work; ever after it does not.
    let script = format!(
        "if [ ${{how}} = honest ]; then echo matches=9; elif [ -e {0} ]; then echo matches=0; \
         else touch {0}; echo matches=9; fi",
        proven.display()
    );
    let arms = "control: {set: {how: honest}}\ntreatments: [{name: lazy, change: {how: lazy}}]";
    let (desk, output, evidence) = run(&campaign(arms, &format!("shell: '{script}'"), ""));
    assert_eq!(code(&output), 5, "{}", told(&output));
    measured(&evidence, "/control");
    for run in runs(&evidence, "/lazy") {
        assert_eq!(run.outcome, RunOutcome::Rejected);
        let reason = run.reason.as_deref().unwrap_or_default();
        assert!(reason.starts_with("it gives another answer than its proof"), "{reason}");
        assert!(reason.contains("line 1, matches: its proof has 9, this has 0"), "{reason}");
    }
    let rejected = std::fs::read_to_string(desk.record("reports").join("rejected.csv")).expect("the table");
    assert!(rejected.contains("this has 0"), "{rejected}");
}

/// The first seed: a file is rejected on its first four bytes, by a program that pulls all of it in and by one
/// that reads four.
fn whole_file(place: &Path, verify: &str) -> String {
    let capture = place.join("capture.pcap");
    let file = std::fs::File::create(&capture).expect("a file");
    file.set_len(16 << 20).expect("a sparse file");
    let told = "print substr($b, 0, 4) eq \"\\x0a\\x0d\\x0d\\x0a\" ? \"merged\\n\" : \"not merged\\n\"";
    let arms = "control: {set: {how: mended}}\ntreatments:\n  - {name: twin, change: {how: again}}\n  \
                - {name: whole, change: {how: whole}}";
    let script = format!(
        "open F, \"<\", $ARGV[1]; binmode F; if ($ARGV[0] eq \"whole\") {{ local $/; $b = <F> }} else {{ sysread F, $b, 4 }} {told}"
    );
    let command = format!(
        "run: [perl, -e, {}, '${{how}}', {path}], inputs: [{path}]",
        serde_json::to_string(&script).expect("text"),
        path = capture.display()
    );
    campaign(arms, &command, verify)
}

#[test]
fn the_program_that_reads_all_to_reject_on_four_bytes_is_refused_though_its_answer_is_right() {
    let place = tempfile::tempdir().expect("a folder");
    let text = whole_file(place.path(), "verify: {effects: [bytes_read <= 1MiB, page_faults <= 100000]}");
    let (_, output, evidence) = run(&text);
    assert_eq!(code(&output), 4, "{}", told(&output));
    measured(&evidence, "/control");
    measured(&evidence, "/twin");
    let reason = refusal(&evidence, "/whole");
    assert!(reason.starts_with("it does not hold `bytes_read <= 1MiB`: bytes_read is 16"), "{reason}");
    // Bytes read never stand alone, since they do not see mapped files.
    for beside in ["(16.0 MiB), minor_faults ", ", major_faults ", ", peak_rss "] {
        assert!(reason.contains(beside), "{reason}");
    }
    let answers: Vec<_> = evidence.proofs.iter().map(|proof| &proof.proof.answer).collect();
    assert_eq!(answers.len(), 3);
    assert!(answers.iter().all(|answer| *answer == answers[0]), "its answer is right: {answers:?}");
    let run = runs(&evidence, "/control")[0];
    for figure in ["bytes_read", "bytes_written", "page_faults", "minor_faults", "major_faults"] {
        assert!(run.values.contains_key(figure), "{figure}: {:?}", run.values);
    }
    let instructions = run.values.get("instructions").is_some_and(|count| *count > 0.0);
    let why = run.absent.get("instructions").is_some_and(|why| !why.is_empty());
    assert!(instructions != why, "counted, or why not: {:?} {:?}", run.values, run.absent);
}

#[test]
fn a_rise_of_bytes_read_is_told_where_nobody_asserted_it() {
    let place = tempfile::tempdir().expect("a folder");
    let (_, output, evidence) = run(&whole_file(place.path(), ""));
    assert_eq!(code(&output), 0, "{}", told(&output));
    measured(&evidence, "/whole");
    let findings = fieldtrial::analysis::judge::judge(&evidence);
    let rises: Vec<&String> =
        findings.run_cautions.iter().filter(|text| text.contains("bytes_read")).collect();
    assert_eq!(rises.len(), 1, "{:?}", findings.run_cautions);
    assert!(rises[0].starts_with("/whole: bytes_read is 16"), "{rises:?}");
    assert!(stdout(&output).contains("/whole: bytes_read is 16"), "{}", told(&output));
}

#[test]
fn the_work_is_refused_where_the_input_is_another() {
    // Case V03: the candidate was run over another corpus.
    let place = tempfile::tempdir().expect("a folder");
    let corpus = |name: &str, packets: usize| {
        let path = place.path().join(name);
        std::fs::write(&path, "packet\n".repeat(packets)).expect("a corpus");
        path
    };
    let (whole, short) = (corpus("whole", 535), corpus("short", 534));
    let arms = format!(
        "control: {{set: {{corpus: {}}}}}\ntreatments: [{{name: short, change: {{corpus: {}}}}}]",
        whole.display(),
        short.display()
    );
    let command = "run: [echo, done], stdin: '${corpus}'";
    let work = "\n  work: {counted: {run: [grep, -c, packet, '${corpus}'], pattern: '^(\\d+)'}}";
    let text = campaign(&arms, command, "verify: {output: exact}");
    let text = text.replace("stdin: '${corpus}'}\n", &format!("stdin: '${{corpus}}'}}{work}\n"));
    let text = text.replace("blocks:", "responses: [{name: useful_rate}]\nblocks:");
    let (_, _, evidence) = run(&text);
    let reason = refusal(&evidence, "/short");
    assert!(reason.starts_with("it does other work than the control"), "{reason}");
    assert!(reason.contains("units of work: the control has 535, this has 534"), "{reason}");
    assert!(reason.contains("short: the control has (absent), this has sha256"), "{reason}");
    for run in runs(&evidence, "/control") {
        let work = run.work.expect("units of work");
        assert_eq!((work.declared, work.success), (535, 535), "counted in the corpus");
        let rate = run.values["useful_rate"] * run.values["wall_time"];
        assert!((rate - 535.0).abs() < 1e-6, "{rate}");
    }
}

#[test]
fn a_value_is_a_response_and_an_output_without_it_proves_nothing() {
    // Case E11 by the command line; the five reasons are in the comparators' own tests.
    let arms = "control: {set: {text: 'rate=10'}}\ntreatments:\n  - {name: faster, change: {text: 'rate=12'}}\n  \
                - {name: none, change: {text: 'speed=9'}}\n  - {name: empty, change: {text: 'rate='}}\n  \
                - {name: twice, change: {text: 'rate=10 rate=12'}}\n  - {name: huge, change: {text: 'rate=1e400'}}\n  \
                - {name: below, change: {text: 'rate=-5'}}";
    let command = "run: [printf, '${text}'], \
                   values: {rate: {pattern: 'rate=(\\S*)', unit: bit/s, better: higher, range: 0..}}";
    let rest = "verify: {output: ignored}\nresponses: [{name: rate}]";
    let (_, _, evidence) = run(&campaign(arms, command, rest));
    measured(&evidence, "/control");
    measured(&evidence, "/faster");
    assert!(runs(&evidence, "/faster").iter().all(|run| run.values["rate"] == 12.0));
    for (cell, why) in [
        ("/none", "none: "),
        ("/empty", "empty: "),
        ("/twice", "ambiguous: "),
        ("/huge", "not finite: 1e400"),
        ("/below", "out of range: -5 is not in 0.."),
    ] {
        let reason = refusal(&evidence, cell);
        assert!(
            reason.contains("rate has no value from its standard output") && reason.contains(why),
            "{reason}"
        );
    }
    let opening = evidence.opening.as_ref().expect("an opening");
    assert_eq!((opening.responses[0].name.as_str(), opening.responses[0].unit.as_str()), ("rate", "bit/s"));
}

#[test]
fn values_come_from_files_and_standard_error_as_well() {
    let command = "shell: 'mkdir out; echo {\\\"rate\\\": 7} > out/r.json; echo took 3 ms >&2', values: {\
                   rate: {json: /rate, from: {file: out/r.json}, unit: bit/s, better: higher}, \
                   took: {pattern: 'took (\\d+) ms', from: stderr, unit: ms, better: lower}}";
    let (desk, output, evidence) = run(&campaign("control: {}", command, "responses: [{name: rate}]"));
    assert_eq!(code(&output), 0, "{}", told(&output));
    let run = runs(&evidence, "/control")[0];
    assert_eq!((run.values["rate"], run.values["took"]), (7.0, 3.0));
    let runs = std::fs::read_to_string(desk.record("reports").join("runs.csv")).expect("the runs");
    assert!(runs.lines().next().is_some_and(|line| line.contains("took (ms)")), "{runs}");
    assert_eq!(run.roles[0].report.files[0].path, "out/r.json");
}

/// A campaign with a verdict: the seed's counts, from the output of a program that says what it cost as well, so
/// that no busy machine can change the answer.
fn useful(treatment: &str) -> String {
    let arms = format!(
        "control: {{set: {{counts: '{{\"ok\": 40, \"late\": 0, \"broken\": 0, \"cost\": 30}}'}}}}\n\
         treatments: [{{name: quick, change: {{counts: '{treatment}'}}}}]"
    );
    let command = "run: [echo, '${counts}'], values: {cost: {json: /cost, unit: ms, better: lower}}";
    let work =
        "work: {units: 40, success: {json: /ok}, timeout: {json: /late}, transport_error: {json: /broken}}";
    campaign(&arms, command, "verify: {output: ignored}\nresponses: [{name: cost}]")
        .replace("better: lower}}}\n", &format!("better: lower}}}}}}\n  {work}\n"))
        .replace("pilot: true\n", "")
        .replace("count: 2, order: forward", "count: 6")
}

#[test]
fn an_arm_that_completes_less_cannot_win_however_fast() {
    // The second seed: one permit, eight in flight, five of forty done. Here the loser costs a third.
    let (desk, output, evidence) = run(&useful("{\"ok\": 5, \"late\": 35, \"broken\": 0, \"cost\": 10}"));
    assert_eq!(code(&output), 0, "{}", told(&output));
    let work = runs(&evidence, "/quick")[0].work.expect("units of work");
    assert_eq!((work.declared, work.success, work.timeout, work.transport_error), (40, 5, 35, 0));
    let findings = fieldtrial::analysis::judge::judge(&evidence);
    let answer = &findings.answers[0];
    assert!(answer.ratio.is_some_and(|ratio| ratio < 0.5), "it costs a third: {answer:?}");
    assert_eq!(answer.verdict.word(), "inconclusive");
    let why = "quick completed 30 of its 240 units of work and the control 240 of 240, so it cannot be called better";
    assert!(answer.sentence.contains(why), "{}", answer.sentence);
    // The terminal breaks long lines.
    let shown = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("cannot be called better"), "{}", told(&output));
    assert!(shown.contains("/quick: 30 of 240 units done, 210 timed out"), "{}", told(&output));
    let page = std::fs::read_to_string(desk.record("reports").join("index.html")).expect("the page");
    assert!(page.contains("cannot be called better") && page.contains("30 of 240 units done, 210 timed out"));
    // The same, done completely, wins.
    let (_, _, evidence) = run(&useful("{\"ok\": 40, \"late\": 0, \"broken\": 0, \"cost\": 10}"));
    assert_eq!(fieldtrial::analysis::judge::judge(&evidence).answers[0].verdict.word(), "better");
}

#[test]
fn counts_that_do_not_add_up_to_the_declared_work_are_refused() {
    let (_, _, evidence) = run(&useful("{\"ok\": 5, \"late\": 34, \"broken\": 0, \"cost\": 10}"));
    let reason = refusal(&evidence, "/quick");
    assert!(reason.contains("are 39 units of work, and 40 were declared"), "{reason}");
}

fn report(evidence: &Evidence) -> &JobReport {
    &runs(evidence, "/control")[0].roles[0].report
}

#[test]
fn a_role_is_confined_to_its_processors_and_they_are_recorded() {
    let (_, output, evidence) = run(&campaign("control: {}", "run: [nproc], cpus: 1", ""));
    assert_eq!(code(&output), 0, "{}", told(&output));
    assert_eq!(runs(&evidence, "/control")[0].roles[0].stdout_head, "1\n");
    assert_eq!(report(&evidence).cpus.as_ref().map(Vec::len), Some(1));
    let (_, _, evidence) = run(&campaign("control: {}", "run: [nproc], cpus: [1001]", ""));
    let reason = refusal(&evidence, "/control");
    assert!(reason.contains("processor 1001 is not among those of this host"), "{reason}");
}

/// A file on a disk, which a temporary folder need not be on.
fn on_disk() -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let path = place.path().join("input");
    std::fs::write(&path, vec![7; 1 << 20]).expect("a file");
    (place, path)
}

#[test]
fn the_page_cache_is_cold_or_warm_as_asked_and_the_record_proves_it() {
    let (_place, input) = on_disk();
    let of = |cache: &str| {
        campaign("control: {}", &format!("run: [wc, -c], stdin: {}, cache: {cache}", input.display()), "")
    };
    let (_, output, evidence) = run(&of("warm"));
    assert_eq!(code(&output), 0, "{}", told(&output));
    let warm = report(&evidence).cache.expect("asked for");
    assert_eq!((warm.asked, warm.pages, warm.resident), (PageCache::Warm, 256, 256));
    let (_, output, evidence) = run(&of("cold"));
    if code(&output) == 8 && told(&output).contains("keeps files in memory only") {
        return skip("disk", "the build folder is on a file system in memory");
    }
    assert_eq!(code(&output), 0, "{}", told(&output));
    let cold = report(&evidence).cache.expect("asked for");
    assert_eq!((cold.asked, cold.pages, cold.resident), (PageCache::Cold, 256, 0));
}

#[test]
fn a_file_that_lives_in_memory_cannot_be_cold_and_the_cell_is_refused() {
    let Ok(place) = tempfile::tempdir_in("/dev/shm") else {
        return skip("shm", "there is no file system in memory at /dev/shm");
    };
    let input = place.path().join("input");
    std::fs::write(&input, "x").expect("a file");
    let command = format!("run: [cat], stdin: {}, cache: cold", input.display());
    let (_, _, evidence) = run(&campaign("control: {}", &command, ""));
    let reason = refusal(&evidence, "/control");
    assert!(reason.contains("cold is impossible") && reason.contains("in memory only"), "{reason}");
}

#[test]
fn system_calls_are_counted_in_the_proof_and_in_no_timed_run() {
    let command = |verify: &str| {
        let run = "run: [dd, 'if=/dev/zero', 'of=/dev/null', bs=1, count=500, status=none]";
        campaign("control: {}", run, verify)
    };
    let (_, output, evidence) = run(&command(""));
    assert_eq!(code(&output), 0, "{}", told(&output));
    let figures = &evidence.proofs[0].roles[0].report.figures;
    let timed = &report(&evidence).figures;
    assert_eq!((timed.system_calls, timed.absent.get("system_calls")), (None, None), "never in a timed run");
    let Some(calls) = figures.system_calls else {
        let why = figures.absent.get("system_calls").expect("why there are none");
        assert!(why.contains("system calls"), "{why}");
        return skip("syscall-tracepoint", why);
    };
    assert!((1000..3000).contains(&calls), "500 reads and 500 writes: {calls}");
    let (_, _, evidence) = run(&command("verify: {effects: [system_calls <= 100]}"));
    let reason = refusal(&evidence, "/control");
    assert!(reason.contains("it does not hold `system_calls <= 100`"), "{reason}");
}
