//! A hosts file written from what a host answered.

use std::fmt::Write as _;

use crate::model::facts::Facts;
use crate::model::hosts::{Become, Host, Transport};

/// A commented hosts file for one host reached over ssh; its free interfaces become ports. It
/// parses without complaints.
pub fn discovered(host: &Host, facts: &Facts) -> String {
    let text = |name: &str| facts.get(name).map_or("unknown".to_owned(), plain);
    let mut file = String::from("# Written by `fieldtrial hosts discover` from what the host answered.\n");
    for name in ["hostname", "kernel", "arch", "cpu_model", "cpu_count", "memory_bytes"] {
        let _ = writeln!(file, "#   {name}: {}", text(name));
    }
    let name = name(&host.name, &text("hostname"));
    let _ = writeln!(file, "\nhosts:\n  {name}:");
    if let Transport::Ssh { alias, user, config, r#become } = &host.transport {
        let _ = writeln!(file, "    ssh: {}", quoted(alias));
        if let Some(user) = user {
            let _ = writeln!(file, "    user: {}", quoted(user));
        }
        if let Some(config) = config {
            let _ = writeln!(file, "    config: {}", quoted(&config.display().to_string()));
        }
        if *r#become == Become::Sudo {
            file.push_str("    become: sudo\n");
        }
    }
    let list = |name: &str| -> Vec<String> {
        facts.get(name).and_then(|v| v.as_array()).into_iter().flatten().map(plain).collect()
    };
    let management = list("management_interfaces");
    let free: Vec<String> =
        list("interfaces").into_iter().filter(|i| i != "lo" && !management.contains(i)).collect();
    if free.is_empty() {
        file.push_str(
            "    # no interface is free of SSH and the default route, so there is no port to test\n",
        );
    } else {
        file.push_str("    # Keep the ports that are cabled for tests; whatever is named here may be loaded.\n    ports:\n");
        for (number, interface) in free.iter().enumerate() {
            let _ = writeln!(file, "      port{number}: {{interface: {}}}", quoted(interface));
        }
    }
    if let Some(count) = facts.get("cpu_count").and_then(serde_json::Value::as_u64) {
        let _ =
            writeln!(file, "    # A run on this host is refused where a rule over its facts does not hold.");
        let _ = writeln!(file, "    require:\n      cores: cpu_count >= {count}");
    }
    let _ = writeln!(
        file,
        "\n# Which port is cabled to which, e.g.:\n# links:\n#   - [{name}.port0, other.port0]"
    );
    if !management.is_empty() {
        let _ = writeln!(
            file,
            "# never touched, since SSH or the default route runs over it: {}",
            management.join(", ")
        );
    }
    file
}

/// What a file may call the host: its alias, or its own name where the alias is an address or has a user before it.
fn name(alias: &str, hostname: &str) -> String {
    let may = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let good = |name: &&str| {
        name.len() <= 64 && name.chars().all(may) && name.starts_with(|c: char| c.is_ascii_alphabetic())
    };
    let own = hostname.split('.').next().unwrap_or_default();
    let behind_user = alias.rsplit('@').next().unwrap_or(alias);
    [alias, behind_user, own].into_iter().find(good).unwrap_or("host").to_owned()
}

fn plain(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn quoted(text: &str) -> String {
    let word = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    if text.chars().all(word) && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/') {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}
