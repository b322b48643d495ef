//! The whole campaign file, part by part.

use indexmap::IndexMap;

use super::declared::{Accept, Blocks, Campaign, Exclusion, Expected, Order, Places};
use super::draft::{Draft, Excluded, Preset};
use super::work::Field;
use super::{
    arms, exclusions, fields, gate, naming, quiet, responses, retention, sense, steer, until, workload,
};
use crate::model::facts::KNOWN;
use crate::model::gate::GateRule;
use crate::model::level::Level;
use crate::model::retention::Retention;
use crate::model::setting;
use crate::yaml::{self, Complaint, Entry, Fields, Source, Span, has_errors, unknown};

pub(super) const KEYS: [&str; 29] = [
    "campaign",
    "question",
    "hypothesis",
    "hosts",
    "dead_ends",
    "reattempt",
    "variables",
    "hard_to_change",
    "control",
    "treatments",
    "combine",
    "anchors",
    "aa",
    "hold",
    "steer",
    "quiet",
    "retention",
    "workload",
    "baseline",
    "verify",
    "accept",
    "exclude",
    "blocks",
    "timeout",
    "responses",
    "gate",
    "pilot",
    "max_cells",
    "expect",
];
pub(super) const BASELINE_KEYS: [&str; 1] = ["delivery"];
pub(super) const BLOCKS_KEYS: [&str; 4] = ["count", "until", "order", "seed"];
pub(super) const EXPECT_KEYS: [&str; 4] = ["refused", "rejected", "timed_out", "failed"];
pub(super) const ORDERS: [(&str, Order); 3] =
    [("mirrored", Order::Mirrored), ("shuffled", Order::Shuffled), ("forward", Order::Forward)];

const BLOCKS: Blocks = Blocks { count: 10, until: None, order: Order::Mirrored, seed: 1 };
pub(super) const MOST_BLOCKS: u64 = 1000;
const TIMEOUT_MS: u64 = 60_000;
const MOST_TIMEOUT_MS: u64 = 7 * 86_400_000;
const MAX_CELLS: u64 = 10_000;
/// Beyond this a record no longer fits on a workstation.
const MOST_CELLS: u64 = 10_000_000;

/// What came of a campaign file. There is a campaign where no complaint is an error.
#[derive(Debug, Clone)]
pub struct Parsed {
    /// None where a complaint is an error.
    pub campaign: Option<Campaign>,
    /// Everything that is wrong, in no order.
    pub complaints: Vec<Complaint>,
}

/// Reads a campaign file and complains about all that is wrong with it at once.
pub fn parse(source: &Source) -> Parsed {
    let mut complaints = Vec::new();
    let Some(root) = yaml::read(source, &mut complaints) else {
        return Parsed { campaign: None, complaints };
    };
    let at = root.span;
    let Some(fields) = Fields::open(&root, at, "the campaign", &KEYS, &mut complaints) else {
        return Parsed { campaign: None, complaints };
    };
    let mut draft = Draft {
        text: &source.text,
        variables: IndexMap::new(),
        variables_whole: true,
        arms: Vec::new(),
        arms_whole: false,
        preset: None,
        packets: None,
        values: Vec::new(),
        counts_work: false,
        in_artifact: false,
        setup_time: false,
        blanks: Vec::new(),
        blanks_whole: false,
        exclude: Vec::new(),
        places: Places::default(),
        out: complaints,
    };
    draft.places.note("campaign", at);
    let campaign = whole(&fields, &mut draft);
    let complaints = draft.out;
    Parsed { campaign: campaign.filter(|_| !has_errors(&complaints)), complaints }
}

