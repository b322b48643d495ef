//! The files of a lab: keys, known_hosts, ssh and sshd configuration, scripts, a hosts file.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use super::{Faults, HOSTS, TEST_INTERFACE};

const SANDBOX_SH: &str = include_str!("sandbox.sh");
const HOST_SH: &str = include_str!("host.sh");

/// Writes everything that the sandbox and its hosts need into `lab`.
pub fn write(lab: &Path, hosts: &[(&'static str, &'static str)], faults: &Faults) {
    put(&lab.join("sandbox.sh"), SANDBOX_SH);
    put(&lab.join("host.sh"), HOST_SH);
    make_folder(&lab.join("home"));
    let client = key(lab, "id");
    let foreign = key(lab, "foreign");
    let mut known = String::new();
    for &(host, address) in hosts {
        let etc = lab.join(host).join("etc");
        make_folder(&etc);
        make_folder(&lab.join(host).join("ov"));
        let own = key(&etc, "key");
        put(&etc.join("authorized_keys"), &client);
        put(&etc.join("sshd_config"), &sshd_config(address));
        if faults.full.contains(&host) {
            put(&etc.join("fill"), "");
        }
        put(&lab.join(host).join("options"), &options(host, faults));
        if !faults.unknown_key.contains(&host) {
            let shown = if faults.wrong_key.contains(&host) { &foreign } else { &own };
            writeln!(known, "{address} {}", shown.trim()).expect("text grows");
        }
    }
    put(&lab.join("known_hosts"), &known);
    put(&lab.join("ssh_config"), &ssh_config(lab));
}

/// A hosts file for the lab: both hosts over ssh, their test ports cabled to each other.
pub fn hosts_yaml(ssh_config: &Path, extra: &str) -> String {
    let mut text = "hosts:\n".to_owned();
    for (host, _) in HOSTS {
        let config = ssh_config.display();
        writeln!(text, "  {host}:\n    ssh: {host}\n    config: {config}\n    ports:").expect("text grows");
        writeln!(text, "      port0: {{interface: {TEST_INTERFACE}}}").expect("text grows");
    }
    let [(a, _), (b, _)] = HOSTS;
    text + &format!("links:\n  - [{a}.port0, {b}.port0]\n{extra}")
}

fn options(host: &str, faults: &Faults) -> String {
    let flags = if faults.noexec.contains(&host) { ",noexec" } else { "" };
    // A full host is filled to the brim before sshd starts, so it starts small.
    let size = if faults.full.contains(&host) { "1m" } else { "256m" };
    format!("flags={flags}\nsize={size}\nmask='{}'\n", env!("CARGO_MANIFEST_DIR"))
}

fn sshd_config(address: &str) -> String {
    format!(
        "ListenAddress {address}:22\nHostKey /run/lab/key\nAuthorizedKeysFile /run/lab/authorized_keys\n\
         PidFile none\nUsePAM no\nUseDNS no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
         PermitRootLogin prohibit-password\nSubsystem sftp internal-sftp\nPrintMotd no\nLogLevel VERBOSE\n"
    )
}

fn ssh_config(lab: &Path) -> String {
    let mut text = String::new();
    for (host, address) in HOSTS {
        writeln!(text, "Host {host}\n  HostName {address}\n  User root").expect("text grows");
    }
    let lab = lab.display();
    text + &format!(
        "Host *\n  IdentityFile {lab}/id\n  IdentitiesOnly yes\n  IdentityAgent none\n  \
         UserKnownHostsFile {lab}/known_hosts\n  GlobalKnownHostsFile /dev/null\n  \
         StrictHostKeyChecking yes\n  UpdateHostKeys no\n  BatchMode yes\n  ConnectTimeout 20\n  \
         ServerAliveInterval 2\n  ServerAliveCountMax 3\n  LogLevel INFO\n"
    )
}

/// Makes a key pair and returns the public line.
fn key(folder: &Path, name: &str) -> String {
    let path = folder.join(name);
    let mut command = Command::new("ssh-keygen");
    command.args(["-q", "-t", "ed25519", "-N", "", "-C", "lab", "-f"]).arg(&path);
    let output = command.output().expect("ssh-keygen starts; tests/run installs what the tests need");
    assert!(output.status.success(), "ssh-keygen: {}", String::from_utf8_lossy(&output.stderr));
    let public = std::fs::read_to_string(path.with_extension("pub"));
    public.unwrap_or_else(|error| panic!("cannot read the key that was just made: {error}"))
}

fn put(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
}

fn make_folder(path: &Path) {
    std::fs::create_dir_all(path).unwrap_or_else(|error| panic!("cannot make {}: {error}", path.display()));
}
