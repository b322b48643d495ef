//! What an agent does with jobs, over a local session.

use std::path::Path;
use std::time::{Duration, Instant};

use fieldtrial::conduct::lab::{Lab, LabError};
use fieldtrial::model::job::{End, Program, Stdin};
use fieldtrial::remote::error::ConnectError;
use serde_json::json;

use crate::scene::{NASTY, Scene, alive, connect, is_root, until_alive};
use crate::skip::skip;

#[test]
fn exit_statuses_and_signals_come_from_the_host_itself() {
    let mut scene = Scene::open(10_000);
    // Cases S01, S02, E03.
    for (text, end) in [
        ("exit 0", End::Exited(0)),
        ("exit 255", End::Exited(255)),
        ("exit 124", End::Exited(124)),
        ("timeout 0.05 sleep 3", End::Exited(124)),
        ("exit 127", End::Exited(127)),
        ("kill -9 $$", End::Signalled(9)),
        ("kill -TERM $$", End::Signalled(15)),
    ] {
        let job = scene.shell(text);
        assert_eq!(scene.run(job).1.end, end, "{text}");
    }
}

#[test]
fn words_reach_the_program_as_they_were_written() {
    let mut scene = Scene::open(10_000);
    // Case S04.
    let job = scene.argv(&["/usr/bin/printf", "[%s]", "a b", "c;echo hi", "*", "$HOME", "", "it's"]);
    let (job, report, _) = scene.run(job);
    assert_eq!(scene.stdout(job), "[a b][c;echo hi][*][$HOME][][it's]");
    assert_eq!(report.argv[1..], ["[%s]", "a b", "c;echo hi", "*", "$HOME", "", "it's"]);
}

#[test]
fn standard_input_is_empty_a_file_or_a_pipe() {
    let mut scene = Scene::open(10_000);
    // Case S07: what waits for input must not steal the agent's.
    let (_, report, _) = scene.run(scene.argv(&["cat"]));
    assert_eq!((report.end, report.stdout.bytes), (End::Exited(0), 0));

    let file = scene.state.path().join("input");
    std::fs::write(&file, "from a file\n").unwrap();
    let mut job = scene.argv(&["cat"]);
    job.stdin = Stdin::File(file.to_string_lossy().into_owned());
    let (id, report, _) = scene.run(job);
    assert_eq!(scene.stdout(id), "from a file\n");
    assert_eq!(report.inputs.len(), 1, "what is fed to it decides what it does");

    let mut job = scene.argv(&["head", "-n", "1"]);
    job.stdin = Stdin::Pipe;
    let id = scene.start(job);
    // It may still be being hashed.
    while let Err(LabError::Refused { .. }) = scene.fleet.tell(id, "told") {
        std::thread::sleep(Duration::from_millis(5));
    }
    let (report, _) = crate::scene::ended(&mut scene.fleet, id);
    assert_eq!(report.end, End::Exited(0));
    assert_eq!(scene.stdout(id), "told\n");
}

#[test]
fn a_grandchild_that_holds_the_pipe_does_not_outlast_the_deadline() {
    let mut scene = Scene::open(10_000);
    // Case E02.
    let mut job = scene.argv(&["sh", "-c", "sleep 4 & echo before; sleep 4"]);
    job.deadline_ms = 1000;
    let begun = Instant::now();
    let (id, report, _) = scene.run(job);
    assert!(begun.elapsed() < Duration::from_millis(2500), "{:?}", begun.elapsed());
    assert_eq!(report.end, End::TimedOut);
    assert!((1_000_000_000..1_500_000_000).contains(&report.wall_ns), "{}", report.wall_ns);
    assert!(report.user_ns.is_some() && report.read_bytes.is_some(), "what was observed is kept");
    assert_eq!(scene.stdout(id), "before\n");
    assert_eq!(alive(&scene.token), [0i32; 0]);
}

#[test]
fn nothing_that_a_timed_out_job_started_lives_on() {
    let mut scene = Scene::open(10_000);
    // Case S03, with everything that leaves a process group.
    let mark = scene.state.path().join("MARK");
    let mut job = scene.shell(&format!("(setsid sh -c 'sleep 1; touch {}' &); {NASTY}", mark.display()));
    job.deadline_ms = 500;
    let (_, report, _) = scene.run(job);
    assert_eq!((report.end, report.stdout.lines), (End::TimedOut, 1));
    assert_eq!(alive(&scene.token), [0i32; 0]);
    std::thread::sleep(Duration::from_millis(800));
    assert!(!mark.exists());
}

