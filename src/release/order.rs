//! The order of releases by what their names say: versions or dates.

use semver::Version;

/// Names that cannot be put in order, with what was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` has neither a version (like 1.2.3) nor a date (like 2026-12-01) in it")]
pub struct Unordered {
    pub name: String,
}

/// Short names of the releases in `files`, oldest first, each with the file's place in the list. Versions are
/// ordered as semantic versions, so 0.5.99 comes before 0.5.118 and 1.0.0-rc.1 before 1.0.0.
///
/// # Errors
/// A name that has neither version nor date, or two files that have the same.
pub fn order(files: &[String]) -> Result<Vec<(String, usize)>, Unordered> {
    let mut found = Vec::new();
    for (at, file) in files.iter().enumerate() {
        let name = file.rsplit('/').next().unwrap_or(file);
        let (text, key) = key(name).ok_or_else(|| Unordered { name: name.to_owned() })?;
        found.push((key, text, at));
    }
    found.sort();
    Ok(found.into_iter().map(|(_, text, at)| (text, at)).collect())
}

/// The version or date in a name, and what it is ordered by.
fn key(name: &str) -> Option<(String, Version)> {
    // Inside of a number, or after its dot, no version begins.
    let inside = |before: &str| {
        let numbers = before.trim_end_matches('.');
        before.ends_with(|c: char| c.is_ascii_digit())
            || numbers.len() < before.len() && numbers.ends_with(|c: char| c.is_ascii_digit())
    };
    let starts = name.char_indices().filter(|(at, c)| c.is_ascii_digit() && !inside(&name[..*at]));
    starts.filter_map(|(at, _)| version(&name[at..])).next()
}

/// A version that begins here: two numbers or more, or a date in one of its usual forms.
fn version(text: &str) -> Option<(String, Version)> {
    let end = text
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+')))
        .unwrap_or(text.len());
    let text = &text[..end];
    let numbers_end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (numbers, rest) = text.split_at(numbers_end);
    let parts: Vec<u64> =
        numbers.trim_end_matches('.').split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
    match (&parts[..], rest) {
        ([day], "") if numbers.len() == 8 => {
            date(numbers.get(..4)?, numbers.get(4..6)?, &format!("{:02}", day % 100), numbers)
        }
        ([_], rest) if numbers.len() == 4 && rest.starts_with('-') => {
            let mut fields = text.splitn(3, '-');
            let (year, month, day) = (fields.next()?, fields.next()?, fields.next()?);
            let day = day.get(..2)?;
            date(year, month, day, &format!("{year}-{month}-{day}"))
        }
        ([_, _, ..], rest) => {
            let get = |at: usize| parts.get(at).copied().unwrap_or(0);
            let mut version = Version::new(get(0), get(1), get(2));
            // Suffixes of files and machines are no pre-releases.
            let tail = rest.strip_prefix('-').unwrap_or_default();
            let pre = ["alpha", "beta", "rc", "pre", "dev"].iter().any(|word| tail.starts_with(word));
            let mut shown = numbers.trim_end_matches('.').to_owned();
            if pre {
                let tail: String =
                    tail.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '.').collect();
                let tail = tail.trim_end_matches('.');
                version.pre = semver::Prerelease::new(tail).ok()?;
                shown = format!("{shown}-{tail}");
            }
            Some((shown, version))
        }
        _ => None,
    }
}

fn date(year: &str, month: &str, day: &str, shown: &str) -> Option<(String, Version)> {
    let (y, m, d): (u64, u64, u64) = (year.parse().ok()?, month.parse().ok()?, day.parse().ok()?);
    let real = (1990..2200).contains(&y) && (1..=12).contains(&m) && (1..=31).contains(&d);
    real.then(|| (shown.to_owned(), Version::new(y, m, d)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(files: &[&str]) -> Vec<String> {
        let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        order(&files).unwrap().into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn versions_are_ordered_by_their_numbers_and_not_by_their_letters() {
        assert_eq!(
            names(&[
                "r/app-0.5.118",
                "r/app-0.5.99",
                "r/app-1.0.0",
                "r/app-1.0.0-rc.2",
                "r/app-1.0.0-rc.10-linux"
            ]),
            ["0.5.99", "0.5.118", "1.0.0-rc.2", "1.0.0-rc.10", "1.0.0"]
        );
        assert_eq!(names(&["v1.10", "v1.9-x86_64.tar"]), ["1.9", "1.10"]);
        assert_eq!(names(&["app_x86_64-2.0", "app_x86_64-1.0"]), ["1.0", "2.0"]);
    }

    #[test]
    fn dates_are_ordered_too_and_what_has_neither_is_refused() {
        assert_eq!(names(&["nightly-2026-12-01", "nightly-2026-09-30"]), ["2026-09-30", "2026-12-01"]);
        assert_eq!(names(&["app.20261201", "app.20260930"]), ["20260930", "20261201"]);
        let error = order(&["app-old".to_owned()]).unwrap_err();
        assert!(error.to_string().contains("`app-old` has neither a version"), "{error}");
    }
}
