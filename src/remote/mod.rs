//! Reach a host over ssh or locally: master, upload, session, heartbeat.

pub mod error;
pub mod fleet;
pub mod link;
pub mod local;
pub mod master;
pub mod parent;
pub mod place;
pub mod session;
pub mod ssh;
pub mod tail;
#[cfg(test)]
mod tests;

/// Who takes a lease, in words that the next one to come can act on.
pub fn holder() -> String {
    format!("{} (fieldtrial pid {})", who(), std::process::id())
}

/// User and machine.
pub fn who() -> String {
    let user =
        std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).unwrap_or_else(|_| "somebody".into());
    let machine = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{user} on {}", machine.trim())
}