fn whole<'a>(file: &Fields<'a>, draft: &mut Draft<'a>) -> Option<Campaign> {
    let what = "the campaign";
    let need = |key: &str, draft: &mut Draft<'a>| file.need(key, what, &mut draft.out);
    let name =
        need("campaign", draft).and_then(|entry| naming::label(&entry.value, "`campaign`", &mut draft.out));
    let question = need("question", draft).and_then(|entry| words(entry, draft));
    let hypothesis = file.get("hypothesis").map(|entry| words(entry, draft));
    let dead_ends = file.get("dead_ends").map(|entry| words(entry, draft));
    let reattempt = file.get("reattempt").map_or(Some(IndexMap::new()), |entry| reattempt(entry, draft));
    if let Some(entry) = file.get("variables") {
        draft.note("variables", &entry.key);
        variables(entry, draft);
    }
    let hard_to_change =
        file.get("hard_to_change").map_or(Some(vec![]), |entry| hard_to_change(entry, draft));
    let control = need("control", draft);
    let declared = arms::Declared {
        control,
        treatments: file.get("treatments"),
        combine: file.get("combine"),
        anchors: file.get("anchors"),
        aa: file.get("aa"),
    };
    arms::read(declared, draft);
    let hold = file.get("hold").map_or(Some(IndexMap::new()), |entry| hold(entry, draft));
    let workload = need("workload", draft).and_then(|entry| {
        draft.note("workload", &entry.key);
        workload::read(entry, file.get("verify"), draft)
    });
    draft.blanks_whole = workload.is_some();
    let hosts = hosts(file, draft);
    let quiet = file.get("quiet").map(|entry| quiet::read(entry, draft));
    let retention =
        file.get("retention").map_or(Some(Retention::default()), |entry| retention::read(entry, draft));
    let steer = file.get("steer").map(|entry| steer::read(entry, draft));
    let accept = file.get("accept").map_or(Some(Vec::new()), |entry| accept(entry, draft));
    let baseline = file.get("baseline").map_or(Some(false), |entry| baseline(entry, draft));
    exclusions::read(file.get("exclude"), draft);
    let mut blocks = file.get("blocks").map_or(Some(BLOCKS), |entry| self::blocks(entry, draft));
    let timeout_ms = file.get("timeout").map_or(Some(TIMEOUT_MS), |entry| {
        draft.note("timeout", &entry.key);
        entry.value.duration_ms("`timeout`", 1..=MOST_TIMEOUT_MS, &mut draft.out)
    });
    let responses = responses::read(file.get("responses"), draft);
    let gate =
        file.get("gate").map_or(Some(GateRule::default()), |entry| gate::read(entry, &responses, draft));
    let pilot = file.get("pilot").map_or(Some(false), |entry| entry.value.flag("`pilot`", &mut draft.out));
    let max_cells = file.get("max_cells").map_or(Some(MAX_CELLS), |entry| {
        draft.note("max_cells", &entry.key);
        entry.value.count("`max_cells`", 1..=MOST_CELLS, &mut draft.out)
    });
    let expect = file.get("expect").map_or(Some(Expected::default()), |entry| expect(entry, draft));
    sense::names(draft);
    fields::check(timeout_ms, draft);
    sense::size(max_cells, blocks.as_ref(), pilot, draft);
    until::check(blocks.as_mut(), &responses, draft);
    exclusions::check(draft);
    Some(Campaign {
        name: name?.value.to_owned(),
        question: question?,
        hypothesis: hypothesis.flatten(),
        pilot: pilot?,
        hosts: hosts?,
        dead_ends: dead_ends.map_or(Some(None), |file| file.map(Some))?,
        reattempt: reattempt?,
        variables: std::mem::take(&mut draft.variables),
        hard_to_change: hard_to_change?,
        arms: std::mem::take(&mut draft.arms),
        hold: hold?,
        quiet: quiet.map_or(Some(None), |quiet| quiet.map(Some))?,
        retention: retention?,
        steer: steer.map_or(Some(None), |steer| steer.map(Some))?,
        workload: workload?,
        baseline: baseline?,
        accept: accept?,
        exclude: exclude(draft),
        blocks: blocks?,
        timeout_ms: timeout_ms?,
        responses,
        gate: gate?,
        max_cells: max_cells?,
        expect: expect?,
        places: std::mem::take(&mut draft.places),
    })
}

/// Commands run on this machine where nothing else is said; frames need two ports, which only a file names.
fn hosts<'a>(file: &Fields<'a>, draft: &mut Draft<'a>) -> Option<Option<String>> {
    match file.get("hosts") {
        Some(entry) => words(entry, draft).map(Some),
        None if draft.preset == Some(Preset::Packets) => {
            file.need("hosts", "the campaign", &mut draft.out).map(|_| None)
        }
        None => Some(None),
    }
}

fn words(entry: &Entry, draft: &mut Draft<'_>) -> Option<String> {
    draft.note(entry.key.value.as_str(), &entry.key);
    entry.value.words(&format!("`{}`", entry.key.value), &mut draft.out).map(|text| text.value.to_owned())
}

