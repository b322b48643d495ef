//! Words as systemd's units and a shell's lines need them.

/// One argument of an `ExecStart=` line.
pub fn argument(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/_-.,:=+@".contains(c);
    let doubled = text.replace('%', "%%").replace('$', "$$");
    if !text.is_empty() && doubled.chars().all(|c| plain(c) || c == '%' || c == '$') {
        return doubled;
    }
    let mut quoted = String::from("\"");
    for c in doubled.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => quoted.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// The program of an `ExecStart=` line, in which no variables are filled in.
pub fn program(path: &str) -> String {
    argument(path).replace("$$", "$")
}

/// The rest of a line that is one value, such as a folder or a description.
pub fn value(text: &str) -> String {
    text.replace('%', "%%").replace(['\n', '\r'], " ")
}

/// A name that a unit file may have.
pub fn unit_name(campaign: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '-' };
    format!("fieldtrial-{}", campaign.chars().map(safe).collect::<String>())
}
