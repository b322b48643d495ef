//! The one door to CEL: rules over levels and facts, and plain conditions on one fact.

mod assertion;
mod condition;
mod kinds;
mod scope;
mod text;

pub use assertion::Assertion;
pub use condition::Condition;
pub use scope::Scope;
pub use text::{Rule, RuleError};
