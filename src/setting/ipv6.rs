//! IPv6 on a port, which sends router solicitations and neighbour discovery of its own.

use std::fs;

use super::texts::{Texts, single};
use super::{Roots, SettingError, State, switch};

/// Scope of an address in `/proc/net/if_inet6` that only this link knows.
const LINK_LOCAL: &str = "20";

pub(super) fn setting(roots: &Roots, interface: &str) -> Texts {
    let path = roots.proc.join(format!("sys/net/ipv6/conf/{interface}/disable_ipv6"));
    let addresses = addresses(roots, interface);
    let mut setting = Texts::plain("ipv6", single("disable_ipv6", path), "this kernel has no IPv6 on it");
    setting.value = Box::new(move |value, _| match (value, addresses.first()) {
        ("on", _) => Ok("0".into()),
        // The kernel forgets them for good.
        (_, Some(address)) => Err(SettingError::Refused(format!(
            "it has the IPv6 address {address}, which would be lost and could not be put back; a test port needs none"
        ))),
        _ => Ok("1".into()),
    });
    setting.shown = shown;
    setting
}

fn shown(state: &State) -> String {
    switch(state.values().all(|text| text == "0")).to_owned()
}

/// Addresses of the interface that do not come back by themselves.
fn addresses(roots: &Roots, interface: &str) -> Vec<String> {
    let table = fs::read_to_string(roots.proc.join("net/if_inet6")).unwrap_or_default();
    let rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.filter(|row| row.len() == 6 && row[5] == interface && row[3] != LINK_LOCAL)
        .map(|row| row[0].to_owned())
        .collect()
}