/// Dead end to the reason why it is tried again.
fn reattempt(entry: &Entry, draft: &mut Draft<'_>) -> Option<IndexMap<String, String>> {
    draft.note("reattempt", &entry.key);
    let mut reasons = IndexMap::new();
    for Entry { key, value } in entry.value.entries("`reattempt`", &mut draft.out)? {
        let what = format!("reattempt.{}", key.value);
        draft.note(what.as_str(), key);
        if let Some(reason) = value.words(&format!("`{what}`"), &mut draft.out) {
            reasons.insert(key.value.clone(), reason.value.to_owned());
        }
    }
    Some(reasons)
}

fn variables(entry: &Entry, draft: &mut Draft<'_>) {
    let Some(entries) = entry.value.entries("`variables`", &mut draft.out) else {
        draft.variables_whole = false;
        return;
    };
    let names: Vec<&str> = entries.iter().map(|entry| entry.key.value.as_str()).collect();
    for Entry { key, value } in entries {
        let path = format!("variables.{}", key.value);
        draft.note(path.as_str(), key);
        naming::identifier(key, "the name of a variable", &mut draft.out);
        let what = format!("the levels of `{}`", key.value);
        let Some(items) = value.items(&what, &mut draft.out) else {
            draft.variables_whole = false;
            continue;
        };
        if items.is_empty() {
            let message = format!("the variable `{}` has no levels, so the grid is empty", key.value);
            draft.out.push(Complaint::error(key.span, message).help("give it at least one level"));
        }
        let mut levels: IndexMap<String, (Level, Span)> = IndexMap::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            let Some(level) = naming::level(item, &what, naming::LONGEST_LEVEL, &mut draft.out) else {
                draft.variables_whole = false;
                continue;
            };
            draft.places.note(format!("{path}.{at}"), item.span);
            naming::reads_like_an_id(&level, item.span, &names, &mut draft.out);
            if let Some((_, first)) = levels.get(&level.text) {
                let message = format!("the level `{}` of `{}` is given twice", level.text, key.value);
                draft.out.push(
                    Complaint::error(item.span, message).label("second time").also(*first, "first time"),
                );
            } else {
                levels.insert(level.text.clone(), (level, item.span));
            }
        }
        draft.variables.insert(key.value.clone(), levels.into_values().map(|(level, _)| level).collect());
    }
}

/// Names of variables, each once.
fn hard_to_change(entry: &Entry, draft: &mut Draft<'_>) -> Option<Vec<String>> {
    draft.note("hard_to_change", &entry.key);
    let mut names: Vec<String> = vec![];
    for item in entry.value.items("`hard_to_change`", &mut draft.out)? {
        let Some(name) = item.text("`hard_to_change`", &mut draft.out) else { continue };
        if !draft.variables.contains_key(name.value) {
            let known: Vec<&str> = draft.variables.keys().map(String::as_str).collect();
            let message = format!("`{}` is no variable, so the order of runs cannot spare it", name.value);
            let mut complaint = unknown(name.span, message, name.value, known);
            if complaint.label.is_none() {
                complaint.help =
                    Some("what arms change is measured beside the control, run by run".to_owned());
            }
            draft.out.push(complaint);
        } else if !names.iter().any(|known| known == name.value) {
            names.push(name.value.to_owned());
        }
    }
    Some(names)
}

/// Settings are brought about and facts only looked at, so a name has to be one of the two.
fn hold<'a>(entry: &'a Entry, draft: &mut Draft<'a>) -> Option<IndexMap<String, String>> {
    draft.note("hold", &entry.key);
    let mut hold = IndexMap::new();
    for Entry { key, value } in entry.value.entries("`hold`", &mut draft.out)? {
        let what = format!("hold.{}", key.value);
        draft.note(what.as_str(), key);
        let setting = setting::known(&key.value);
        if setting.is_none() && !KNOWN.contains(&key.value.as_str()) {
            let message =
                format!("`{}` is no setting, and no host tells such a fact, so it cannot be held", key.value);
            let names = setting::KNOWN.iter().map(|known| known.name).chain(KNOWN);
            draft.out.push(unknown(key.span, message, &key.value, names));
        }
        let field = setting.map_or(Field::Words, |known| Field::Held(known.name));
        let text = workload::blank(value, &what, field, draft);
        hold.insert(key.value.clone(), text.unwrap_or_default());
    }
    Some(hold)
}

