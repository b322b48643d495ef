//! The archive: where records lie, how they are written and read, and what of them is official.

mod error;
mod facts;
mod history;
mod layout;
mod prune;
mod published;
mod reader;
mod running;
mod writer;

pub use error::RecordError;
pub use facts::{last_seen, remember};
pub use history::{HISTORY, history};
pub use layout::{Folder, put};
pub use prune::{PRUNED, Pruned, prune, raw};
pub use published::{Held, PUBLISHED, published};
pub use reader::{Read, opening, read};
pub use running::{Running, Turn, Worker, is_alive, worker};
pub use writer::Writer;
