//! Why the kernel or a driver did not do as asked with a flow rule.

use std::io;

use super::flow_bytes::{dump, emit, text};
use super::rxnfc::Rxnfc;
use crate::model::flow_rule::FlowRule;

/// What went wrong. Whether the table is as before is told by who asked.
#[derive(Debug, thiserror::Error)]
pub enum FlowError {
    #[error("no interface {interface:?} is here, or it is here no longer; `ip link` shows those that are")]
    Missing { interface: String },
    #[error(
        "the driver of {interface}, {driver}, keeps no flow rules (veth and most virtual cards do not); next step: use a port with such a card"
    )]
    NoTable { interface: String, driver: String },
    #[error(
        "changing flow rules of {interface} needs the capability CAP_NET_ADMIN; next step: run it as root"
    )]
    Permission { interface: String },
    #[error("flow rules of {interface} are switched off; next step: `ethtool -K {interface} ntuple on`")]
    NtupleOff { interface: String },
    #[error(
        "the driver of {interface}, {driver}, does not take such a rule: `{rule}`. The ice driver of Linux takes \
         `ether` rules from version 6.10 on; i40e and ixgbe take none"
    )]
    Unsupported { interface: String, driver: String, rule: String },
    #[error(
        "{interface} was busy (a reset or a flush of its rules) for {waited_ms} ms; next step: look at `dmesg`, and try again"
    )]
    Busy { interface: String, waited_ms: u64 },
    #[error(
        "{interface} has no free filter for `{rule}`; next step: remove rules by `fieldtrial tool flow-rules clear`, or ask for fewer"
    )]
    Full { interface: String, rule: String },
    #[error(
        "the driver of {interface}, {driver}, refuses `{rule}` as invalid: a queue that it does not have, other \
         fields than its rules of this type have, or frames that a rule it has already takes (`dmesg` may tell). {}",
        bytes.as_ref()
    )]
    Invalid { interface: String, driver: String, rule: String, bytes: Box<str> },
    #[error(
        "somebody else changed place {location} of the flow rules of {interface} at the same time; next step: see `fieldtrial tool flow-rules list`, and try again"
    )]
    Changed { interface: String, location: u32 },
    #[error(
        "the flow rules of {interface} change faster than they can be read; next step: end the other program that changes them, and try again"
    )]
    Racing { interface: String },
    #[error("{interface} took `{rule}` but lists `{listed}` at its place")]
    NotTaken { interface: String, rule: String, listed: String },
    #[error("{interface}: cannot {what}: {source}")]
    Kernel { interface: String, what: &'static str, source: io::Error },
}

/// Our bytes of a rule beside those of a rule that is known to steer.
#[must_use]
pub fn beside_known_good(rule: &Rxnfc) -> String {
    let known = emit(&FlowRule::of_stream(0, 3));
    format!(
        "Its bytes:\n{}\nThose of a rule known to steer, `{}`:\n{}",
        dump(rule),
        text(&known),
        dump(&known)
    )
}
