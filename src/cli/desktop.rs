//! Opens a file in the program that the desktop has for it.

use std::path::Path;
use std::process::{Command, Stdio};

use super::failure::Failure;
use super::voice::aside;

/// Where desktops say that they are there; the last one names a browser where there is none.
const SIGNS: [&str; 3] = ["WAYLAND_DISPLAY", "DISPLAY", "BROWSER"];
const OPENER: &str = "xdg-open";

/// Opens the page, or says what it would do where there is no desktop, which is no failure.
///
/// # Errors
/// The desktop's own program is there and refuses.
pub fn open(page: &Path) -> Result<(), Failure> {
    let page = std::path::absolute(page).unwrap_or_else(|_| page.to_owned());
    let by_hand = format!("next: open {} in a browser", page.display());
    if SIGNS.iter().all(|sign| std::env::var_os(sign).is_none_or(|value| value.is_empty())) {
        aside(format_args!(
            "no desktop is here (neither {}), so nothing was opened; with one this would be: {OPENER} {}\n{by_hand}",
            SIGNS.join(" nor "),
            page.display()
        ));
        return Ok(());
    }
    let mut command = Command::new(OPENER);
    command.arg(&page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => {
            Err(Failure::Workstation(format!("{OPENER} could not open the page: {status}\n{by_hand}")))
        }
        Err(error) => Err(Failure::Workstation(format!("{OPENER} cannot be started: {error}\n{by_hand}"))),
    }
}
