//! The spine: walk the plan, prepare, prove, measure, keep to limits.

mod accept;
mod answers;
mod baseline;
mod building;
mod cautions;
mod command;
mod decide;
mod delivery;
mod direction;
mod figures;
mod frame_rates;
pub mod lab;
mod output;
mod packets;
mod pass;
mod paste;
mod prepare;
mod quieting;
mod requirement;
mod role;
mod run;
mod search;
mod steering;
mod steps;
mod told;
mod trial;
mod watch;
mod workshop;

pub use cautions::SETTLE_MS;
pub use prepare::Preparation;
pub use trial::{Asked, Ended, Trial};
pub use watch::{Stop, Watch};
pub use workshop::local_file;

pub use requirement::{Checked, check_host};
