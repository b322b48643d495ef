//! The floor plan as src/lib.rs draws it: rooms, storeys and doors.

use std::collections::BTreeMap;

/// One row of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Room {
    pub pure: bool,
    /// Rooms it may use; None is all of them.
    pub doors: Option<Vec<String>>,
}

/// The table, by room.
#[derive(Debug, Clone, PartialEq)]
pub struct FloorPlan {
    pub rooms: BTreeMap<String, Room>,
}

impl FloorPlan {
    /// Reads the table out of the documentation of src/lib.rs.
    pub fn parse(lib: &str) -> Result<FloorPlan, String> {
        let mut rooms = BTreeMap::new();
        for row in lib.lines().filter_map(|line| line.strip_prefix("//! | `")) {
            let cells: Vec<_> = row.trim_end().trim_end_matches('|').split('|').map(str::trim).collect();
            let [name, storey, _, doors] = cells[..] else {
                return Err(format!("expected four columns in the floor plan, found: {row}"));
            };
            let name = name.trim_end_matches('`').to_owned();
            let pure = match storey {
                "P" => true,
                "W" | "H" => false,
                other => return Err(format!("{name}: expected P, W or H, found {other}")),
            };
            let doors = match doors {
                "–" => Some(Vec::new()),
                all if all.starts_with("all") => None,
                list => Some(list.split(',').map(|door| door.trim().to_owned()).collect()),
            };
            if rooms.insert(name.clone(), Room { pure, doors }).is_some() {
                return Err(format!("{name} has two rows in the floor plan"));
            }
        }
        if rooms.is_empty() {
            Err("expected the floor plan as a table, found none".to_owned())
        } else {
            Ok(FloorPlan { rooms })
        }
    }

    /// Whether a file lies in a pure room.
    pub fn is_pure(&self, path: &str) -> bool {
        room_of(path).and_then(|room| self.rooms.get(room)).is_some_and(|room| room.pure)
    }
}

/// The room of a file; None for src/lib.rs, src/main.rs and what is outside src.
pub fn room_of(path: &str) -> Option<&str> {
    path.strip_prefix("src/")?.split_once('/').map(|(room, _)| room)
}

/// Differences between the table, the declarations in src/lib.rs and the files, and doors that cannot be.
pub fn complaints(plan: &FloorPlan, lib: &str, paths: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let declared: Vec<_> =
        lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.trim_end().strip_suffix(';')).collect();
    if !declared.is_sorted() {
        found
            .push(format!("src/lib.rs: expected the rooms in the order of the alphabet, found {declared:?}"));
    }
    let on_disk = |room: &str| paths.iter().any(|path| path == &format!("src/{room}/mod.rs"));
    for name in plan.rooms.keys() {
        if !on_disk(name) {
            found.push(format!(
                "src/{name}/mod.rs: {name} is in the floor plan of src/lib.rs but not on the disk"
            ));
        }
        if !declared.contains(&name.as_str()) {
            found.push(format!("src/lib.rs: {name} is in the floor plan but not declared by `pub mod`"));
        }
    }
    for name in declared.iter().filter(|name| !plan.rooms.contains_key(**name)) {
        found.push(format!("src/lib.rs: {name} is declared but not in the floor plan"));
    }
    for path in paths {
        // Tests that fill several files are the one thing that may have a folder inside a room.
        let in_tests = room_of(path).is_some_and(|room| path.starts_with(&format!("src/{room}/tests/")));
        match path.matches('/').count() - usize::from(in_tests) {
            1 if ["src/lib.rs", "src/main.rs"].contains(&path.as_str()) => {}
            2 if room_of(path).is_some_and(|room| plan.rooms.contains_key(room)) => {}
            _ => found.push(format!(
                "{path}: expected src/ROOM/FILE.rs with a room of the floor plan in src/lib.rs"
            )),
        }
    }
    for (name, room) in &plan.rooms {
        for door in room.doors.iter().flatten() {
            match plan.rooms.get(door) {
                None => found.push(format!("src/lib.rs: {name} may use {door}, which is no room")),
                Some(other) if room.pure && !other.pure => {
                    found.push(format!("src/lib.rs: {name} is pure but may use {door}, which is not"));
                }
                Some(_) if reaches(plan, door, name, plan.rooms.len()) => {
                    found.push(format!("src/lib.rs: {name} and {door} may use each other, in a circle"));
                }
                Some(_) => {}
            }
        }
    }
    found
}

