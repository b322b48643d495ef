//! Settings of a real veth pair, put back whatever ends the agent: at every point between two changes.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use fieldtrial::model::change::{Applications, PutBack, Wanted};
use fieldtrial::protocol::codec::write_message;
use fieldtrial::protocol::message::{Answer, Ask, Reply, Request, VERSION};

use crate::desk::{code, csv_rows, only_record, stderr, stdout};
use crate::lab::Lab;
use crate::process::{finish, told};
use crate::tracer;

const LIMIT: Duration = Duration::from_secs(60);
/// Everything of the port that can be read, but for what counts or moves by itself.
const LOOK: &str = "cd /sys/class/net/ft0; ip link show ft0; ethtool -k ft0; ethtool -l ft0; grep -r . queues/*/rps_cpus \
     queues/*/xps_cpus gro_flush_timeout napi_defer_hard_irqs threaded /proc/sys/net/ipv6/conf/ft0/disable_ipv6";

/// A sandbox with a cabled pair whose settings are not the kernel's defaults.
struct Bench {
    lab: Lab,
}

impl Bench {
    fn new() -> Option<Bench> {
        let bench = Bench { lab: Lab::no_hosts()? };
        bench.sh(
            "ip link add ft0 numrxqueues 4 numtxqueues 4 type veth peer name ft1 \
             && ip link set ft0 mtu 1450 && ip link set ft0 up && ip link set ft1 up \
             && echo 2 >/sys/class/net/ft0/queues/rx-3/rps_cpus && echo 1 >/sys/class/net/ft0/queues/tx-3/xps_cpus \
             && echo 5000 >/sys/class/net/ft0/gro_flush_timeout && ethtool -K ft0 tx-tcp6-segmentation off",
        );
        std::fs::create_dir(bench.state()).expect("a state folder");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(bench.state(), mode).expect("private");
        Some(bench)
    }

    fn sh(&self, line: &str) -> String {
        let output = finish(self.lab.command("sh").args(["-c", line]), LIMIT);
        assert!(output.status.success(), "{line}: {}", told(&output));
        stdout(&output)
    }

    fn look(&self) -> String {
        self.sh(LOOK)
    }

    fn state(&self) -> PathBuf {
        self.lab.folder().join("state")
    }

    fn journal(&self) -> PathBuf {
        self.state().join("settings.journal")
    }

    fn agent(&self) -> Command {
        let mut command = self.lab.fieldtrial();
        command.arg("agent").arg("--state").arg(self.state());
        command
    }

    /// A whole session of an agent that says these things; its answers.
    fn session(&self, asks: Vec<Ask>) -> Vec<Answer> {
        let mut child =
            self.agent().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the agent starts");
        let mut input = child.stdin.take().expect("piped");
        let mut output = std::io::BufReader::new(child.stdout.take().expect("piped"));
        let mut answers = vec![];
        // One after the other, since answers that take long may be overtaken.
        for (id, ask) in asks.into_iter().enumerate() {
            write_message(&mut input, &Request { id: id as u64, ask }).expect("the agent listens");
            let reply: Option<Reply> =
                fieldtrial::protocol::codec::read_message(&mut output).expect("an answer");
            answers.push(reply.expect("the agent answers").answer);
        }
        input.flush().expect("the agent listens");
        drop(input);
        crate::process::wait(&mut child, LIMIT).expect("the agent ends with its input");
        answers
    }

    /// What the next agent finds and does before anything else.
    fn next_agent(&self) -> PutBack {
        match self.session(vec![hello(), Ask::Bye]).swap_remove(0) {
            Answer::Welcome(welcome) => welcome.found,
            other => panic!("expected a welcome, found {other:?}"),
        }
    }

    fn apply(&self, wanted: Vec<Wanted>) -> Applications {
        match self.session(vec![hello(), Ask::Apply { settings: wanted }]).swap_remove(1) {
            Answer::Applied(done) => done,
            other => panic!("expected applications, found {other:?}"),
        }
    }
}

fn hello() -> Ask {
    Ask::Hello { version: VERSION, holder: "tester on desk".into(), lease_ms: 50_000 }
}

fn on(interface: &str, setting: &str, value: &str) -> Wanted {
    Wanted { setting: setting.into(), interface: Some(interface.into()), value: value.into() }
}

fn many() -> Vec<Wanted> {
    let all = [
        ("mtu", "1400"),
        ("queues", "2"),
        ("tso", "off"),
        ("gro", "on"),
        ("rps", "0"),
        ("ipv6", "off"),
        ("gro_flush_timeout", "20000"),
    ];
    all.map(|(setting, value)| on("ft0", setting, value)).into()
}

