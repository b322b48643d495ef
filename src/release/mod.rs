//! Releases: what a program file says of itself, and in which order releases came.

pub mod order;
pub mod says;