/// `{delivery: all}`, which is the only thing that a link can be asked for.
fn baseline(entry: &Entry, draft: &mut Draft<'_>) -> Option<bool> {
    draft.note("baseline", &entry.key);
    let what = "`baseline`";
    let fields = Fields::open(&entry.value, entry.key.span, what, &BASELINE_KEYS, &mut draft.out)?;
    if draft.preset == Some(Preset::Command) {
        let message = "`baseline` is about links, which a `command` workload has none of";
        draft.out.push(Complaint::error(entry.key.span, message).help("take it out"));
    }
    let delivery = fields.need("delivery", what, &mut draft.out)?;
    delivery.value.choice("`delivery`", &[("all", true)], &mut draft.out)
}

fn accept(entry: &Entry, draft: &mut Draft<'_>) -> Option<Vec<Accept>> {
    draft.note("accept", &entry.key);
    let mut rules = Vec::new();
    for item in entry.value.items("`accept`", &mut draft.out)? {
        let rule = item.choice("`accept`", &[("zero_loss", Accept::ZeroLoss)], &mut draft.out);
        if rule == Some(Accept::ZeroLoss) && draft.preset == Some(Preset::Command) {
            let message = "`zero_loss` needs a `packets` workload, and this is none";
            draft.out.push(Complaint::error(item.span, message).help("take it out"));
        }
        if rule == Some(Accept::ZeroLoss) && draft.packets.is_some_and(|packets| packets.searched) {
            let message = "a search goes beyond the load without loss, so `zero_loss` would reject every run";
            draft
                .out
                .push(Complaint::error(item.span, message).help("take it out: the search itself holds it"));
        }
        rules.extend(rule.filter(|rule| !rules.contains(rule)));
    }
    Some(rules)
}

fn exclude(draft: &mut Draft<'_>) -> Vec<Exclusion> {
    let made =
        |each: Excluded<'_>| Exclusion { rule: each.rule, because: each.because, span: each.node.span };
    std::mem::take(&mut draft.exclude).into_iter().map(made).collect()
}

fn blocks(entry: &Entry, draft: &mut Draft<'_>) -> Option<Blocks> {
    draft.note("blocks", &entry.key);
    let fields = Fields::open(&entry.value, entry.key.span, "`blocks`", &BLOCKS_KEYS, &mut draft.out)?;
    for key in BLOCKS_KEYS {
        if let Some(entry) = fields.get(key) {
            draft.note(format!("blocks.{key}"), &entry.key);
        }
    }
    let count = fields.get("count").map_or(Some(u64::from(BLOCKS.count)), |entry| {
        entry.value.count("`blocks.count`", 1..=MOST_BLOCKS, &mut draft.out)
    });
    let order = fields
        .get("order")
        .map_or(Some(BLOCKS.order), |entry| entry.value.choice("`blocks.order`", &ORDERS, &mut draft.out));
    let seed = fields
        .get("seed")
        .map_or(Some(BLOCKS.seed), |entry| entry.value.count("`blocks.seed`", 0..=u64::MAX, &mut draft.out));
    let until = fields.get("until").map(|entry| until::read(entry, draft));
    // A seed that cannot be read is an error already, and must not hide that the count is too small.
    Some(Blocks {
        count: count? as u32,
        until: until.map_or(Some(None), |until| until.map(Some))?,
        order: order.unwrap_or(BLOCKS.order),
        seed: seed.unwrap_or(BLOCKS.seed),
    })
}

fn expect(entry: &Entry, draft: &mut Draft<'_>) -> Option<Expected> {
    draft.note("expect", &entry.key);
    let fields = Fields::open(&entry.value, entry.key.span, "`expect`", &EXPECT_KEYS, &mut draft.out)?;
    let mut patterns = |key: &str| -> Option<Vec<String>> {
        let Some(entry) = fields.get(key) else { return Some(Vec::new()) };
        draft.note(format!("expect.{key}"), &entry.key);
        let items = entry.value.items(&format!("`expect.{key}`"), &mut draft.out)?;
        let texts = items.iter().map(|item| Some(item.words("a cell id", &mut draft.out)?.value.to_owned()));
        let texts: Vec<Option<String>> = texts.collect();
        texts.into_iter().collect()
    };
    let read = (patterns("refused"), patterns("rejected"), patterns("timed_out"), patterns("failed"));
    Some(Expected { refused: read.0?, rejected: read.1?, timed_out: read.2?, failed: read.3? })
}
