//! Arms: the control, and what is compared with it.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::level::Level;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArmKind {
    Control,
    Treatment,
    Combination,
    Anchor,
    /// The control once more, whose difference from it is noise.
    Twin,
}

/// One of control, treatment, combination, anchor or twin, with its complete settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    pub kind: ArmKind,
    pub name: String,
    /// Every setting of this arm: the control's, with this arm's changes applied.
    pub settings: IndexMap<String, Level>,
    /// Names of the settings that differ from the control.
    pub changes: Vec<String>,
    pub because: Option<String>,
}

/// Between the names of the treatments that a combination is called by.
pub const TOGETHER: &str = "+";

impl ArmKind {
    /// The kind in a word.
    pub fn name(self) -> &'static str {
        match self {
            ArmKind::Control => "control",
            ArmKind::Treatment => "treatment",
            ArmKind::Combination => "combination",
            ArmKind::Anchor => "anchor",
            ArmKind::Twin => "twin",
        }
    }

    /// Names of the treatments that an arm of this name makes; None of one that is not made of any.
    pub fn treatments(self, name: &str) -> Option<Vec<&str>> {
        match self {
            ArmKind::Control => Some(vec![]),
            ArmKind::Treatment => Some(vec![name]),
            ArmKind::Combination => Some(name.split(TOGETHER).collect()),
            ArmKind::Anchor | ArmKind::Twin => None,
        }
    }
}
