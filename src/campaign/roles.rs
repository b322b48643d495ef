//! The roles of a workload, as read from the file.

use std::collections::BTreeMap;

use super::draft::Draft;
use super::work::Field;
use super::workload::{blank, note_keys};
use super::{artifact, naming, phases, values};
use crate::model::role::{
    CpusDeclared, Ends, Invocation, ReadyDeclared, ReadyWhenDeclared, RoleDeclared, SIGNALS, SetupTime, ranks,
};
use crate::yaml::{Complaint, Entry, Fields, Kind, Node, unknown};

/// Keys of a program that is the only role.
pub(super) const COMMAND_KEYS: [&str; 17] = [
    "on",
    "run",
    "shell",
    "tool",
    "env",
    "cwd",
    "stdin",
    "inputs",
    "cpus",
    "cache",
    "build",
    "artifact",
    "setup",
    "warmup",
    "invocations",
    "teardown",
    "values",
];
/// Keys of a role among several, beside those.
pub(super) const ROLE_KEYS: [&str; 4] = ["after", "ready", "ends", "timed"];
pub(super) const READY_KEYS: [&str; 3] = ["port", "line", "within"];
pub(super) const ENDS_KEYS: [&str; 2] = ["with", "signal"];

/// Name of the one role of a `command`.
const ONLY: &str = "run";
/// Until a role is ready; one that takes longer declares it.
const WITHIN: &str = "10s";
/// What asks a Unix program to end.
const SIGNAL: i32 = 15;

/// A role half read: its references to others are still names.
struct Half<'a> {
    role: RoleDeclared,
    entry: &'a Entry,
    after: Option<&'a Entry>,
    with: Option<&'a Entry>,
    timed: Option<bool>,
}

/// Reads `command`, the short form of one role.
pub(super) fn command<'a>(entry: &'a Entry, draft: &mut Draft<'a>) -> Option<Vec<RoleDeclared>> {
    let fields = Fields::open(&entry.value, entry.key.span, "`command`", &COMMAND_KEYS, &mut draft.out)?;
    let half = half(ONLY, entry, &fields, "`command`", draft)?;
    tie(vec![half], &[ONLY], draft)
}

/// Reads `roles`; None when too little of one of them could be read.
pub(super) fn read<'a>(entry: &'a Entry, draft: &mut Draft<'a>) -> Option<Vec<RoleDeclared>> {
    let entries = entry.value.entries("`roles`", &mut draft.out)?;
    if entries.is_empty() {
        entry.value.expected("`roles`", "at least one role", &mut draft.out);
    }
    let keys: Vec<&str> = COMMAND_KEYS.into_iter().chain(ROLE_KEYS).collect();
    let names: Vec<&str> = entries.iter().map(|entry| entry.key.value.as_str()).collect();
    let mut halves = vec![];
    for entry in entries {
        naming::identifier(&entry.key, "the name of a role", &mut draft.out);
        draft.note(format!("workload.roles.{}", entry.key.value), &entry.key);
        let what = format!("the role `{}`", entry.key.value);
        let fields = Fields::open(&entry.value, entry.key.span, &what, &keys, &mut draft.out);
        halves.push(fields.and_then(|fields| half(&entry.key.value, entry, &fields, &what, draft)));
    }
    let halves: Vec<Half<'_>> = halves.into_iter().collect::<Option<_>>()?;
    tie(halves, &names, draft)
}

/// What a role is by itself.
fn half<'a>(
    name: &str,
    entry: &'a Entry,
    fields: &Fields<'a>,
    what: &str,
    draft: &mut Draft<'a>,
) -> Option<Half<'a>> {
    note_keys(fields, &COMMAND_KEYS, &format!("workload.roles.{name}"), draft);
    note_keys(fields, &ROLE_KEYS, &format!("workload.roles.{name}"), draft);
    draft.in_artifact = fields.get("artifact").is_some();
    let read = half_read(name, entry, fields, what, draft);
    draft.in_artifact = false;
    read
}

