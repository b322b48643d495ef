//! The only maker of `Verified`, without which nothing is timed.

use super::difference::{Difference, Texts, answers, compare};
use super::known::Known;
use crate::model::cell::CellId;
use crate::model::proof::Proof;

/// A cell whose work was proven equal to its control's. Only `prove` makes one, and measuring takes
/// one: no timing without proof is a compile-time fact.
#[derive(Debug, Clone, PartialEq)]
pub struct Verified {
    cell: CellId,
    proof: Proof,
    /// What was compared, to show where another answer differs.
    texts: Texts,
}

/// Kept of the compared texts of a cell once all of its point is proven.
const KEPT: usize = 64 * 1024;

impl Verified {
    pub fn cell(&self) -> &CellId {
        &self.cell
    }

    pub fn proof(&self) -> &Proof {
        &self.proof
    }

    /// Keeps only the beginnings of its texts, for nothing large is compared with them any more.
    pub fn cut(&mut self) {
        self.texts.values_mut().for_each(|text| text.cut(KEPT));
    }
}

/// Accepts a cell's untimed proof, or says what differs.
///
/// `control` is the verified control of the same grid point; None when the cell is that control.
///
/// # Errors
/// The work differs from the control's, the answer differs, or the same command meant something
/// else in an earlier cell.
pub fn prove(
    cell: &CellId,
    mut proof: Proof,
    texts: Texts,
    control: Option<&Verified>,
    known: &mut Known,
) -> Result<Verified, Difference> {
    if proof.answer.is_empty() {
        return Err(Difference { reason: "the proof holds no answer".into(), evidence: vec![] });
    }
    if let Some(control) = control {
        equal_to("the control", (&control.proof, &control.texts), (&proof, &texts))?;
        // A run may be as far from the control as the proof may, not from the proof once more.
        proof.near.clone_from(&control.proof.near);
    }
    known.check(cell, &proof)?;
    known.learn(cell, &proof);
    Ok(Verified { cell: cell.clone(), proof, texts })
}

/// Checks a timed run's own proof against the cell's untimed one, before its numbers count. Facts
/// that the timed pass cannot yield (it sends for a time, not a count) are left out by its maker.
///
/// # Errors
/// A fact that both proofs have differs.
pub fn confirm(verified: &Verified, run: &Proof, texts: &Texts) -> Result<(), Difference> {
    let shared = |facts: &std::collections::BTreeMap<String, String>| {
        facts
            .iter()
            .filter(|(k, _)| run.identity.contains_key(*k) || run.answer.contains_key(*k))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect()
    };
    let before = Proof {
        identity: shared(&verified.proof.identity),
        answer: shared(&verified.proof.answer),
        near: verified.proof.near.clone(),
        programs: verified.proof.programs.clone(),
    };
    equal_to("its proof", (&before, &verified.texts), (run, texts))?;
    same_programs("the program changed between proof and run", &before, run)
}

/// Checks a cell's proof against the one that an earlier session of the same record accepted: what
/// is measured later is compared with what was measured then.
///
/// # Errors
/// The work, the answer, or a program differs.
pub fn unchanged(earlier: &Proof, now: &Proof) -> Result<(), Difference> {
    let none = Texts::new();
    equal_to("in the earlier session", (earlier, &none), (now, &none))?;
    same_programs("its program is another one than in the earlier session", earlier, now)
}

fn same_programs(reason: &str, then: &Proof, now: &Proof) -> Result<(), Difference> {
    let pairs = now.programs.values().zip(then.programs.values());
    let evidence: Vec<String> = pairs
        .filter(|(now, then)| now != then)
        .map(|(now, then)| format!("program: sha256 {then} then, sha256 {now} now"))
        .collect();
    if evidence.is_empty() { Ok(()) } else { Err(Difference { reason: reason.into(), evidence }) }
}

