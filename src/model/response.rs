//! Responses: what is measured, with unit and better direction.

use serde::{Deserialize, Serialize};

use super::scale::Scale;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    Higher,
    Lower,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Response {
    pub name: String,
    pub unit: String,
    pub better: Better,
    /// On which its effects are judged.
    #[serde(default)]
    pub scale: Scale,
    /// Difference within which two arms count as the same: relative on the logarithmic scale (0.02 is
    /// 2 %), in the unit on the linear one.
    pub margin: Option<f64>,
    pub primary: bool,
}
