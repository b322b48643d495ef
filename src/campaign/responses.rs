//! The responses of a campaign, with unit and direction from its workload's metrics.

use super::draft::{Draft, PacketsShape, Preset};
use crate::model::metric::{COMMAND, Metric, Need, PACKETS, SETUP_TIME, unit_shown};
use crate::model::response::{Better, Response};
use crate::model::scale::Scale;
use crate::model::workload::Stamps;
use crate::yaml::{Complaint, Entry, Fields, Node, Span, unknown};

pub(super) const RESPONSE_KEYS: [&str; 6] = ["name", "unit", "better", "scale", "margin", "primary"];

/// The metrics that a workload yields; the first whose needs are met is its natural primary response.
fn metrics(preset: Preset) -> &'static [Metric] {
    match preset {
        Preset::Packets => &PACKETS,
        Preset::Command => &COMMAND,
    }
}

/// Reads `responses`; where there are none, the workload's natural one is primary.
pub(super) fn read(entry: Option<&Entry>, draft: &mut Draft<'_>) -> Vec<Response> {
    let known = draft.preset.map(metrics);
    let (shape, counts_work) = (draft.packets, draft.counts_work);
    let natural = |known: &[Metric]| {
        // What any run of frames has, such as `lost`, is nobody's first question.
        let suits = |metric: &&Metric| {
            !metric.needs.is_empty() && shape.is_some() && lacks(metric, shape, counts_work).is_none()
        };
        let first = known.iter().find(suits).unwrap_or(&known[0]);
        response(first, Judged { scale: Scale::Log, margin: None, primary: true }, shape)
    };
    let Some(entry) = entry else { return known.map(natural).into_iter().collect() };
    draft.note("responses", &entry.key);
    let Some(items) = entry.value.items("`responses`", &mut draft.out) else { return Vec::new() };
    if items.is_empty() {
        entry.value.expected("`responses`", "at least one", &mut draft.out);
    }
    let mut read: Vec<(Response, Span)> = Vec::new();
    for (at, item) in items.iter().enumerate() {
        draft.places.note(format!("responses.{at}"), item.span);
        let Some((response, span)) = one(item, known, draft) else { continue };
        if let Some((_, first)) = read.iter().find(|(other, _)| other.name == response.name) {
            let message = format!("the response `{}` is given twice", response.name);
            draft.out.push(Complaint::error(span, message).also(*first, "first time"));
        }
        read.push((response, span));
    }
    let primary: Vec<Span> = read.iter().filter(|(each, _)| each.primary).map(|(_, span)| *span).collect();
    if let [first, second, ..] = primary[..] {
        let message = "expected one primary response, found more";
        draft.out.push(Complaint::error(second, message).also(first, "the first one"));
    }
    let mut responses: Vec<Response> = read.into_iter().map(|(response, _)| response).collect();
    if let (true, Some(first)) = (primary.is_empty(), responses.first_mut()) {
        first.primary = true;
    }
    responses
}

/// What the file says of how a response is judged.
struct Judged {
    scale: Scale,
    margin: Option<f64>,
    primary: bool,
}

fn response(metric: &Metric, judged: Judged, shape: Option<PacketsShape>) -> Response {
    let Judged { scale, margin, primary } = judged;
    let software = shape.is_some_and(|shape| shape.stamps == Some(Stamps::Software));
    Response {
        name: metric.name.to_owned(),
        unit: unit_shown(metric, software),
        better: metric.better,
        scale,
        margin,
        primary,
    }
}

