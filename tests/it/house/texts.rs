//! What no committed text may name: paths of the machine it was made on, and web hosts nobody agreed to.

use std::path::Path;

/// Hosts that a text may link to. Package registries and their mirrors are the business of cargo's own
/// configuration, so they are not here; `github.com` is also how Cargo.lock names the public index.
const WEB_HOSTS: [&str; 16] = [
    "datatracker.ietf.org",
    "doc.rust-lang.org",
    "docs.kernel.org",
    "docs.rs",
    "doi.org",
    "github.com",
    "json-schema.org",
    "man7.org",
    "standards.ieee.org",
    "www.debian.org",
    "www.itl.nist.gov",
    "www.kernel.org",
    "www.rfc-editor.org",
    "www.rust-lang.org",
    "www.w3.org",
    "yaml.org",
];
/// Folders that the first person to run the tests must not have left behind, besides that of the checkout.
const WORKPLACES: [&str; 1] = [concat!("/", "work", "/")];

/// Complaints about one committed text; `root` is the folder the repository lies in.
pub fn complaints(path: &str, text: &str, root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let place = format!("{path}:{}", number + 1);
        for host in web_hosts(line).filter(|host| !is_known(host)) {
            found.push(format!(
                "{place}: {host} is not among the web hosts a text may name; next step: remove it, or add it to \
                 tests/it/house/texts.rs if a reader needs it"
            ));
        }
        let root = root.to_string_lossy();
        // A checkout directly below `/` has a name too ordinary to look for.
        let own = (root.matches('/').count() > 1).then_some(root.as_ref());
        if let Some(named) = WORKPLACES.into_iter().chain(own).find(|folder| names_folder(line, folder)) {
            found.push(format!(
                "{place}: {named} is a folder of one machine; use a path inside the repository"
            ));
        }
    }
    found
}

fn web_hosts(line: &str) -> impl Iterator<Item = &str> {
    let starts = line
        .match_indices("://")
        .filter(|(at, _)| line[..*at].ends_with("http") || line[..*at].ends_with("https"));
    starts.map(|(at, sign)| {
        let rest = &line[at + sign.len()..];
        let end = rest.find(|c: char| !c.is_alphanumeric() && !"-.".contains(c)).unwrap_or(rest.len());
        rest[..end].trim_end_matches('.')
    })
}

/// Names and addresses kept for examples (RFC 2606, RFC 5737), this machine, and those a text fills in later.
fn is_known(host: &str) -> bool {
    let example = ["example", "example.com", "example.org", "example.net"];
    let is_example = example.iter().any(|known| host == *known || host.ends_with(&format!(".{known}")));
    let numbers = ["127.", "192.0.2.", "198.18.", "198.19.", "198.51.100.", "203.0.113."];
    host.is_empty()
        || host == "localhost"
        || is_example
        || numbers.iter().any(|prefix| host.starts_with(prefix))
        || WEB_HOSTS.contains(&host)
}

/// Whether the line has this absolute path, and not one that merely contains it.
fn names_folder(line: &str, folder: &str) -> bool {
    line.match_indices(folder)
        .any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "~._-}*".contains(c)))
}

#[test]
fn paths_of_a_machine_and_unknown_web_hosts_are_refused() {
    let root = Path::new("/home/someone/fieldtrial");
    let workplace = WORKPLACES[0];
    let scheme = concat!("https", "://");
    let refused = [
        "see /home/someone/fieldtrial/src".to_owned(),
        format!("file: \"{workplace}shared/x\""),
        format!("url = {scheme}registry.internal.test/index"),
        format!("({scheme}static.crates.invalid:8080/)"),
    ];
    for line in refused {
        assert_eq!(complaints("README.md", &line, root).len(), 1, "{line}");
        assert!(
            complaints("README.md", &format!("\n\n{line}"), root)[0].starts_with("README.md:3: "),
            "{line}"
        );
    }
    let allowed = [
        "/home/user/fieldtrial and target/work/x and ~/work/x".to_owned(),
        format!("{scheme}doi.org/10.1 {scheme}a.example.com/ {scheme}198.18.0.11:80 {scheme}${{host}}/"),
    ];
    for line in allowed {
        assert_eq!(complaints("README.md", &line, root), Vec::<String>::new(), "{line}");
    }
    assert_eq!(complaints("a", "in /src/ of it", Path::new("/src")), Vec::<String>::new());
}
