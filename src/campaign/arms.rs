//! Control, treatments, combinations and anchors, as read from the file.

use std::collections::HashMap;

use indexmap::IndexMap;

use super::draft::Draft;
use super::naming;
use crate::model::arm::{Arm, ArmKind, TOGETHER};
use crate::model::level::Level;
use crate::yaml::{Complaint, Entry, Fields, Kind, Loc, Node, Span, unknown};

pub(super) const CONTROL_KEYS: [&str; 2] = ["name", "set"];
pub(super) const TREATMENT_KEYS: [&str; 4] = ["name", "change", "together", "because"];
pub(super) const ANCHOR_KEYS: [&str; 3] = ["name", "set", "because"];

const CONTROL_NAME: &str = "control";
/// `combine: all` makes 2^k - k - 1 arms.
const MOST_COMBINED: usize = 8;

/// The entries of the file that make arms.
pub(super) struct Declared<'a> {
    pub(super) control: Option<&'a Entry>,
    pub(super) treatments: Option<&'a Entry>,
    pub(super) combine: Option<&'a Entry>,
    pub(super) anchors: Option<&'a Entry>,
    pub(super) aa: Option<&'a Entry>,
}

/// Reads all arms into the draft; `arms_whole` tells whether none was lost.
pub(super) fn read<'a>(declared: Declared<'a>, draft: &mut Draft<'a>) {
    let Some(control) = declared.control.and_then(|entry| control(entry, draft)) else { return };
    let mut spans: Vec<(String, Span)> = vec![(control.name.clone(), draft.places.of("control"))];
    draft.arms.push(control);
    let mut whole = true;
    for (at, node) in items(declared.treatments, "treatments", draft).iter().enumerate() {
        whole &= arm(node, at, ArmKind::Treatment, &mut spans, draft).is_some();
    }
    if let Some(entry) = declared.combine {
        draft.note("combine", &entry.key);
        let before = draft.out.len();
        combine(&entry.value, draft);
        whole &= draft.out.len() == before;
    }
    for (at, node) in items(declared.anchors, "anchors", draft).iter().enumerate() {
        whole &= arm(node, at, ArmKind::Anchor, &mut spans, draft).is_some();
    }
    if let Some(entry) = declared.aa {
        draft.note("aa", &entry.key);
        whole &= twin(entry, &spans, draft).is_some();
    }
    draft.arms_whole = whole;
    same_settings(draft, &spans);
}

/// `aa: true`: the control a second time in every block.
fn twin(entry: &Entry, spans: &[(String, Span)], draft: &mut Draft<'_>) -> Option<()> {
    if !entry.value.flag("`aa`", &mut draft.out)? {
        return Some(());
    }
    let control = &draft.arms[0];
    let name = format!("{}-again", control.name);
    if let Some((_, taken)) = spans.iter().find(|(known, _)| *known == name) {
        let message = format!("the A/A arm is called `{name}`, and so is another arm");
        draft.out.push(Complaint::error(entry.key.span, message).also(*taken, "the other one"));
        return None;
    }
    let because = Some("the control a second time: how far the two are apart is noise".to_owned());
    let twin = Arm { kind: ArmKind::Twin, name, because, ..control.clone() };
    draft.arms.push(twin);
    Some(())
}

fn items<'a>(entry: Option<&'a Entry>, key: &str, draft: &mut Draft<'a>) -> &'a [Node] {
    let Some(entry) = entry else { return &[] };
    draft.note(key, &entry.key);
    entry.value.items(&format!("`{key}`"), &mut draft.out).unwrap_or(&[])
}

fn control<'a>(entry: &'a Entry, draft: &mut Draft<'a>) -> Option<Arm> {
    draft.note("control", &entry.key);
    let fields = Fields::open(&entry.value, entry.key.span, "`control`", &CONTROL_KEYS, &mut draft.out)?;
    let name = match fields.get("name") {
        Some(entry) => naming::label(&entry.value, "`control.name`", &mut draft.out)?.value.to_owned(),
        None => CONTROL_NAME.to_owned(),
    };
    let settings = match fields.get("set") {
        Some(entry) => settings(&entry.value, "control.set", draft)?,
        None => IndexMap::new(),
    };
    Some(Arm { kind: ArmKind::Control, name, settings, changes: Vec::new(), because: None })
}

/// Setting to level, each noted as `path.setting`.
fn settings<'a>(node: &'a Node, path: &str, draft: &mut Draft<'a>) -> Option<IndexMap<String, Level>> {
    let mut settings = IndexMap::new();
    for Entry { key, value } in node.entries(&format!("`{path}`"), &mut draft.out)? {
        naming::identifier(key, "the name of a setting", &mut draft.out);
        if let Some(level) =
            naming::level(value, &format!("`{}`", key.value), naming::LONGEST_SETTING, &mut draft.out)
        {
            draft.note(format!("{path}.{}", key.value), key);
            settings.insert(key.value.clone(), level);
        }
    }
    Some(settings)
}

