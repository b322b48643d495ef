//! What each command has meant so far: the same command must do the same on every host.

use std::collections::BTreeMap;

use super::difference::{Difference, Texts, answers};
use crate::model::cell::CellId;
use crate::model::proof::Proof;

/// Programs and answers seen in accepted proofs. A program of the same name that is another file
/// on another host, or the same command over the same inputs with another answer, is work that
/// differs, however equal the campaign's text.
#[derive(Debug, Clone, Default)]
pub struct Known {
    programs: BTreeMap<String, (String, CellId)>,
    answers: BTreeMap<String, (Proof, CellId)>,
}

impl Known {
    pub(super) fn check(&self, cell: &CellId, proof: &Proof) -> Result<(), Difference> {
        for (command, digest) in &proof.programs {
            if let Some((known, first)) = self.programs.get(command)
                && known != digest
            {
                return Err(Difference {
                    reason: format!("the same command runs another program than in {first}"),
                    evidence: vec![
                        format!("command: {command}"),
                        format!("program in {first}: sha256 {known}"),
                        format!("program in {cell}: sha256 {digest}"),
                    ],
                });
            }
        }
        if let Some((known, first)) = self.answers.get(&work_key(proof)) {
            let none = Texts::new();
            let evidence = answers(&first.0, (known, &none), (proof, &none));
            if !evidence.is_empty() {
                return Err(Difference {
                    reason: format!("the same command over the same inputs gave another answer in {first}"),
                    evidence,
                });
            }
        }
        Ok(())
    }

    pub(super) fn learn(&mut self, cell: &CellId, proof: &Proof) {
        for (command, digest) in &proof.programs {
            self.programs.entry(command.clone()).or_insert_with(|| (digest.clone(), cell.clone()));
        }
        self.answers.entry(work_key(proof)).or_insert_with(|| (proof.clone(), cell.clone()));
    }
}

fn work_key(proof: &Proof) -> String {
    let commands: Vec<&String> = proof.programs.keys().collect();
    format!("{commands:?} {:?}", proof.identity)
}
