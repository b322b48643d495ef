//! The files of the repository, with what may lie at its top.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What the top level has to have.
const REQUIRED: [&str; 9] =
    ["Cargo.toml", "Cargo.lock", "src", "campaigns", "hosts", "reports", "schemas", "tests", "README.md"];
/// What it may have besides.
const ALLOWED: [&str; 4] = [".ci", ".cargo", ".gitignore", "LICENSE"];

/// A text file, by its path from the top of the repository.
pub struct File {
    pub path: String,
    pub text: String,
}

/// The top of the repository.
pub fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// All text files that are or would be committed.
pub fn files() -> Vec<File> {
    let root = repository();
    let mut paths = listed_by_git(&root).unwrap_or_else(|| {
        let mut found = Vec::new();
        walk(&root, "", &mut found);
        found
    });
    paths.sort();
    assert!(paths.iter().any(|path| path == "src/lib.rs"), "no files found below {}", root.display());
    let read = |path: String| {
        // Not text, or listed but deleted.
        let text = std::fs::read_to_string(root.join(&path)).ok()?;
        Some(File { path, text })
    };
    paths.into_iter().filter_map(read).collect()
}

/// Complaints about what does not belong at the top level.
pub fn strangers(paths: &[String]) -> Vec<String> {
    let mut tops: Vec<_> = paths.iter().map(|path| top(path)).collect();
    tops.sort_unstable();
    tops.dedup();
    let strange = tops.into_iter().filter(|top| !REQUIRED.contains(top) && !ALLOWED.contains(top));
    strange.map(|top| format!("{top}: does not belong at the top level; move it into a folder")).collect()
}

/// Complaints about what the top level lacks.
pub fn missing(paths: &[String]) -> Vec<String> {
    let absent = REQUIRED.iter().filter(|name| !paths.iter().any(|path| top(path) == **name));
    absent.map(|name| format!("{name}: expected at the top level, but not found")).collect()
}

fn top(path: &str) -> &str {
    path.split('/').next().unwrap_or(path)
}

/// None outside a git work tree, or where git is absent or distrusts the folder's owner.
fn listed_by_git(root: &Path) -> Option<Vec<String>> {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
    let listed = String::from_utf8(output.stdout).ok()?;
    let paths: Vec<_> = listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    (output.status.success() && !paths.is_empty()).then_some(paths)
}

fn walk(root: &Path, below: &str, found: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(root.join(below)) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if below.is_empty() { name } else { format!("{below}/{name}") };
        // What git itself and .gitignore leave out: its own data, build products and records.
        let is_record = path.starts_with("reports/") && path.matches('/').count() == 2;
        match entry.file_type() {
            _ if path == ".git" || path == "target" => {}
            Ok(kind) if kind.is_dir() && !is_record => walk(root, &path, found),
            Ok(kind) if kind.is_file() => found.push(path),
            _ => {}
        }
    }
}

#[test]
fn a_stranger_at_the_top_is_refused_and_a_missing_folder_noticed() {
    let paths = |list: &[&str]| list.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>();
    assert_eq!(strangers(&paths(&["src/lib.rs", ".ci/run", "LICENSE", "tests/run"])), Vec::<String>::new());
    assert_eq!(strangers(&paths(&["src/lib.rs", "rustfmt.toml", "docs/a.md", "docs/b.md"])).len(), 2);
    let all: Vec<_> = REQUIRED.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(missing(&all), Vec::<String>::new());
    assert_eq!(missing(&all[1..]).len(), 1);
}

#[test]
fn walking_finds_what_git_lists() {
    let root = repository();
    let Some(mut listed) = listed_by_git(&root) else { return };
    let mut found = Vec::new();
    walk(&root, "", &mut found);
    listed.retain(|path| root.join(path).is_file());
    for path in listed {
        assert!(found.contains(&path), "{path}");
    }
    let foreign = found.iter().find(|path| ["target", ".git"].contains(&top(path)));
    assert_eq!(foreign, None);
}
