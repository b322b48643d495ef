//! From what an init saw and the streams carried to the report of a job.

use std::io;

use super::capture::Capture;
use super::launch::Isolation;
use super::resolve::{Refusal, Resolved};
use super::verdict::{Ending, Stage, Verdict};
use crate::model::job::{Captured, End, JobReport};

/// Report of a job whose tree is gone. None for `verdict` means that its init was killed before it could tell.
pub fn of_run(
    resolved: Resolved,
    verdict: Option<Verdict>,
    wall_ns: u64,
    streams: [Captured; 2],
    isolation: Isolation,
) -> JobReport {
    let [stdout, stderr] = streams;
    let mut report = JobReport {
        argv: resolved.argv,
        program: Some(resolved.program),
        inputs: resolved.inputs,
        end: End::Signalled(libc::SIGKILL),
        wall_ns,
        user_ns: None,
        system_ns: None,
        peak_rss_bytes: None,
        read_bytes: None,
        written_bytes: None,
        stdout,
        stderr,
        result: None,
        left_behind: 0,
        isolation: isolation.name().into(),
        figures: Default::default(),
        cpus: None,
        cache: resolved.cache,
        files: vec![],
    };
    let Some(v) = verdict else { return report };
    report.end = end(&v, &report.argv);
    if let End::NotStarted(_) = report.end {
        report.wall_ns = 0;
        return report;
    }
    report.wall_ns = v.wall_ns;
    report.user_ns = Some(v.user_ns);
    report.system_ns = Some(v.system_ns);
    report.peak_rss_bytes = v.peak_rss_bytes();
    report.read_bytes = (v.io_known != 0).then_some(v.rchar);
    report.written_bytes = (v.io_known != 0).then_some(v.wchar);
    report.left_behind = v.left_behind;
    report.figures.minor_faults = Some(v.minor_faults);
    report.figures.major_faults = Some(v.major_faults);
    report.figures.instructions = (v.instructions_known != 0).then_some(v.instructions);
    report.figures.system_calls = (v.system_calls_known != 0).then_some(v.system_calls);
    report
}

/// Report of a job that never ran.
pub fn of_refusal(refusal: Refusal, end: Option<End>, isolation: Isolation) -> JobReport {
    let nothing = || Capture::nothing();
    JobReport {
        argv: refusal.argv,
        program: None,
        inputs: vec![],
        end: end.unwrap_or(End::NotStarted(refusal.why)),
        wall_ns: 0,
        user_ns: None,
        system_ns: None,
        peak_rss_bytes: None,
        read_bytes: None,
        written_bytes: None,
        stdout: nothing(),
        stderr: nothing(),
        result: None,
        left_behind: 0,
        isolation: isolation.name().into(),
        figures: Default::default(),
        cpus: None,
        cache: None,
        files: vec![],
    }
}

fn end(v: &Verdict, argv: &[String]) -> End {
    let program = argv.first().map_or("", String::as_str);
    let cause = io::Error::from_raw_os_error(v.code);
    if v.ending == Ending::ForkFailed as u32 {
        return End::NotStarted(format!("the kernel gave no process for {program}: {cause}"));
    }
    if v.stage == Stage::Folder as u32 {
        return End::NotStarted(format!("the working folder of {program} cannot be entered: {cause}"));
    }
    if v.stage == Stage::Processors as u32 {
        return End::NotStarted(format!("{program} cannot be confined to its processors: {cause}"));
    }
    if v.stage != 0 {
        return End::NotStarted(match v.code {
            libc::ENOENT => format!(
                "program {program}: the file is there, but not the interpreter or loader that it names"
            ),
            libc::ENOEXEC => format!("program {program}: not in a format that this host can execute"),
            libc::E2BIG => {
                format!("program {program}: arguments and environment are over the kernel's limit")
            }
            _ => format!("program {program}: {cause}"),
        });
    }
    if v.ending == Ending::TimedOut as u32 {
        End::TimedOut
    } else if v.ending == Ending::Stopped as u32 {
        End::Stopped
    } else if libc::WIFSIGNALED(v.status) {
        End::Signalled(libc::WTERMSIG(v.status))
    } else {
        End::Exited(libc::WEXITSTATUS(v.status))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(ending: Ending, stage: Stage, code: i32, status: i32) -> Verdict {
        Verdict { ending: ending as u32, stage: stage as u32, code, status, ..Verdict::default() }
    }

    #[test]
    fn own_status_124_is_no_timeout_of_ours() {
        let argv = ["/bin/x".to_owned()];
        assert_eq!(end(&verdict(Ending::Own, Stage::None, 0, 124 << 8), &argv), End::Exited(124));
        assert_eq!(end(&verdict(Ending::TimedOut, Stage::None, 0, 9), &argv), End::TimedOut);
    }

    #[test]
    fn status_255_and_signals_stay_apart() {
        let argv = ["/bin/x".to_owned()];
        assert_eq!(end(&verdict(Ending::Own, Stage::None, 0, 255 << 8), &argv), End::Exited(255));
        assert_eq!(end(&verdict(Ending::Own, Stage::None, 0, 9), &argv), End::Signalled(9));
        assert_eq!(end(&verdict(Ending::Own, Stage::None, 0, 15), &argv), End::Signalled(15));
    }

    #[test]
    fn a_missing_interpreter_is_told_apart_from_a_missing_program() {
        let end = end(&verdict(Ending::Own, Stage::Exec, libc::ENOENT, 127 << 8), &["/opt/tool".to_owned()]);
        assert!(
            matches!(end, End::NotStarted(why) if why.contains("interpreter") && why.contains("/opt/tool"))
        );
    }
}
