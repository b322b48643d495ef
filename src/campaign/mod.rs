//! YAML to Campaign: everything declared, or everything that is wrong with it.

mod arm_names;
mod arms;
mod artifact;
mod blank;
mod combination;
mod comparison;
mod declared;
mod draft;
mod exclusions;
mod extracts;
mod fields;
mod gate;
mod naming;
mod packets;
mod parse;
mod phases;
mod quiet;
mod responses;
mod retention;
mod role_work;
mod roles;
mod rungs;
mod sense;
mod shape;
mod shape_roles;
mod shape_verify;
mod starter;
mod steer;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_cases;
#[cfg(test)]
mod tests_complaints;
#[cfg(test)]
mod tests_files;
#[cfg(test)]
mod tests_good;
#[cfg(test)]
mod tests_packets;
#[cfg(test)]
mod tests_robust;
#[cfg(test)]
mod tests_verify;
mod until;
mod useful;
mod values;
mod verify;
pub mod work;
mod workload;

pub use arm_names::arm_names;
pub use blank::{fill, names};
pub use comparison::{Comparison, comparison};
pub use declared::{Accept, Blocks, Campaign, Exclusion, Expected, Order, Places};
pub use parse::{Parsed, parse};
pub use rungs::{Rungs, rungs};
pub use shape::schema;
pub use starter::{HERE, LOCAL_HOSTS, starter};
pub use steer::Steer;
