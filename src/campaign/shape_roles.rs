//! The shape of roles in a campaign file: programs on hosts, what they wait for and how they end.

#![expect(dead_code, reason = "only the derived schema reads these fields")]

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::shape::Argv;
use super::shape_verify::Value;
use crate::yaml::shape::{Count, Duration, Level, Text};

/// The two forms of a role have their keys in common.
macro_rules! role {
    ($(#[$doc:meta])* $name:ident { $($more:tt)* }) => {
        $(#[$doc])*
        #[derive(JsonSchema)]
        #[schemars(deny_unknown_fields)]
        pub(super) struct $name {
            /// The host of the hosts file it runs on.
            on: Text,
            /// Program and arguments, passed on without a shell: a list, or a line that is split at blanks
            /// once it is filled in, where quotes hold words together.
            run: Option<Argv>,
            /// Text for `/bin/sh -c`. Write `$${name}` for a variable of the shell itself.
            shell: Option<Text>,
            /// One of fieldtrial's own tools and its arguments, as after `fieldtrial tool`.
            tool: Option<Vec<Level>>,
            /// Environment variables of every phase; nothing but PATH is there beside them.
            env: Option<BTreeMap<String, Level>>,
            /// Folder on the host. Default: a fresh empty one for each run, which its phases share.
            cwd: Option<Text>,
            /// File on the host that is the standard input. Default: empty.
            stdin: Option<Text>,
            /// Files on the host that decide what is done; their digests are part of the work's identity.
            inputs: Option<Vec<Text>>,
            /// Processors that it is confined to: how many, or a list of their numbers. Default: any.
            cpus: Option<Cpus>,
            /// What the page cache holds of `inputs` and `stdin` when it starts: `cold` is nothing, `warm`
            /// is all. Or a template. Default: as it is.
            cache: Option<Text>,
            /// Responses that are taken from its output, by their names. A run without one is rejected.
            values: Option<BTreeMap<String, Value>>,
            /// What makes its program on the host, once for each distinct build, before anything is proven.
            build: Option<Build>,
            /// Where its program comes from; `${artifact}` is its path on the host.
            artifact: Option<Artifact>,
            /// Runs before its work, in the same folder and environment.
            setup: Option<Setup>,
            /// Untimed work before the window: how many invocations of its program, or a program of its own.
            warmup: Option<Warmup>,
            /// How often the program is started in a run, 1 to 1000. The figures of the run are the medians of
            /// its invocations, the peak is the largest. Default: 1.
            invocations: Option<Count>,
            /// Runs when all roles have ended, whatever came of them.
            teardown: Option<Phase>,
            $($more)*
        }
    };
}

role! {
    /// A program and how it is started; give `run`, `shell` or `tool`.
    Command {}
}

role! {
    /// One of several programs that do the work together; give `run`, `shell` or `tool`.
    Role {
        /// Roles that must be ready before this one starts. Default: none.
        after: Option<OneOrMore>,
        /// When it is ready, for those that wait for it.
        ready: Option<Ready>,
        /// How it ends: `by_itself`, or with other roles. Default: by_itself.
        ends: Option<Ends>,
        /// Whether its time is the run's; of several, the longest. Default: true where it ends by itself.
        timed: Option<bool>,
    }
}

/// The name of a role, or a list of some.
pub(super) struct OneOrMore;

impl JsonSchema for OneOrMore {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "OneOrMore".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The name of a role, or a list of some.",
            "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}],
        })
    }
}

/// How many processors, or which.
pub(super) struct Cpus;

impl JsonSchema for Cpus {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Cpus".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let count = Count::json_schema(generator);
        json_schema!({
            "description": "How many processors (chosen on the host), or a list of their numbers.",
            "anyOf": [count, {"type": "array", "items": count, "minItems": 1}],
        })
    }
}

/// `event`, or a mapping.
pub(super) struct Ready;

/// What makes a role ready, other than that it prints the event `ready`; give `port` or `line`, or neither.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct ReadyWhen {
    /// Something listens on this TCP port of its host. No connection is made.
    port: Option<Count>,
    /// A line of its output fits this regular expression.
    line: Option<Text>,
    /// How long that may take. Default: 10s.
    within: Option<Duration>,
}

