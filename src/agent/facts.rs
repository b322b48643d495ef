//! Facts of this host, each absent where it cannot be read.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::identity::Digests;
use super::{ports, resolve};
use crate::model::facts::Facts;
use crate::nic::interface::Interface;
use crate::nic::management;

/// Reads all facts; hashes the programs asked for, which may take a while.
pub fn gather(
    asked_ports: &BTreeMap<String, String>,
    programs: &[String],
    ssh_connection: &str,
    digests: &Digests,
) -> Facts {
    let mut facts = Facts::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            facts.insert(name.to_owned(), value);
        }
    };
    put("kernel", text("/proc/sys/kernel/osrelease").map(Value::from));
    put("arch", Some(Value::from(std::env::consts::ARCH)));
    put("hostname", hostname().map(Value::from));
    put("boot_id", boot_id().map(Value::from));
    // SAFETY: always succeeds.
    put("uid", Some(Value::from(unsafe { libc::geteuid() })));
    put("agent_pid", Some(Value::from(std::process::id())));
    put("cmdline", text("/proc/cmdline").map(Value::from));
    put(
        "clocksource",
        text("/sys/devices/system/clocksource/clocksource0/current_clocksource").map(Value::from),
    );
    put(
        "transparent_hugepages",
        text("/sys/kernel/mm/transparent_hugepage/enabled").and_then(|t| chosen(&t)).map(Value::from),
    );
    put("load_1m", text("/proc/loadavg").and_then(|t| first_number(&t)));
    put("uptime_s", text("/proc/uptime").and_then(|t| first_number(&t)));
    processor(&mut put);
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    put("memory_bytes", field(&memory, "MemTotal").and_then(kibibytes));
    put("memory_available_bytes", field(&memory, "MemAvailable").and_then(kibibytes));
    put("numa_nodes", count_entries("/sys/devices/system/node", "node"));
    put(
        "interfaces",
        Interface::list().ok().map(|all| all.into_iter().map(|i| Value::from(i.name)).collect()),
    );
    put("management_interfaces", management::interfaces(ssh_connection).map(Value::from));
    put(
        "ports",
        Some(asked_ports.iter().map(|(name, interface)| (name.clone(), ports::facts(interface))).collect()),
    );
    put("programs", Some(programs.iter().map(|name| (name.clone(), program(name, digests))).collect()));
    facts
}

/// Facts that may move while a campaign runs, and then are worth an event: what bounds the clock, what
/// slowed it down, which ports are routed, and the links.
pub fn look(asked_ports: &BTreeMap<String, String>, ssh_connection: &str) -> Facts {
    let mut facts = Facts::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            facts.insert(name.to_owned(), value);
        }
    };
    put("freq_min_khz", same_everywhere("scaling_min_freq").and_then(|t| first_number(&t)));
    put("freq_max_khz", same_everywhere("scaling_max_freq").and_then(|t| first_number(&t)));
    put("throttled", throttled());
    put("management_interfaces", management::interfaces(ssh_connection).map(Value::from));
    put(
        "ports",
        Some(asked_ports.iter().map(|(name, interface)| (name.clone(), ports::look(interface))).collect()),
    );
    facts
}

/// How often the processors were slowed down for their heat, all counters together.
fn throttled() -> Option<Value> {
    let cpus = fs::read_dir("/sys/devices/system/cpu").ok()?.flatten();
    let counters = cpus.flat_map(|cpu| {
        let folder = cpu.path().join("thermal_throttle");
        ["core_throttle_count", "package_throttle_count"].map(|name| text(folder.join(name)))
    });
    let counts: Vec<u64> = counters.flatten().filter_map(|text| text.parse().ok()).collect();
    (!counts.is_empty()).then(|| counts.iter().sum::<u64>().into())
}

/// Name of this host, of the namespace that the agent lives in.
pub fn hostname() -> Option<String> {
    text("/proc/sys/kernel/hostname")
}

/// Changes with every start of the host.
pub fn boot_id() -> Option<String> {
    text("/proc/sys/kernel/random/boot_id")
}

fn processor(put: &mut impl FnMut(&str, Option<Value>)) {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    put("cpu_model", field(&info, "model name").map(Value::from));
    let online =
        info.lines().filter(|l| l.split(':').next().is_some_and(|k| k.trim() == "processor")).count();
    put("cpu_count", (online > 0).then(|| Value::from(online)));
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    put("cpus_allowed", field(&status, "Cpus_allowed_list").map(Value::from));
    let cpu = "/sys/devices/system/cpu";
    put("governor", same_everywhere("scaling_governor").map(Value::from));
    put("freq_min_khz", same_everywhere("scaling_min_freq").and_then(|t| first_number(&t)));
    put("freq_max_khz", same_everywhere("scaling_max_freq").and_then(|t| first_number(&t)));
    let words = |path: String| text(path).map(|t| t.split_whitespace().collect::<Vec<_>>().into());
    put("governor_can", words(format!("{cpu}/cpufreq/policy0/scaling_available_governors")));
    put("power_mode_can", words("/sys/firmware/acpi/platform_profile_choices".into()));
    put("freq_hardware_max_khz", same_everywhere("cpuinfo_max_freq").and_then(|t| first_number(&t)));
    put("core_types", core_types());
    let no_turbo = text(format!("{cpu}/intel_pstate/no_turbo")).map(|t| t == "0");
    let boost = text(format!("{cpu}/cpufreq/boost")).map(|t| t == "1");
    put("turbo", no_turbo.or(boost).map(Value::from));
    for name in ["energy_preference", "power_mode", "cstates"] {
        put(name, ports::setting_text(name, None).map(Value::from));
    }
    put("throttled", throttled());
    put("smt", text(format!("{cpu}/smt/active")).map(|t| Value::from(t == "1")));
}

