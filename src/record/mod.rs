//! The archive: where records lie, how they are written and read, and what of them is official.

mod error;
mod facts;
mod history;
mod layout;
mod published;
mod reader;
mod writer;

pub use error::RecordError;
pub use facts::{last_seen, remember};
pub use history::{HISTORY, history};
pub use layout::{Folder, put};
pub use published::{Held, PUBLISHED, published};
pub use reader::{Read, opening, read};
pub use writer::Writer;
