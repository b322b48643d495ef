//! Settings changed and put back: on a model of the kernel's files, and on veth of the real kernel.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Roots, Setting, SettingError, change, find, names};
use crate::model::setting::{Scope, Tried, known};
use crate::nic::link::{bring_up, make_veth};
use crate::nic::namespace::inside;

/// A folder with the kernel's files of a machine that has everything.
struct Model(tempfile::TempDir);

impl Model {
    fn new() -> Model {
        let model = Model(tempfile::tempdir().expect("a folder"));
        for cpu in 0..2 {
            let policy = format!("sys/devices/system/cpu/cpufreq/policy{cpu}");
            model.put(&format!("{policy}/scaling_governor"), ["powersave", "schedutil"][cpu]);
            model.put(&format!("{policy}/scaling_available_governors"), "performance powersave schedutil");
            model.put(&format!("{policy}/energy_performance_preference"), "balance_performance");
            model.put(
                &format!("{policy}/energy_performance_available_preferences"),
                "performance balance_performance",
            );
            for (state, latency) in [("0", "0"), ("1", "2"), ("2", "133")] {
                let folder = format!("sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}");
                model.put(&format!("{folder}/disable"), if cpu == 1 && state == "1" { "1" } else { "0" });
                model.put(&format!("{folder}/latency"), latency);
            }
        }
        model.put("sys/devices/system/cpu/intel_pstate/no_turbo", "0");
        model.put("sys/firmware/acpi/platform_profile", "balanced");
        model.put("sys/firmware/acpi/platform_profile_choices", "quiet balanced performance");
        for irq in [40, 41, 42] {
            model.put(&format!("sys/class/net/eth0/device/msi_irqs/{irq}"), "msix");
            model.put(&format!("proc/irq/{irq}/smp_affinity_list"), "0-3");
        }
        model.put("proc/interrupts", " 40: 1 PCI-MSI ice-0000:17:00.0:misc\n 41: 2 PCI-MSI ice-eth0-TxRx-0\n 42: 0 PCI-MSI ice-eth0-TxRx-1\n");
        model
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("the model's folder");
        fs::write(path, format!("{text}\n")).expect("the model's file");
    }

    fn roots(&self) -> Roots {
        Roots { sys: self.0.path().join("sys"), proc: self.0.path().join("proc") }
    }

    /// Every file with its text.
    fn all(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        collect(self.0.path(), &mut found);
        found
    }
}

fn collect(folder: &Path, found: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => collect(&path, found),
            path => drop(
                found.insert(path.clone(), fs::read_to_string(path).unwrap_or_default().trim().to_owned()),
            ),
        }
    }
}

fn nothing_to_keep(_: &super::State) -> Result<(), SettingError> {
    Ok(())
}

/// Changes a setting, looks at it by `seen`, and puts it back.
fn there_and_back(setting: &dyn Setting, value: &str) -> (String, String) {
    let original = setting.read().unwrap_or_else(|e| panic!("{}: {e}", setting.name()));
    let changed =
        change(setting, value, nothing_to_keep).unwrap_or_else(|e| panic!("{}: {e}", setting.name()));
    assert_ne!(setting.read().unwrap(), original, "{} = {value} changes nothing", setting.name());
    let again = change(setting, value, |_| panic!("there already")).unwrap();
    assert_eq!((&again.0, &again.1), (&changed.1, &changed.1), "{}", setting.name());
    setting.restore(&original).unwrap_or_else(|e| panic!("{}: {e}", setting.name()));
    assert_eq!(setting.read().unwrap(), original, "{}", setting.name());
    changed
}

#[test]
fn every_file_of_the_model_is_as_it_was_after_each_setting() {
    let model = Model::new();
    let before = model.all();
    let cases = [
        ("governor", None, "performance", ("policy0=powersave policy1=schedutil", "performance")),
        ("energy_preference", None, "performance", ("balance_performance", "performance")),
        ("turbo", None, "off", ("on", "off")),
        ("power_mode", None, "performance", ("balanced", "performance")),
        ("cstates", None, "2", ("without state1", "without state2")),
        ("irq_affinity", Some("eth0"), "1,3", ("0-3", "irq 41=1 irq 42=3")),
    ];
    for (name, interface, value, (was, now)) in cases {
        let setting = find(name, interface, &model.roots()).unwrap();
        let changed = there_and_back(setting.as_ref(), value);
        assert_eq!((changed.0.as_str(), changed.1.as_str()), (was, now), "{name}");
        assert_eq!(model.all(), before, "{name}");
    }
    let tried: Vec<&str> = crate::model::setting::KNOWN
        .iter()
        .filter(|known| known.tried == Tried::Model)
        .map(|known| known.name)
        .collect();
    assert_eq!(tried, cases.map(|(name, ..)| name), "what is called tried on the model is tried here");
}

