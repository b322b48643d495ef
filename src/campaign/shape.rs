//! The shape of a campaign file, from which its JSON schema is derived.

#![expect(dead_code, reason = "only the derived schema reads these fields")]

use std::collections::BTreeMap;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::yaml::shape::{Count, Duration, Label, Level, Percent, Text, Whole, without_null};

/// The JSON schema (draft-07, which editors read) of campaign files.
pub fn schema() -> serde_json::Value {
    let generator = SchemaSettings::draft07().into_generator();
    let mut schema = generator.into_root_schema_for::<CampaignFile>().to_value();
    without_null(&mut schema);
    schema
}

/// A fieldtrial campaign: one performance question, the grid of cells that answers it, and the work
/// that every cell does.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct CampaignFile {
    /// Name of the campaign; its records are kept under this name.
    campaign: Label,
    /// What the campaign shall answer, in a sentence.
    question: Text,
    /// What is expected and why. It is printed as a plan, never as evidence.
    hypothesis: Option<Text>,
    /// Path of the hosts file, relative to this file.
    hosts: Text,
    /// What the grid varies: each variable with all its levels. The grid holds every level with every
    /// other. Levels keep the spelling of the file: `1.10` is not `1.1`, and `on` is not `true`.
    variables: Option<BTreeMap<String, Vec<Level>>>,
    /// The reference configuration, measured in every block and never changed.
    control: Control,
    /// What is compared with the control: the control with one named change each.
    treatments: Option<Vec<Treatment>>,
    /// Treatments applied together, which is how an interaction is seen. Default: none.
    combine: Option<Combine>,
    /// Older controls, kept so that a cliff under the control shows.
    anchors: Option<Vec<Anchor>>,
    /// What stays the same on the hosts of every cell, such as `governor: performance` or `queues: 7`. A
    /// setting is brought to this value, proven by reading back, and put back at the end; another fact
    /// is only compared. `${name}` stands for the level of a variable or setting.
    hold: Option<BTreeMap<String, Level>>,
    /// Puts each stream of `packets` on a receive queue of its own, by rules in the receiving card. They
    /// are proven before anything is timed, and removed at the end.
    steer: Option<Steer>,
    /// The work of every cell. `${name}` stands for the level of a variable or setting.
    workload: Workload,
    /// How the work is proven before anything is timed.
    verify: Option<Verify>,
    /// What a run must meet to count as measured; otherwise it is a rejected run.
    accept: Option<Vec<Accept>>,
    /// Cells that are not run, by rules over variables, settings and host facts.
    exclude: Option<Vec<Exclusion>>,
    /// How often every cell is measured, and in which order.
    blocks: Option<Blocks>,
    /// A run that takes longer is killed and counted as timed out. Default: 60s.
    timeout: Option<Duration>,
    /// What is measured. Default: `tx_rate` of packets, `wall_time` of a command.
    responses: Option<Vec<Response>>,
    /// Allows fewer blocks than a verdict needs; the only verdict is then `inconclusive`.
    pilot: Option<bool>,
    /// The grid may have no more cells than this. Default: 10000.
    max_cells: Option<Whole>,
    /// Outcomes that are expected and therefore no failure, by cell id; `*` stands for anything.
    expect: Option<Expect>,
}

/// The reference configuration.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Control {
    /// Default: control.
    name: Option<Label>,
    /// Its settings: names that treatments may change, each with the control's level.
    set: Option<BTreeMap<String, Level>>,
}

/// The control with one change.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Treatment {
    /// Name of the treatment in cell ids and reports.
    name: Label,
    /// The changed setting with its level.
    change: BTreeMap<String, Level>,
    /// Several settings are changed at once on purpose; the report says so.
    together: Option<bool>,
    /// Why this change is tried.
    because: Option<Text>,
}

/// An older control.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Anchor {
    /// Name of the anchor in cell ids and reports.
    name: Label,
    /// The settings in which it differs from the control.
    set: BTreeMap<String, Level>,
    /// Why it is kept.
    because: Option<Text>,
}

/// Which receive queue each stream is put on.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Steer {
    /// By what the card tells streams apart.
    by: SteerBy,
    /// Streams, or a template; it must be as many as the workload has. Default: as many.
    streams: Option<Count>,
    /// The receive queues of stream 0, 1, 2 …, at least as many as there are streams.
    queues: Vec<Count>,
}

/// What tells streams apart.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub(super) enum SteerBy {
    /// Each stream has an ethertype of its own, from 0x88b5 on.
    Ethertype,
}

/// The work of every cell: one of the two.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, extend("minProperties" = 1, "maxProperties" = 1))]
pub(super) struct Workload {
    /// Sends frames from one port to another and counts them.
    packets: Option<Packets>,
    /// Runs a program.
    command: Option<Command>,
}