#[test]
fn a_host_is_as_it_was_wherever_between_two_changes_its_agent_is_killed() {
    let Some(bench) = Bench::new() else { return };
    let before = bench.look();
    let (mut kill_at, mut interrupted) = (1, 0);
    loop {
        let apply = vec![hello(), Ask::Apply { settings: many() }];
        let traced = tracer::run(&mut bench.agent(), apply, vec![Ask::Restore], kill_at);
        if !traced.killed {
            let restored = traced
                .answers
                .iter()
                .any(|answer| matches!(answer, Answer::Restored(done) if done.back.len() >= 7));
            assert!(restored, "the whole way was gone: {:?}", traced.answers);
            assert!(traced.changes > 30, "changes of the world: {}", traced.changes);
            break;
        }
        let left = bench.look();
        interrupted += usize::from(left != before);
        let found = bench.next_agent();
        assert_eq!(bench.look(), before, "killed before change {kill_at}, found {found:?}");
        assert!(found.stuck.is_empty() && !bench.journal().exists(), "change {kill_at}: {found:?}");
        assert!(left == before || !found.back.is_empty(), "change {kill_at}: {found:?}");
        kill_at += 1;
    }
    assert_eq!(bench.look(), before, "and at the end of its input");
    assert!(interrupted >= 8, "kills that left something changed: {interrupted}");
}

#[test]
fn every_ordered_end_puts_back_as_well() {
    let Some(bench) = Bench::new() else { return };
    let before = bench.look();
    let done = bench.apply(many());
    assert!(done.refused.is_none(), "{done:?}");
    let was: Vec<(&str, &str, &str)> =
        done.applied.iter().map(|a| (a.setting.as_str(), a.was.as_str(), a.now.as_str())).collect();
    assert_eq!(was[0], ("queues", "4", "2"), "queues come first, whatever the order of the file");
    assert!(was.contains(&("mtu", "1450", "1400")), "{was:?}");
    assert_eq!(bench.look(), before, "end of input");
    // Silence, and a signal.
    for (lease_ms, signal) in [(1_500, None), (50_000, Some(libc::SIGTERM))] {
        let mut child =
            bench.agent().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the agent starts");
        let mut input = child.stdin.take().expect("piped");
        let mut output = std::io::BufReader::new(child.stdout.take().expect("piped"));
        let hello = Ask::Hello { version: VERSION, holder: "tester".into(), lease_ms };
        for ask in [hello, Ask::Apply { settings: many() }] {
            write_message(&mut input, &Request { id: 1, ask }).expect("the agent listens");
            let _: Option<Reply> = fieldtrial::protocol::codec::read_message(&mut output).expect("an answer");
        }
        assert_ne!(bench.look(), before);
        if let Some(signal) = signal {
            bench.lab.signal(&child, signal);
        }
        crate::process::wait(&mut child, LIMIT).expect("the agent ends");
        drop(input);
        assert_eq!(bench.look(), before, "lease {lease_ms} ms, signal {signal:?}");
        assert!(!bench.journal().exists());
    }
}

#[test]
fn what_must_not_be_touched_is_refused_by_the_agent_itself() {
    let Some(bench) = Bench::new() else { return };
    bench.sh("ip address add 198.18.7.1/24 dev ft1 && ip route add default via 198.18.7.2 dev ft1");
    for known in &fieldtrial::model::setting::KNOWN {
        let interface = (known.scope == fieldtrial::model::setting::Scope::Port).then(|| "ft1".to_owned());
        if interface.is_none() {
            continue;
        }
        let value = ["on", "1400", "rs", "all", "0"]
            .into_iter()
            .find(|v| known.check(v).is_ok())
            .expect("some value fits");
        let wanted = Wanted { setting: known.name.into(), interface, value: value.into() };
        let done = bench.apply(vec![wanted]);
        let why =
            done.refused.unwrap_or_else(|| panic!("{} was not refused: {:?}", known.name, done.applied)).why;
        assert!(why.contains("carries SSH or the default route"), "{}: {why}", known.name);
    }
    let before = bench.look();
    let done =
        bench.apply(vec![on("ft0", "mtu", "1400"), on("ft0", "queues", "100"), on("ft0", "gro", "on")]);
    let refused = done.refused.expect("veth has no hundred queues");
    assert!(refused.setting == "queues" && refused.why.contains("at most 4"), "{refused:?}");
    assert_eq!(bench.look(), before);
}

