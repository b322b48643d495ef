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
