//! Hostile text in every field of every event stays text.

use std::collections::BTreeSet;

use serde_json::Value;

use super::page;
use crate::analysis::judge::judge;
use crate::evidence::event::{ChangeNote, Event, PutBackNote, Sample};
use crate::evidence::example::{self, Record};
use crate::evidence::fold::Evidence;
use crate::model::arm::ArmKind;
use crate::model::change::PutBack;
use crate::model::job::{End, FileId};
use crate::model::outcome::{Fate, RunOutcome};
use crate::model::work_counts::WorkCounts;

/// Ends tags, attributes, elements, comments, entities and paths, and moves the cursor of a terminal.
const NASTY: &str = "'\"></title></script></style></svg><img src=x onerror=alert(1)><script>alert(2)</script><!-- &lt;{{ 7*7 }}{% raw %}\u{1b}[31m\u{202e}#%";

/// A record with as many kinds of events as there are.
fn record() -> Record {
    let mut record = Record::open(&[("new", ArmKind::Treatment), ("both", ArmKind::Combination)], 3);
    let [old, new] = ["old", "new"].map(|arm| record.cell(&[("size", "1")], arm, Fate::Live, None));
    record.cell(&[("size", "1")], "both", Fate::Refused, Some(("proof", "another answer", "41 is not 42")));
    record.push(Event::Changed(ChangeNote {
        host: "h1".into(),
        fact: "governor".into(),
        was: "performance".into(),
        now: "powersave".into(),
        after: 1,
    }));
    for block in 1..=3 {
        record.block(block, None, &[&old, &new]);
        for (cell, outcome) in
            [(&old, RunOutcome::Measured), (&new, RunOutcome::Measured), (&new, RunOutcome::TimedOut)]
        {
            let mut note = example::run(&cell.0, block, 1.0 + f64::from(block) / 10.0);
            if outcome != RunOutcome::Measured {
                note.run.attempt = 2;
                note.outcome = outcome;
                note.reason = Some("still running".into());
            }
            note.absent.insert("other".into(), "not asked".into());
            note.cautions.insert("host-bound".into(), "first".into());
            note.work = Some(WorkCounts { declared: 1, success: 1, ..WorkCounts::default() });
            note.samples = (0..3)
                .map(|i| Sample { metric: "rate".into(), at_ns: i, value: 1.0, settling: i == 0, step: None })
                .collect();
            let mut role = example::role("run", "h1", "/usr/bin/scan", End::NotStarted("gone".into()));
            role.stdout_head = "out".into();
            role.stderr_head = "err".into();
            let file = FileId { path: "/usr/bin/scan".into(), bytes: 3, sha256: "aa".into() };
            role.report.inputs = vec![file.clone()];
            role.report.program = Some(file);
            note.roles = vec![role];
            record.run(note);
        }
    }
    let done = PutBack { stuck: vec!["mtu".into()], ..PutBack::default() };
    record.push(Event::PutBack(PutBackNote { host: "h1".into(), at_start: false, done }));
    record.push(Event::Closed { complete: true, reason: None });
    record
}

/// Every text of a value, one after the other, made hostile where the event still is one with it.
fn poison(event: &Event) -> (Event, usize) {
    let mut value = serde_json::to_value(event).expect("json");
    let mut paths = vec![];
    texts(&value, &mut String::new(), &mut paths);
    let mut poisoned = 0;
    for path in paths {
        let before = value.pointer(&path).cloned().expect("path");
        let text = format!("{}{NASTY}", before.as_str().expect("text"));
        *value.pointer_mut(&path).expect("path") = Value::String(text);
        match serde_json::from_value::<Event>(value.clone()) {
            Ok(_) => poisoned += 1,
            // A word of a fixed list.
            Err(_) => *value.pointer_mut(&path).expect("path") = before,
        }
    }
    (serde_json::from_value(value).expect("an event"), poisoned)
}

fn texts(value: &Value, path: &mut String, into: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::String(_) => {
            into.push(path.clone());
            return;
        }
        Value::Array(items) => items.iter().enumerate().map(|(i, v)| (i.to_string(), v)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(k, v)| (k.replace('~', "~0").replace('/', "~1"), v)).collect()
        }
        _ => return,
    };
    for (name, child) in children {
        let length = path.len();
        path.push('/');
        path.push_str(&name);
        texts(child, path, into);
        path.truncate(length);
    }
}

#[test]
fn hostile_text_in_every_field_stays_text() {
    let clean = record();
    let mut evidence = Evidence::default();
    let mut poisoned = 0;
    for (i, event) in clean.events.iter().enumerate() {
        let (event, count) = poison(event);
        poisoned += count;
        evidence.apply(&format!("2026-11-30T10:00:{:02}Z{NASTY}", i % 60), event);
    }
    assert!(poisoned > 250, "only {poisoned} texts could be made hostile");
    let html = page(&evidence, &judge(&evidence)).expect("page");
    assert!(html.matches("alert(2)").count() > 50, "the text is there, as text");
    let innocent = page(&clean.evidence, &judge(&clean.evidence)).expect("page");
    let strange: Vec<String> = elements(&html).difference(&elements(&innocent)).cloned().collect();
    assert_eq!(strange, Vec::<String>::new(), "elements that an innocent record does not have");
    assert_eq!(html.matches("<script>").count(), 1, "our own");
    for raw in ["<img", "<!--", "onerror=alert(1)>", "</title></script>", "\"></", "\u{1b}", "\u{202e}"] {
        let seen = html.matches(raw).count();
        assert!(seen <= innocent.matches(raw).count(), "{raw:?} is on the page");
    }
}

/// Names of all elements and their attributes.
fn elements(html: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    // Between the tags of the script `<` is an operator.
    let (head, tail) = html.split_once("<script>").expect("our script");
    let tail = tail.split_once("</script>").expect("its end").1;
    for tag in head.split('<').skip(1).chain(tail.split('<').skip(1)) {
        let tag = tag.split_once('>').expect("a tag ends").0;
        let mut quoted = false;
        let bare: String = tag
            .chars()
            .filter(|c| {
                quoted ^= *c == '"';
                !quoted && *c != '"'
            })
            .collect();
        assert!(!quoted, "a quote stays open in <{tag}>");
        found.extend(bare.split_whitespace().map(|word| word.trim_end_matches('/').to_owned()));
    }
    found
}
