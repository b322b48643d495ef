//! Patterns of file paths: `*` is anything within a name, `?` one character of it.

/// Most paths that a pattern is followed to; one that fits more is no name of one file.
const MOST: usize = 1000;

/// The paths that fit, in order. `names` lists what is in a folder, and says whether a path that is no
/// pattern is there by listing its folder too. An absolute pattern starts at `/`.
pub fn expand(pattern: &str, names: &dyn Fn(&str) -> Vec<String>) -> Vec<String> {
    let (mut found, rest) = match pattern.strip_prefix('/') {
        Some(rest) => (vec!["/".to_owned()], rest),
        None => (vec![String::new()], pattern),
    };
    for part in rest.split('/').filter(|part| !part.is_empty() && *part != ".") {
        let below = |folder: &String| {
            let joined = |name: &str| match folder.as_str() {
                "" => name.to_owned(),
                folder if folder.ends_with('/') => format!("{folder}{name}"),
                folder => format!("{folder}/{name}"),
            };
            if part == ".." {
                return vec![joined(part)];
            }
            let mut fitting: Vec<String> =
                names(folder).into_iter().filter(|name| fits(part, name)).map(|name| joined(&name)).collect();
            fitting.sort();
            fitting
        };
        found = found.iter().flat_map(below).take(MOST).collect();
    }
    found
}

/// Whether a whole name fits a part of a pattern. A name with a leading dot is only fitted by one.
fn fits(pattern: &str, name: &str) -> bool {
    let hidden = name.starts_with('.') && !pattern.starts_with('.');
    !hidden && rest_fits(&pattern.chars().collect::<Vec<_>>(), &name.chars().collect::<Vec<_>>())
}

fn rest_fits(pattern: &[char], name: &[char]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        Some(('*', rest)) => (0..=name.len()).any(|at| rest_fits(rest, &name[at..])),
        Some(('?', rest)) => name.split_first().is_some_and(|(_, name)| rest_fits(rest, name)),
        Some((c, rest)) => name.split_first().is_some_and(|(n, name)| n == c && rest_fits(rest, name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pattern: &str) -> Vec<String> {
        let names = |folder: &str| -> Vec<String> {
            let names: &[&str] = match folder {
                "" => &["releases", "app", ".hidden"],
                "releases" => &["app-1.0", "app-1.10", "app-1.0.sha256", "lib"],
                "/" => &["opt"],
                "/opt" => &["app"],
                _ => &[],
            };
            names.iter().map(|name| (*name).to_owned()).collect()
        };
        expand(pattern, &names)
    }

    #[test]
    fn stars_stay_within_a_name() {
        assert_eq!(
            found("releases/app-*"),
            ["releases/app-1.0", "releases/app-1.0.sha256", "releases/app-1.10"]
        );
        assert_eq!(found("releases/app-?.?"), ["releases/app-1.0"]);
        assert_eq!(found("*/lib"), ["releases/lib"]);
        assert_eq!(found("/opt/app"), ["/opt/app"]);
        assert_eq!(found("./app"), ["app"]);
        assert_eq!(found("*"), ["app", "releases"], "hidden files are not meant");
        assert!(found("releases/none").is_empty() && found("*lib").is_empty());
    }
}