fn half_read<'a>(
    name: &str,
    entry: &'a Entry,
    fields: &Fields<'a>,
    what: &str,
    draft: &mut Draft<'a>,
) -> Option<Half<'a>> {
    let on =
        fields.need("on", what, &mut draft.out).and_then(|on| blank(&on.value, "on", Field::Host, draft));
    let program = program(fields, what, draft);
    let phases = phases::read(fields, draft);
    let (build, artifact) = (artifact::build(fields, draft), artifact::read(fields, draft));
    let env = fields.get("env").map_or(Some(BTreeMap::new()), |env| environment(&env.value, draft));
    let mut maybe = |key: &str, field: Field| match fields.get(key) {
        Some(entry) => blank(&entry.value, key, field, draft).map(Some),
        None => Some(None),
    };
    let (cwd, stdin) = (maybe("cwd", Field::Words), maybe("stdin", Field::Words));
    let cache = maybe("cache", Field::Cache);
    let inputs = fields.get("inputs").map_or(Some(Vec::new()), |entry| list(entry, "inputs", draft));
    if let (Some(entry), None, None) = (fields.get("cache"), fields.get("inputs"), fields.get("stdin")) {
        let message = "`cache` is about the input files of a role, and this one has none";
        draft.out.push(Complaint::error(entry.key.span, message).help("name them in `inputs` or `stdin`"));
    }
    let cpus = fields.get("cpus").map(|entry| cpus(entry, draft));
    let ready = fields.get("ready").map(|entry| ready(entry, draft));
    let ends = fields.get("ends").map(|entry| ends(entry, draft));
    let values = fields.get("values").map_or(Some(vec![]), |entry| values::read(entry, draft));
    let timed = fields.get("timed").map(|entry| entry.value.flag("`timed`", &mut draft.out));
    let (with, signal) = match ends {
        Some(ends) => ends?,
        None => (None, SIGNAL),
    };
    let given = |all: Option<Option<_>>| all.is_none_or(|read| read.is_some());
    if !given(timed) {
        return None;
    }
    Some(Half {
        role: RoleDeclared {
            name: name.to_owned(),
            on: on?,
            program: program?,
            env: env?,
            cwd: cwd?,
            stdin: stdin?,
            inputs: inputs?,
            cpus: cpus.map_or(Some(None), |cpus| cpus.map(Some))?,
            cache: cache?,
            after: vec![],
            ready: ready.map_or(Some(None), |ready| ready.map(Some))?,
            ends: match with {
                Some(_) => Ends::With { roles: vec![], signal },
                None => Ends::ByItself,
            },
            timed: false,
            values: values?,
            phases: phases?,
            build: build?,
            artifact: artifact?,
        },
        entry,
        after: fields.get("after"),
        with,
        timed: timed.flatten(),
    })
}

