//! Templates: text in which `${name}` stands for a level.

/// A piece of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part<'a> {
    Text(&'a str),
    /// `${name}`, with the byte at which its `$` stands.
    Name(&'a str, usize),
    /// A `${` that is never closed, with its byte.
    Open(usize),
}

/// The pieces of a template in order. `$${` is a plain `${`, and a `$` without brace is a `$`.
pub(super) fn parts(template: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut from, mut at) = (0, 0);
    while let Some(found) = template[at..].find("${") {
        let start = at + found;
        if template[..start].ends_with('$') && start > from {
            parts.push(Part::Text(&template[from..start - 1]));
            (from, at) = (start, start + 2);
            continue;
        }
        parts.push(Part::Text(&template[from..start]));
        let Some(length) = template[start..].find('}') else {
            parts.push(Part::Open(start));
            return parts;
        };
        parts.push(Part::Name(&template[start + 2..start + length], start));
        (from, at) = (start + length + 1, start + length + 1);
    }
    parts.push(Part::Text(&template[from..]));
    parts
}

/// The names that a template refers to.
pub fn names(template: &str) -> Vec<&str> {
    let name = |part| if let Part::Name(name, _) = part { Some(name) } else { None };
    parts(template).into_iter().filter_map(name).collect()
}

/// The template with every `${name}` replaced by its level's text. Fails with a sentence when
/// `lookup` does not know a name, or when a `${` is never closed.
pub fn fill<'a>(template: &str, lookup: &dyn Fn(&str) -> Option<&'a str>) -> Result<String, String> {
    let mut filled = String::with_capacity(template.len());
    for part in parts(template) {
        match part {
            Part::Text(text) => filled.push_str(text),
            Part::Name(name, _) => {
                let text = lookup(name).ok_or_else(|| format!("`${{{name}}}` is no variable or setting"))?;
                filled.push_str(text);
            }
            Part::Open(_) => return Err(format!("a `${{` is never closed in `{template}`")),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: &str) -> Result<String, String> {
        fill(template, &|name| (name == "size").then_some("1.10"))
    }

    #[test]
    fn levels_are_filled_in_as_typed_and_dollars_of_the_shell_stay() {
        assert_eq!(filled("--size=${size}x${size}").as_deref(), Ok("--size=1.10x1.10"));
        assert_eq!(filled("echo $HOME $(pwd) $").as_deref(), Ok("echo $HOME $(pwd) $"));
        assert_eq!(filled("echo $${HOME} ${size}").as_deref(), Ok("echo ${HOME} 1.10"));
        assert_eq!(filled("").as_deref(), Ok(""));
        assert_eq!(filled("é${size}é").as_deref(), Ok("é1.10é"));
        assert_eq!(filled("${size}$${size}").as_deref(), Ok("1.10${size}"));
    }

    #[test]
    fn unknown_and_unclosed_names_are_errors() {
        assert!(filled("${sizes}").unwrap_err().contains("sizes"));
        assert!(filled("a ${size").unwrap_err().contains("never closed"));
        assert!(filled("${}").is_err());
    }
}
