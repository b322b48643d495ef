//! The shape of a dead-ends file, from which its JSON schema is derived.

#![expect(dead_code, reason = "only the derived schema reads these fields")]

use std::collections::BTreeMap;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;

use crate::yaml::shape::{Text, without_null};

/// The JSON schema (draft-07, which editors read) of dead-ends files.
pub fn schema() -> serde_json::Value {
    let generator = SchemaSettings::draft07().into_generator();
    let mut schema = generator.into_root_schema_for::<DeadEndsFile>().to_value();
    without_null(&mut schema);
    schema
}

/// Changes that were measured and lost. A campaign that names this file may not repeat one where the
/// facts are still the same, unless its `reattempt` gives a reason.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct DeadEndsFile {
    /// Every dead end by its name.
    dead_ends: BTreeMap<String, DeadEnd>,
}

/// One change that lost.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct DeadEnd {
    /// The change in words.
    what: Text,
    /// A rule in CEL that is true of a cell which makes the change, like `batch > 64`. It sees variables,
    /// settings, what is held, a command's environment, and of packets the keys of the workload, filled in. What looks
    /// like a number is one, quoted or not. A
    /// cell that has not all names of the rule does not make the change.
    change: Text,
    /// What was so when it was measured: a name, and a condition like `driver == ice` or a rule in CEL. They
    /// see the facts of each host and port that the cell uses, and what `change` sees. Where one is known
    /// not to hold, the change is no dead end. Default: it is one everywhere.
    facts: Option<BTreeMap<String, Text>>,
    /// What was measured.
    measured: Text,
    /// What would have to be so for trying it again.
    again: Text,
    /// Where it was measured: a record, or a text. Default: not told.
    source: Option<Text>,
}
