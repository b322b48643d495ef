//! Whole campaign files, right and wrong.

pub(super) use super::*;
pub(super) use crate::yaml::{self, Source};

/// A small campaign without complaints, to be changed by each test.
pub(super) const PACKETS: &str = "\
campaign: links
question: Is it faster?
hosts: hosts.yaml
variables:
  frame_size: [64, 1518]
control:
  set: {batch: 64}
treatments:
  - {name: one, change: {batch: 1}}
workload:
  packets:
    between: [tx.port0, rx.port0]
    frame_size: ${frame_size}
    batch: ${batch}
    duration: 1s
    settle: 200ms
";

/// The same over a command, with room for any variables in `use`.
pub(super) const COMMAND: &str = "\
campaign: runs
question: Is it faster?
hosts: hosts.yaml
variables: VARIABLES
control:
  set: {how: plain}
treatments:
  - {name: fast, change: {how: fast}}
workload:
  command: {on: here, run: [work, \"${how}\", USE]}
";

/// A command campaign over `variables` (flow mapping), all of which it uses, followed by `rest`.
pub(super) fn command(variables: &str, used: &[&str], rest: &str) -> String {
    let used: Vec<String> = used.iter().map(|name| format!("\"${{{name}}}\"")).collect();
    COMMAND.replace("VARIABLES", variables).replace("USE", &used.join(", ")) + rest
}

pub(super) fn read(text: &str) -> Parsed {
    parse(&Source::new("c.yaml", text))
}

/// The campaign, which must have come without complaints.
pub(super) fn good(text: &str) -> Campaign {
    let parsed = read(text);
    let shown = yaml::render(&parsed.complaints, &Source::new("c.yaml", text), false);
    assert!(parsed.complaints.is_empty(), "{shown}{text}");
    parsed.campaign.expect("a campaign without complaints")
}

/// The complaints as shown, which must forbid the campaign.
pub(super) fn refused(text: &str) -> String {
    let parsed = read(text);
    let shown = yaml::render(&parsed.complaints, &Source::new("c.yaml", text), false);
    assert!(parsed.campaign.is_none() && yaml::has_errors(&parsed.complaints), "accepted: {shown}{text}");
    shown
}

/// The complaints as shown, all of which must be warnings.
pub(super) fn warned(text: &str) -> String {
    let parsed = read(text);
    let shown = yaml::render(&parsed.complaints, &Source::new("c.yaml", text), false);
    assert!(parsed.campaign.is_some() && !parsed.complaints.is_empty(), "{shown}{text}");
    shown
}