fn reaches(plan: &FloorPlan, from: &str, to: &str, depth: usize) -> bool {
    let doors = plan.rooms.get(from).and_then(|room| room.doors.as_deref()).unwrap_or_default();
    depth > 0 && doors.iter().any(|door| door == to || reaches(plan, door, to, depth - 1))
}

#[cfg(test)]
const SAMPLE: &str = "//! The floor plan.\n//! | room | | one sentence | may use |\n//! |---|---|---|---|\n\
                      //! | `a` | P | one | – |\n//! | `b` | W | two | a |\n//! | `c` | W | three | all, wiring |\n\n\
                      pub mod a;\npub mod b;\npub mod c;\n";

#[test]
fn the_table_is_read_as_written() {
    let plan = FloorPlan::parse(SAMPLE).expect("the sample is good");
    assert_eq!(plan.rooms["a"], Room { pure: true, doors: Some(Vec::new()) });
    assert_eq!(plan.rooms["b"], Room { pure: false, doors: Some(vec!["a".to_owned()]) });
    assert_eq!(plan.rooms["c"].doors, None);
    assert!(plan.is_pure("src/a/x.rs") && !plan.is_pure("src/b/x.rs") && !plan.is_pure("src/lib.rs"));
    assert!(FloorPlan::parse("//! no table").is_err());
    assert!(FloorPlan::parse("//! | `a` | X | one | – |").is_err());
    assert!(FloorPlan::parse("//! | `a` | P | one |").is_err());
}

#[test]
fn a_plan_that_differs_from_declarations_or_disk_is_refused() {
    let said = |lib: &str, paths: &[&str]| {
        let paths: Vec<_> = paths.iter().map(|path| (*path).to_owned()).collect();
        complaints(&FloorPlan::parse(lib).expect("readable"), lib, &paths)
    };
    let disk = ["src/lib.rs", "src/main.rs", "src/a/mod.rs", "src/b/mod.rs", "src/c/mod.rs", "src/c/door.rs"];
    assert_eq!(said(SAMPLE, &disk), Vec::<String>::new());
    assert_eq!(said(SAMPLE, &disk[..4]).len(), 1, "a room missing on the disk");
    assert_eq!(
        said(SAMPLE, &[&disk[..], &["src/d/mod.rs"]].concat()).len(),
        1,
        "a room missing in the table"
    );
    assert_eq!(said(SAMPLE, &[&disk[..], &["src/a/deep/x.rs"]].concat()).len(), 1, "a third storey");
    assert_eq!(said(SAMPLE, &[&disk[..], &["src/a/tests/x.rs"]].concat()).len(), 0, "tests of a room");
    assert_eq!(
        said(SAMPLE, &[&disk[..], &["src/a/tests/deep/x.rs"]].concat()).len(),
        1,
        "a third storey of tests"
    );
    assert_eq!(said(&format!("{SAMPLE}pub mod d;\n"), &disk).len(), 1, "declared but not planned");
    assert_eq!(said(&SAMPLE.replace("pub mod b;\n", ""), &disk).len(), 1, "planned but not declared");
    assert_eq!(
        said(&SAMPLE.replace("| one | – |", "| one | b |"), &disk).len(),
        2,
        "pure uses impure; a circle"
    );
    assert_eq!(said(&SAMPLE.replace("| two | a |", "| two | x |"), &disk).len(), 1, "a door to nowhere");
}
