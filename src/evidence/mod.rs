//! The events and rows of a record, as types and text.

pub mod event;
pub mod fold;