fn one(node: &Node, known: Option<&'static [Metric]>, draft: &mut Draft<'_>) -> Option<(Response, Span)> {
    let fields = Fields::open(node, node.span, "a response", &RESPONSE_KEYS, &mut draft.out)?;
    let name = fields.need("name", "a response", &mut draft.out)?.value.text("`name`", &mut draft.out)?;
    let scales = [("log", Scale::Log), ("linear", Scale::Linear)];
    let scale = fields.get("scale").map(|entry| entry.value.choice("`scale`", &scales, &mut draft.out));
    let scale = scale.flatten().unwrap_or_default();
    let margin = fields.get("margin").map(|entry| match scale {
        Scale::Log => entry.value.percent("`margin`", &mut draft.out),
        Scale::Linear => in_unit(&entry.value, draft),
    });
    let primary = fields.get("primary").map(|entry| entry.value.flag("`primary`", &mut draft.out));
    let words = [("higher", Better::Higher), ("lower", Better::Lower)];
    let better = fields.get("better").map(|entry| entry.value.choice("`better`", &words, &mut draft.out));
    let known = known?;
    let judged = Judged { scale, margin: margin.flatten(), primary: primary.flatten() == Some(true) };
    if let Some(rule) = draft.values.iter().find(|rule| rule.name == name.value).cloned() {
        contradictions(
            (&rule.name, &rule.unit, rule.better, "so `values` declares"),
            &fields,
            better.flatten(),
            draft,
        );
        let response = Response {
            name: rule.name,
            unit: rule.unit,
            better: rule.better,
            scale: judged.scale,
            margin: judged.margin,
            primary: judged.primary,
        };
        return Some((response, name.span));
    }
    let Some(metric) = known.iter().find(|metric| metric.name == name.value) else {
        let message = format!("`{}` is no response of this workload", name.value);
        let values = draft.values.iter().map(|value| value.name.as_str());
        let names = known.iter().map(|metric| metric.name).chain(values);
        let complaint = unknown(name.span, message, name.value, names);
        draft.out.push(complaint);
        return None;
    };
    let facts = (metric.name, metric.unit, metric.better, metric.meaning);
    contradictions(facts, &fields, better.flatten(), draft);
    if metric.name == SETUP_TIME && !draft.setup_time {
        let message = "`setup_time` is of a setup that is a response, and no timed role has one";
        draft.out.push(Complaint::error(name.span, message).help("write `setup: {run: […], as: response}`"));
    }
    if let Some((message, help)) = lacks(metric, draft.packets, draft.counts_work) {
        let message = format!("`{}` {message}", metric.name);
        draft.out.push(Complaint::error(name.span, message).help(help));
    }
    Some((response(metric, judged, draft.packets), name.span))
}

/// A margin on the linear scale.
fn in_unit(node: &Node, draft: &mut Draft<'_>) -> Option<f64> {
    let text = node.text("`margin`", &mut draft.out)?;
    let margin = text.value.parse::<f64>().ok().filter(|m| m.is_finite() && *m > 0.0);
    if margin.is_none() {
        let wanted = "a number above 0 in the unit of the response, since its scale is linear";
        node.expected("`margin`", wanted, &mut draft.out);
    }
    margin
}

/// What the workload would have to ask for to have this metric, and what to do about it.
fn lacks(
    metric: &Metric,
    shape: Option<PacketsShape>,
    counts_work: bool,
) -> Option<(&'static str, &'static str)> {
    if metric.needs.contains(&Need::Work) && !counts_work {
        return Some(("needs units of work that are counted", "declare them by `work` in `workload`"));
    }
    let shape = shape?;
    metric.needs.iter().find_map(|need| match need {
        Need::Steady if shape.stepped => Some((
            "is of one steady load, and this workload has several",
            "take it out, or name `zero_loss_rate`; samples.csv has the rates of every step",
        )),
        Need::Steps if !shape.stepped => Some((
            "comes from several loads, and this workload has one",
            "write `load: {search: zero_loss}` or `load: {list: […]}` in place of `rate`",
        )),
        Need::Stamps if shape.stamps.is_none() => Some((
            "comes from stamps of received frames, and the workload asks for none",
            "write `stamps: hardware`; or `stamps: software`, which everything printed then says",
        )),
        Need::BothWays if shape.one_way => Some((
            "is of the other direction, and frames go one way",
            "write `both_ways: true`, or take it out",
        )),
        Need::Latency if !shape.latency => {
            Some(("needs frames that carry the instant of their sending", "write `latency: true`"))
        }
        _ => None,
    })
}

/// Complains about a unit or direction other than that of a name with its unit, direction and meaning.
fn contradictions(
    (name, own_unit, own_better, meaning): (&str, &str, Better, &str),
    fields: &Fields<'_>,
    better: Option<Better>,
    draft: &mut Draft<'_>,
) {
    if let Some(unit) = fields.get("unit").and_then(|entry| entry.value.text("`unit`", &mut draft.out))
        && unit.value != own_unit
    {
        let message = format!("`{name}` is measured in `{own_unit}`, found `{}`", unit.value);
        draft.out.push(Complaint::error(unit.span, message).help("take the unit out, or write this one"));
    }
    if let (Some(better), Some(entry)) = (better, fields.get("better"))
        && better != own_better
    {
        let word = if own_better == Better::Higher { "higher" } else { "lower" };
        let message = format!("`{name}` is better when {word}: {meaning}");
        draft
            .out
            .push(Complaint::error(entry.value.span, message).help("take `better` out, or write this one"));
    }
}
