//! Known dead ends from the command line: refused, tried again for a reason, and offered after a loss.

use crate::desk::{Desk, code};
use crate::process::told;

const SLOW: &str = "\
campaign: c
question: Does it hold?
hosts: hosts.yaml
dead_ends: known.yaml
control: {name: quick, set: {pause: 0.001}}
treatments: [{name: slow, change: {pause: '0.02'}, because: it's slow}]
workload: {command: {on: here, run: [sleep, '${pause}']}}
blocks: {count: 6, order: mirrored}
timeout: 10s
";

fn entry(facts: &str) -> String {
    format!(
        "dead_ends:\n  long-pause:\n    what: longer pauses\n    change: pause > 0.01\n    facts: {facts}\n    \
         measured: it was slower\n    again: another clock\n"
    )
}

#[test]
fn a_loss_is_offered_as_an_entry_that_refuses_the_same_campaign_until_it_gives_a_reason() {
    let desk = Desk::new(SLOW);
    desk.write("known.yaml", "dead_ends: {}\n");
    let output = desk.fieldtrial(&["run", "c.yaml", "--reports", "first"]);
    let record = desk.record("first");
    let offered = std::fs::read_to_string(record.join("losses.yaml")).unwrap_or_else(|_| told(&output));
    assert!(told(&output).contains("entries ready for a dead-ends file"), "{}", told(&output));
    let page = std::fs::read_to_string(record.join("index.html")).expect("a page");
    assert!(page.contains("ready to paste") && page.contains("pause == 0.02"), "{offered}");

    desk.write("known.yaml", &offered);
    let output = desk.fieldtrial(&["check", "c.yaml"]);
    assert_eq!(code(&output), 0, "facts of the host decide, and nobody knows them yet: {}", told(&output));
    let output = desk.fieldtrial(&["run", "c.yaml", "--reports", "second"]);
    let turned_down = std::fs::read_to_string(desk.record("second").join("rejected.csv")).expect("a table");
    for wanted in ["\"/slow\",\"slow\",\"host\"", "repeats the dead end `c-slow`", "cpu_count == 2, here too"]
    {
        let wanted = wanted.replace("== 2", &format!("== {}", std::thread::available_parallelism().unwrap()));
        assert!(turned_down.contains(&wanted), "{wanted}: {turned_down}");
    }
    assert!(!turned_down.contains("\"/quick\"") && code(&output) == 4, "{}", told(&output));

    desk.write("c.yaml", &(SLOW.to_owned() + "reattempt: {c-slow: the clock is another}\n"));
    let output = desk.fieldtrial(&["plan", "c.yaml"]);
    assert!(told(&output).contains("tries the dead end `c-slow` again: the clock is another"));
    let output = desk.fieldtrial(&["run", "c.yaml", "--reports", "third"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    let record = desk.record("third");
    let page = std::fs::read_to_string(record.join("index.html")).expect("a page");
    assert!(page.contains("Tries a dead end again: c-slow</dt><dd>the clock is another"));
    // The record has the file as it was, and does not take another for it.
    desk.write("known.yaml", "nothing of use");
    let record = record.to_str().expect("text");
    assert_eq!(code(&desk.fieldtrial(&["resume", record])), 0);
    std::fs::write(format!("{record}/dead-ends.yaml"), "dead_ends: {}\n").expect("written");
    let output = desk.fieldtrial(&["resume", record]);
    assert!(code(&output) == 2 && told(&output).contains("was changed after"), "{}", told(&output));
}

#[test]
fn check_refuses_a_repeat_at_its_arm_where_levels_alone_decide() {
    let desk = Desk::new(SLOW);
    desk.write("known.yaml", &entry("{}"));
    for command in ["check", "plan", "run"] {
        let output = desk.fieldtrial(&[command, "c.yaml"]);
        assert_eq!(code(&output), 2, "{command}: {}", told(&output));
        for wanted in [
            "c.yaml:6:14",
            "/slow repeats the dead end `long-pause` (longer pauses): it was slower",
            "another clock",
        ] {
            assert!(told(&output).contains(wanted), "{wanted}: {}", told(&output));
        }
    }
    for (from, to) in [
        (
            "reattempt",
            "treatments: [{name: slow, change: {pause: '0.02'}, because: it's slow}]\nreattempt: {long-pause: why}",
        ),
        (
            "a pause that is no longer",
            "treatments: [{name: slow, change: {pause: '0.002'}, because: it's slow}]",
        ),
    ] {
        let treatments = SLOW.lines().find(|line| line.starts_with("treatments")).expect("arms");
        desk.write("c.yaml", &SLOW.replace(treatments, to));
        assert_eq!(code(&desk.fieldtrial(&["check", "c.yaml"])), 0, "{from}");
    }
    desk.write("known.yaml", &entry("{clock: clocksource == sundial}"));
    desk.write("c.yaml", SLOW);
    let output = desk.fieldtrial(&["run", "c.yaml", "--reports", "other"]);
    assert_eq!(code(&output), 0, "a known fact differs: {}", told(&output));
}

#[test]
fn a_reason_for_an_unknown_dead_end_and_a_missing_file_are_refused() {
    let desk = Desk::new(&(SLOW.to_owned() + "reattempt: {long-paus: why}\n"));
    let output = desk.fieldtrial(&["check", "c.yaml"]);
    assert!(code(&output) == 2 && told(&output).contains("names the dead-ends file"), "{}", told(&output));
    desk.write("known.yaml", &entry("{}"));
    let output = desk.fieldtrial(&["check", "c.yaml"]);
    assert!(told(&output).contains("no dead end is called `long-paus`"), "{}", told(&output));
    desk.write("known.yaml", "dead_ends: {x: {what: w}}\n");
    let output = desk.fieldtrial(&["check", "c.yaml"]);
    assert!(told(&output).contains("lacks the key `measured`"), "{}", told(&output));
}

#[test]
fn the_campaign_of_the_rig_is_planned_and_wide_batches_on_it_are_a_dead_end_before_any_host_is_asked() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let shipped = std::fs::read_to_string(root.join("campaigns/e810-line-rate.yaml")).expect("shipped");
    let text = shipped
        .replace("../hosts/", &format!("{}/hosts/", root.display()))
        .replace("dead_ends: ", &format!("dead_ends: {}/campaigns/", root.display()));
    let desk = Desk::new(&text);
    assert_eq!(code(&desk.fieldtrial(&["check", "c.yaml"])), 0);
    let output = desk.fieldtrial(&["plan", "c.yaml"]);
    assert!(told(&output).contains("8 cells, 8 blocks, 64 runs"), "{}", told(&output));

    desk.write("c.yaml", &text.replace("    streams: 7\n", "    streams: 8\n").replace("streams: 7, ", ""));
    let output = desk.fieldtrial(&["check", "c.yaml"]);
    let wanted = "8 streams need a queue each, found 7 queues";
    assert!(code(&output) == 2 && told(&output).contains(wanted), "{}", told(&output));

    // The hosts file expects `ice`, and how many CPUs there are is not known, so the hosts decide.
    let wide = text.replace("    streams: 7\n", "    streams: 7\n    batch: 128\n");
    desk.write("c.yaml", &wide);
    assert_eq!(code(&desk.fieldtrial(&["check", "c.yaml"])), 0);
    let known = std::fs::read_to_string(root.join("campaigns/dead-ends.yaml")).expect("shipped");
    let known = known.replace("      threads: cpu_count <= 20\n", "");
    desk.write("known.yaml", &known);
    desk.write("c.yaml", &wide.replace(&format!("{}/campaigns/dead-ends", root.display()), "known"));
    let output = desk.fieldtrial(&["check", "c.yaml"]);
    assert!(code(&output) == 2 && told(&output).contains("`batches-over-64`"), "{}", told(&output));
}
