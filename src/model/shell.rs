//! Words of a POSIX shell: quoted for one, and read without one.

/// One word, quoted where a shell would change it.
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Why a line cannot be started without a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoWords {
    /// This character means something to a shell, and is not quoted.
    NeedsShell(char),
    /// A quote that is never closed, or a backslash at the end.
    Open(char),
    /// No word at all.
    Empty,
}

/// The words of a line as a shell would split it, quotes and backslashes taken away (POSIX, chapter
/// 2.2). Nothing is expanded: what a shell would expand or act on is an error, never a plain character.
///
/// # Errors
/// The line needs a shell, or is no whole line.
pub fn words(line: &str) -> Result<Vec<String>, NoWords> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    let mut chars = line.chars();
    while let Some(each) = chars.next() {
        match each {
            ' ' | '\t' => words.extend(word.take()),
            '\'' | '"' => {
                quoted = true;
                inside(each, &mut chars, word.get_or_insert_default())?;
            }
            '\\' => word.get_or_insert_default().push(chars.next().ok_or(NoWords::Open('\\'))?),
            '|' | '&' | ';' | '<' | '>' | '(' | ')' | '$' | '`' | '*' | '?' | '[' | '\n' => {
                return Err(NoWords::NeedsShell(each));
            }
            // A comment, a home folder, or the negation of a pipeline, and only where a word begins.
            '#' | '~' if word.is_none() => return Err(NoWords::NeedsShell(each)),
            '!' if word.is_none() && words.is_empty() => return Err(NoWords::NeedsShell(each)),
            // `NAME=value program` sets a variable of the program.
            '=' if words.is_empty() && !quoted && word.as_deref().is_some_and(is_name) => {
                return Err(NoWords::NeedsShell(each));
            }
            _ => word.get_or_insert_default().push(each),
        }
    }
    words.extend(word);
    if words.first().is_none_or(String::is_empty) { Err(NoWords::Empty) } else { Ok(words) }
}

/// Reads to the closing quote.
fn inside(quote: char, chars: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), NoWords> {
    loop {
        match chars.next().ok_or(NoWords::Open(quote))? {
            end if end == quote => return Ok(()),
            '\\' if quote == '"' => match chars.next().ok_or(NoWords::Open(quote))? {
                escaped @ ('$' | '`' | '"' | '\\') => word.push(escaped),
                plain => word.extend(['\\', plain]),
            },
            expanded @ ('$' | '`') if quote == '"' => return Err(NoWords::NeedsShell(expanded)),
            plain => word.push(plain),
        }
    }
}

fn is_name(text: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    text.starts_with(letter) && text.chars().all(|c| letter(c) || c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        // Case S04.
        let words: Vec<String> =
            ["a b", "c;echo hi", "*", "$HOME", "", "it's"].iter().map(|w| quote(w)).collect();
        assert_eq!(words.join(" "), r"'a b' 'c;echo hi' '*' '$HOME' '' 'it'\''s'");
    }

    #[test]
    fn a_line_is_split_as_a_shell_splits_it() {
        let all: [(&str, &[&str]); 4] = [
            ("grep -c 'a b' file", &["grep", "-c", "a b", "file"]),
            (r#"a  "b c"'d'  e\ f "" "#, &["a", "b cd", "e f", ""]),
            (
                r#"a "\$x \" \ \n" x=1 a#b a~ --opt=v !"#,
                &["a", r#"$x " \ \n"#, "x=1", "a#b", "a~", "--opt=v", "!"],
            ),
            ("é\tü", &["é", "ü"]),
        ];
        for (line, expected) in all {
            assert_eq!(words(line).expect(line), expected, "{line}");
        }
        let quoted = ["a b", "c;echo hi", "*", "$HOME", "it's"].map(quote).join(" ");
        assert_eq!(words(&quoted).unwrap(), ["a b", "c;echo hi", "*", "$HOME", "it's"]);
    }

    #[test]
    fn what_a_shell_would_act_on_is_never_a_plain_character() {
        for (line, sign) in [
            ("a | b", '|'),
            ("a>b", '>'),
            ("ls *.c", '*'),
            ("echo $HOME", '$'),
            (r#"echo "$HOME""#, '$'),
            ("echo `pwd`", '`'),
            ("a; b", ';'),
            ("a && b", '&'),
            ("LC_ALL=C sort x", '='),
            ("ls ~", '~'),
            ("a # b", '#'),
            ("! a", '!'),
            ("(a)", '('),
        ] {
            assert_eq!(words(line), Err(NoWords::NeedsShell(sign)), "{line}");
        }
        assert_eq!(words("a 'b"), Err(NoWords::Open('\'')));
        assert_eq!(words("a \\"), Err(NoWords::Open('\\')));
        assert_eq!((words(" "), words("'' a")), (Err(NoWords::Empty), Err(NoWords::Empty)));
    }
}