impl JsonSchema for Ready {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Ready".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "`event`: it prints the JSON line `{\"event\": \"ready\"}`, as fieldtrial's tools do. Or a mapping.",
            "anyOf": [{"const": "event"}, generator.subschema_for::<ReadyWhen>()],
        })
    }
}

/// `by_itself`, or a mapping.
pub(super) struct Ends;

/// The role lives until others have ended, and is then sent a signal. If it ends sooner, the run fails.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct EndsWith {
    /// The roles that it outlives.
    with: OneOrMore,
    /// The signal. Default: TERM.
    signal: Option<Signal>,
}

/// A signal, without `SIG`.
#[derive(JsonSchema)]
#[schemars(rename_all = "UPPERCASE")]
pub(super) enum Signal {
    Term,
    Int,
    Quit,
    Hup,
    Usr1,
    Usr2,
}

impl JsonSchema for Ends {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Ends".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "`by_itself`, or with other roles.",
            "anyOf": [{"const": "by_itself"}, generator.subschema_for::<EndsWith>()],
        })
    }
}

/// A program of a phase; give `run`, `shell` or `tool`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Phase {
    /// Program and arguments, passed on without a shell.
    run: Option<Vec<Level>>,
    /// Text for `/bin/sh -c`.
    shell: Option<Text>,
    /// One of fieldtrial's own tools and its arguments.
    tool: Option<Vec<Level>>,
}

/// A program that makes what the work needs; give `run`, `shell` or `tool`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Setup {
    /// Program and arguments, passed on without a shell.
    run: Option<Vec<Level>>,
    /// Text for `/bin/sh -c`.
    shell: Option<Text>,
    /// One of fieldtrial's own tools and its arguments.
    tool: Option<Vec<Level>>,
    /// What becomes of the time that it takes. Default: untimed.
    r#as: Option<SetupTime>,
}

/// What becomes of the time that setup takes.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub(super) enum SetupTime {
    /// It is the construction of what the work needs, and is not counted.
    Untimed,
    /// It is a response of its own, `setup_time`.
    Response,
    /// The product does it for every request: it runs before each invocation and is part of its cost.
    Each,
}

/// How many invocations, or a program.
pub(super) struct Warmup;

impl JsonSchema for Warmup {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Warmup".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let count = Count::json_schema(generator);
        json_schema!({
            "description": "How many invocations of the role's own program, or a program of its own.",
            "anyOf": [count, generator.subschema_for::<Phase>()],
        })
    }
}

/// What makes a program on a host; give `run`, `shell` or `tool`. Its log is a file of the record.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Build {
    /// Program and arguments, passed on without a shell.
    run: Option<Vec<Level>>,
    /// Text for `/bin/sh -c`.
    shell: Option<Text>,
    /// One of fieldtrial's own tools and its arguments.
    tool: Option<Vec<Level>>,
    /// Environment variables; nothing but PATH is there beside them.
    env: Option<BTreeMap<String, Level>>,
    /// Folder on the host. Default: a fresh empty one.
    cwd: Option<Text>,
    /// A command whose first line of output says what builds, like `[rustc, --version]`.
    toolchain: Option<Vec<Level>>,
    /// For which kind of machine is built; a fact of the record.
    target: Option<Text>,
    /// How is built, such as `release`; a fact of the record.
    profile: Option<Text>,
    /// A build that takes longer is ended. Default: 30m.
    timeout: Option<Duration>,
}

/// Where a program comes from; give `path`, `glob` or `build`. It is uploaded to hosts that lack it.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Artifact {
    /// A file of this workstation, relative to this campaign.
    path: Option<Text>,
    /// A pattern that fits exactly one such file: `*` is anything within a name, `?` one character.
    glob: Option<Text>,
    /// A file that the role's build makes, relative to the folder of the build; a pattern may be given.
    build: Option<Text>,
    /// The digest that it must have; another one is refused.
    sha256: Option<Text>,
    /// Arguments with which it tells its version, like `[--version]`; the first line is recorded.
    version: Option<Vec<Level>>,
}
