//! Words for a POSIX shell.

/// One word, quoted where a shell would change it.
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn words_survive_a_shell() {
        // Case S04.
        let words: Vec<String> =
            ["a b", "c;echo hi", "*", "$HOME", "", "it's"].iter().map(|w| quote(w)).collect();
        assert_eq!(words.join(" "), r"'a b' 'c;echo hi' '*' '$HOME' '' 'it'\''s'");
    }
}