/// Reads one treatment or anchor; None when it is lost, and not merely wrong.
fn arm<'a>(
    node: &'a Node,
    at: usize,
    kind: ArmKind,
    spans: &mut Vec<(String, Span)>,
    draft: &mut Draft<'a>,
) -> Option<()> {
    let (what, list, keys, set_key): (_, _, &[&str], _) = match kind {
        ArmKind::Anchor => ("an anchor", "anchors", &ANCHOR_KEYS, "set"),
        _ => ("a treatment", "treatments", &TREATMENT_KEYS, "change"),
    };
    let fields = Fields::open(node, node.span, what, keys, &mut draft.out)?;
    draft.places.note(format!("{list}.{at}"), node.span);
    let name = fields.need("name", what, &mut draft.out);
    let name =
        name.and_then(|entry| naming::label(&entry.value, &format!("the name of {what}"), &mut draft.out));
    let because = match fields.get("because") {
        Some(entry) => entry.value.words("`because`", &mut draft.out).map(|text| text.value.to_owned()),
        None => None,
    };
    let together = fields.get("together").and_then(|entry| entry.value.flag("`together`", &mut draft.out));
    let set = fields.need(set_key, what, &mut draft.out)?;
    let path = format!("{list}.{at}.{set_key}");
    draft.note(path.as_str(), &set.key);
    let changed = settings(&set.value, &path, draft)?;
    let name = name?;
    if let Some((_, first)) = spans.iter().find(|(known, _)| known == name.value) {
        let message = format!("two arms are called `{}`", name.value);
        draft.out.push(Complaint::error(name.span, message).also(*first, "the other one"));
        return None;
    }
    spans.push((name.value.to_owned(), name.span));
    let unknown = known_settings(&changed, &path, draft);
    let settings = applied(&draft.arms[0].settings, &[&changed]);
    let changes = differing(&draft.arms[0].settings, &settings);
    if kind == ArmKind::Treatment && !unknown {
        one_change(&name, &changes, together == Some(true), draft);
    }
    let name = name.value.to_owned();
    draft.arms.push(Arm { kind, name, settings, changes, because });
    Some(())
}

/// A treatment changes one thing, or says that it changes several together.
fn one_change(name: &Loc<&str>, changes: &[String], together: bool, draft: &mut Draft<'_>) {
    let (message, help) = match changes.len() {
        0 => (
            format!("the treatment `{}` is equal to the control", name.value),
            "change a setting to another level; for the control against itself write `aa: true`",
        ),
        count if count > 1 && !together => (
            format!("the treatment `{}` changes {count} settings at once: {}", name.value, quoted(changes)),
            "declare one treatment for each and `combine:` them, or say `together: true`",
        ),
        _ => return,
    };
    draft.out.push(Complaint::error(name.span, message).help(help));
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// An arm may only change what the control sets: else the control's level would be unknown. Tells
/// whether it complained.
fn known_settings(changed: &IndexMap<String, Level>, path: &str, draft: &mut Draft<'_>) -> bool {
    let before = draft.out.len();
    for name in changed.keys().filter(|name| !draft.arms[0].settings.contains_key(*name)) {
        let known: Vec<&str> = draft.arms[0].settings.keys().map(String::as_str).collect();
        let span = draft.places.of(&format!("{path}.{name}"));
        let message = format!("`{name}` is no setting of the control, so nothing can differ in it");
        let mut complaint = unknown(span, message, name, known);
        if complaint.label.is_none() {
            complaint.help =
                Some(format!("give the control its level too: `control: {{set: {{{name}: …}}}}`"));
        }
        draft.out.push(complaint);
    }
    draft.out.len() > before
}

fn applied(base: &IndexMap<String, Level>, changes: &[&IndexMap<String, Level>]) -> IndexMap<String, Level> {
    let mut settings = base.clone();
    for (name, level) in changes.iter().flat_map(|changed| changed.iter()) {
        if let Some(slot) = settings.get_mut(name) {
            *slot = level.clone();
        }
    }
    settings
}

fn differing(control: &IndexMap<String, Level>, settings: &IndexMap<String, Level>) -> Vec<String> {
    let differs = |name: &&String| control.get(*name).map(|level| &level.text) != Some(&settings[*name].text);
    settings.keys().filter(differs).cloned().collect()
}

fn combine<'a>(node: &'a Node, draft: &mut Draft<'a>) {
    let count = draft.arms.iter().filter(|arm| arm.kind == ArmKind::Treatment).count();
    let sets: Vec<(Vec<usize>, Span)> = match &node.kind {
        Kind::Scalar { text, .. } if text == "none" => return,
        Kind::Scalar { text, .. } if text == "all" && count > MOST_COMBINED => {
            let message =
                format!("`combine: all` of {count} treatments makes {} arms", (1_u128 << count.min(100)) - 1);
            let help = format!("at most {MOST_COMBINED} combine in full; list the combinations that matter");
            draft.out.push(Complaint::error(node.span, message).help(help));
            return;
        }
        Kind::Scalar { text, .. } if text == "all" => {
            every_set(count).into_iter().map(|set| (set, node.span)).collect()
        }
        Kind::Sequence(items) => items.iter().filter_map(|item| named_set(item, draft)).collect(),
        _ => return node.expected("`combine`", "`none`, `all` or a list like `[[a, b]]`", &mut draft.out),
    };
    let mut made: HashMap<Vec<usize>, Span> = HashMap::new();
    for (set, span) in sets {
        if let Some(first) = made.insert(set.clone(), span) {
            draft
                .out
                .push(Complaint::error(span, "this combination is listed twice").also(first, "first time"));
        } else {
            combination(&set, span, draft);
        }
    }
}