#[test]
fn the_files_say_what_the_value_means() {
    let model = Model::new();
    let text = |path: &str| fs::read_to_string(model.0.path().join(path)).unwrap().trim().to_owned();
    let set = |name: &str, value: &str| {
        change(find(name, None, &model.roots()).unwrap().as_ref(), value, nothing_to_keep).unwrap()
    };
    set("turbo", "off");
    assert_eq!(text("sys/devices/system/cpu/intel_pstate/no_turbo"), "1");
    set("cstates", "0");
    let disabled = |state: u32| text(&format!("sys/devices/system/cpu/cpu0/cpuidle/state{state}/disable"));
    assert_eq!([0, 1, 2].map(disabled), ["0", "1", "1"]);
    fs::remove_file(model.0.path().join("sys/devices/system/cpu/intel_pstate/no_turbo")).unwrap();
    model.put("sys/devices/system/cpu/cpufreq/boost", "1");
    set("turbo", "off");
    assert_eq!(text("sys/devices/system/cpu/cpufreq/boost"), "0");
}

#[test]
fn a_value_that_the_host_does_not_offer_changes_nothing_and_lists_those_that_it_does() {
    let model = Model::new();
    let before = model.all();
    for (name, value, offered) in [
        ("governor", "ondemand", "schedutil"),
        ("power_mode", "turbo", "quiet"),
        ("energy_preference", "power", "balance_performance"),
    ] {
        let setting = find(name, None, &model.roots()).unwrap();
        let error = change(setting.as_ref(), value, nothing_to_keep).unwrap_err();
        assert!(matches!(&error, SettingError::Refused(why) if why.contains(offered)), "{error}");
        assert_eq!(model.all(), before);
    }
}

#[test]
fn a_kernel_that_takes_another_value_than_it_was_given_is_found_by_reading_back() {
    let model = Model::new();
    let mut setting = super::governor::setting(&model.roots());
    setting.to_file = |_| "schedutil".into();
    let error = change(&setting, "performance", nothing_to_keep).unwrap_err().to_string();
    assert!(error.contains("policy0 was set to \"performance\" and reads back \"schedutil\""), "{error}");
}

#[test]
fn an_original_that_cannot_be_written_down_is_not_changed() {
    let model = Model::new();
    let before = model.all();
    let setting = find("governor", None, &model.roots()).unwrap();
    let full = |_: &super::State| Err(SettingError::Refused("disk full".into()));
    assert_eq!(change(setting.as_ref(), "performance", full), Err(SettingError::Refused("disk full".into())));
    assert_eq!(model.all(), before);
}

#[test]
fn a_host_without_any_of_it_is_told_so_by_name() {
    let empty = tempfile::tempdir().unwrap();
    let roots = Roots { sys: empty.path().join("sys"), proc: empty.path().join("proc") };
    // Services are asked of the program that starts them, and stand in no file of the kernel.
    for name in names(Scope::Host).filter(|name| *name != "stopped_services") {
        let error = find(name, None, &roots).unwrap().read().unwrap_err();
        assert!(matches!(&error, SettingError::Absent(why) if why.len() > 20), "{name}: {error}");
    }
    for name in ["irq_affinity", "rps", "xps", "ipv6", "threaded_napi"] {
        let error = find(name, Some("eth0"), &roots).unwrap().read().unwrap_err();
        assert!(matches!(&error, SettingError::Absent(_)), "{name}: {error}");
    }
}

/// A `/sys` of this very network namespace.
fn own_sysfs() {
    // SAFETY: constant strings that end in NUL; only this child's mounts change.
    let mounted = unsafe {
        libc::unshare(libc::CLONE_NEWNS) == 0
            && libc::mount(
                std::ptr::null(),
                c"/".as_ptr(),
                std::ptr::null(),
                libc::MS_REC | libc::MS_PRIVATE,
                std::ptr::null(),
            ) == 0
            && libc::mount(
                c"sysfs".as_ptr(),
                c"/sys".as_ptr(),
                c"sysfs".as_ptr(),
                libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC,
                std::ptr::null(),
            ) == 0
    };
    assert!(mounted, "{}", std::io::Error::last_os_error());
}

