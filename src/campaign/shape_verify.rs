//! The shape of proof, values and units of work in a campaign file.

#![expect(dead_code, reason = "only the derived schema reads these fields")]

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::shape_roles::OneOrMore;
use crate::yaml::shape::{Count, Level, Percent, Text, Whole};

/// The proof of the work, before anything is timed and again of every timed run.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Verify {
    /// Frames of the untimed proof, per stream (`packets` only). Default: 10000.
    frames: Option<Whole>,
    /// What of the standard output must equal the control's (programs only). Default: exact.
    output: Option<Output>,
    /// Roles whose output is compared. Default: every timed one.
    of: Option<OneOrMore>,
    /// Files that are written below the working folder and must equal the control's.
    files: Option<Vec<Text>>,
    /// Conditions on figures of the work itself, such as `bytes_read <= 1MiB`. They may name `bytes_read`,
    /// `bytes_written`, `page_faults`, `minor_faults`, `major_faults`, `peak_rss`, `instructions`,
    /// `system_calls` (counted in the proof only) and values.
    effects: Option<Vec<Text>>,
}

/// What of the output must equal the control's: a word, or a mapping.
pub(super) struct Output;

/// What is compared by more than its lines; give one.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, extend("minProperties" = 1, "maxProperties" = 1))]
pub(super) struct OutputBy {
    /// Text of `name=value` words.
    fields: Option<FieldsBut>,
    /// One JSON document, whatever its spacing and the order of its keys.
    json: Option<JsonBut>,
    /// The number in the one group of a regular expression, or how often one without a group is found.
    count: Option<Text>,
}

/// Fields that may differ.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct FieldsBut {
    /// Names of the fields whose values may differ.
    ignore: Vec<Text>,
}

/// Parts of a document that may differ.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct JsonBut {
    /// JSON pointers of what is left out; `*` stands for every element.
    ignore: Option<Vec<Text>>,
    /// JSON pointers of numbers, each with how far it may be from the control's.
    tolerance: Option<BTreeMap<String, Percent>>,
}

impl JsonSchema for Output {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Output".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "`exact`: every byte. `lines`: the same lines in order, however they end. `any_order`: the same lines in any order, each as often. `ignored`: nothing but the exit status. Or a mapping.",
            "anyOf": [
                {"enum": ["exact", "lines", "any_order", "ignored"]},
                generator.subschema_for::<OutputBy>(),
            ],
        })
    }
}

/// The place of a number in an output; give `json` or `pattern`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Extract {
    /// A JSON pointer like `/end/sum/rate`. Of an output with one document a line it leads into the last.
    json: Option<String>,
    /// A regular expression whose one group is the number.
    pattern: Option<Text>,
    /// What is read. Default: stdout.
    from: Option<From>,
}

/// A response that is taken from an output; give `json` or `pattern`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Value {
    /// A JSON pointer like `/end/sum/rate`. Of an output with one document a line it leads into the last.
    json: Option<String>,
    /// A regular expression whose one group is the number. It must be found exactly once.
    pattern: Option<Text>,
    /// What is read. Default: stdout.
    from: Option<From>,
    /// Its unit, such as `bit/s`.
    unit: Text,
    /// Its better direction.
    better: super::shape::Better,
    /// What it must be, such as `0..` or `0..100`. Default: above 0 where the unit ends in `/s`, else any.
    range: Option<Text>,
    /// Numbers of the parts of a run, each of which must be above 0: the same place, found several times.
    intervals: Option<Extract>,
}

/// `stdout`, `stderr`, or a file.
pub(super) struct From;

/// A file that is written below the working folder.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct FromFile {
    /// Its path.
    file: Text,
}

impl JsonSchema for From {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "From".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "`stdout`, `stderr`, or a file that is written below the working folder.",
            "anyOf": [{"enum": ["stdout", "stderr"]}, generator.subschema_for::<FromFile>()],
        })
    }
}

/// Units of work: how many a run has, and what becomes of them. The four counts must add up to them, or the
/// run is rejected; a count that is not given is 0.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Work {
    /// How many, or a template. Then `success` is needed: a typed number proves nothing.
    units: Option<Count>,
    /// In place of `units`: counted on the host, in the proof.
    counted: Option<Counted>,
    /// The role whose output tells the counts. Default: the timed one.
    of: Option<Text>,
    /// How many were done. Default: all that were counted, in a run whose answer is proven.
    success: Option<Extract>,
    /// How many were given up at a deadline.
    timeout: Option<Extract>,
    /// How many broke off on their way.
    transport_error: Option<Extract>,
    /// How many were done with another answer than the right one.
    wrong_answer: Option<Extract>,
}

/// Where units are counted; give `json` or `pattern`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Counted {
    /// A program that counts them, on the host of the role. Default: the work's own output in the proof.
    run: Option<Vec<Level>>,
    /// A JSON pointer to the count.
    json: Option<String>,
    /// A regular expression whose one group is the count.
    pattern: Option<Text>,
    /// What is read. Default: stdout.
    from: Option<From>,
}
