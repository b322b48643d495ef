//! The one door to CEL: rules over levels and facts.

mod kinds;
mod scope;
mod text;

pub use scope::Scope;
pub use text::{Rule, RuleError};
