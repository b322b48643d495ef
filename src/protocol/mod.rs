//! What workstation and agent say to each other: JSON lines of bounded length.

pub mod codec;
pub mod message;