#[test]
fn what_a_job_leaves_behind_is_counted_and_killed() {
    let mut scene = Scene::open(10_000);
    let job = scene.shell("setsid sleep 300 & (setsid sleep 300 &); sleep 0.1; echo done");
    let (_, report, _) = scene.run(job);
    assert_eq!((report.end, report.left_behind), (End::Exited(0), 2));
    assert_eq!(alive(&scene.token), [0i32; 0]);
    let (_, report, _) = scene.run(scene.argv(&["true"]));
    assert_eq!(report.left_behind, 0);
}

#[test]
fn a_stopped_job_ends_with_its_whole_tree() {
    let mut scene = Scene::open(10_000);
    let id = scene.start(scene.shell(NASTY));
    until_alive(&scene.token, |n| n >= 5, Duration::from_secs(5));
    scene.fleet.stop(id).unwrap();
    let (report, _) = crate::scene::ended(&mut scene.fleet, id);
    assert_eq!(report.end, End::Stopped);
    assert_eq!(alive(&scene.token), [0i32; 0]);
}

#[test]
fn more_output_than_a_pipe_holds_is_drained_counted_and_cut() {
    let mut scene = Scene::open(10_000);
    // Case E05.
    let mut job = scene.shell("head -c 200000 /dev/zero >&2; echo ok");
    job.keep_bytes = 1000;
    let (id, report, _) = scene.run(job);
    assert_eq!(report.end, End::Exited(0));
    assert_eq!((report.stderr.bytes, report.stderr.kept), (200_000, 1000));
    assert_eq!(report.stderr.sha256, "4cbbd9be0cba685835755f827758705db5a413c5494c34262cd25946a73e7582");
    let (out, err) = scene.fleet.heads(id, 1 << 20).unwrap();
    assert_eq!((out, err), (b"ok\n".to_vec(), vec![0; 1000]));
}

#[test]
fn kept_output_longer_than_one_answer_comes_whole() {
    let mut scene = Scene::open(10_000);
    let mut job = scene.shell("seq 1 100000");
    job.keep_bytes = 1 << 24;
    let (id, report, _) = scene.run(job);
    let expected: String = (1..=100_000).map(|n| format!("{n}\n")).collect();
    assert_eq!((report.stdout.bytes, report.stdout.lines), (expected.len() as u64, 100_000));
    let (out, _) = scene.fleet.heads(id, 1 << 24).unwrap();
    assert!(out == expected.as_bytes());
    let (out, _) = scene.fleet.heads(id, 10).unwrap();
    assert_eq!(out, b"1\n2\n3\n4\n5\n");
    scene.fleet.forget(id);
    assert!(scene.fleet.heads(id, 10).is_err());
}

#[test]
fn a_missing_program_is_never_started_and_says_where_was_looked() {
    let mut scene = Scene::open(10_000);
    // Cases E08, S08.
    let (_, report, _) = scene.run(scene.argv(&["notfound"]));
    assert!(
        matches!(&report.end, End::NotStarted(why) if why.contains("notfound") && why.contains("/usr/bin")),
        "{:?}",
        report.end
    );
    let script = scene.state.path().join("script");
    std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let (_, report, _) = scene.run(scene.argv(&[&script.to_string_lossy()]));
    assert!(matches!(&report.end, End::NotStarted(why) if why.contains("interpreter")), "{:?}", report.end);
    assert_eq!((report.wall_ns, report.user_ns), (0, None));
}

#[test]
fn each_job_has_a_fresh_folder_that_is_gone_afterwards_and_only_its_own_environment() {
    let mut scene = Scene::open(10_000);
    let (id, ..) = scene
        .run(scene.shell("pwd; ls -A; mkdir -p a/b; touch a/b/c; env | cut -d= -f1 | sort | tr '\\n' ' '"));
    let text = scene.stdout(id);
    let mut lines = text.lines();
    let folder = lines.next().unwrap();
    assert_eq!(lines.next(), Some("FIELDTRIAL_JOB FIELDTRIAL_TEST_TOKEN PATH PWD "), "{text}");
    assert!(folder.contains("fieldtrial-work-") && !Path::new(folder).exists(), "{folder}");
}

#[test]
fn events_are_told_and_the_last_is_the_result() {
    let mut scene = Scene::open(10_000);
    let mut job =
        scene.shell("echo '{\"event\":\"ready\"}'; echo noise; echo '{\"event\":\"result\",\"frames\":7}'");
    job.speaks_events = true;
    let (_, report, said) = scene.run(job);
    let result = json!({"event": "result", "frames": 7});
    assert_eq!(said, [json!({"event": "ready"}), result.clone()]);
    assert_eq!(report.result, Some(result));
}