#[test]
fn a_journal_of_before_a_reboot_is_told_and_never_replayed() {
    let Some(bench) = Bench::new() else { return };
    let head = "{\"boot_id\":\"another\",\"version\":1}\n";
    let entry = "{\"setting\":\"mtu\",\"interface\":\"ft0\",\"network\":null,\"parts\":{\"mtu\":\"1300\"},\"shown\":\"1300\"}\n";
    std::fs::write(bench.journal(), format!("{head}{entry}")).expect("the state folder");
    let before = bench.look();
    let found = bench.next_agent();
    assert_eq!(found.before_reboot, ["mtu of ft0 was 1300 before it was changed"]);
    assert!(found.back.is_empty() && found.stuck.is_empty(), "{found:?}");
    assert_eq!(bench.look(), before);
    assert!(bench.next_agent().is_empty(), "told once");
}

const CAMPAIGN: &str = "\
campaign: c
question: Does it hold?
hosts: hosts.yaml
pilot: true
control: {set: {size: 1400}}
treatments: [{name: other, change: {size: 1300}}]
hold: {mtu: '${size}', ipv6: off}
workload: {command: {on: here, shell: 'cat /sys/class/net/ft0/mtu /proc/sys/net/ipv6/conf/ft0/disable_ipv6 >>FOLDER/seen; echo same'}}
blocks: {count: 2, order: forward}
timeout: 20s
";
const HOSTS: &str = "hosts:\n  here: {transport: local, ports: {port0: {interface: ft0}}}\n";

