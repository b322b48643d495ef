//! The one table from names to settings, and where the kernel's files begin.

use std::fs;
use std::path::{Path, PathBuf};

use super::features::{Features, GROUPS};
use super::{
    Setting, autoneg, channels, coalesce, cstates, energy_preference, fec, governor, ipv6, irq_affinity,
    lldp, mtu, napi, pause, power_mode, promiscuous, rings, rps_xps, rx_filter, stopped_services,
    stream_queues, turbo,
};
use crate::model::setting::{KNOWN, Scope, known};
use crate::nic::card::Card;

/// The folders that the kernel shows its settings in.
#[derive(Debug, Clone)]
pub struct Roots {
    pub sys: PathBuf,
    pub proc: PathBuf,
}

impl Default for Roots {
    fn default() -> Roots {
        Roots { sys: "/sys".into(), proc: "/proc".into() }
    }
}

impl Roots {
    pub(super) fn cpufreq(&self) -> PathBuf {
        self.sys.join("devices/system/cpu/cpufreq")
    }

    /// The folder of an interface; None where `/sys` shows another network namespace's interface of that
    /// name.
    pub fn net(&self, interface: &str) -> Option<PathBuf> {
        let folder = self.sys.join("class/net").join(interface);
        if self.sys != Path::new("/sys") {
            return Some(folder);
        }
        let index: i32 = fs::read_to_string(folder.join("ifindex")).ok()?.trim().parse().ok()?;
        let ours = Card::open(interface).and_then(|card| card.index()).ok()?;
        (index == ours).then_some(folder)
    }
}

/// The setting `name` of a host, or of one of its interfaces; None where there is no such setting for it.
pub fn find(name: &str, interface: Option<&str>, roots: &Roots) -> Option<Box<dyn Setting>> {
    match (known(name)?.scope, interface) {
        (Scope::Host, None) => host(name, roots),
        (Scope::Port, Some(interface)) => port(name, interface, roots),
        _ => None,
    }
}

/// A setting of the host.
fn host(name: &str, roots: &Roots) -> Option<Box<dyn Setting>> {
    Some(match name {
        "stopped_services" => Box::new(stopped_services::StoppedServices),
        "governor" => Box::new(governor::setting(roots)),
        "energy_preference" => Box::new(energy_preference::setting(roots)),
        "turbo" => Box::new(turbo::setting(roots)),
        "power_mode" => Box::new(power_mode::setting(roots)),
        "cstates" => Box::new(cstates::setting(roots)),
        _ => return None,
    })
}

/// A setting of one interface.
fn port(name: &str, interface: &str, roots: &Roots) -> Option<Box<dyn Setting>> {
    if let Some((name, pattern)) = GROUPS.iter().find(|(group, _)| *group == name) {
        return Some(Box::new(Features { name, pattern, interface: interface.to_owned() }));
    }
    Some(match name {
        "autoneg" => Box::new(autoneg::Autoneg(interface.to_owned())),
        "coalesce" => Box::new(coalesce::setting(interface)),
        "fec" => Box::new(fec::setting(interface)),
        "gro_flush_timeout" => Box::new(napi::flush_timeout(roots, interface)),
        "ipv6" => Box::new(ipv6::setting(roots, interface)),
        "irq_affinity" => Box::new(irq_affinity::setting(roots, interface)),
        "lldp" => Box::new(lldp::Lldp(interface.to_owned())),
        "mtu" => Box::new(mtu::Mtu(interface.to_owned())),
        "napi_defer_hard_irqs" => Box::new(napi::defer_hard_irqs(roots, interface)),
        "pause" => Box::new(pause::setting(interface)),
        "promiscuous" => Box::new(promiscuous::Promiscuous(interface.to_owned())),
        "queues" => Box::new(channels::setting(interface)),
        "rings" => Box::new(rings::setting(interface)),
        "rps" => Box::new(rps_xps::rps(roots, interface)),
        "rx_filter" => Box::new(rx_filter::RxFilter(interface.to_owned())),
        "stream_queues" => Box::new(stream_queues::StreamQueues(interface.to_owned())),
        "threaded_napi" => Box::new(napi::threaded(roots, interface)),
        "xps" => Box::new(rps_xps::xps(roots, interface)),
        _ => return None,
    })
}

/// Names of all settings of a scope, in the order in which they are applied.
pub fn names(scope: Scope) -> impl Iterator<Item = &'static str> {
    KNOWN.iter().filter(move |known| known.scope == scope).map(|known| known.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_that_campaigns_may_use_has_its_setting_and_its_own_name() {
        let roots = Roots::default();
        for known in &KNOWN {
            let interface = (known.scope == Scope::Port).then_some("lo");
            let setting = find(known.name, interface, &roots);
            assert_eq!(setting.map(|s| s.name()), Some(known.name));
            let other = if interface.is_some() { None } else { Some("lo") };
            assert!(find(known.name, other, &roots).is_none(), "{} belongs to one place", known.name);
        }
        assert!(find("governer", None, &roots).is_none());
    }
}
