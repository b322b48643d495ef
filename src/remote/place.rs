//! Where on a host the agent's binary can lie, and whether it lies there already.

use super::error::ConnectError;

/// Run on the host by `sh -c SCRIPT sh DIGEST`, in one round trip. `/run` may be mounted noexec, so every
/// folder is tried by executing something in it; a file of the right name counts only by its digest.
pub const PROBE: &str = r#"umask 077
say() { echo "fieldtrial-probe $*"; }
say machine "$(uname -m)"
for d in /run/fieldtrial "/var/tmp/fieldtrial-$(id -u)" "${HOME:-/nonexistent}/.cache/fieldtrial"; do
  mkdir -p "$d" 2>/dev/null
  if [ -L "$d" ] || ! [ -d "$d" ] || ! [ -O "$d" ] || ! [ -w "$d" ]; then say folder unwritable 0 "$d"; continue; fi
  chmod 700 "$d" 2>/dev/null
  p="$d/probe-$$"
  free=$(df -Pk "$d" 2>/dev/null | tail -n 1 | while read -r a b c n e; do echo "$n"; done)
  if printf '#!/bin/sh\nexit 0\n' >"$p" 2>/dev/null && chmod 700 "$p" && [ -s "$p" ]; then
    if "$p" 2>/dev/null; then x=ok; else x=noexec; fi
  else x=full; fi
  rm -f "$p"
  if [ "$x" = ok ] && [ -x "$d/agent-$1" ] && echo "$1  $d/agent-$1" | sha256sum -c >/dev/null 2>&1; then x=present; fi
  say folder "$x" "${free:-0}" "$d"
done"#;

/// Agents of other versions go a week after they came. Run by `sh -c SCRIPT sh PATH BYTES DIGEST` with the binary on standard input. A cut upload leaves a short
/// file with status 0, and writing over a running binary fails: hence size, digest and the rename.
pub const UPLOAD: &str = r#"umask 077
t="$1.$$"
if cat >"$t" && [ "$(wc -c <"$t")" -eq "$2" ] && echo "$3  $t" | sha256sum -c >/dev/null && chmod 700 "$t" && mv -f "$t" "$1"
then
  find "${1%/*}" -maxdepth 1 -name 'agent-*' ! -path "$1" -mtime +7 -exec rm -f {} + 2>/dev/null
  echo fieldtrial-uploaded
else rm -f "$t"; exit 9
fi"#;

/// Run by `sh -c SCRIPT sh WORDS…`: becomes the agent. sudo would drop SSH_CONNECTION, so it is passed on by value.
pub const START: &str = r#"exec "$@" --ssh-connection "${SSH_CONNECTION:-}""#;

/// Space to spare beside the binary.
const MARGIN_KIB: u64 = 1024;

/// What a host answered to `PROBE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    pub machine: String,
    folders: Vec<Folder>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Folder {
    state: String,
    free_kib: u64,
    path: String,
}

/// Where to run the agent from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub path: String,
    pub present: bool,
}

impl Answered {
    /// None when the text holds no answer; what a login shell prints around it is passed over.
    pub fn parse(text: &str) -> Option<Answered> {
        let mut answered = Answered { machine: String::new(), folders: vec![] };
        for line in text.lines().filter_map(|l| l.strip_prefix("fieldtrial-probe ")) {
            match line.split_once(' ') {
                Some(("machine", name)) => name.trim().clone_into(&mut answered.machine),
                Some(("folder", rest)) => {
                    let mut words = rest.splitn(3, ' ');
                    let (Some(state), Some(free), Some(path)) = (words.next(), words.next(), words.next())
                    else {
                        continue;
                    };
                    let free_kib = free.parse().unwrap_or(0);
                    answered.folders.push(Folder { state: state.into(), free_kib, path: path.into() });
                }
                _ => {}
            }
        }
        (!answered.machine.is_empty()).then_some(answered)
    }

    /// The folder that has this very binary already, else the first that can take it.
    ///
    /// # Errors
    /// `DiskFull` when only space lacks, else `NoFolder` with what each folder lacks.
    pub fn choose(&self, host: &str, digest: &str, bytes: u64) -> Result<Place, ConnectError> {
        let place =
            |folder: &Folder, present| Place { path: format!("{}/agent-{digest}", folder.path), present };
        if let Some(folder) = self.folders.iter().find(|f| f.state == "present") {
            return Ok(place(folder, true));
        }
        let needed_kib = bytes / 1024 + MARGIN_KIB;
        let usable: Vec<&Folder> = self.folders.iter().filter(|f| f.state == "ok").collect();
        if let Some(folder) = usable.iter().find(|f| f.free_kib >= needed_kib) {
            return Ok(place(folder, false));
        }
        let host = host.to_owned();
        let full: Vec<String> = self
            .folders
            .iter()
            .filter(|f| f.state == "ok" || f.state == "full")
            .map(|f| format!("{} has {} KiB free", f.path, f.free_kib))
            .collect();
        if !full.is_empty() {
            let found = format!("{needed_kib} KiB are needed, {}", full.join(", "));
            return Err(ConnectError::DiskFull { host, found });
        }
        let tried: Vec<String> =
            self.folders.iter().map(|f| format!("    {}: {}", f.path, f.state)).collect();
        Err(ConnectError::NoFolder { host, tried: tried.join("\n") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(folders: &str) -> Answered {
        Answered::parse(&format!("Welcome to h1!\nfieldtrial-probe machine x86_64\n{folders}")).unwrap()
    }

    #[test]
    fn the_first_folder_that_can_execute_and_has_space_is_taken() {
        let a = answered(
            "fieldtrial-probe folder noexec 900000 /run/fieldtrial\n\
             fieldtrial-probe folder ok 10 /var/tmp/fieldtrial-0\n\
             fieldtrial-probe folder ok 900000 /root/my cache/fieldtrial\n",
        );
        assert_eq!(a.machine, "x86_64");
        let place = a.choose("h1", "abc", 2_000_000).unwrap();
        assert_eq!(place, Place { path: "/root/my cache/fieldtrial/agent-abc".into(), present: false });
    }

    #[test]
    fn a_binary_that_is_there_is_used_again() {
        let a = answered("fieldtrial-probe folder ok 900000 /a\nfieldtrial-probe folder present 0 /b\n");
        assert_eq!(a.choose("h1", "abc", 1).unwrap(), Place { path: "/b/agent-abc".into(), present: true });
    }

    #[test]
    fn lack_of_space_and_lack_of_a_folder_are_different_errors() {
        let full = answered("fieldtrial-probe folder noexec 9 /a\nfieldtrial-probe folder ok 10 /b\n");
        assert!(
            matches!(full.choose("h1", "abc", 9_000_000), Err(ConnectError::DiskFull { found, .. }) if found.contains("/b has 10 KiB"))
        );
        let none = answered("fieldtrial-probe folder noexec 9 /a\nfieldtrial-probe folder unwritable 0 /b\n");
        assert!(
            matches!(none.choose("h1", "abc", 1), Err(ConnectError::NoFolder { tried, .. }) if tried.contains("/a: noexec"))
        );
    }

    #[test]
    fn text_without_an_answer_is_none() {
        assert_eq!(Answered::parse("bash: sh: command not found\n"), None);
    }
}