#[test]
fn what_was_used_is_measured_for_the_program_and_its_children() {
    let mut scene = Scene::open(10_000);
    let job = scene.shell(
        "head -c 5000000 /dev/zero | tail -c 1 >/dev/null; i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done",
    );
    let (_, report, _) = scene.run(job);
    assert!(report.read_bytes.unwrap() >= 10_000_000, "{report:?}");
    assert!(report.written_bytes.unwrap() >= 5_000_000, "{report:?}");
    assert!(report.user_ns.unwrap() + report.system_ns.unwrap() > 1_000_000, "{report:?}");
    assert!(report.user_ns.unwrap() <= report.wall_ns * 4, "{report:?}");
    let (_, report, _) = scene.run(scene.shell("x=$(head -c 20000000 /dev/zero | tr '\\0' x); echo ${#x}"));
    assert!(report.peak_rss_bytes.is_some_and(|b| b > 20_000_000), "{report:?}");
    let (_, report, _) = scene.run(scene.argv(&["true"]));
    assert!(
        report.peak_rss_bytes.is_none_or(|b| b < 20_000_000),
        "the launcher's memory is not the program's: {report:?}"
    );
}

#[test]
fn a_changed_program_under_the_same_name_has_another_digest() {
    let mut scene = Scene::open(10_000);
    let path = scene.state.path().join("tool");
    let mut digests = vec![];
    for text in ["#!/bin/sh\necho 1\n", "#!/bin/sh\necho 2\n"] {
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let (_, report, _) = scene.run(scene.argv(&[&path.to_string_lossy()]));
        digests.push(report.program.unwrap().sha256);
    }
    assert_ne!(digests[0], digests[1]);
}

#[test]
fn an_ignored_signal_of_the_agent_is_not_passed_on() {
    let mut scene = Scene::open(10_000);
    let (id, ..) = scene.run(scene.shell("grep -E '^Sig(Ign|Blk)' /proc/self/status"));
    for line in scene.stdout(id).lines() {
        let mask = u64::from_str_radix(line.split_whitespace().nth(1).unwrap(), 16).unwrap();
        assert_eq!(mask & 0x7fff_ffff, 0, "{line}");
    }
}

#[test]
fn a_job_sees_only_its_own_processes() {
    if !is_root() {
        skip("sandbox", "PID namespaces need root; this user's jobs are process groups");
        return;
    }
    let mut scene = Scene::open(10_000);
    assert_eq!(scene.fleet.welcome("here").unwrap().isolation, "pid-namespace");
    let (id, report, _) = scene.run(scene.shell("echo $$; ls -d /proc/[0-9]* | wc -l"));
    assert_eq!(report.isolation, "pid-namespace");
    let text = scene.stdout(id);
    let numbers: Vec<u32> = text.lines().map(|l| l.parse().unwrap()).collect();
    assert!(numbers[0] <= 3 && numbers[1] <= 5, "{text}");
}

#[test]
fn a_leased_host_names_its_holder_and_is_free_again_after_a_kill() {
    // Case S10.
    let state = tempfile::tempdir().unwrap();
    let first = connect(state.path(), 10_000).unwrap();
    let (lease, pid) = (first.welcome().lease, first.welcome().pid);
    match connect(state.path(), 10_000).map(drop) {
        Err(ConnectError::Leased { holder, .. }) => {
            assert!(holder.contains("tester on desk") && holder.contains(&format!("pid {pid}")), "{holder}");
        }
        other => panic!("expected Leased, found {other:?}"),
    }
    crate::scene::kill(pid as i32, libc::SIGKILL);
    let second = connect(state.path(), 10_000).unwrap();
    assert_eq!(second.welcome().lease, lease + 1);
}

#[test]
fn a_session_whose_lease_was_overtaken_starts_nothing_more() {
    let mut scene = Scene::open(10_000);
    std::fs::write(scene.state.path().join("lease"), "99").unwrap();
    let job = scene.argv(&["true"]);
    match scene.fleet.start("here", job) {
        Err(LabError::Refused { why, .. }) => assert!(why.contains("99"), "{why}"),
        other => panic!("expected a refusal, found {other:?}"),
    }
}

#[test]
fn a_tool_is_run_by_the_agents_own_binary() {
    let mut scene = Scene::open(10_000);
    let mut job = scene.argv(&[]);
    job.program = Program::Tool(vec!["no-such-tool".into()]);
    let (_, report, _) = scene.run(job);
    assert_eq!(report.argv, [crate::scene::EXE, "tool", "no-such-tool"]);
    assert_eq!(report.program.unwrap().bytes, std::fs::metadata(crate::scene::EXE).unwrap().len());
    assert!(matches!(report.end, End::Exited(code) if code != 0), "{:?}", report.end);
}