#[test]
fn a_campaign_holds_what_it_says_and_a_treatment_may_change_it() {
    let Some(bench) = Bench::new() else { return };
    let place = |name: &str, text: &str| {
        std::fs::write(bench.lab.folder().join(name), text).expect("the lab's folder")
    };
    let campaign = CAMPAIGN.replace("FOLDER", &bench.lab.folder().to_string_lossy());
    place("c.yaml", &campaign);
    place("hosts.yaml", HOSTS);
    let run = |args: &[&str]| finish(bench.lab.fieldtrial().args(args), LIMIT);
    let before = bench.look();
    let output = run(&["run", "c.yaml", "--reports", "reports"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    assert_eq!(bench.look(), before);
    let seen = bench.sh("cat seen");
    assert_eq!(seen, "1400\n1\n1300\n1\n".repeat(3), "two proofs and two blocks");
    let record = only_record(&bench.lab.folder().join("reports"));
    let journal = std::fs::read_to_string(record.join("journal.jsonl")).expect("a journal");
    assert!(journal.contains("\"setting\":\"mtu\"") && journal.contains("put_back"), "{journal}");
    let page = std::fs::read_to_string(record.join("index.html")).expect("a page");
    assert!(page.contains("mtu of ft0: 1450 → 1400") && page.contains("mtu of ft0: 1300 → 1450"), "{page}");

    // What this host does not have refuses the cells by name, and leaves nothing changed.
    place("c.yaml", &campaign.replace("ipv6: off", "rings: 512"));
    let output = run(&["run", "c.yaml", "--reports", "refused"]);
    assert_eq!(code(&output), 8, "{}", told(&output));
    let rows = csv_rows(&only_record(&bench.lab.folder().join("refused")).join("rejected.csv"));
    let control = rows.iter().find(|row| row["cell"] == "/control").unwrap_or_else(|| panic!("{rows:?}"));
    assert!(
        control["reason"].contains("rings of ft0: its driver does not offer rings of ft0"),
        "{control:?}"
    );
    assert_eq!(bench.look(), before);

    let output = run(&["hosts", "check", "hosts.yaml"]);
    let text = stdout(&output);
    for words in ["mtu of ft0", "veth", "governor", "hardware only", "its driver does not offer"] {
        assert!(text.contains(words), "{words} is missing:\n{text}");
    }
}

#[test]
fn a_variable_that_is_hard_to_change_is_really_set_again_in_every_block() {
    let Some(bench) = Bench::new() else { return };
    let text = CAMPAIGN
        .replace("FOLDER", &bench.lab.folder().to_string_lossy())
        .replace(
            "control: {set: {size: 1400}}",
            "variables: {size: [1400, 1300]}\nhard_to_change: [size]\ncontrol: {set: {word: a}}",
        )
        .replace("change: {size: 1300}", "change: {word: b}")
        .replace("ipv6: off}", "ipv6: off}\naa: true")
        .replace("echo same'", "echo ${word} >/dev/null; echo same'")
        .replace("count: 2, order: forward", "count: 4, order: mirrored");
    let place = |name: &str, text: &str| {
        std::fs::write(bench.lab.folder().join(name), text).expect("the lab's folder")
    };
    place("c.yaml", &text);
    place("hosts.yaml", HOSTS);
    let before = bench.look();
    let output = finish(bench.lab.fieldtrial().args(["run", "c.yaml", "--reports", "reports"]), LIMIT);
    assert_eq!(code(&output), 0, "{}", told(&output));
    assert_eq!(bench.look(), before);
    let seen = bench.sh("cat seen");
    let sizes: Vec<&str> = seen.lines().step_by(2).skip(6).collect();
    assert_eq!(sizes.len(), 24, "four blocks of two sizes and three arms: {seen}");
    assert!(sizes.chunks(3).all(|group| group.iter().all(|size| *size == group[0])), "{sizes:?}");
    let record = only_record(&bench.lab.folder().join("reports"));
    let journal = std::fs::read_to_string(record.join("journal.jsonl")).expect("a journal");
    // Before each of four blocks, and at the end.
    assert_eq!(journal.lines().filter(|line| line.contains("\"put_back\"")).count(), 5, "{journal}");
    assert!(!journal.contains("\"changed\""), "our own putting back is no event: {journal}");
    let findings = std::fs::read_to_string(record.join("findings.json")).expect("findings");
    assert!(findings.contains("size is judged by 8 settings, not by 16 runs"), "{findings}");
    assert!(stdout(&output).contains("size is judged by 8 settings"), "{}", told(&output));
}

#[test]
fn a_host_that_cannot_be_put_back_is_refused_until_it_can() {
    let Some(bench) = Bench::new() else { return };
    let place = |name: &str, text: &str| {
        std::fs::write(bench.lab.folder().join(name), text).expect("the lab's folder")
    };
    place(
        "c.yaml",
        &CAMPAIGN
            .replace("hold: {mtu: '${size}', ipv6: off}\n", "")
            .replace("'cat", "'echo ${size} >/dev/null; cat")
            .replace(" >>FOLDER/seen", ""),
    );
    place("hosts.yaml", HOSTS);
    let run = |args: &[&str]| finish(bench.lab.fieldtrial().args(args), LIMIT);
    // The boot of this machine, and an original that the kernel does not take any more.
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("a boot id");
    let head = format!("{{\"boot_id\":\"{}\",\"version\":1}}", boot.trim());
    let entry = "{\"setting\":\"mtu\",\"interface\":\"ft0\",\"network\":null,\"parts\":{\"mtu\":\"70000\"},\"shown\":\"70000\"}";
    bench.sh(&format!("mkdir -p -m 700 /run/fieldtrial && printf '%s\\n' '{head}' '{entry}' >/run/fieldtrial/settings.journal"));
    let output = run(&["run", "c.yaml", "--reports", "reports"]);
    assert_eq!(code(&output), 6, "{}", told(&output));
    assert!(stderr(&output).contains("NOT PUT BACK: mtu of ft0 was 70000"), "{}", told(&output));
    let rows = csv_rows(&only_record(&bench.lab.folder().join("reports")).join("rejected.csv"));
    assert!(rows.iter().all(|row| row["reason"].contains("put back")), "{rows:?}");
    let output = run(&["restore", "here", "--hosts", "hosts.yaml"]);
    assert_eq!((code(&output), stdout(&output).matches("NOT PUT BACK").count()), (6, 1), "{}", told(&output));

    bench.sh("sed -i s/70000/1444/g /run/fieldtrial/settings.journal");
    let output = run(&["restore", "here", "--hosts", "hosts.yaml"]);
    assert_eq!(
        (code(&output), stdout(&output).trim()),
        (0, "here: put back mtu of ft0: 1450 → 1444"),
        "{}",
        told(&output)
    );
    let output = run(&["restore", "here", "--hosts", "hosts.yaml"]);
    assert_eq!(
        (code(&output), stdout(&output).trim()),
        (0, "here: nothing to put back"),
        "{}",
        told(&output)
    );
    let output = run(&["run", "c.yaml", "--reports", "again"]);
    assert_eq!(code(&output), 0, "{}", told(&output));
    for bad in [["restore", "nobody", "--hosts", "hosts.yaml"], ["restore", "-x", "--config", "none"]] {
        assert_eq!(code(&run(&bad)), 2, "{bad:?}");
    }
}
