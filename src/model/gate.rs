//! The declared rule of a gate: how far below the published level a response may fall.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// Where a campaign says nothing: the band of the gate that let a fall of 27 % pass was this wide.
pub const TOLERANCE: f64 = 0.2;

/// `gate: {tolerance: 20%, responses: {rate: {tolerance: 10%}, drops: {limit: 0}}}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateRule {
    /// Relative: 0.2 is 20 %.
    pub tolerance: f64,
    /// Where any is named, only these responses are gated.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub responses: IndexMap<String, OwnRule>,
}

/// What one response has of its own.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct OwnRule {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    /// The worst value allowed, in the unit of the response; a tolerance then plays no part in the floor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
}

/// The rule of one response.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Band {
    pub tolerance: f64,
    pub limit: Option<f64>,
}

impl Default for GateRule {
    fn default() -> Self {
        GateRule { tolerance: TOLERANCE, responses: IndexMap::new() }
    }
}

impl GateRule {
    /// The rule of a response; None where others are named and this one is not.
    pub fn of(&self, response: &str) -> Option<Band> {
        let own = match self.responses.get(response) {
            Some(own) => *own,
            None if self.responses.is_empty() => OwnRule::default(),
            None => return None,
        };
        Some(Band { tolerance: own.tolerance.unwrap_or(self.tolerance), limit: own.limit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_responses_alone_are_gated_and_each_by_its_own_rule() {
        let mut rule = GateRule::default();
        assert_eq!(rule.of("rate"), Some(Band { tolerance: 0.2, limit: None }));
        rule.responses.insert("drops".into(), OwnRule { tolerance: None, limit: Some(0.0) });
        assert_eq!(rule.of("drops"), Some(Band { tolerance: 0.2, limit: Some(0.0) }));
        assert_eq!(rule.of("rate"), None);
    }
}
