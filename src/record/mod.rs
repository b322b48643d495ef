//! The archive: where records lie, how they are written and read.

mod error;
mod facts;
mod layout;
mod reader;
mod writer;

pub use error::RecordError;
pub use facts::{last_seen, remember};
pub use layout::Folder;
pub use reader::{Read, read};
pub use writer::Writer;
