//! What no source file may have, and what no file of a pure room may touch.

use super::source::{Path, code_of, paths, tokens};

/// Longest file, in lines.
const LONGEST: usize = 500;
/// Ways out of a pure room: a path is refused when these follow each other anywhere in it.
const OUTSIDE: [&[&str]; 16] = [
    &["std", "fs"],
    &["std", "net"],
    &["std", "process"],
    &["std", "env"],
    &["std", "thread"],
    &["std", "os"],
    &["io", "stdin"],
    &["io", "stdout"],
    &["io", "stderr"],
    &["Instant", "now"],
    &["SystemTime", "now"],
    &["Timestamp", "now"],
    &["Zoned", "now"],
    &["tokio"],
    &["libc"],
    &["unsafe"],
];
/// Macros that print.
const PRINTING: [&str; 4] = ["println", "eprintln", "print", "eprint"];
/// Macros that say that the work is not finished.
const UNFINISHED: [&str; 3] = ["todo", "unimplemented", "dbg"];
/// Words that name a heap of things and not a thing.
const HEAPS: [&str; 7] = ["util", "utils", "helper", "helpers", "common", "manager", "misc"];

/// Complaints about a file of a pure room that reaches for the world.
pub fn impurities(path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for used in paths(text) {
        let touches = |way: &&&[&str]| used.segments.windows(way.len()).any(|part| part == **way);
        // `std::env!` and the like are macros of the compiler, which run before the program does.
        let way = OUTSIDE.iter().filter(|_| !used.is_macro).find(touches).map(|way| way.join("::"));
        let prints = used.is_macro.then(|| used.segments.last()).flatten();
        let prints = prints.filter(|name| PRINTING.contains(&name.as_str())).map(|name| format!("{name}!"));
        if let Some(what) = way.or(prints) {
            found.push(format!(
                "{path}:{}: {what} in a pure room; let the caller hand in what it gives",
                used.line
            ));
        }
    }
    found
}

/// Complaints about a file of a room that speaks, where it speaks by a macro that ends the program
/// once nobody listens: a run must outlive `| head -1`, and an agent its workstation.
pub fn shouts(path: &str, text: &str) -> Vec<String> {
    let speaking = ["src/cli/", "src/agent/", "src/tool/", "src/remote/"];
    if !speaking.iter().any(|room| path.starts_with(room)) {
        return Vec::new();
    }
    if path.starts_with("src/cli/") && path != "src/cli/voice.rs" {
        let mouth = |used: &Path| used.segments.windows(2).any(|part| part == ["io", "stdout"]);
        if let Some(used) = paths(text).iter().find(|used| mouth(used)) {
            return vec![format!(
                "{path}:{}: io::stdout past src/cli/voice.rs, which lets nothing act on a terminal",
                used.line
            )];
        }
    }
    let prints = paths(text).into_iter().filter(|used| used.is_macro);
    prints
        .filter_map(|used| {
            let name = used.segments.last().filter(|name| PRINTING.contains(&name.as_str()))?;
            let line = used.line;
            Some(format!(
                "{path}:{line}: {name}! panics once nobody listens; write and decide what a failure is"
            ))
        })
        .collect()
}

/// Complaints about a source file of any room, or of the tests.
pub fn complaints(path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let lines = text.lines().count();
    if lines > LONGEST {
        found.push(format!(
            "{path}: expected at most {LONGEST} lines, found {lines}; split it by what it does"
        ));
    }
    if let Err(why) = opening(text) {
        found.push(format!("{path}:1: expected `//! ` with one sentence that ends with a period, {why}"));
    }
    let names = path.split(['/', '.']).filter(|name| HEAPS.contains(name));
    found.extend(
        names.map(|name| format!("{path}: `{name}` says nothing; name the file after what is in it")),
    );
    found.extend(declared(text).into_iter().filter_map(|(line, name)| {
        let heap = words(&name).into_iter().find(|word| HEAPS.contains(&word.as_str()))?;
        Some(format!("{path}:{line}: `{heap}` in {name} says nothing; name it after what it is"))
    }));
    let unfinished = paths(text).into_iter().filter(|used| used.is_macro);
    found.extend(
        unfinished
            .filter(|used| UNFINISHED.contains(&used.segments[0].as_str()))
            .map(|used| format!("{path}:{}: {}! is not finished work", used.line, used.segments[0])),
    );
    for (number, line) in text.lines().enumerate() {
        // Written apart, or this file would refuse itself.
        for mark in [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("#[ig", "nore")] {
            if line.contains(mark) {
                found.push(format!(
                    "{path}:{}: `{mark}` is not finished work; a skip goes through tests/it/skip.rs",
                    number + 1
                ));
            }
        }
    }
    found
}

