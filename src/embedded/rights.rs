//! What this machine lets its users do with namespaces, for the words of an error.

use std::fs;

/// What forbids user namespaces here, as far as the kernel tells; each with the way to allow it.
pub fn obstacles() -> Vec<String> {
    let switches = [
        ("kernel.unprivileged_userns_clone", "/proc/sys/kernel/unprivileged_userns_clone", "0", "1"),
        ("user.max_user_namespaces", "/proc/sys/user/max_user_namespaces", "0", "10000"),
        (
            "kernel.apparmor_restrict_unprivileged_userns",
            "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "0",
        ),
    ];
    let read = |path: &str| fs::read_to_string(path).map(|t| t.trim().to_owned()).unwrap_or_default();
    let mut found: Vec<String> = switches
        .iter()
        .filter(|(_, path, forbids, _)| read(path) == *forbids)
        .map(|(name, _, forbids, allows)| {
            format!("{name} is {forbids} (allow with `sysctl {name}={allows}` as root)")
        })
        .collect();
    if fs::metadata("/proc/self/ns/user").is_err() {
        found.push("this kernel is built without user namespaces (CONFIG_USER_NS)".into());
    }
    found
}

/// May this process make network namespaces by itself?
pub fn is_root() -> bool {
    // SAFETY: always succeeds.
    unsafe { libc::geteuid() == 0 }
}
