//! Settings that are texts in files of the kernel, below `/sys` or `/proc`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{Setting, SettingError, State, refusal, shared};

/// The text of a part for a value, by the number of the part.
pub(super) type Meaning = dyn Fn(&str, usize) -> Result<String, SettingError>;

/// Files of the kernel that together are one setting.
pub(super) struct Texts {
    pub name: &'static str,
    /// Part and file; empty where this host has none.
    pub files: Vec<(String, PathBuf)>,
    /// Why there may be none, a sentence.
    pub absent: &'static str,
    /// The text of one part for a value; by the number of the part where parts differ.
    pub value: Box<Meaning>,
    /// From a file's text to the part's, which is the same for the same meaning.
    pub from_file: fn(&str) -> String,
    pub to_file: fn(&str) -> String,
    pub shown: fn(&State) -> String,
}

impl Texts {
    /// Files that hold the value itself.
    pub fn plain(name: &'static str, files: Vec<(String, PathBuf)>, absent: &'static str) -> Texts {
        let same = |text: &str| text.to_owned();
        let value = Box::new(|value: &str, _| Ok(value.to_owned()));
        Texts { name, files, absent, value, from_file: same, to_file: same, shown: shared }
    }

    /// Takes only values that a file beside the first one lists.
    pub fn listed_in(mut self, list: Option<PathBuf>) -> Texts {
        let offered = list.and_then(|path| fs::read_to_string(path).ok());
        let name = self.name;
        self.value = Box::new(move |value, _| match &offered {
            Some(list) if !list.split_whitespace().any(|word| word == value) => {
                Err(SettingError::Refused(format!(
                    "{name} can be {}, not {value}",
                    list.split_whitespace().collect::<Vec<_>>().join(", ")
                )))
            }
            _ => Ok(value.to_owned()),
        });
        self
    }
}

impl Setting for Texts {
    fn name(&self) -> &'static str {
        self.name
    }

    fn read(&self) -> Result<State, SettingError> {
        let mut state = State::new();
        for (part, file) in &self.files {
            match fs::read_to_string(file) {
                Ok(text) => drop(state.insert(part.clone(), (self.from_file)(text.trim()))),
                // A file that is there and has nothing to say, like xps_cpus of a port with one queue.
                Err(e) if is_nothing(&e) => {}
                Err(e) => return Err(refusal(&file.display().to_string(), &e)),
            }
        }
        if state.is_empty() { Err(SettingError::Absent(self.absent.to_owned())) } else { Ok(state) }
    }

    fn wanted(&self, value: &str, now: &State) -> Result<State, SettingError> {
        let there = self.files.iter().filter(|(part, _)| now.contains_key(part)).enumerate();
        there.map(|(number, (part, _))| Ok((part.clone(), (self.value)(value, number)?))).collect()
    }

    fn write(&self, parts: &State) -> Result<(), SettingError> {
        for (part, file) in self.files.iter().filter(|(part, _)| parts.contains_key(part)) {
            let text = (self.to_file)(&parts[part]);
            fs::write(file, &text).map_err(|e| refusal(&format!("{text:?} in {}", file.display()), &e))?;
        }
        Ok(())
    }

    fn shown(&self, state: &State) -> String {
        (self.shown)(state)
    }
}

fn is_nothing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENODEV | libc::ENXIO))
}

/// The entries of a folder that are a prefix and a number, in the order of their numbers, each with the
/// path of `file` in it.
pub(super) fn numbered(folder: &Path, prefix: &str, file: &str) -> Vec<(String, PathBuf)> {
    let mut found: Vec<(u32, String, PathBuf)> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let number = name.strip_prefix(prefix)?.parse().ok()?;
            let path = if file.is_empty() { entry.path() } else { entry.path().join(file) };
            path.exists().then_some((number, name, path))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, name, path)| (name, path)).collect()
}

/// One file as the only part, where it is there.
pub(super) fn single(part: &str, path: PathBuf) -> Vec<(String, PathBuf)> {
    if path.exists() { vec![(part.to_owned(), path)] } else { vec![] }
}
