//! Fetches what a job wrote, once it has ended.

use super::lab::{JobId, Lab};
use crate::model::job::{Captured, JobReport};
use crate::verify::{Output, Piece};

/// At most `most` bytes of each stream and file. What cannot be fetched is missing at the end, which whoever
/// reads it then says.
pub fn fetch(lab: &mut dyn Lab, job: JobId, report: &JobReport, most: u64) -> Output {
    let piece = |account: &Captured, mut kept: Vec<u8>| {
        kept.truncate(account.bytes.min(most) as usize);
        Piece { account: account.clone(), kept }
    };
    let (stdout, stderr) = match report.stdout.kept + report.stderr.kept > 0 {
        true => lab.heads(job, most as usize).unwrap_or_default(),
        false => Default::default(),
    };
    let written = report.files.iter().zip(0..).filter_map(|(file, number)| {
        let account = file.content.as_ref()?;
        let kept = match account.kept > 0 {
            true => lab.file(job, number, most as usize).unwrap_or_default(),
            false => vec![],
        };
        Some((file.path.clone(), piece(account, kept)))
    });
    let files = written.collect();
    Output { stdout: piece(&report.stdout, stdout), stderr: piece(&report.stderr, stderr), files }
}

/// The beginning of an output as text for a reader.
pub fn head(piece: &Piece, most: u64) -> String {
    let kept = &piece.kept[..piece.kept.len().min(most as usize)];
    String::from_utf8_lossy(kept).into_owned()
}
