//! On which scale values are compared.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What effects are differences of, and on which scale gains are said to add.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Logarithms, so effects are ratios: two gains add where both together are their product.
    #[default]
    Log,
    /// The values themselves, so effects are differences in their unit, and gains add as a sum.
    Linear,
}

impl Scale {
    /// The word in campaigns and findings.
    pub fn word(self) -> &'static str {
        match self {
            Scale::Log => "log",
            Scale::Linear => "linear",
        }
    }

    /// A value as the scale has it; None where it has no logarithm.
    pub fn of(self, value: f64) -> Option<f64> {
        match self {
            Scale::Linear => Some(value),
            Scale::Log => (value > 0.0).then(|| value.ln()),
        }
    }

    /// A difference on the scale as an effect: a ratio on the logarithmic one.
    pub fn effect(self, difference: f64) -> f64 {
        match self {
            Scale::Linear => difference,
            Scale::Log => difference.exp(),
        }
    }

    /// The effect that is no effect.
    pub fn neutral(self) -> f64 {
        match self {
            Scale::Linear => 0.0,
            Scale::Log => 1.0,
        }
    }
}
