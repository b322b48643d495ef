//! One record of a real run with every kind of outcome and hostile texts, made once and copied for each test.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::desk::{Desk, code};
use crate::process::told;

const CAMPAIGN: &str = r##"
campaign: exported
question: "Is `it` | <b>as</b> fast? @everyone"
hypothesis: "*Twice* as fast."
hosts: hosts.yaml
variables:
  text: ["-5.55", "=cmd|' /C calc'!A0"]
control: {name: plain, set: {how: plain}}
treatments:
  - {name: slower, change: {how: slower}, because: it sleeps}
  - {name: flaky, change: {how: flaky}}
  - {name: wrong, change: {how: wrong}}
workload: {command: {on: here, run: [sh, HERE/work.sh, "${how}", "${text}"], env: {LISTED: visible}}}
exclude: [{when: "how == 'flaky' && text == '-5.55'", because: "it has <i>no</i> | sense"}]
blocks: {count: 8, order: mirrored, seed: 1}
timeout: 10s
responses:
  - {name: wall_time, primary: true, margin: 5%}
  - {name: peak_rss}
"##;

/// The fourth time that it is asked to be flaky it fails, and writes what would harm a terminal, a page and a table.
const WORK: &str = r##"
case $1 in
slower) sleep 0.06 ;;
wrong) echo "another | answer" ;;
flaky)
    echo x >>HERE/count
    if [ "$(wc -l <HERE/count)" -eq 4 ]; then
        printf '\033]0;owned\007\033[8m<script>alert(1)</script> | `x` \302\2331m\342\200\256\n' >&2
        exit 3
    fi ;;
esac
printf '%s\n' "$2"
"##;

/// What no file, log or terminal may hold: it is in the environment of fieldtrial and in no campaign.
pub const SECRETS: [(&str, &str); 4] = [
    ("API_TOKEN", "token-5d1f"),
    ("COOKIE", "s=cookie-77aa"),
    ("AUTHORIZATION", "Bearer bearer-09ce"),
    ("SSH_KEY", "first-line-1b\nsecond-line-2b\nthird-line-3b"),
];

pub const FORMULA: &str = "text=%3Dcmd|%27%20%2FC%20calc%27!A0";

struct Made {
    desk: Desk,
    said: String,
}

fn made() -> &'static Made {
    static MADE: OnceLock<Made> = OnceLock::new();
    MADE.get_or_init(|| {
        let desk = Desk::new("");
        let here = desk.path().display().to_string();
        desk.write("c.yaml", &CAMPAIGN.replace("HERE", &here));
        desk.write("work.sh", &WORK.replace("HERE", &here));
        let mut command = desk.command(&["run", "c.yaml"]);
        command.envs(SECRETS);
        let output = crate::process::finish(&mut command, std::time::Duration::from_secs(120));
        assert_eq!(code(&output), 5, "{}", told(&output));
        Made { desk, said: told(&output) }
    })
}

/// All that the run printed.
pub fn said() -> &'static str {
    &made().said
}

/// A desk with a copy of the record, for a test to change as it likes.
pub fn copy() -> (Desk, PathBuf) {
    let desk = Desk::new("");
    let original = made().desk.record("reports");
    let campaign = desk.path().join("reports/exported");
    std::fs::create_dir_all(&campaign).expect("a folder");
    let record = campaign.join(original.file_name().expect("its name"));
    copy_folder(&original, &record);
    (desk, record)
}

pub fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("the folder").flatten() {
        std::fs::copy(entry.path(), to.join(entry.file_name())).expect("copied");
    }
}

pub fn text(path: &Path) -> String {
    path.to_str().expect("an ordinary path").to_owned()
}