/// Kind of core to its processors: `P` and `E` where the kernel tells two kinds apart.
fn core_types() -> Option<Value> {
    let hybrid = [("P", "/sys/devices/cpu_core/cpus"), ("E", "/sys/devices/cpu_atom/cpus")];
    let kinds: serde_json::Map<String, Value> =
        hybrid.iter().filter_map(|(kind, path)| Some(((*kind).to_owned(), text(path)?.into()))).collect();
    (!kinds.is_empty()).then(|| kinds.into())
}

/// The value that all processors share, or all that occur, joined by commas.
fn same_everywhere(name: &str) -> Option<String> {
    let mut values: Vec<String> = fs::read_dir("/sys/devices/system/cpu/cpufreq")
        .ok()?
        .flatten()
        .filter(|e| e.file_name().to_string_lossy().starts_with("policy"))
        .filter_map(|e| text(e.path().join(name)))
        .collect();
    values.sort();
    values.dedup();
    (!values.is_empty()).then(|| values.join(","))
}

fn program(name: &str, digests: &Digests) -> Value {
    let Ok(path) = resolve::find(name, Some("/"), &BTreeMap::new()) else { return Value::Null };
    match digests.identify(&path) {
        Ok(id) => json!({"path": id.path, "sha256": id.sha256, "bytes": id.bytes}),
        Err(_) => Value::Null,
    }
}

/// Content of a small file without the white space around it; None when empty or unreadable.
pub fn text(path: impl AsRef<Path>) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn count_entries(dir: &str, prefix: &str) -> Option<Value> {
    let is_numbered = |name: &str| name.strip_prefix(prefix).is_some_and(|n| n.parse::<u32>().is_ok());
    let n =
        fs::read_dir(dir).ok()?.flatten().filter(|e| is_numbered(&e.file_name().to_string_lossy())).count();
    (n > 0).then(|| Value::from(n))
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

fn kibibytes(text: &str) -> Option<Value> {
    let number: u64 = text.strip_suffix("kB")?.trim().parse().ok()?;
    number.checked_mul(1024).map(Value::from)
}

fn first_number(text: &str) -> Option<Value> {
    let word = text.split_whitespace().next()?;
    word.parse::<u64>().map(Value::from).ok().or_else(|| word.parse::<f64>().ok().map(Value::from))
}

/// The word in brackets of a list such as `always [madvise] never`.
fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    rest.split_once(']').map(|(word, _)| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::facts::KNOWN;

    #[test]
    fn this_host_tells_its_facts() {
        let facts = gather(
            &BTreeMap::from([("a".into(), "lo".into())]),
            &["sh".into(), "no-such".into()],
            "",
            &Digests::default(),
        );
        for name in [
            "kernel",
            "arch",
            "hostname",
            "boot_id",
            "uid",
            "cpu_count",
            "cpus_allowed",
            "memory_bytes",
            "load_1m",
        ] {
            assert!(facts.contains_key(name), "{name} is missing in {facts:?}");
        }
        let told = facts.keys().filter(|name| !KNOWN.contains(&name.as_str()));
        assert_eq!(told.collect::<Vec<_>>(), Vec::<&String>::new(), "campaigns may name every fact");
        assert_eq!(facts["programs"]["no-such"], Value::Null);
        assert_eq!(facts["programs"]["sh"]["sha256"].as_str().map(str::len), Some(64));
        assert_eq!(facts["ports"]["a"]["interface"], "lo");
        assert_eq!(facts["ports"]["a"]["mtu"], 65536);
        let of_ports = facts["ports"]["a"].as_object().unwrap().keys();
        let told = of_ports.filter(|name| !crate::model::facts::is_known(name));
        assert_eq!(told.collect::<Vec<_>>(), Vec::<&String>::new(), "hosts files may require every fact");
    }

    #[test]
    fn texts_of_the_kernel_are_read_as_they_are_meant() {
        assert_eq!(chosen("always [madvise] never").as_deref(), Some("madvise"));
        assert_eq!(field("MemTotal:  12 kB\nX: 1", "MemTotal").and_then(kibibytes), Some(json!(12288)));
        assert_eq!(first_number("0.25 0.1 0.0 1/2 3"), Some(json!(0.25)));
        assert_eq!(first_number("n/a"), None);
    }
}
