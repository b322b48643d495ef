//! The house test: the floor plan in src/lib.rs and the habits of the house hold in every file.

mod doors;
mod floor_plan;
mod habits;
mod source;
mod texts;
mod tree;

use floor_plan::FloorPlan;
use tree::{File, files, repository};

/// The complaints of a check, each with its file and line, or nothing.
fn hold(complaints: Vec<String>) {
    assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n"));
}

fn sources_of(folder: &str) -> Vec<File> {
    files().into_iter().filter(|file| file.path.starts_with(folder) && file.path.ends_with(".rs")).collect()
}

fn plan() -> FloorPlan {
    let text = std::fs::read_to_string(repository().join("src/lib.rs")).expect("src/lib.rs can be read");
    FloorPlan::parse(&text).unwrap_or_else(|why| panic!("src/lib.rs: {why}"))
}

#[test]
fn rooms_use_only_the_rooms_that_the_floor_plan_allows() {
    let plan = plan();
    hold(
        sources_of("src/").iter().flat_map(|file| doors::complaints(&plan, &file.path, &file.text)).collect(),
    );
}

#[test]
fn pure_rooms_touch_no_world() {
    let plan = plan();
    let pure = sources_of("src/").into_iter().filter(|file| plan.is_pure(&file.path));
    hold(pure.flat_map(|file| habits::impurities(&file.path, &file.text)).collect());
}

#[test]
fn the_floor_plan_the_declarations_and_the_disk_name_the_same_rooms() {
    let text = std::fs::read_to_string(repository().join("src/lib.rs")).expect("src/lib.rs can be read");
    let paths: Vec<_> = sources_of("src/").into_iter().map(|file| file.path).collect();
    hold(floor_plan::complaints(&plan(), &text, &paths));
}

#[test]
fn every_source_file_is_short_opens_with_its_sentence_and_is_finished() {
    let sources = sources_of("src/").into_iter().chain(sources_of("tests/"));
    hold(sources.flat_map(|file| habits::complaints(&file.path, &file.text)).collect());
    hold(sources_of("src/").iter().flat_map(|file| habits::shouts(&file.path, &file.text)).collect());
}

#[test]
fn no_text_names_this_machine_or_an_unknown_web_host() {
    let root = repository();
    hold(files().iter().flat_map(|file| texts::complaints(&file.path, &file.text, &root)).collect());
}

#[test]
fn nothing_else_lies_at_the_top_of_the_repository() {
    let paths: Vec<_> = files().into_iter().map(|file| file.path).collect();
    hold(tree::strangers(&paths));
}

#[test]
fn all_that_belongs_at_the_top_of_the_repository_is_there() {
    let paths: Vec<_> = files().into_iter().map(|file| file.path).collect();
    hold(tree::missing(&paths));
}

#[test]
fn both_format_files_are_the_same() {
    // One at the top would be one thing too many there, and rustfmt looks upwards from each file.
    let read = |path: &str| std::fs::read_to_string(repository().join(path)).expect(path);
    assert_eq!(read("src/rustfmt.toml"), read("tests/rustfmt.toml"));
}
