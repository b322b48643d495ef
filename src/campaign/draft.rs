//! A campaign file half read: what was readable, and where it stood.

use indexmap::IndexMap;

use super::declared::Places;
use super::work::Field;
use crate::model::arm::Arm;
use crate::model::extract::ValueRule;
use crate::model::level::Level;
use crate::model::workload::Stamps;
use crate::rule::Rule;
use crate::yaml::{Complaint, Loc, Node};

/// What the checks across the file need. Parts that could not be read are missing, and checks that
/// would then mislead are left out.
pub(super) struct Draft<'a> {
    pub(super) text: &'a str,
    pub(super) variables: IndexMap<String, Vec<Level>>,
    /// Whether `variables` is all that the file declares.
    pub(super) variables_whole: bool,
    pub(super) arms: Vec<Arm>,
    /// Whether `arms` is all that the file declares.
    pub(super) arms_whole: bool,
    /// Which workload it is, once that much is known.
    pub(super) preset: Option<Preset>,
    /// What a `packets` workload yields, once it is read.
    pub(super) packets: Option<PacketsShape>,
    /// Responses that the roles' outputs hold.
    pub(super) values: Vec<ValueRule>,
    /// The workload declares units of work.
    pub(super) counts_work: bool,
    /// The role that is being read has an artifact, which its templates may name.
    pub(super) in_artifact: bool,
    /// The time of a setup is a response of its own.
    pub(super) setup_time: bool,
    /// Every template of the workload.
    pub(super) blanks: Vec<Blank<'a>>,
    /// Whether `blanks` is all that the file declares.
    pub(super) blanks_whole: bool,
    pub(super) exclude: Vec<Excluded<'a>>,
    pub(super) places: Places,
    pub(super) out: Vec<Complaint>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Preset {
    Packets,
    Command,
}

/// What of a `packets` workload decides which responses it has.
#[derive(Debug, Clone, Copy)]
pub(super) struct PacketsShape {
    /// A list or a search instead of one load.
    pub(super) stepped: bool,
    pub(super) searched: bool,
    /// In every cell; where a level decides, it is not.
    pub(super) one_way: bool,
    pub(super) stamps: Option<Stamps>,
    pub(super) latency: bool,
}

/// An exclusion whose rule could be read.
pub(super) struct Excluded<'a> {
    pub(super) rule: Rule,
    pub(super) because: Option<String>,
    pub(super) node: &'a Node,
}

/// A template, and what it must be once it is filled in.
pub(super) struct Blank<'a> {
    /// Its key, for texts: `frame_size`.
    pub(super) what: String,
    pub(super) field: Field,
    pub(super) node: &'a Node,
    pub(super) template: &'a str,
    /// It may name its role's artifact.
    pub(super) artifact: bool,
}

impl Draft<'_> {
    /// The settings of the control, in the order of the file.
    pub(super) fn settings(&self) -> impl Iterator<Item = &str> {
        self.arms.first().into_iter().flat_map(|control| control.settings.keys().map(String::as_str))
    }

    pub(super) fn note(&mut self, path: impl Into<String>, key: &Loc<String>) {
        self.places.note(path, key.span);
    }
}
