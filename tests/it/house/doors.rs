//! Which room uses which: a path that leads through a wall is refused.

use super::floor_plan::{FloorPlan, room_of};
use super::source::{Path, paths};

/// Complaints about paths from a file into a room that the floor plan does not let it use.
/// Tests inside a room keep to the same doors.
pub fn complaints(plan: &FloorPlan, path: &str, text: &str) -> Vec<String> {
    let room = room_of(path);
    let doors = match room {
        // Beside the rooms lie the floor plan, which only declares them, and the program, which opens the front door.
        None => Some(if path == "src/main.rs" { vec!["cli".to_owned()] } else { Vec::new() }),
        Some(room) => match plan.rooms.get(room) {
            Some(room) => room.doors.clone(),
            None => return vec![format!("{path}: {room} is no room of the floor plan in src/lib.rs")],
        },
    };
    let mut found = Vec::new();
    for used in paths(text).iter().filter(|used| !used.is_visibility) {
        let Some(target) = target(path, used) else { continue };
        let line = used.line;
        match target {
            "self" | "*" => {
                found.push(format!("{path}:{line}: expected the name of one room, found the whole house"))
            }
            target if Some(target) == room => {}
            target if !plan.rooms.contains_key(target) => {
                found.push(format!("{path}:{line}: {target} is no room of the floor plan in src/lib.rs"));
            }
            target if doors.as_ref().is_some_and(|doors| !doors.iter().any(|door| door == target)) => {
                let open = doors.as_deref().unwrap_or_default().join(", ");
                let from = room.unwrap_or(path);
                found.push(format!(
                    "{path}:{line}: {from} may use [{open}] but uses {target}; next step: find another way, or \
                     change the table in src/lib.rs in the same commit"
                ));
            }
            _ => {}
        }
    }
    found
}

/// The room that a path leads into by way of the crate's root; None when it stays inside or leaves the crate.
fn target<'path>(file: &str, used: &'path Path) -> Option<&'path str> {
    let segments: Vec<_> = used.segments.iter().map(String::as_str).collect();
    let below = match segments[..] {
        ["crate" | "fieldtrial", ..] => 1,
        ["super", ..] => {
            let climbed = segments.iter().take_while(|segment| **segment == "super").count();
            let height = used.depth + file.matches('/').count() - usize::from(file.ends_with("/mod.rs"));
            if climbed < height {
                return None;
            }
            climbed
        }
        _ => return None,
    };
    match segments.get(below) {
        Some(target) => Some(target),
        // A package name alone is an ordinary word, but `crate` or the root by itself opens every door.
        None if segments[0] == "fieldtrial" => None,
        None => Some("self"),
    }
}

#[cfg(test)]
fn said(path: &str, text: &str) -> Vec<String> {
    let table = "//! | `a` | P | one | – |\n//! | `b` | W | two | a |\n//! | `c` | W | three | a |\n//! | `cli` | W | four | all |";
    complaints(&FloorPlan::parse(table).expect("the table is good"), path, text)
}

#[test]
fn doors_in_the_table_are_open() {
    let none = Vec::<String>::new();
    assert_eq!(said("src/b/x.rs", "use crate::a::T; use crate::b::U; use super::y; use std::c::d;"), none);
    assert_eq!(said("src/b/x.rs", "pub(crate) fn f() {}\nmod tests { use super::super::y; }"), none);
    assert_eq!(said("src/b/mod.rs", "mod tests { use super::c; }"), none, "a name inside the room");
    assert_eq!(said("src/b/tests/x.rs", "use super::super::c;"), none, "a name inside the room");
    assert_eq!(said("src/b/tests/mod.rs", "use super::*;"), none, "the room itself");
    assert_eq!(said("src/cli/x.rs", "use crate::{a, b, c};"), none);
    assert_eq!(said("src/main.rs", "fn main() { fieldtrial::cli::main() }"), none);
    assert_eq!(
        said("src/b/x.rs", "// use crate::c;\nconst T: &str = \"crate::c::x\"; let fieldtrial = 1;"),
        none
    );
}

#[test]
fn walls_are_walls_however_they_are_written() {
    let refused = [
        ("src/a/x.rs", "use crate::b::T;"),
        ("src/b/x.rs", "use crate::{a, c::T};"),
        ("src/b/x.rs", "fn f() -> crate::c::T {}"),
        ("src/b/x.rs", "#[cfg(test)] mod tests { use crate::c::T; }"),
        ("src/b/x.rs", "use super::super::c::T;"),
        ("src/b/x.rs", "mod tests { use super::super::super::c; }"),
        ("src/b/mod.rs", "use super::c;"),
        ("src/b/tests/x.rs", "use super::super::super::c;"),
        ("src/b/x.rs", "use fieldtrial::c;"),
        ("src/b/x.rs", "use crate::nowhere::T;"),
        ("src/b/x.rs", "use crate as house;"),
        ("src/b/x.rs", "use crate::*;"),
        ("src/main.rs", "use fieldtrial::a;"),
        ("src/lib.rs", "pub use crate::a::T;"),
        ("src/unknown/x.rs", ""),
    ];
    for (path, text) in refused {
        assert_eq!(said(path, text).len(), 1, "{path}: {text}: {:?}", said(path, text));
    }
    assert!(said("src/b/x.rs", "\n\nuse crate::c;")[0].starts_with("src/b/x.rs:3: b may use [a] but uses c"));
}
