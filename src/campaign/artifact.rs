//! Builds and artifacts of a role, as read from the file: where its program comes from.

use std::collections::BTreeMap;

use super::draft::Draft;
use super::roles::{environment, list, program};
use super::work::Field;
use super::workload::blank;
use crate::model::role::{ArtifactDeclared, BuildDeclared, Invocation, Source};
use crate::yaml::{Complaint, Entry, Fields};

pub(super) const BUILD_KEYS: [&str; 9] =
    ["run", "shell", "tool", "env", "cwd", "toolchain", "target", "profile", "timeout"];
pub(super) const ARTIFACT_KEYS: [&str; 5] = ["path", "glob", "build", "sha256", "version"];
const SOURCES: [(&str, Source); 3] =
    [("path", Source::Path), ("glob", Source::Glob), ("build", Source::Build)];
/// A release build of a large program takes minutes; a hung one must end.
const TIMEOUT: &str = "30m";

/// Reads `build`; `None` inside where the role has none.
pub(super) fn build<'a>(fields: &Fields<'a>, draft: &mut Draft<'a>) -> Option<Option<BuildDeclared>> {
    let Some(entry) = fields.get("build") else { return Some(None) };
    let what = "`build`";
    let within = draft.in_artifact;
    // What is built is not there yet.
    draft.in_artifact = false;
    let read = build_keys(entry, what, draft);
    draft.in_artifact = within;
    if let Some(declared) = &read {
        overwrites(entry, declared, fields, draft);
    }
    read.map(Some)
}

fn build_keys<'a>(entry: &'a Entry, what: &str, draft: &mut Draft<'a>) -> Option<BuildDeclared> {
    let fields = Fields::open(&entry.value, entry.key.span, what, &BUILD_KEYS, &mut draft.out)?;
    let program = program(&fields, what, draft);
    let env = fields.get("env").map_or(Some(BTreeMap::new()), |env| environment(&env.value, draft));
    let toolchain = fields.get("toolchain").map(|entry| list(entry, "toolchain", draft));
    let mut maybe = |key: &str| match fields.get(key) {
        Some(entry) => blank(&entry.value, key, Field::Words, draft).map(Some),
        None => Some(None),
    };
    let (cwd, target, profile) = (maybe("cwd"), maybe("target"), maybe("profile"));
    let timeout = match fields.get("timeout") {
        Some(entry) => blank(&entry.value, "build.timeout", Field::Patience, draft),
        None => Some(TIMEOUT.to_owned()),
    };
    Some(BuildDeclared {
        program: program?,
        env: env?,
        cwd: cwd?,
        toolchain: toolchain.map_or(Some(None), |words| words.map(Some))?,
        target: target?,
        profile: profile?,
        timeout: timeout?,
    })
}

/// Builds that differ, in one folder, leave only what the last of them made.
fn overwrites(entry: &Entry, declared: &BuildDeclared, fields: &Fields<'_>, draft: &mut Draft<'_>) {
    let kept = fields.get("artifact").is_some();
    let named = |template: &String| template.contains("${");
    let words = match &declared.program {
        Invocation::Shell(text) | Invocation::Line(text) => std::slice::from_ref(text),
        Invocation::Argv(words) | Invocation::Tool(words) => words,
    };
    let varies = words.iter().chain(declared.env.values()).any(named);
    if varies && !kept && !declared.cwd.as_ref().is_some_and(named) {
        let message = "builds that differ from cell to cell overwrite each other, since none is kept";
        let help = "write `artifact: {build: target/release/program}` beside it and `${artifact}` in `run`";
        draft.out.push(Complaint::error(entry.key.span, message).help(help));
    }
}

/// Reads `artifact`; `None` inside where the role has none.
pub(super) fn read<'a>(fields: &Fields<'a>, draft: &mut Draft<'a>) -> Option<Option<ArtifactDeclared>> {
    let Some(entry) = fields.get("artifact") else { return Some(None) };
    let within = draft.in_artifact;
    // An artifact cannot be named by itself.
    draft.in_artifact = false;
    let read = artifact_keys(entry, fields, draft);
    draft.in_artifact = within;
    read.map(Some)
}

fn artifact_keys<'a>(entry: &'a Entry, role: &Fields<'a>, draft: &mut Draft<'a>) -> Option<ArtifactDeclared> {
    let what = "`artifact`";
    let fields = Fields::open(&entry.value, entry.key.span, what, &ARTIFACT_KEYS, &mut draft.out)?;
    let given: Vec<(&Entry, Source)> =
        SOURCES.iter().filter_map(|(key, source)| Some((fields.get(key)?, *source))).collect();
    let [(place, from)] = given[..] else {
        let message = format!("{what}: expected one of `path`, `glob` and `build`, found {}", given.len());
        let help =
            "`path` and `glob` name a file of this workstation, `build` one that the role's build makes";
        draft.out.push(Complaint::error(entry.key.span, message).help(help));
        return None;
    };
    if from == Source::Build && role.get("build").is_none() {
        let message = "`artifact` comes from a build, and the role has none";
        draft
            .out
            .push(Complaint::error(place.key.span, message).help("say how it is built: `build: {run: …}`"));
    }
    let key = format!("artifact.{}", place.key.value);
    let place = blank(&place.value, &key, Field::Words, draft);
    let sha256 = match fields.get("sha256") {
        Some(entry) => blank(&entry.value, "artifact.sha256", Field::Digest, draft).map(Some),
        None => Some(None),
    };
    let version = fields.get("version").map(|entry| list(entry, "version", draft));
    Some(ArtifactDeclared {
        from,
        place: place?,
        sha256: sha256?,
        version: version.map_or(Some(None), |words| words.map(Some))?,
    })
}
