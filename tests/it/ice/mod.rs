//! A card that is not here: a model of its driver, which counts only as far as the real ethtool agrees.

mod ethtool;
mod model;
mod product;
mod steering;
mod supervisor;
mod trouble;

use std::collections::BTreeMap;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::Value;

use crate::process::told;
use crate::scene::exe;
use crate::skip::skip;
use model::Model;

/// The interface that the model answers for. It is in every network namespace, and its own driver
/// knows nothing of flow rules.
const PORT: &str = "lo";

/// A card with its state, which lasts over several programs.
struct Ice(Arc<Mutex<Model>>);

impl Ice {
    /// None, and the test skipped, where programs cannot be supervised.
    fn new() -> Option<Self> {
        match supervisor::missing() {
            Some(why) => {
                skip("seccomp-notify", &why);
                None
            }
            None => Some(Self(Arc::new(Mutex::new(Model::new(PORT))))),
        }
    }

    /// The same, changed.
    fn with(change: impl FnOnce(&mut Model)) -> Option<Self> {
        let ice = Self::new()?;
        change(&mut ice.model());
        Some(ice)
    }

    fn model(&self) -> MutexGuard<'_, Model> {
        self.0.lock().expect("the model")
    }

    fn rules(&self) -> BTreeMap<u32, Vec<u8>> {
        self.model().rules.clone()
    }

    fn run(&self, command: &mut Command) -> Output {
        // Whoever runs the tests over ssh to this very machine has it on the loopback.
        supervisor::run(&self.0, command.env_remove("SSH_CONNECTION"))
    }

    /// Real ethtool; its exit status, output and complaints.
    fn ethtool(&self, words: &str) -> (Option<i32>, String, String) {
        let path = "/usr/sbin:/sbin:/usr/bin:/bin";
        let output = self.run(Command::new("ethtool").args(words.split(' ')).env("PATH", path));
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    }

    /// Our tool, `action` being the first word; exit status and its last JSON line.
    fn flow_rules(&self, action: &str, more: &[&str]) -> (Option<i32>, Value) {
        let mut command = Command::new(exe());
        let output =
            self.run(command.args(["tool", "flow-rules", action, "--port", PORT, "--json"]).args(more));
        let line = text(&output.stdout).lines().last().unwrap_or_default().to_owned();
        let said = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {}", told(&output)));
        (output.status.code(), said)
    }

    /// Our tool where it must succeed.
    fn done(&self, action: &str, more: &[&str]) -> Value {
        let (status, said) = self.flow_rules(action, more);
        assert_eq!(status, Some(0), "{said}");
        said
    }

    /// Our tool where it must refuse and change nothing: exit status and reason.
    fn refused(&self, action: &str, more: &[&str]) -> (Option<i32>, String) {
        let before = self.rules();
        let (status, said) = self.flow_rules(action, more);
        assert_eq!((&said["event"], self.rules()), (&Value::from("fault"), before), "{said}");
        (status, said["why"].as_str().unwrap_or_default().to_owned())
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
