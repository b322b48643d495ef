//! The exact command of a job, ready to paste into a shell.

use crate::model::job::{JobSpec, Program, Stdin};

/// A line for a POSIX shell that does what the job did: same arguments, environment and input.
pub fn command_line(spec: &JobSpec) -> String {
    let mut line = String::new();
    if let Some(cwd) = &spec.cwd {
        line.push_str(&format!("cd {} && ", quote(cwd)));
    }
    let words: Vec<String> = match &spec.program {
        Program::Argv(argv) => argv.iter().map(|w| quote(w)).collect(),
        Program::Tool(args) => {
            ["fieldtrial".into(), "tool".into()].into_iter().chain(args.iter().map(|w| quote(w))).collect()
        }
        Program::Shell(text) => vec!["/bin/sh".into(), "-c".into(), quote(text)],
    };
    if !matches!(spec.program, Program::Tool(_)) {
        line.push_str("env -i ");
        if !spec.env.contains_key("PATH") {
            line.push_str("PATH=\"$PATH\" ");
        }
        for (name, value) in &spec.env {
            line.push_str(&format!("{name}={} ", quote(value)));
        }
    }
    line.push_str(&words.join(" "));
    match &spec.stdin {
        Stdin::File(path) => line.push_str(&format!(" < {}", quote(path))),
        Stdin::Empty => line.push_str(" < /dev/null"),
        Stdin::Pipe => {}
    }
    line
}

/// One word for a POSIX shell.
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
