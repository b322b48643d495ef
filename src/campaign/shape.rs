//! The shape of a campaign file, from which its JSON schema is derived.

#![expect(dead_code, reason = "only the derived schema reads these fields")]

use std::collections::BTreeMap;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::shape_roles::{Command, Role};
use super::shape_verify::{Verify, Work};
use crate::yaml::shape::{Count, Duration, Label, Level, Margin, Percent, Sizes, Text, Whole, without_null};

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
    /// Path of the hosts file, relative to this file. Default: this machine alone, as the host `here`.
    hosts: Option<Text>,
    /// Path of a file with known dead ends, relative to this file. A cell that repeats one is refused.
    dead_ends: Option<Text>,
    /// Dead ends that are tried again all the same, each by its name with the reason.
    reattempt: Option<BTreeMap<String, Text>>,
    /// What the grid varies: each variable with all its levels. The grid holds every level with every
    /// other. Levels keep the spelling of the file: `1.10` is not `1.1`, and `on` is not `true`.
    variables: Option<BTreeMap<String, Vec<Level>>>,
    /// Variables that cost too much to change between any two runs, such as one that needs a reboot. In every
    /// block the cells of one level are run together, and what the campaign holds is set anew for each block. Such a
    /// variable is judged by how often it was set, not by the number of runs. Default: none.
    hard_to_change: Option<Vec<Text>>,
    /// The reference configuration, measured in every block and never changed.
    control: Control,
    /// What is compared with the control: the control with one named change each.
    treatments: Option<Vec<Treatment>>,
    /// Treatments applied together, which is how an interaction is seen. Default: none.
    combine: Option<Combine>,
    /// Older controls, kept so that a cliff under the control shows.
    anchors: Option<Vec<Anchor>>,
    /// Measures the control a second time in every block, as an arm of its own: what the two differ by is
    /// the noise floor. Default: false.
    aa: Option<bool>,
    /// What stays the same on the hosts of every cell, such as `governor: performance` or `queues: 7`. A
    /// setting is brought to this value, proven by reading back, and put back at the end; another fact
    /// is only compared. `${name}` stands for the level of a variable or setting.
    hold: Option<BTreeMap<String, Level>>,
    /// Puts each stream of `packets` on a receive queue of its own, by rules in the receiving card, or both
    /// cards where frames go both ways. They are proven before anything is timed, and removed at the end.
    steer: Option<Steer>,
    /// What `fieldtrial run --as quiet` does on every host before anything is proven there, so that "the box was
    /// busy" can be tested. Without `--as quiet` it does nothing.
    quiet: Option<Quiet>,
    /// How long `fieldtrial prune` keeps the raw evidence of records. A record goes only where both bounds let it,
    /// and never while it is published. Default: everything stays.
    retention: Option<Retention>,
    /// The work of every cell. `${name}` stands for the level of a variable or setting.
    workload: Workload,
    /// What a link must do before anything on it counts.
    baseline: Option<Baseline>,
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
    /// How far below its published level a response may fall before `fieldtrial gate` calls it a regression.
    gate: Option<Gate>,
    /// Allows fewer blocks than a verdict needs; the only verdict is then `inconclusive`.
    pilot: Option<bool>,
    /// The grid may have no more cells than this. Default: 10000.
    max_cells: Option<Whole>,
    /// Outcomes that are expected and therefore no failure, by cell id; `*` stands for anything.
    expect: Option<Expect>,
}

/// What is kept of old records.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Retention {
    /// Records that are younger than so many days stay.
    days: Option<Whole>,
    /// So many of the newest records stay.
    last: Option<Whole>,
}

/// A quiet host.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Quiet {
    /// Services that are stopped, and started again at the end.
    stop: Option<Vec<Text>>,
    /// Writes what is dirty, and drops the page cache once. Default: false.
    drop_caches: Option<bool>,
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

/// The work of every cell: one of `packets`, `command` and `roles`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, extend("oneOf" = [
    {"required": ["packets"]}, {"required": ["command"]}, {"required": ["roles"]}
]))]
pub(super) struct Workload {
    /// Sends frames from one port to another and counts them.
    packets: Option<Packets>,
    /// Runs a program.
    command: Option<Command>,
    /// Runs several programs that do the work together, each a role on a host.
    roles: Option<BTreeMap<String, Role>>,
    /// Units of work of programs, and what becomes of them. It yields the response `useful_rate`.
    work: Option<Work>,
}

/// Frames from one port to another.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Packets {
    /// Sending and receiving port, as `host.port` of the hosts file.
    between: [Text; 2],
    /// Frames go both ways at the same time, each way with its own senders and receivers; metrics of the
    /// other way end in `_reverse`. Or a template. Default: false.
    both_ways: Option<Level>,
    /// Bytes of a frame with its FCS (RFC 2544), 64 to 1518: one size, a list like `64,512,1518` or a
    /// sweep like `64-1518/64`, taken in turn, or `imix` or `imix-csit`. Or a template.
    frame_size: Sizes,
    /// Streams, 1 to 16, or a template. Default: 1.
    streams: Option<Count>,
    /// Frames handed over by one system call, 1 to 1024, or a template. Default: 64.
    batch: Option<Count>,
    /// One steady load: frames per second and stream like `200000/s`, or `max`. Default: max.
    rate: Option<Text>,
    /// Several loads in place of `rate`: a list of them, or a search for the highest without loss.
    load: Option<Load>,
    /// How long rates are measured, like `20s`; each step of a list and each full trial of a search.
    duration: Duration,
    /// Warm-up that is left out of rates, though loss in it counts. Default: 5s.
    settle: Option<Duration>,
    /// How frames are sent: `af_packet`, `af_xdp` or `xdp_live` (by XDP from inside the
    /// kernel). Or a template. Default: af_packet.
    tx: Option<Text>,
    /// How frames are received: `af_packet`, `af_packet_recvmmsg` or `af_xdp`. Or a template.
    /// Default: af_packet.
    rx: Option<Text>,
    /// AF_XDP with or without copying: `auto`, `copy` or `zero_copy`. Or a template. Default: auto.
    xdp_copy: Option<Text>,
    /// Where the program of an AF_XDP receiver sits: `auto`, `native` or `generic`. Or a template.
    /// Default: auto.
    attach: Option<Text>,
    /// Receive queues of AF_XDP; an AF_XDP sender uses its queues from the first of them on. Default: all.
    queues: Option<Vec<Count>>,
    /// CPUs of the sender's threads, one a stream. Default: the scheduler chooses.
    cpus: Option<Vec<Count>>,
    /// Who stamps received frames. `rx_rate` and latency come from stamps, so they need it. Software
    /// stamps are marked as such wherever a number comes from them. Default: no such numbers.
    stamps: Option<Stamps>,
    /// Frames carry the instant of their sending, which yields `latency_p50`, `latency_p99` and
    /// `latency_p999`. Default: false.
    latency: Option<bool>,
    /// Receive buffer in MiB, 4 to 4096, or a template. Default: 128.
    ring: Option<Count>,
}