/// Roles refer to each other: by whom they wait for, and with whom they end.
fn tie(halves: Vec<Half<'_>>, names: &[&str], draft: &mut Draft<'_>) -> Option<Vec<RoleDeclared>> {
    let mut roles: Vec<RoleDeclared> = vec![];
    let mut whole = true;
    for (at, half) in halves.iter().enumerate() {
        let mut role = half.role.clone();
        let mut others = |entry: Option<&Entry>, key: &str| {
            entry.map_or(Some(vec![]), |entry| references(entry, key, at, names, draft))
        };
        let (after, with) = (others(half.after, "after"), others(half.with, "ends.with"));
        whole &= after.is_some() && with.is_some();
        role.after = after.unwrap_or_default();
        if let Ends::With { roles, .. } = &mut role.ends {
            *roles = with.unwrap_or_default();
        }
        role.timed = half.timed.unwrap_or(role.ends == Ends::ByItself);
        roles.push(role);
    }
    if !whole {
        return None;
    }
    let place = |at: usize| halves[at].entry.key.span;
    if ranks(&roles.iter().map(|role| role.after.as_slice()).collect::<Vec<_>>()).is_none() {
        draft.out.push(Complaint::error(place(0), "roles wait for each other in a circle, by `after`"));
    }
    let with: Vec<&[usize]> = roles
        .iter()
        .map(|role| if let Ends::With { roles, .. } = &role.ends { roles.as_slice() } else { &[] })
        .collect();
    if ranks(&with).is_none() {
        let message = "roles end with each other in a circle, so none of them ever ends";
        draft.out.push(Complaint::error(place(0), message));
    }
    for at in 0..roles.len() {
        let awaited = roles.iter().any(|other| other.after.contains(&at));
        if awaited && matches!(roles[at].program, Invocation::Tool(_)) {
            // Fieldtrial's own tools say it.
            roles[at]
                .ready
                .get_or_insert(ReadyDeclared { when: ReadyWhenDeclared::Event, within: WITHIN.to_owned() });
        }
    }
    for (at, role) in roles.iter().enumerate() {
        let waiting = roles.iter().position(|other| other.after.contains(&at));
        if let (Some(waiting), None) = (waiting, &role.ready) {
            let message =
                format!("`{}` waits for `{}`, which never says that it is ready", names[waiting], role.name);
            let help = "write `ready: {port: N}`, `ready: {line: 'pattern'}` or `ready: event`";
            draft.out.push(Complaint::error(place(at), message).help(help));
        }
    }
    roles.iter().enumerate().for_each(|(at, role)| phases::fit(role, place(at), draft));
    draft.setup_time |=
        roles.iter().any(|role| matches!(role.phases.setup, Some((_, SetupTime::Response))) && role.timed);
    if !roles.is_empty() && !roles.iter().any(|role| role.timed) {
        let help = "write `timed: true` in the one whose time is the run's";
        draft.out.push(Complaint::error(place(0), "no role is timed").help(help));
    }
    Some(roles)
}

/// One name of another role, or a list of some.
fn references(
    entry: &Entry,
    key: &str,
    own: usize,
    names: &[&str],
    draft: &mut Draft<'_>,
) -> Option<Vec<usize>> {
    let items = match &entry.value.kind {
        Kind::Sequence(items) => items.as_slice(),
        _ => std::slice::from_ref(&entry.value),
    };
    let mut found = vec![];
    for item in items {
        let name = item.text(&format!("`{key}`"), &mut draft.out)?;
        match names.iter().position(|known| *known == name.value) {
            Some(at) if at == own => {
                let message = format!("`{key}`: the role `{}` is named by itself", name.value);
                draft.out.push(Complaint::error(name.span, message));
                return None;
            }
            Some(at) if found.contains(&at) => {}
            Some(at) => found.push(at),
            None => {
                let message = format!("`{key}`: no role is called `{}`", name.value);
                let others = names.iter().copied().filter(|other| *other != names[own]);
                draft.out.push(unknown(name.span, message, name.value, others));
                return None;
            }
        }
    }
    Some(found)
}

pub(super) fn program<'a>(fields: &Fields<'a>, what: &str, draft: &mut Draft<'a>) -> Option<Invocation> {
    let given: Vec<&Entry> = ["run", "shell", "tool"].iter().filter_map(|key| fields.get(key)).collect();
    let [only] = given[..] else {
        match given[..] {
            [first, second, ..] => {
                let message = format!("expected one of `run`, `shell` and `tool`, found {}", given.len());
                let complaint = Complaint::error(second.key.span, message);
                draft.out.push(complaint.also(first.key.span, "the other one"));
            }
            _ => {
                let help = "`run: program argument` starts it directly, `shell: text` through /bin/sh, `tool: [name, argument]` is one of fieldtrial's own";
                draft.out.push(Complaint::error(fields.at, format!("{what} lacks the key `run`")).help(help));
            }
        }
        return None;
    };
    let key = only.key.value.as_str();
    if key == "shell" {
        return blank(&only.value, "shell", Field::Words, draft).map(Invocation::Shell);
    }
    if key == "run" && matches!(only.value.kind, Kind::Scalar { .. }) {
        return blank(&only.value, "run", Field::Line, draft).map(Invocation::Line);
    }
    let words = list(only, key, draft)?;
    if words.is_empty() {
        only.value.expected(&format!("`{key}`"), "a program and its arguments", &mut draft.out);
        return None;
    }
    Some(if key == "run" { Invocation::Argv(words) } else { Invocation::Tool(words) })
}

