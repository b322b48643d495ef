//! Rust source as the house test reads it: code without comments and literals, and the paths in it.

/// A path such as `crate::model::cell`, with groups of `use` written out.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    /// Counted from 1.
    pub line: usize,
    pub segments: Vec<String>,
    /// How many `mod name { … }` of the same file surround it.
    pub depth: usize,
    /// Followed by `!`, hence the name of a macro.
    pub is_macro: bool,
    /// Between parentheses alone, as in `pub(crate)`.
    pub is_visibility: bool,
}

/// The code with every comment, string and character literal blanked; lines and columns stay.
pub fn code_of(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = skipped(&chars, at);
        match end {
            Some(end) => {
                code.extend(chars[at..end].iter().map(|c| if *c == '\n' { '\n' } else { ' ' }));
                at = end;
            }
            None => {
                code.push(chars[at]);
                at += 1;
            }
        }
    }
    code
}

/// Where the comment or literal that begins at `at` ends; None when none begins there.
fn skipped(chars: &[char], at: usize) -> Option<usize> {
    let is = |offset: usize, wanted: char| chars.get(at + offset) == Some(&wanted);
    let after_word = at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_');
    match chars[at] {
        '/' if is(1, '/') => Some((at..chars.len()).find(|i| chars[*i] == '\n').unwrap_or(chars.len())),
        '/' if is(1, '*') => Some(block_comment_end(chars, at)),
        '"' => Some(string_end(chars, at)),
        'r' if !after_word || at > 0 && matches!(chars[at - 1], 'b' | 'c') => {
            let hashes = chars[at + 1..].iter().take_while(|c| **c == '#').count();
            if !is(1 + hashes, '"') {
                return None;
            }
            let closes = |i: &usize| {
                chars[*i] == '"' && (1..=hashes).all(|offset| chars.get(i + offset) == Some(&'#'))
            };
            Some((at + hashes + 2..chars.len()).find(closes).map_or(chars.len(), |i| i + hashes + 1))
        }
        // A lifetime has no closing quote two characters on.
        '\'' if is(1, '\\') => (at + 3..chars.len()).find(|i| chars[*i] == '\'').map(|i| i + 1),
        '\'' if is(2, '\'') => Some(at + 3),
        _ => None,
    }
}

fn block_comment_end(chars: &[char], at: usize) -> usize {
    let (mut open, mut i) = (0, at);
    while i < chars.len() {
        match (chars[i], chars.get(i + 1)) {
            ('/', Some('*')) => (open, i) = (open + 1, i + 2),
            ('*', Some('/')) => (open, i) = (open - 1, i + 2),
            _ => i += 1,
        }
        if open == 0 {
            return i;
        }
    }
    chars.len()
}

fn string_end(chars: &[char], at: usize) -> usize {
    let mut i = at + 1;
    while i < chars.len() {
        match chars[i] {
            '\\' => i += 2,
            '"' => return i + 1,
            _ => i += 1,
        }
    }
    chars.len()
}

/// One word or one sign (`::` is one), with its line.
pub fn tokens(code: &str) -> Vec<(usize, String)> {
    let mut tokens: Vec<(usize, String)> = Vec::new();
    for (number, line) in code.lines().enumerate() {
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            let length = match first {
                ':' if rest.starts_with("::") => 2,
                c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
                c => c.len_utf8(),
            };
            tokens.push((number + 1, rest[..length].to_owned()));
            rest = rest[length..].trim_start();
        }
    }
    tokens
}

/// All paths of a file, in the order of the text.
pub fn paths(text: &str) -> Vec<Path> {
    let tokens = tokens(&code_of(text));
    let token = |at: usize| tokens.get(at).map_or("", |(_, token)| token.as_str());
    let mut found = Vec::new();
    // For each open brace, whether it is that of an inline module.
    let mut braces: Vec<bool> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match token(at) {
            "{" => braces.push(at >= 2 && token(at - 2) == "mod"),
            "}" => drop(braces.pop()),
            // What may stand before a path that begins with `::`, and would look like its first segment.
            "use" | "in" | "return" | "as" | "dyn" | "impl" | "if" | "else" | "match" | "mut" | "where" => {}
            word if begins_word(word) => {
                let before = found.len();
                let end = read_path(&tokens, at, &[], &mut found);
                let depth = braces.iter().filter(|module| **module).count();
                let alone = at > 0 && token(at - 1) == "(" && token(end) == ")";
                for path in &mut found[before..] {
                    path.depth = depth;
                    path.is_macro = token(end) == "!" && token(end + 1) != "=";
                    path.is_visibility = alone && path.segments.len() == 1;
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

fn begins_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Reads the path that begins at `at` behind `prefix`; returns the token after it.
fn read_path(tokens: &[(usize, String)], at: usize, prefix: &[String], found: &mut Vec<Path>) -> usize {
    let token = |at: usize| tokens.get(at).map_or("", |(_, token)| token.as_str());
    let mut segments = prefix.to_vec();
    let line = tokens[at].0;
    let mut here = at;
    loop {
        segments.push(token(here).to_owned());
        here += 1;
        if token(here) != "::" {
            break;
        }
        match token(here + 1) {
            "{" => {
                here += 2;
                while here < tokens.len() && token(here) != "}" {
                    here = match token(here) {
                        word if begins_word(word) => read_path(tokens, here, &segments, found),
                        _ => here + 1,
                    };
                    if token(here) == "as" {
                        here += 2;
                    }
                }
                return here + 1;
            }
            "*" => {
                segments.push("*".to_owned());
                here += 2;
                break;
            }
            word if begins_word(word) => here += 1,
            _ => break,
        }
    }
    found.push(Path { line, segments, depth: 0, is_macro: false, is_visibility: false });
    here
}

#[cfg(test)]
fn joined(text: &str) -> Vec<String> {
    paths(text).iter().filter(|path| path.segments.len() > 1).map(|path| path.segments.join("::")).collect()
}

#[test]
fn comments_and_literals_are_no_code() {
    let text = "a /* b /* c */ d */ e // f\n\"g \\\" h\" 'i' '\\'' r#\"j \" k\"# br\"l\" &'m n r#type";
    let words: Vec<_> =
        tokens(&code_of(text)).into_iter().map(|(_, token)| token).filter(|t| begins_word(t)).collect();
    assert_eq!(words, ["a", "e", "b", "m", "n", "r", "type"]);
}

#[test]
fn groups_of_use_are_written_out() {
    let text = "use crate::{a::{self, b as c, d::*}, e};\nuse ::std::{fs, io::Read as _};\n";
    let wanted = ["crate::a::self", "crate::a::b", "crate::a::d::*", "crate::e", "std::fs", "std::io::Read"];
    assert_eq!(joined(text), wanted);
}

#[test]
fn paths_in_code_are_found_with_their_line_and_depth() {
    let text = "fn f() { let x = <crate::a::B as c::D>::e(); }\nmod t {\n  use super::super::g;\n  println!(\"\"); }\n";
    assert_eq!(joined(text), ["crate::a::B", "c::D", "super::super::g"]);
    let all = paths(text);
    let deep = all.iter().find(|path| path.segments[0] == "super").expect("it is there");
    assert_eq!((deep.line, deep.depth), (3, 1));
    assert!(all.iter().any(|path| path.is_macro && path.segments == ["println"]));
    let visible = paths("pub(crate) fn f() {} pub(super) fn g() {}");
    assert_eq!(visible.iter().filter(|path| path.is_visibility).count(), 2);
}