/// Frames from one port to another.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Packets {
    /// Sending and receiving port, as `host.port` of the hosts file.
    between: [Text; 2],
    /// Bytes of a frame with its FCS (RFC 2544), 64 to 1518, or a template.
    frame_size: Count,
    /// Streams, 1 to 64, or a template. Default: 1.
    streams: Option<Count>,
    /// Frames handed over by one system call, 1 to 1024, or a template. Default: 64.
    batch: Option<Count>,
    /// Frames per second and stream like `200000/s`, or `max`. Default: max.
    rate: Option<Text>,
    /// How long rates are measured, like `20s`.
    duration: Duration,
    /// Warm-up that is left out of rates, though loss in it counts. Default: 5s.
    settle: Option<Duration>,
    /// How frames are sent: `af_packet`, which is also the default.
    tx: Option<Text>,
    /// How frames are received: `af_packet`, which is also the default.
    rx: Option<Text>,
}

/// A program and how it is started; give `run` or `shell`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Command {
    /// The host of the hosts file it runs on.
    on: Text,
    /// Program and arguments, passed on without a shell.
    run: Option<Vec<Level>>,
    /// Text for `/bin/sh -c`. Write `$${name}` for a variable of the shell itself.
    shell: Option<Text>,
    /// Environment variables; nothing but PATH is inherited.
    env: Option<BTreeMap<String, Level>>,
    /// Folder on the host. Default: a fresh empty one.
    cwd: Option<Text>,
    /// File on the host that is the standard input. Default: empty.
    stdin: Option<Text>,
    /// Files on the host that decide what is done; their digests are part of the work's identity.
    inputs: Option<Vec<Text>>,
}

/// The proof of the work.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Verify {
    /// Frames of the untimed proof, per stream (`packets` only). Default: 10000.
    frames: Option<Whole>,
    /// What of the output must equal the control's (`command` only). Default: exact.
    output: Option<Output>,
}

/// What of the output must equal the control's.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub(super) enum Output {
    /// Every byte.
    Exact,
    /// The same lines in any order.
    AnyOrder,
    /// Nothing but the exit status.
    Ignored,
}

/// What a run must meet.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub(super) enum Accept {
    /// Every frame that was sent has been received (`packets` only).
    ZeroLoss,
}

/// Cells that are not run.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Exclusion {
    /// A rule in CEL over variables, settings and `hosts`, such as `streams > 7`.
    when: Text,
    /// Why; printed beside every cell that is excluded.
    because: Option<Text>,
}

/// Repetition and order.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Blocks {
    /// How often every cell is measured, 1 to 1000. Default: 10.
    count: Option<Whole>,
    /// Default: mirrored.
    order: Option<Order>,
    /// Decides the shuffling. Default: 1.
    seed: Option<Whole>,
}

/// The order of the cells within the blocks.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub(super) enum Order {
    /// Shuffled anew for each pair of blocks, the second of which runs backwards.
    Mirrored,
    /// Shuffled anew for each block.
    Shuffled,
    /// As declared, in every block.
    Forward,
}

/// What is measured.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Response {
    /// `tx_rate`, `rx_rate`, `handed_rate`, `tx_bits_l1`, `lost` or `sender_cpu_time` of packets;
    /// `wall_time`, `cpu_time`, `user_time`, `system_time`, `peak_rss`, `bytes_read` or
    /// `bytes_written` of a command.
    name: Text,
    /// Its unit; it must be the one that the response has.
    unit: Option<Text>,
    /// Its better direction; it must be the one that the response has.
    better: Option<Better>,
    /// The difference within which two arms count as the same, like `2%`.
    margin: Option<Percent>,
    /// The response that decides; exactly one. Default: the first.
    primary: Option<bool>,
}

/// The better direction of a response.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub(super) enum Better {
    Higher,
    Lower,
}

/// Patterns of cell ids by the outcome that is expected.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Expect {
    /// Cells that a host cannot do, or whose proof differs.
    refused: Option<Vec<Text>>,
    /// Cells whose runs break a rule of `accept`.
    rejected: Option<Vec<Text>>,
    /// Cells whose runs take longer than the timeout.
    timed_out: Option<Vec<Text>>,
    /// Cells whose program fails.
    failed: Option<Vec<Text>>,
}

/// `none`, `all`, or a list of lists of treatments.
pub(super) struct Combine;

impl JsonSchema for Combine {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Combine".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "`none`, `all`, or a list of lists of treatments like `[[a, b]]`.",
            "anyOf": [
                {"enum": ["none", "all"]},
                {"type": "array", "items": {"type": "array", "items": {"type": "string"}, "minItems": 2}},
            ],
        })
    }
}