/// A cable whose near end has more queues than one, which the kernel gives on request.
fn four_queues() {
    let words = "link add ft0 numrxqueues 4 numtxqueues 4 type veth peer name ft1";
    let made = std::process::Command::new("ip").args(words.split(' ')).status().expect("ip of iproute2");
    assert!(made.success(), "{words}");
    for end in ["ft0", "ft1"] {
        bring_up(end).expect("up");
    }
    // Only with GRO has a cable the polling that can run in threads.
    change(find("gro", Some("ft0"), &Roots::default()).unwrap().as_ref(), "on", nothing_to_keep)
        .expect("gro");
}

#[test]
fn settings_of_a_real_virtual_cable_are_changed_proven_and_put_back() {
    inside("setting::tests::settings_of_a_real_virtual_cable_are_changed_proven_and_put_back", || {
        own_sysfs();
        four_queues();
        let roots = Roots::default();
        let setting = |name: &str| find(name, Some("ft0"), &roots).unwrap();
        let before: Vec<_> = names(Scope::Port).map(|name| (name, setting(name).read())).collect();
        let other = |now: &str| if now == "on" { "off" } else { "on" };
        let cpus = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
        let many = cpus.trim() != "0";
        for name in names(Scope::Port).filter(|name| known(name).unwrap().tried == Tried::Veth) {
            let state = setting(name).read();
            let (now, value) = match (name, state) {
                // As many queues as processors: on a machine with one of them there is nothing to choose.
                ("queues" | "xps", _) if !many => continue,
                (_, Err(e)) => panic!("{name}: {e}"),
                ("mtu", _) => ("1500".to_owned(), "1400"),
                ("queues", Ok(state)) => (setting(name).shown(&state), "1"),
                ("gro_flush_timeout", _) => ("0".to_owned(), "20000"),
                ("napi_defer_hard_irqs", _) => ("0".to_owned(), "2"),
                ("rps", _) => ("off".to_owned(), "0"),
                ("xps", _) => ("off".to_owned(), "0-1"),
                (_, Ok(state)) => {
                    let now = setting(name).shown(&state);
                    let value = other(&now);
                    (now, value)
                }
            };
            // The kernel asks for rights over the whole machine here, which a user namespace does not give.
            let own_only = ["rps", "xps", "gro_flush_timeout", "napi_defer_hard_irqs"].contains(&name);
            if own_only && std::env::var("FIELDTRIAL_TEST_INSIDE").as_deref() == Ok("user") {
                let error = change(setting(name).as_ref(), value, nothing_to_keep).expect_err(name);
                assert!(error.to_string().contains("does not permit"), "{name}: {error}");
                continue;
            }
            let changed = there_and_back(setting(name).as_ref(), value);
            let shown = if name == "xps" { "tx-0=0 tx-1=1 tx-2=0 tx-3=1" } else { value };
            assert_eq!((changed.0, changed.1.as_str()), (now, shown), "{name}");
        }
        let after: Vec<_> = names(Scope::Port).map(|name| (name, setting(name).read())).collect();
        assert_eq!(after, before, "not a bit of the port is another one");
    });
}

#[test]
fn what_veth_does_not_have_is_absent_by_name_and_never_a_surprise() {
    inside("setting::tests::what_veth_does_not_have_is_absent_by_name_and_never_a_surprise", || {
        own_sysfs();
        make_veth("ft0", "ft1", std::process::id()).expect("veth");
        for name in ["rings", "pause", "fec", "coalesce", "rx_filter", "lldp", "irq_affinity"] {
            let error = find(name, Some("ft0"), &Roots::default()).unwrap().read().unwrap_err();
            assert!(matches!(error, SettingError::Absent(_)), "{name}: {error}");
        }
        for (name, value) in [("lro", "on"), ("ntuple", "on"), ("autoneg", "on"), ("queues", "100000")] {
            let setting = find(name, Some("ft0"), &Roots::default()).unwrap();
            let before = setting.read().unwrap();
            let error =
                change(setting.as_ref(), value, |_| panic!("{name} is refused before it is written down"));
            assert!(error.is_err(), "{name}");
            assert_eq!(setting.read().unwrap(), before, "{name}");
        }
        let gone = find("mtu", Some("nothere0"), &Roots::default()).unwrap().read().unwrap_err();
        assert!(matches!(&gone, SettingError::Absent(why) if why.contains("no such interface")), "{gone}");
    });
}

#[test]
fn the_readme_lists_every_setting_with_where_it_was_tried() {
    let readme = include_str!("../../README.md");
    for known in &crate::model::setting::KNOWN {
        let row = readme.lines().find(|line| line.starts_with(&format!("| `{}` | ", known.name)));
        let row = row.unwrap_or_else(|| panic!("README.md has no row for {}", known.name));
        assert!(row.contains(known.what) && row.ends_with(&format!("| {} |", known.tried.name())), "{row}");
    }
}
