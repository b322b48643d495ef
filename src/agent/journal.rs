//! The originals of changed settings on disk, each synced before its setting is changed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::model::change::named;
use crate::setting::State;

/// What a setting was before anybody changed it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Original {
    pub setting: String,
    pub interface: Option<String>,
    /// The network namespace that the interface is in, as `/proc/self/ns/net` names it.
    pub network: Option<String>,
    pub parts: State,
    /// For people.
    pub shown: String,
}

impl Original {
    pub fn named(&self) -> String {
        named(&self.setting, self.interface.as_deref())
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Head {
    /// The start of the host that the originals belong to.
    boot_id: String,
    version: u32,
}

const VERSION: u32 = 1;
const NAME: &str = "settings.journal";
/// Where a journal goes that will never be replayed.
const ASIDE: &str = "settings.journal.before-reboot";

/// Originals in the order in which they were written down. The file is there as long as one is.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    boot_id: String,
    pub originals: Vec<Original>,
    /// A line cannot be read: the file stays as it is, for people to look at.
    damaged: bool,
}

/// What an earlier agent left.
#[derive(Debug, Default)]
pub struct Left {
    /// Of before the host was started anew.
    pub before_reboot: Vec<Original>,
    /// Lines that nobody can read, sentences. Their settings cannot be put back.
    pub damage: Vec<String>,
}

impl Journal {
    /// The journal in the state folder of the host, with what an earlier agent of the same boot left in
    /// it. One of an earlier boot is put aside.
    ///
    /// # Errors
    /// The folder cannot be read or written.
    pub fn open(state: &Path, boot_id: &str) -> io::Result<(Journal, Left)> {
        let path = state.join(NAME);
        let mut journal = Journal { path, boot_id: boot_id.to_owned(), originals: vec![], damaged: false };
        let mut left = Left::default();
        let text = match fs::read(&journal.path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok((journal, left)),
            Err(e) => return Err(e),
        };
        // Without its line feed a line was never synced, so its setting was never changed.
        let whole: Vec<&str> =
            text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')).collect();
        let Some((head, lines)) = whole.split_first() else {
            journal.clear()?;
            return Ok((journal, left));
        };
        let shown = journal.path.display().to_string();
        let head: Option<Head> = serde_json::from_str(head).ok();
        for (number, line) in lines.iter().enumerate() {
            match serde_json::from_str(line) {
                Ok(original) => journal.originals.push(original),
                Err(e) => left.damage.push(format!("line {} of {shown} cannot be read ({e}); remove the file once the host is as it should be", number + 2)),
            }
        }
        match head {
            Some(head) if head.boot_id != boot_id => {
                left.before_reboot = std::mem::take(&mut journal.originals);
                left.damage.clear();
                fs::rename(&journal.path, state.join(ASIDE))?;
                sync_folder(state)?;
            }
            Some(head) if head.version == VERSION => {}
            _ => left.damage.push(format!("the first line of {shown} is none that this agent knows")),
        }
        journal.damaged = !left.damage.is_empty();
        Ok((journal, left))
    }

    pub fn has(&self, setting: &str, interface: Option<&str>) -> bool {
        self.originals.iter().any(|o| o.setting == setting && o.interface.as_deref() == interface)
    }

    /// Writes an original down; it is on the disk when this returns.
    ///
    /// # Errors
    /// The disk is full, or cannot be written.
    pub fn keep(&mut self, original: Original) -> io::Result<()> {
        let is_new = !self.path.exists();
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&self.path)?;
        let mut text = String::new();
        if is_new {
            text = line(&Head { boot_id: self.boot_id.clone(), version: VERSION })?;
        }
        text += &line(&original)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        if is_new {
            sync_folder(self.folder())?;
        }
        self.originals.push(original);
        Ok(())
    }

    /// Only these are left to be put back.
    ///
    /// # Errors
    /// The disk is full, or cannot be written.
    pub fn leave(&mut self, originals: Vec<Original>) -> io::Result<()> {
        if self.damaged {
            self.originals = originals;
            return Ok(());
        }
        if originals.is_empty() {
            return self.clear();
        }
        let mut text = line(&Head { boot_id: self.boot_id.clone(), version: VERSION })?;
        for original in &originals {
            text += &line(original)?;
        }
        let next = self.path.with_extension("next");
        let mut file = File::create(&next)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&next, &self.path)?;
        sync_folder(self.folder())?;
        self.originals = originals;
        Ok(())
    }

    fn clear(&mut self) -> io::Result<()> {
        self.originals.clear();
        match fs::remove_file(&self.path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => sync_folder(self.folder()),
        }
    }

    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }
}

fn line<T: Serialize>(value: &T) -> io::Result<String> {
    serde_json::to_string(value).map(|text| text + "\n").map_err(io::Error::other)
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn original(setting: &str) -> Original {
        let parts = State::from([("rx".to_owned(), "512".to_owned())]);
        Original {
            setting: setting.into(),
            interface: Some("ft0".into()),
            network: None,
            parts,
            shown: "512".into(),
        }
    }

    #[test]
    fn what_was_kept_is_found_again_in_its_order_and_is_gone_once_put_back() {
        let state = tempfile::tempdir().unwrap();
        let (mut journal, left) = Journal::open(state.path(), "boot").unwrap();
        assert!(left.damage.is_empty() && !state.path().join(NAME).exists());
        journal.keep(original("rings")).unwrap();
        journal.keep(original("mtu")).unwrap();
        let (mut found, _) = Journal::open(state.path(), "boot").unwrap();
        assert_eq!(found.originals, [original("rings"), original("mtu")]);
        assert!(found.has("mtu", Some("ft0")) && !found.has("mtu", Some("ft1")) && !found.has("mtu", None));
        found.leave(vec![original("mtu")]).unwrap();
        assert_eq!(Journal::open(state.path(), "boot").unwrap().0.originals, [original("mtu")]);
        found.leave(vec![]).unwrap();
        assert!(!state.path().join(NAME).exists());
    }

    #[test]
    fn a_line_that_breaks_off_was_never_acted_on_and_a_damaged_one_is_told() {
        let state = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::open(state.path(), "boot").unwrap();
        journal.keep(original("rings")).unwrap();
        let path = state.path().join(NAME);
        let whole = fs::read_to_string(&path).unwrap();
        for cut in 0..whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            let (found, left) = Journal::open(state.path(), "boot").unwrap();
            assert!(found.originals.is_empty() && left.damage.is_empty(), "cut at {cut}: {left:?}");
        }
        fs::write(&path, format!("{whole}{{\"setting\":7}}\n")).unwrap();
        let (found, left) = Journal::open(state.path(), "boot").unwrap();
        assert_eq!(found.originals, [original("rings")]);
        assert!(left.damage[0].starts_with("line 3 of "), "{left:?}");
        let (mut found, _) = Journal::open(state.path(), "boot").unwrap();
        found.leave(vec![]).unwrap();
        assert!(path.exists(), "nobody knows what else it said");
    }

    #[test]
    fn a_journal_of_an_earlier_boot_is_put_aside_and_told_once() {
        let state = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::open(state.path(), "before").unwrap();
        journal.keep(original("rings")).unwrap();
        let (found, left) = Journal::open(state.path(), "after").unwrap();
        assert!(found.originals.is_empty());
        assert_eq!(left.before_reboot, [original("rings")]);
        let (found, left) = Journal::open(state.path(), "after").unwrap();
        assert!(found.originals.is_empty() && left.before_reboot.is_empty());
    }
}
