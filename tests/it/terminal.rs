//! The answer on a terminal: it fits, its plots are right, and nothing in it acts.

use std::process::Command;
use std::time::Duration;

use crate::desk::{Desk, code, csv_rows, stderr, stdout};
use crate::exported::{FORMULA, copy, said, text};
use crate::process::{finish, told};

/// Commands that hold a path or are ready to paste are never broken.
fn is_unbroken(line: &str) -> bool {
    ["record  ", "report  ", "losses  ", "  fieldtrial rerun", "    cd "]
        .iter()
        .any(|start| line.starts_with(start))
}

fn acts(c: char) -> bool {
    c != '\n' && (c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c))
}

fn at_width(desk: &Desk, width: &str, args: &[&str]) -> String {
    let output = finish(desk.command(args).env("COLUMNS", width), Duration::from_secs(60));
    assert!([0, 5].contains(&code(&output)), "{}", told(&output));
    stdout(&output)
}

/// What a terminal of 60 columns gets, by a pseudo-terminal of its own.
fn on_a_terminal(desk: &Desk, record: &str, environment: &[(&str, &str)]) -> String {
    let exe = env!("CARGO_BIN_EXE_fieldtrial");
    let mut command = Command::new("script");
    command.args(["-qec", &format!("stty cols 60; '{exe}' report '{record}'"), "/dev/null"]);
    command.current_dir(desk.path()).stdin(std::process::Stdio::null());
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "LC_ALL", "LC_CTYPE", "LANG", "COLUMNS"] {
        command.env_remove(name);
    }
    command.env("TERM", "xterm").env("HOME", desk.path()).env("XDG_CACHE_HOME", desk.path().join("cache"));
    command.envs(environment.iter().copied());
    stdout(&finish(&mut command, Duration::from_secs(60))).replace("\r\n", "\n")
}

#[test]
fn every_line_fits_the_width_it_is_given() {
    let (desk, record) = copy();
    let record = text(&record);
    for width in ["40", "80", "200"] {
        let cell = format!("{FORMULA}/flaky");
        for args in [&["report", &record][..], &["show", &record, "--cell", &cell]] {
            let shown = at_width(&desk, width, args);
            let longest =
                shown.lines().filter(|line| !is_unbroken(line)).max_by_key(|line| line.chars().count());
            let longest = longest.expect("lines");
            assert!(longest.chars().count() <= width.parse().unwrap(), "{width}: {longest}");
        }
    }
}

#[test]
fn every_measured_run_is_in_the_dots_and_ascii_means_ascii() {
    let (desk, record) = copy();
    let record = text(&record);
    let wide = at_width(&desk, "200", &["report", &record]);
    let plots = wide.split("a dot is a run").nth(1).expect("a plot of the first grid point");
    let slower = plots.lines().find(|line| line.trim_start().starts_with("slower ")).expect("its line");
    assert!(slower.contains('┃') && slower.contains(['·', '•', '●']), "{slower}");
    let plain = plots.lines().find(|line| line.trim_start().starts_with("plain ")).expect("its line");
    let column = |line: &str| line.chars().position(|c| c == '┃').expect("a median");
    assert!(column(slower) > column(plain) + 40, "60 ms lie far right of none:\n{plain}\n{slower}");
    assert!(wide.contains("beside these: 1 failed"), "{wide}");
    let effects = wide.split("│ no change").nth(1).expect("a plot of effects");
    let line = effects.lines().find(|line| line.trim_start().starts_with("slower ")).expect("its line");
    let place =
        |c: char| line.chars().position(|other| other == c).unwrap_or_else(|| panic!("no {c}: {line}"));
    assert!(place('│') < place('├') && place('├') < place('┤'), "{line}");
    assert!(line.ends_with("worse"), "{line}");
    let plain = at_width(&desk, "80", &["report", &record, "--ascii"]);
    assert!(plain.is_ascii() && plain.contains("a dot is a run"), "{plain}");
    let cell = format!("{FORMULA}/slower");
    assert!(at_width(&desk, "80", &["show", &record, "--cell", &cell, "--ascii"]).is_ascii());
}

#[test]
fn a_terminal_gets_its_width_its_letters_and_its_colours() {
    let (desk, record) = copy();
    let record = text(&record);
    let coloured = on_a_terminal(&desk, &record, &[("LANG", "C.UTF-8")]);
    assert!(coloured.contains("\u{1b}[31m") && coloured.contains('┃'), "{coloured}");
    let without: String =
        coloured.replace("\u{1b}[31m", "").replace("\u{1b}[33m", "").replace("\u{1b}[0m", "");
    assert!(!without.contains(acts), "nothing but colours: {without:?}");
    let rows = without.lines().filter(|line| !is_unbroken(line));
    assert!(rows.clone().all(|line| line.chars().count() <= 60), "{without}");
    assert!(rows.clone().any(|line| line.chars().count() > 50), "it fills the terminal: {without}");
    let plain = on_a_terminal(&desk, &record, &[("LANG", "C.UTF-8"), ("NO_COLOR", "1")]);
    assert!(!plain.contains('\u{1b}') && plain.contains("worse"), "{plain}");
    let ascii = on_a_terminal(&desk, &record, &[("LANG", "C"), ("NO_COLOR", "1")]);
    assert!(ascii.is_ascii(), "{ascii}");
}