/// Every set of two and more treatments, small sets first.
fn every_set(count: usize) -> Vec<Vec<usize>> {
    let members =
        |bits: u32| (1..=count).filter(move |at| bits & (1 << (at - 1)) != 0).collect::<Vec<usize>>();
    let mut sets: Vec<Vec<usize>> = (0..1_u32 << count).map(members).filter(|set| set.len() > 1).collect();
    sets.sort_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
    sets
}

/// Treatments by name, as sorted positions among the arms.
fn named_set(node: &Node, draft: &mut Draft<'_>) -> Option<(Vec<usize>, Span)> {
    let items = node.items("a combination", &mut draft.out)?;
    let mut set = Vec::new();
    for item in items {
        let name = item.text("a combination", &mut draft.out)?;
        let is_it = |arm: &Arm| arm.kind == ArmKind::Treatment && arm.name == name.value;
        let Some(at) = draft.arms.iter().position(is_it) else {
            let known: Vec<&str> = draft
                .arms
                .iter()
                .filter(|arm| arm.kind == ArmKind::Treatment)
                .map(|arm| arm.name.as_str())
                .collect();
            let message = format!("`{}` is no treatment", name.value);
            let complaint = unknown(name.span, message, name.value, known);
            draft.out.push(complaint);
            return None;
        };
        set.push(at);
    }
    set.sort_unstable();
    set.dedup();
    if set.len() < 2 || set.len() != items.len() {
        node.expected("a combination", "two or more different treatments", &mut draft.out);
        return None;
    }
    Some((set, node.span))
}

fn combination(set: &[usize], span: Span, draft: &mut Draft<'_>) {
    let parts: Vec<&Arm> = set.iter().map(|at| &draft.arms[*at]).collect();
    let name = parts.iter().map(|arm| arm.name.as_str()).collect::<Vec<_>>().join(TOGETHER);
    let mut changed: IndexMap<String, Level> = IndexMap::new();
    for arm in &parts {
        for setting in &arm.changes {
            let level = arm.settings[setting].clone();
            if changed.insert(setting.clone(), level).is_some() {
                let message =
                    format!("`{name}` cannot be combined: `{setting}` is changed by more than one of them");
                let help = "list the combinations that make sense: `combine: [[a, b]]`";
                draft.out.push(Complaint::error(span, message).help(help));
                return;
            }
        }
    }
    let settings = applied(&draft.arms[0].settings, &[&changed]);
    let changes = differing(&draft.arms[0].settings, &settings);
    draft.arms.push(Arm { kind: ArmKind::Combination, name, settings, changes, because: None });
}

/// Arms with equal settings are the same run twice: allowed, as a measure of noise, if on purpose.
fn same_settings(draft: &mut Draft<'_>, spans: &[(String, Span)]) {
    let texts = |arm: &Arm| arm.settings.values().map(|level| level.text.clone()).collect::<Vec<String>>();
    let mut first: HashMap<Vec<String>, usize> = HashMap::new();
    for at in 0..draft.arms.len() {
        let arm = &draft.arms[at];
        if arm.kind == ArmKind::Twin {
            continue;
        }
        let Some(before) = first.get(&texts(arm)).map(|before| &draft.arms[*before]) else {
            first.insert(texts(arm), at);
            continue;
        };
        // A treatment equal to the control is an error already.
        if before.kind == ArmKind::Control && arm.kind != ArmKind::Anchor {
            continue;
        }
        let place = |name: &str| spans.iter().find(|known| known.0 == name).map(|known| known.1);
        let message = format!("`{}` has the same settings as `{}`", arm.name, before.name);
        let span = place(&arm.name).unwrap_or_else(|| draft.places.of("combine"));
        let mut complaint = Complaint::warning(span, message).help("an A/A pair: its difference is noise");
        if let Some(other) = place(&before.name) {
            complaint = complaint.also(other, "the other one");
        }
        draft.out.push(complaint);
    }
}
