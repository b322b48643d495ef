//! The workload and how its results are compared, as read from the file.

use std::collections::BTreeMap;

use super::draft::{Blank, Draft, Preset};
use super::packets;
use super::work::Field;
use crate::model::workload::{CommandDeclared, Invocation, OutputRule, Workload};
use crate::yaml::{Complaint, Entry, Fields, Kind, Node};

pub(super) const WORKLOAD_KEYS: [&str; 2] = ["packets", "command"];
pub(super) const COMMAND_KEYS: [&str; 7] = ["on", "run", "shell", "env", "cwd", "stdin", "inputs"];
pub(super) const VERIFY_KEYS: [&str; 2] = ["frames", "output"];

/// Reads `workload` and `verify`; None when too little of it could be read.
pub(super) fn read<'a>(
    entry: &'a Entry,
    verify: Option<&'a Entry>,
    draft: &mut Draft<'a>,
) -> Option<Workload> {
    let verify = verify.and_then(|entry| {
        Fields::open(&entry.value, entry.key.span, "`verify`", &VERIFY_KEYS, &mut draft.out)
    });
    let fields = Fields::open(&entry.value, entry.key.span, "`workload`", &WORKLOAD_KEYS, &mut draft.out)?;
    match (fields.get("packets"), fields.get("command")) {
        (Some(frames), None) => {
            draft.note("workload.packets", &frames.key);
            draft.preset = Some(Preset::Packets);
            refuse(verify, "output", "a `command` workload", draft);
            packets::read(frames, verify, draft).map(|packets| Workload::Packets(Box::new(packets)))
        }
        (None, Some(command)) => {
            draft.note("workload.command", &command.key);
            draft.preset = Some(Preset::Command);
            refuse(verify, "frames", "a `packets` workload", draft);
            self::command(command, verify, draft).map(Workload::Command)
        }
        (Some(packets), Some(command)) => {
            let message = "expected one workload, found `packets` and `command`";
            draft
                .out
                .push(Complaint::error(command.key.span, message).also(packets.key.span, "the other one"));
            None
        }
        (None, None) => {
            draft.out.push(Complaint::error(fields.at, "expected `packets` or `command` in `workload`"));
            None
        }
    }
}

/// Complains about a key of `verify` that belongs to the other workload.
fn refuse(verify: Option<Fields<'_>>, key: &str, owner: &str, draft: &mut Draft<'_>) {
    if let Some(entry) = verify.and_then(|verify| verify.get(key)) {
        let message = format!("`verify.{key}` belongs to {owner}, and this is none");
        draft.out.push(Complaint::error(entry.key.span, message).help("take it out"));
    }
}

/// Planning complains about hosts and ports that the hosts file lacks, and then needs their places.
pub(super) fn note_keys(fields: &Fields<'_>, keys: &[&str], path: &str, draft: &mut Draft<'_>) {
    for entry in keys.iter().filter_map(|key| fields.get(key)) {
        draft.places.note(format!("{path}.{}", entry.key.value), entry.value.span);
    }
}

fn command<'a>(
    entry: &'a Entry,
    verify: Option<Fields<'a>>,
    draft: &mut Draft<'a>,
) -> Option<CommandDeclared> {
    let what = "`command`";
    let fields = Fields::open(&entry.value, entry.key.span, what, &COMMAND_KEYS, &mut draft.out)?;
    note_keys(&fields, &COMMAND_KEYS, "workload.command", draft);
    let on =
        fields.need("on", what, &mut draft.out).and_then(|on| blank(&on.value, "on", Field::Host, draft));
    let program = program(&fields, draft);
    let env = fields.get("env").map_or(Some(BTreeMap::new()), |env| environment(&env.value, draft));
    let mut path = |key: &str| match fields.get(key) {
        Some(entry) => blank(&entry.value, key, Field::Words, draft).map(Some),
        None => Some(None),
    };
    let (cwd, stdin) = (path("cwd"), path("stdin"));
    let inputs = fields.get("inputs").map_or(Some(Vec::new()), |entry| list(entry, "inputs", draft));
    let rules =
        [("exact", OutputRule::Exact), ("any_order", OutputRule::AnyOrder), ("ignored", OutputRule::Ignored)];
    let compare = match verify.and_then(|verify| verify.get("output")) {
        Some(entry) => entry.value.choice("`verify.output`", &rules, &mut draft.out),
        None => Some(OutputRule::Exact),
    };
    Some(CommandDeclared {
        on: on?,
        program: program?,
        env: env?,
        cwd: cwd?,
        stdin: stdin?,
        inputs: inputs?,
        compare: compare?,
    })
}

fn program<'a>(fields: &Fields<'a>, draft: &mut Draft<'a>) -> Option<Invocation> {
    match (fields.get("run"), fields.get("shell")) {
        (Some(run), None) if matches!(run.value.kind, Kind::Scalar { .. }) => {
            blank(&run.value, "run", Field::Line, draft).map(Invocation::Line)
        }
        (Some(run), None) => {
            let argv = list(run, "run", draft)?;
            if argv.is_empty() {
                run.value.expected("`run`", "a program and its arguments", &mut draft.out);
                return None;
            }
            Some(Invocation::Argv(argv))
        }
        (None, Some(shell)) => blank(&shell.value, "shell", Field::Words, draft).map(Invocation::Shell),
        (Some(run), Some(shell)) => {
            let message = "expected one of `run` and `shell`, found both";
            draft.out.push(Complaint::error(shell.key.span, message).also(run.key.span, "the other one"));
            None
        }
        (None, None) => {
            let help = "`run: program argument` starts it directly, `shell: text` through /bin/sh";
            draft.out.push(Complaint::error(fields.at, "`command` lacks the key `run`").help(help));
            None
        }
    }
}

fn environment<'a>(node: &'a Node, draft: &mut Draft<'a>) -> Option<BTreeMap<String, String>> {
    let entries = node.entries("`env`", &mut draft.out)?;
    let mut env = Some(BTreeMap::new());
    for Entry { key, value } in entries {
        if key.value.is_empty() || key.value.contains(['=', '\0']) {
            let message = format!("`env`: expected a name without `=`, found `{}`", key.value);
            draft.out.push(Complaint::error(key.span, message));
        }
        match (blank(value, "env", Field::Text, draft), env.as_mut()) {
            (Some(text), Some(env)) => drop(env.insert(key.value.clone(), text)),
            _ => env = None,
        }
    }
    env
}

fn list<'a>(entry: &'a Entry, key: &str, draft: &mut Draft<'a>) -> Option<Vec<String>> {
    let items = entry.value.items(&format!("`{key}`"), &mut draft.out)?;
    let kind = |at: usize| if key == "run" && at > 0 { Field::Text } else { Field::Words };
    // Every item is read before the first failure counts, so that all are complained about.
    let read: Vec<Option<String>> =
        items.iter().enumerate().map(|(at, item)| blank(item, key, kind(at), draft)).collect();
    read.into_iter().collect()
}

/// Reads one template and notes it for the checks.
pub(super) fn blank<'a>(node: &'a Node, what: &str, field: Field, draft: &mut Draft<'a>) -> Option<String> {
    let Kind::Scalar { text, .. } = &node.kind else {
        node.expected(&format!("`{what}`"), "text or a number", &mut draft.out);
        return None;
    };
    draft.blanks.push(Blank { what: what.to_owned(), field, node, template: text });
    Some(text.clone())
}