#[test]
fn what_programs_wrote_never_acts_on_a_terminal() {
    assert!(said().contains("owned") && !said().contains(acts), "{}", said());
    let (desk, record) = copy();
    let record = text(&record);
    let cell = format!("{FORMULA}/flaky");
    let shown = desk.fieldtrial(&["show", &record, "--cell", &cell]);
    assert!(stdout(&shown).contains("\\x1b]0;owned\\x07\\x1b[8m<script>"), "{}", told(&shown));
    assert!(stdout(&shown).contains("\\x9b1m\\u{202e}"), "{}", told(&shown));
    assert!(!stdout(&shown).contains(acts));
    let json = desk.fieldtrial(&["show", &record, "--cell", &cell, "--json"]);
    assert!(!stdout(&json).contains(acts), "{}", told(&json));
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("strict JSON");
    let heads = json.to_string();
    assert!(heads.contains("\u{9b}1m\u{202e}"), "JSON holds the original");
    let hostile = "text=\u{1b}[2J\u{9b}31m/x";
    let unknown = desk.fieldtrial(&["show", &record, "--cell", hostile]);
    assert!(stderr(&unknown).contains("\\x1b[2J") && !stderr(&unknown).contains(acts), "{}", told(&unknown));
}

#[test]
fn a_cell_is_shown_whole_and_a_wrong_id_names_the_near_ones() {
    let (desk, record) = copy();
    let (path, cell) = (text(&record), format!("{FORMULA}/flaky"));
    let shown = stdout(&desk.fieldtrial(&["show", &path, "--cell", &cell]));
    for value in csv_rows(&record.join("runs.csv")).iter().filter(|row| row["cell"] == cell) {
        assert!(shown.contains(&format!("wall_time {} s", value["wall_time (s)"])), "{value:?} in {shown}");
        let run = format!("#{}.{} {}", value["block"], value["attempt"], value["outcome"]);
        assert!(shown.contains(&run), "{run} in {shown}");
    }
    for part in ["exit status 3", "output sha256", "LISTED=visible sh ", "how: flaky instead of plain"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert!(shown.contains(&format!("fieldtrial rerun {path} --cell '{cell}'")), "{shown}");
    let refused = stdout(&desk.fieldtrial(&["show", &path, "--cell", "text=-5.55/wrong"]));
    assert!(refused.contains("refused by proof: it gives another answer than the control"), "{refused}");
    let json = desk.fieldtrial(&["show", &path, "--cell", &cell, "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(json["runs"].as_array().map(Vec::len), Some(8));
    assert!(json["effects"][0]["verdict"].is_string(), "{json}");
    let near = desk.fieldtrial(&["show", &path, "--cell", "text=-5.55/slow"]);
    assert_eq!(code(&near), 2);
    assert!(stderr(&near).contains("the nearest are\n  text=-5.55/slower\n"), "{}", told(&near));
}

#[test]
fn open_hands_the_page_to_the_desktop_and_says_so_where_there_is_none() {
    let (desk, record) = copy();
    let path = text(&record);
    let open = |environment: &[(&str, &str)]| {
        let mut command = desk.command(&["report", &path, "--open"]);
        for name in ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"] {
            command.env_remove(name);
        }
        finish(command.envs(environment.iter().copied()), Duration::from_secs(60))
    };
    let none = open(&[]);
    assert!(stderr(&none).contains("no desktop") && stderr(&none).contains("xdg-open"), "{}", told(&none));
    assert_eq!(code(&none), 5, "as the record says: {}", told(&none));
    let bin = desk.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let opener = bin.join("xdg-open");
    let log = desk.path().join("opened");
    let install = |script: String| {
        std::fs::write(&opener, script).unwrap();
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    let search = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    install(format!("#!/bin/sh\nprintf %s \"$1\" >{}\n", log.display()));
    let opened = open(&[("DISPLAY", ":9"), ("PATH", &search)]);
    assert_eq!(code(&opened), 5, "{}", told(&opened));
    assert_eq!(std::fs::read_to_string(&log).unwrap(), text(&record.join("index.html")));
    install("#!/bin/sh\nexit 3\n".to_owned());
    let failed = open(&[("WAYLAND_DISPLAY", "w"), ("PATH", &search)]);
    assert_eq!(code(&failed), 13, "{}", told(&failed));
    assert!(
        stderr(&failed).contains("next: open ") && stdout(&failed).contains("worse"),
        "{}",
        told(&failed)
    );
}