/// The first paragraph of the file has to be one sentence.
fn opening(text: &str) -> Result<(), String> {
    let paragraph: Vec<_> = text
        .lines()
        .map_while(|line| line.strip_prefix("//! ").filter(|line| !line.trim().is_empty()))
        .collect();
    let sentence = paragraph.join(" ");
    if sentence.is_empty() {
        return Err("found none".to_owned());
    }
    if !sentence.trim_end().ends_with('.') {
        return Err(format!("found: {sentence}"));
    }
    let next =
        sentence.split(". ").skip(1).find(|rest| rest.starts_with(|c: char| c.is_uppercase() || c == '`'));
    next.map_or(Ok(()), |next| Err(format!("found a second one (put an empty `//!` line between): {next}")))
}

/// Names of types and modules, with their lines.
fn declared(text: &str) -> Vec<(usize, String)> {
    let tokens = tokens(&code_of(text));
    let named = tokens
        .windows(2)
        .filter(|pair| ["struct", "enum", "trait", "mod", "type"].contains(&pair[0].1.as_str()));
    named.map(|pair| pair[1].clone()).collect()
}

/// `HostManager` and `host_manager` are both `host`, `manager`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in name.chars() {
        if c == '_' || c.is_uppercase() {
            words.push(String::new());
        }
        words.last_mut().expect("never empty").extend(c.to_lowercase().filter(|c| *c != '_'));
    }
    words
}

#[test]
fn a_pure_room_may_not_reach_for_the_world() {
    let refused = [
        "use std::fs;",
        "use std::{io, fs::File};",
        "fn f() { std::env::var(\"X\"); }",
        "use std::time::Instant; fn f() { Instant::now(); }",
        "let t = std::time::SystemTime::now();",
        "let t = jiff::Timestamp::now();",
        "unsafe { f() }",
        "println!(\"x\");",
        "std::eprint!(\"x\");",
        "std::io::stdout();",
        "use tokio::time;",
        "#[cfg(test)] mod tests { use std::process::Command; }",
    ];
    for text in refused {
        assert_eq!(impurities("src/a/x.rs", text).len(), 1, "{text}: {:?}", impurities("src/a/x.rs", text));
    }
    let allowed = "// unsafe std::fs\nuse std::fmt; const S: &str = \"Instant::now\"; fn f(at: Instant) { a.now() }\
                   const P: &str = env!(\"X\"); let unsafe_rows = write!(f, \"\"); #![forbid(unsafe_code)]";
    assert_eq!(impurities("src/a/x.rs", allowed), Vec::<String>::new());
}

#[test]
fn a_room_that_speaks_may_not_die_of_a_closed_pipe() {
    for text in ["println!(\"x\");", "std::eprintln!();", "anstream::eprint!(\"x\");"] {
        assert_eq!(shouts("src/cli/x.rs", text).len(), 1, "{text}");
    }
    assert_eq!(shouts("src/cli/x.rs", "writeln!(out, \"println!\");"), Vec::<String>::new());
    let mouth = "let out = std::io::stdout().lock();";
    assert_eq!(shouts("src/cli/x.rs", mouth).len(), 1);
    assert_eq!(shouts("src/cli/voice.rs", mouth), Vec::<String>::new());
    assert_eq!(shouts("src/nic/x.rs", "println!(\"skipped\");"), Vec::<String>::new());
}

#[test]
fn a_long_or_unfinished_or_badly_named_file_is_refused() {
    let good = "//! Cells of a plan, with their ids.\n//!\n//! More. And more.\n\nstruct Cell;\n";
    assert_eq!(complaints("src/a/cell.rs", good), Vec::<String>::new());
    let refused = [
        ("src/a/cell.rs", good.replace("//! Cells", "// Cells")),
        ("src/a/cell.rs", good.replace("ids.", "ids")),
        ("src/a/cell.rs", good.replace("ids.\n//!\n", "ids.\n")),
        ("src/a/cell.rs", format!("\n{good}")),
        ("src/a/cell.rs", good.to_owned() + &"\n".repeat(LONGEST)),
        ("src/a/helpers.rs", good.to_owned()),
        ("src/common/cell.rs", good.to_owned()),
        ("src/a/cell.rs", good.replace("Cell;", "CellManager;")),
        ("src/a/cell.rs", format!("{good}mod string_utils {{}}")),
        ("src/a/cell.rs", format!("{good}fn f() {{ todo!() }}")),
        ("src/a/cell.rs", format!("{good}fn f() {{ dbg!(1); }}")),
        ("src/a/cell.rs", format!("{good}// {} later", concat!("TO", "DO"))),
        ("tests/it/cell.rs", format!("{good}{}]", concat!("#[ig", "nore"))),
    ];
    for (path, text) in refused {
        assert_eq!(complaints(path, &text).len(), 1, "{path}: {text}: {:?}", complaints(path, &text));
    }
}
