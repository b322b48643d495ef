//! Pages in Chromium, opened as a reader would open them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::process::{self, told};
use crate::skip::skip;

/// What happened while a page was open.
#[derive(Debug, serde::Deserialize)]
pub struct Seen {
    /// Errors and warnings of the console, exceptions, other windows, deeds that could not be done.
    pub errors: Vec<String>,
    pub requests: Vec<String>,
    pub dialogs: Vec<String>,
    /// What the expressions of `ask` gave.
    pub answers: serde_json::Map<String, Value>,
    /// Rules of axe-core that the page breaks.
    pub axe: Vec<String>,
}

impl Seen {
    /// Nothing was asked of the world but `page`, and nothing went wrong.
    pub fn is_quiet(&self, page: &Path) {
        assert_eq!(self.errors, Vec::<String>::new());
        assert_eq!(self.dialogs, Vec::<String>::new());
        assert_eq!(self.axe, Vec::<String>::new());
        let own = |request: &String| {
            request.starts_with("data:")
                || request.split('#').next() == Some(&format!("file://{}", page.display()))
        };
        assert!(self.requests.iter().all(own), "{:?}", self.requests);
    }

    pub fn number(&self, name: &str) -> u64 {
        self.answers[name].as_u64().unwrap_or_else(|| panic!("{name}: {:?}", self.answers[name]))
    }

    pub fn text(&self, name: &str) -> &str {
        self.answers[name].as_str().unwrap_or_else(|| panic!("{name}: {:?}", self.answers[name]))
    }
}

/// Opens each view (see tests/browser/look.cjs) of `page`; None, said as a skip, where there is no browser.
pub fn look(page: &Path, views: &[Value]) -> Option<Vec<Seen>> {
    let modules = modules();
    if !on_path("node") || !on_path("chromium") || !modules.join("playwright-core").is_dir() {
        skip("browser", "node, chromium or the modules that tests/prepare installs are not there");
        return None;
    }
    let views: Vec<Value> = views
        .iter()
        .map(|view| {
            let mut view = view.clone();
            view["page"] = json!(page);
            view
        })
        .collect();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let task = folder.path().join("task.json");
    std::fs::write(&task, json!({"browser": "chromium", "views": views}).to_string()).expect("a task");
    let mut command = Command::new("sh");
    command.args(["-c", "exec node \"$0\" <\"$1\""]).arg(script()).arg(&task);
    command.env("FIELDTRIAL_BROWSER_MODULES", modules).env("HOME", folder.path()).stdin(Stdio::null());
    let output = process::finish(&mut command, Duration::from_secs(180));
    assert!(output.status.success(), "{}", told(&output));
    Some(serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", told(&output))))
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/look.cjs")
}

/// Where tests/prepare puts them.
fn modules() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target"));
    target.join("browser/node_modules")
}

fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

mod tests {
    use super::*;
    use crate::desk::{COMMANDS, Desk, code};

    #[test]
    fn a_page_that_misbehaves_is_noticed() {
        let desk = Desk::new(COMMANDS);
        let page = desk.write(
            "bad.html",
            "<img src='http://198.18.9.9/x'><script>alert('hostile'); missing()</script><p>no language</p>",
        );
        let Some(seen) =
            look(&page, &[json!({"axe": true, "ask": {"p": "document.querySelectorAll('p').length"}})])
        else {
            return;
        };
        let seen = &seen[0];
        assert_eq!(seen.dialogs, ["hostile"]);
        assert!(
            seen.errors.iter().any(|error| error.contains("missing is not defined")),
            "{:?}",
            seen.errors
        );
        assert!(seen.requests.iter().any(|request| request.contains("198.18.9.9")), "{:?}", seen.requests);
        assert!(seen.axe.iter().any(|rule| rule.starts_with("html-has-lang")), "{:?}", seen.axe);
        assert_eq!(seen.number("p"), 1);
    }

    #[test]
    fn the_page_of_a_record_asks_nothing_of_the_world() {
        let desk = Desk::new(COMMANDS);
        assert_eq!(code(&desk.fieldtrial(&["run", "c.yaml"])), 0);
        let page = desk.record("reports").join("index.html");
        let pdf = desk.path().join("page.pdf");
        let views = [
            json!({"width": 1400, "axe": true, "pdf": pdf, "ask": {"title": "document.title"}}),
            json!({"width": 390, "axe": true, "dark": true}),
            json!({"script": false, "ask": {"text": "document.body.innerText"}}),
        ];
        let Some(seen) = look(&page, &views) else { return };
        seen.iter().for_each(|seen| seen.is_quiet(&page));
        assert!(seen[0].text("title").starts_with("c · "), "{}", seen[0].text("title"));
        // Axe cannot run where scripts are off, but the page must say as much.
        assert!(seen[2].text("text").contains("Does it hold?"));
        assert!(std::fs::read(&pdf).expect("a printed page").starts_with(b"%PDF-"));
    }
}