/// Several loads: give `list` or `search`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Load {
    /// Loads like `200000/s`, each a step of the same run. `zero_loss_rate` is the highest without loss.
    list: Option<Vec<Text>>,
    /// The highest load without loss, by the method of RFC 9971 with the goal of RFC 2544.
    search: Option<Search>,
    /// Width of the interval that the search ends with, like `1%`, which is also the default.
    precision: Option<Percent>,
    /// Length of the trials that narrow the search; what they find is confirmed over `duration`.
    /// Default: duration.
    trial: Option<Duration>,
    /// The lowest load that is tried. Default: 1000/s.
    from: Option<Text>,
    /// The highest load that is tried, or `max`. Default: max.
    to: Option<Text>,
    /// The search ends after so many trials, 2 to 1000. Default: 30.
    most_trials: Option<Count>,
}

/// What is searched for.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub(super) enum Search {
    /// The highest load at which every frame arrives exactly once, both ways where frames go both ways.
    ZeroLoss,
}

/// Who stamps received frames.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub(super) enum Stamps {
    /// The card; a port that cannot stamp every frame is refused.
    Hardware,
    /// The kernel, or the program.
    Software,
}

/// A program and its arguments: a list, or a line.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(super) enum Argv {
    List(Vec<Level>),
    Line(Text),
}

/// The link first.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Baseline {
    /// The untouched control under its own load must deliver `all`, both ways; else its link is refused.
    delivery: Delivery,
}

/// What a link must deliver.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub(super) enum Delivery {
    All,
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
    /// How often every cell is measured, 1 to 1000. With `until` it is the number of blocks before the
    /// first look, 10 or more. Default: 10.
    count: Option<Whole>,
    /// Goes on, two blocks at a time, until the answer is precise enough. Whether it is significant is
    /// never asked. Default: `count` blocks and no more.
    until: Option<Until>,
    /// Default: mirrored.
    order: Option<Order>,
    /// Decides the shuffling. Default: 1.
    seed: Option<Whole>,
}

/// When a trial may stop.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Until {
    /// Half of the interval of every pooled effect must be at most this, like `2%`.
    halfwidth: Percent,
    /// The response whose effects are meant. Default: the primary one.
    of: Option<Text>,
    /// Blocks at most; then it ends, however wide the intervals are.
    most: Whole,
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
    /// `tx_rate`, `rx_rate`, `handed_rate`, `tx_bits_l1`, `lost`, `sender_cpu_time`, `receiver_cpu_time`,
    /// `latency_p50`, `latency_p99` or `latency_p999` of packets under one load; `zero_loss_rate`,
    /// `zero_loss_bits_l1` or `zero_loss_bits_l2` of packets under several; the same with `_reverse` where
    /// frames go both ways; of programs `wall_time`, `setup_time`, `cpu_time`, `user_time`, `system_time`, `peak_rss`,
    /// `bytes_read`, `bytes_written`, `page_faults`, `minor_faults`, `major_faults`, `instructions`, a name
    /// of `values`, and `useful_rate` where `work` is declared.
    name: Text,
    /// Its unit; it must be the one that the response has.
    unit: Option<Text>,
    /// Its better direction; it must be the one that the response has.
    better: Option<Better>,
    /// Whether effects are ratios (`log`) or differences in the unit (`linear`). Default: log.
    scale: Option<Scale>,
    /// The difference within which two arms count as the same: like `2%`, or on the linear scale a number
    /// in the unit.
    margin: Option<Margin>,
    /// The response that decides; exactly one. Default: the first.
    primary: Option<bool>,
}

/// The rule of the gate.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Gate {
    /// What a record is judged by: the numbers that `fieldtrial publish` made official.
    against: Option<Against>,
    /// How far below the worst published replicate a value may fall, below `100%`. Default: 20%.
    tolerance: Option<Percent>,
    /// Where any is named, only these responses are gated. Default: all.
    responses: Option<BTreeMap<String, OwnGate>>,
}

/// What a record is judged by.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub(super) enum Against {
    Published,
}

/// The rule of one response: give one of the two.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct OwnGate {
    /// In place of the campaign's tolerance.
    tolerance: Option<Percent>,
    /// The worst value allowed, in the unit of the response. A response whose level is 0 needs it: a part of
    /// 0 allows nothing.
    limit: Option<f64>,
}

/// What effects are.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub(super) enum Scale {
    /// Ratios to the control.
    Log,
    /// Differences from the control.
    Linear,
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
