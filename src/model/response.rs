//! Responses: what is measured, with unit and better direction.

use serde::{Deserialize, Serialize};

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
    /// Relative difference within which two arms count as the same (0.02 is 2 %).
    pub margin: Option<f64>,
    pub primary: bool,
}
