//! Names of arms made from command lines, short and different from each other.

use std::collections::BTreeSet;

/// Longest name that is made; `naming` would take more, and tables would not.
const LONGEST: usize = 24;
/// What an arm is called when its command line has no word to name it by.
const NAMELESS: &str = "command";

/// A valid and different name for each command line: the program's, and where several arms run the same
/// program also the words that tell them apart.
pub fn arm_names(commands: &[String]) -> Vec<String> {
    let words: Vec<Vec<String>> = commands.iter().map(|line| labels(line)).collect();
    let mut names: Vec<String> = Vec::with_capacity(commands.len());
    for (at, own) in words.iter().enumerate() {
        let program = own.first();
        let others: Vec<&Vec<String>> = words
            .iter()
            .enumerate()
            .filter(|(other, w)| *other != at && w.first() == program)
            .map(|(_, w)| w)
            .collect();
        let shared: BTreeSet<&String> =
            own.iter().filter(|word| !others.is_empty() && others.iter().all(|w| w.contains(word))).collect();
        let telling = own.iter().skip(1).filter(|word| !others.is_empty() && !shared.contains(word));
        let name = program.into_iter().chain(telling).fold(String::new(), |name, word| match name.len() {
            0 => cut(word),
            length if length + 1 + word.len() <= LONGEST => format!("{name}-{word}"),
            _ => name,
        });
        let name = if name.is_empty() { NAMELESS.to_owned() } else { name };
        let free = |name: &String| !names.contains(name);
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let name = std::iter::once(name.clone()).chain(numbered).find(free).unwrap_or(name);
        names.push(name);
    }
    names
}

/// The words of a line, the program without its folder, each reduced to what a name may hold.
fn labels(line: &str) -> Vec<String> {
    let mut words = line.split_whitespace();
    let program = words.next().map(|word| word.trim_matches(['\'', '"']).rsplit('/').next().unwrap_or(word));
    program.into_iter().chain(words).map(reduced).filter(|word| !word.is_empty()).collect()
}

fn reduced(word: &str) -> String {
    let plain = |each: char| if each.is_ascii_alphanumeric() || "._".contains(each) { each } else { '-' };
    let text: String = word.chars().map(plain).collect();
    text.split('-')
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("-")
        .trim_start_matches(['.', '_'])
        .to_owned()
}

fn cut(word: &str) -> String {
    word.chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(commands: &[&str]) -> Vec<String> {
        arm_names(&commands.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn programs_name_the_arms_and_what_differs_tells_them_apart() {
        assert_eq!(names(&["gzip -k x", "/usr/bin/zstd -k x"]), ["gzip", "zstd"]);
        assert_eq!(names(&["sort -n x", "sort -g x"]), ["sort-n", "sort-g"]);
        assert_eq!(names(&["grep a x", "grep -F a x", "rg a x"]), ["grep", "grep-F", "rg"]);
        assert_eq!(names(&["./a.sh | wc -l", "./b.sh | wc -l"]), ["a.sh", "b.sh"]);
        assert_eq!(names(&["old/scan x", "new/scan x"]), ["scan", "scan-2"]);
        assert_eq!(names(&["sleep 0.1", "sleep 0.2"]), ["sleep-0.1", "sleep-0.2"]);
    }

    #[test]
    fn every_name_is_valid_and_no_two_are_equal() {
        let odd = [
            "()",
            "()",
            "",
            "'é é'",
            "x\" --",
            "--help",
            &"y".repeat(300),
            &"y".repeat(301),
            "a_b",
            ".x",
            "_",
        ];
        let found = names(&odd);
        for (at, name) in found.iter().enumerate() {
            assert!(name.starts_with(|c: char| c.is_ascii_alphanumeric()), "{name}");
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)), "{name}");
            assert!(name.len() <= 64 && !found[..at].contains(name), "{found:?}");
        }
    }
}
