//! A rate as the packet tools tell it.

use serde::Serialize;

use crate::packet::window::Window;

/// Frames over a window of time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rate {
    pub frames: u64,
    pub seconds: f64,
    pub per_second: f64,
}

impl From<Window> for Rate {
    fn from(window: Window) -> Self {
        Self { frames: window.frames, seconds: window.seconds(), per_second: window.per_second() }
    }
}