pub(super) fn environment<'a>(node: &'a Node, draft: &mut Draft<'a>) -> Option<BTreeMap<String, String>> {
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

/// `cpus: 2` is any two, `cpus: [0, 1]` are exactly these.
fn cpus<'a>(entry: &'a Entry, draft: &mut Draft<'a>) -> Option<CpusDeclared> {
    let Kind::Sequence(items) = &entry.value.kind else {
        return blank(&entry.value, "cpus", Field::CpuCount, draft).map(CpusDeclared::Count);
    };
    if items.is_empty() {
        entry.value.expected("`cpus`", "at least one processor", &mut draft.out);
        return None;
    }
    let read: Vec<Option<String>> = items.iter().map(|item| blank(item, "cpus", Field::Cpu, draft)).collect();
    read.into_iter().collect::<Option<_>>().map(CpusDeclared::List)
}

fn ready<'a>(entry: &'a Entry, draft: &mut Draft<'a>) -> Option<ReadyDeclared> {
    if let Kind::Scalar { .. } = &entry.value.kind {
        let when = entry.value.choice("`ready`", &[("event", ReadyWhenDeclared::Event)], &mut draft.out)?;
        return Some(ReadyDeclared { when, within: WITHIN.to_owned() });
    }
    let fields = Fields::open(&entry.value, entry.key.span, "`ready`", &READY_KEYS, &mut draft.out)?;
    let within = match fields.get("within") {
        Some(within) => blank(&within.value, "ready.within", Field::Patience, draft),
        None => Some(WITHIN.to_owned()),
    };
    let when = match (fields.get("port"), fields.get("line")) {
        (Some(port), None) => {
            blank(&port.value, "ready.port", Field::TcpPort, draft).map(ReadyWhenDeclared::Port)
        }
        (None, Some(line)) => {
            blank(&line.value, "ready.line", Field::Pattern, draft).map(ReadyWhenDeclared::Line)
        }
        (None, None) => Some(ReadyWhenDeclared::Event),
        (Some(_), Some(line)) => {
            let message = "`ready`: expected one of `port` and `line`, found both";
            draft.out.push(Complaint::error(line.key.span, message));
            None
        }
    };
    Some(ReadyDeclared { when: when?, within: within? })
}

/// With whom a role ends, where it does not end by itself, and by which signal.
fn ends<'a>(entry: &'a Entry, draft: &mut Draft<'a>) -> Option<(Option<&'a Entry>, i32)> {
    if let Kind::Scalar { .. } = &entry.value.kind {
        entry.value.choice("`ends`", &[("by_itself", ())], &mut draft.out)?;
        return Some((None, SIGNAL));
    }
    let fields = Fields::open(&entry.value, entry.key.span, "`ends`", &ENDS_KEYS, &mut draft.out)?;
    let with = fields.need("with", "`ends`", &mut draft.out)?;
    let signal = match fields.get("signal") {
        Some(signal) => signal.value.choice("`ends.signal`", &SIGNALS, &mut draft.out)?,
        None => SIGNAL,
    };
    Some((Some(with), signal))
}

pub(super) fn list<'a>(entry: &'a Entry, key: &str, draft: &mut Draft<'a>) -> Option<Vec<String>> {
    let items = entry.value.items(&format!("`{key}`"), &mut draft.out)?;
    let kind = |at: usize| if key != "inputs" && at > 0 { Field::Text } else { Field::Words };
    // Every item is read before the first failure counts, so that all are complained about.
    let read: Vec<Option<String>> =
        items.iter().enumerate().map(|(at, item)| blank(item, key, kind(at), draft)).collect();
    read.into_iter().collect()
}