fn equal_to(name: &str, reference: (&Proof, &Texts), own: (&Proof, &Texts)) -> Result<(), Difference> {
    let evidence = compare(name, &reference.0.identity, "this", &own.0.identity);
    if !evidence.is_empty() {
        return Err(Difference { reason: format!("it does other work than {name}"), evidence });
    }
    let evidence = answers(name, reference, own);
    if !evidence.is_empty() {
        return Err(Difference { reason: format!("it gives another answer than {name}"), evidence });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proof(input: &str, answer: &str, command: &str, program: &str) -> Proof {
        let one = |k: &str, v: &str| [(k.to_owned(), v.to_owned())].into();
        Proof {
            identity: one("input", input),
            answer: one("stdout.sha256", answer),
            programs: one(command, program),
            ..Proof::default()
        }
    }
    fn prove(
        cell: &CellId,
        proof: Proof,
        control: Option<&Verified>,
        known: &mut Known,
    ) -> Result<Verified, Difference> {
        super::prove(cell, proof, Texts::new(), control, known)
    }
    fn confirm(verified: &Verified, run: &Proof) -> Result<(), Difference> {
        super::confirm(verified, run, &Texts::new())
    }
    fn cell(id: &str) -> CellId {
        CellId(id.into())
    }

    #[test]
    fn equal_work_and_answer_is_verified() {
        let mut known = Known::default();
        let control = prove(&cell("/control"), proof("i", "a", "old", "p1"), None, &mut known).unwrap();
        assert!(prove(&cell("/new"), proof("i", "a", "new", "p2"), Some(&control), &mut known).is_ok());
    }

    #[test]
    fn another_input_is_refused_before_the_answer_is_looked_at() {
        let mut known = Known::default();
        let control = prove(&cell("/control"), proof("i", "a", "old", "p1"), None, &mut known).unwrap();
        let refused =
            prove(&cell("/new"), proof("j", "b", "new", "p2"), Some(&control), &mut known).unwrap_err();
        assert_eq!(refused.reason, "it does other work than the control");
        assert_eq!(refused.evidence, ["input: the control has i, this has j"]);
    }

    #[test]
    fn fewer_matches_are_refused_however_fast() {
        // Case V01: the faster arm returns fewer matches.
        let mut known = Known::default();
        let control =
            prove(&cell("/control"), proof("i", "1000 matches", "old", "p1"), None, &mut known).unwrap();
        let refused =
            prove(&cell("/new"), proof("i", "998 matches", "new", "p2"), Some(&control), &mut known)
                .unwrap_err();
        assert_eq!(refused.reason, "it gives another answer than the control");
    }

    #[test]
    fn the_same_command_must_be_the_same_program_on_every_host() {
        let mut known = Known::default();
        prove(&cell("host=h1/control"), proof("i", "a", "scan corpus", "p1"), None, &mut known).unwrap();
        let refused = prove(&cell("host=h2/control"), proof("i", "a", "scan corpus", "p2"), None, &mut known)
            .unwrap_err();
        assert!(refused.reason.contains("another program than in host=h1/control"), "{refused:?}");
        assert_eq!(refused.evidence.len(), 3);
    }

    #[test]
    fn the_same_command_over_the_same_inputs_must_answer_the_same() {
        let mut known = Known::default();
        prove(&cell("host=h1/control"), proof("i", "a", "scan corpus", "p"), None, &mut known).unwrap();
        assert!(
            prove(&cell("host=h2/control"), proof("i", "half", "scan corpus", "p"), None, &mut known)
                .is_err()
        );
        assert!(
            prove(&cell("in=j,host=h2/control"), proof("j", "half", "scan corpus", "p"), None, &mut known)
                .is_ok()
        );
    }

    #[test]
    fn a_run_that_answers_otherwise_than_its_proof_does_not_count() {
        let mut known = Known::default();
        let verified = prove(&cell("/control"), proof("i", "a", "c", "p"), None, &mut known).unwrap();
        assert!(confirm(&verified, &proof("i", "a", "c", "p")).is_ok());
        assert!(confirm(&verified, &proof("i", "wrong", "c", "p")).is_err());
        assert!(confirm(&verified, &proof("i", "a", "c", "replaced")).is_err());
    }

    #[test]
    fn a_proof_without_an_answer_proves_nothing() {
        assert!(prove(&cell("/control"), Proof::default(), None, &mut Known::default()).is_err());
    }
}
