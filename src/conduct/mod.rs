//! The spine: walk the plan, prepare, prove, measure, keep to limits.

mod accept;
mod command;
mod decide;
pub mod lab;
mod packets;
mod pass;
mod paste;
mod prepare;
mod requirement;
mod run;
mod steering;
mod trial;
mod watch;

pub use prepare::Preparation;
pub use trial::{Asked, Ended, Trial};
pub use watch::{Stop, Watch};

pub use requirement::{Checked, check_host};
