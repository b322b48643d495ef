//! The words of the glossary as types, shared by every room.

pub mod arm;
pub mod cell;
pub mod change;
pub mod cpus;
pub mod digest;
pub mod facts;
pub mod flow_rule;
pub mod frame_size;
pub mod hosts;
pub mod job;
pub mod level;
pub mod metric;
pub mod outcome;
pub mod path_pattern;
pub mod phase;
pub mod proof;
pub mod response;
pub mod role;
pub mod scale;
pub mod setting;
pub mod shell;
pub mod until;
pub mod work_counts;
pub mod workload;
