//! A plan for a table of flow rules carried out wholly or not at all.

use super::flow_bytes::text;
use super::flow_error::FlowError;
use super::flow_plan::{FlowTable, Plan, Step, is_same};
use super::rxnfc::Rxnfc;

/// A driver's table of flow rules.
pub trait FlowDriver {
    /// # Errors
    /// There is no table, or it cannot be read.
    fn table(&mut self) -> Result<FlowTable, FlowError>;

    /// The rule at a place, if one is there.
    ///
    /// # Errors
    /// It cannot be read.
    fn get(&mut self, location: u32) -> Result<Option<Rxnfc>, FlowError>;

    /// Inserts at the rule's own place, over the rule that is there.
    ///
    /// # Errors
    /// The driver refuses.
    fn insert(&mut self, rule: &Rxnfc) -> Result<(), FlowError>;

    /// Deletes what is at a place, if something is.
    ///
    /// # Errors
    /// The driver refuses.
    fn delete(&mut self, location: u32) -> Result<(), FlowError>;

    /// The name of the interface.
    fn interface(&self) -> &str;
}

/// A place with what stood there before; enough to put the table back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Before {
    pub location: u32,
    pub rule: Option<Rxnfc>,
}

/// A plan that was not carried out.
#[derive(Debug, thiserror::Error)]
#[error("{error}. {table}")]
pub struct NotApplied {
    pub error: FlowError,
    pub table: TableNow,
}

/// The table after a plan that was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum TableNow {
    #[error("The rules are as before")]
    AsBefore,
    #[error("The rules went with the interface")]
    Gone,
    #[error("The rules could NOT be put back ({why}); these places are changed: {places}")]
    HalfDone { why: Box<FlowError>, places: String },
}

/// Every place that the plan changes, with what it holds now.
#[must_use]
pub fn before(plan: &Plan) -> Vec<Before> {
    let mut places = Vec::new();
    plan.steps.iter().for_each(|step| remember(&mut places, before_step(step)));
    places
}

/// A place can be emptied and filled again; what was there first counts.
fn remember(places: &mut Vec<Before>, before: Before) {
    if places.iter().all(|known| known.location != before.location) {
        places.push(before);
    }
}

fn before_step(step: &Step) -> Before {
    match step {
        Step::Remove(was) | Step::Replace { was, .. } => {
            Before { location: was.location(), rule: Some(*was) }
        }
        Step::Insert(now) => Before { location: now.location(), rule: None },
    }
}

/// Carries the plan out and reads it back. After any failure the table is put back.
///
/// # Errors
/// What failed, and how the table is now.
pub fn apply(driver: &mut impl FlowDriver, plan: &Plan) -> Result<(), NotApplied> {
    let mut touched = Vec::new();
    let done = plan.steps.iter().try_for_each(|step| {
        let before = before_step(step);
        // The kernel has no "insert only where free": a look right before leaves the shortest gap.
        unchanged(driver, &before)?;
        remember(&mut touched, before);
        carry_out(driver, step)
    });
    let done =
        done.and_then(|()| touched.iter().try_for_each(|place| read_back(driver, plan, place.location)));
    done.map_err(|error| {
        let gone = matches!(error, FlowError::Missing { .. });
        let table = match put_back(driver, &touched) {
            Err(FlowError::Missing { .. }) => TableNow::Gone,
            _ if gone => TableNow::Gone,
            Ok(()) => TableNow::AsBefore,
            Err(why) => TableNow::HalfDone { why: Box::new(why), places: places(&touched) },
        };
        NotApplied { error, table }
    })
}

/// Makes every place hold what it held before.
///
/// # Errors
/// The first thing that the driver refused; the other places are put back all the same.
pub fn put_back(driver: &mut impl FlowDriver, touched: &[Before]) -> Result<(), FlowError> {
    let mut first_error = None;
    let mut note = |done: Result<(), FlowError>| {
        if let Err(error) = done {
            first_error.get_or_insert(error);
        }
    };
    // What came goes before what went comes back: cards refuse two rules for the same frames.
    for Before { location, rule } in touched.iter().rev() {
        note(driver.get(*location).and_then(|now| match (now, rule) {
            (Some(now), Some(rule)) if is_same(&now, rule) => Ok(()),
            (Some(_), _) => driver.delete(*location),
            (None, _) => Ok(()),
        }));
    }
    for rule in touched.iter().rev().filter_map(|before| before.rule) {
        note(driver.get(rule.location()).and_then(|now| match now {
            Some(now) if is_same(&now, &rule) => Ok(()),
            _ => driver.insert(&rule),
        }));
    }
    for before in touched {
        note(unchanged(driver, before));
    }
    first_error.map_or(Ok(()), Err)
}

fn unchanged(driver: &mut impl FlowDriver, before: &Before) -> Result<(), FlowError> {
    let now = driver.get(before.location)?;
    let same = match (&now, &before.rule) {
        (Some(now), Some(rule)) => is_same(now, rule),
        (None, None) => true,
        _ => false,
    };
    let changed =
        || FlowError::Changed { interface: driver.interface().to_owned(), location: before.location };
    same.then_some(()).ok_or_else(changed)
}

fn carry_out(driver: &mut impl FlowDriver, step: &Step) -> Result<(), FlowError> {
    match step {
        Step::Remove(was) => driver.delete(was.location()),
        Step::Replace { now, .. } | Step::Insert(now) => driver.insert(now),
    }
}

/// Looks whether a place holds what the last step for it said.
fn read_back(driver: &mut impl FlowDriver, plan: &Plan, location: u32) -> Result<(), FlowError> {
    let wanted = plan.steps.iter().rev().find_map(|step| match step {
        Step::Remove(was) => (was.location() == location).then_some(None),
        Step::Replace { now, .. } | Step::Insert(now) => (now.location() == location).then_some(Some(now)),
    });
    let wanted = wanted.flatten();
    let listed = driver.get(location)?;
    let same = match (&listed, wanted) {
        (Some(listed), Some(wanted)) => is_same(listed, wanted),
        (None, None) => true,
        _ => false,
    };
    same.then_some(()).ok_or_else(|| FlowError::NotTaken {
        interface: driver.interface().to_owned(),
        rule: wanted.map_or_else(|| format!("no rule at place {location}"), text),
        listed: listed.as_ref().map_or_else(|| "nothing".to_owned(), text),
    })
}

fn places(touched: &[Before]) -> String {
    let place = |Before { location, rule }: &Before| {
        format!("{location} (was {})", rule.as_ref().map_or_else(|| "empty".to_owned(), text))
    };
    touched.iter().map(place).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io;

    use super::*;
    use crate::model::flow_rule::FlowRule;
    use crate::nic::flow_bytes::emit;
    use crate::nic::flow_plan::plan_set;

    /// A table in memory that refuses from the n-th change on, for so many changes.
    #[derive(Default)]
    struct Frail {
        rules: BTreeMap<u32, Rxnfc>,
        changes: usize,
        refuse: std::ops::Range<usize>,
        /// Keeps another queue than the one asked for.
        lies: bool,
    }

    impl Frail {
        fn new(texts: &[&str]) -> Self {
            let rules = rules(texts).iter().map(emit).map(|rule| (rule.location(), rule)).collect();
            Self { rules, ..Self::default() }
        }

        fn change(&mut self) -> Result<(), FlowError> {
            self.changes += 1;
            let source = io::Error::from_raw_os_error(libc::EIO);
            let refused = || FlowError::Kernel { interface: "f0".into(), what: "change a rule", source };
            (!self.refuse.contains(&(self.changes - 1))).then_some(()).ok_or_else(refused)
        }
    }

    impl FlowDriver for Frail {
        fn table(&mut self) -> Result<FlowTable, FlowError> {
            let rules = self.rules.values().copied().collect();
            Ok(FlowTable { driver: "ice".into(), queues: Some(8), capacity: 16, rules })
        }

        fn get(&mut self, location: u32) -> Result<Option<Rxnfc>, FlowError> {
            Ok(self.rules.get(&location).copied())
        }

        fn insert(&mut self, rule: &Rxnfc) -> Result<(), FlowError> {
            self.change()?;
            let twin = self.rules.values().any(|there| there.matches_like(rule) && !is_same(there, rule));
            assert!(!twin || self.rules.contains_key(&rule.location()), "a second rule for the same frames");
            let mut rule = *rule;
            rule.set_cookie(rule.cookie() + u64::from(self.lies));
            self.rules.insert(rule.location(), rule);
            Ok(())
        }

        fn delete(&mut self, location: u32) -> Result<(), FlowError> {
            self.change()?;
            self.rules.remove(&location);
            Ok(())
        }

        fn interface(&self) -> &str {
            "f0"
        }
    }

    fn rules(texts: &[&str]) -> Vec<FlowRule> {
        texts.iter().map(|text| text.parse().expect("a good rule")).collect()
    }

    const THERE: [&str; 5] = [
        "ether proto 0x88ba drop loc 7",
        "ether proto 0x88b5 queue 1 loc 15",
        "ether proto 0x88b6 queue 1 loc 14",
        "ether proto 0x88c0 queue 1 loc 3",
        "ether proto 0x0800 queue 1 loc 13",
    ];
    /// One is kept, one replaced, one taken out and put in again at its place, one's place taken, two are new.
    const DESIRED: [&str; 6] = [
        "ether proto 0x88ba queue 0",
        "ether proto 0x88b5 queue 1",
        "ether proto 0x88b6 queue 4",
        "ether proto 0x88b7 queue 5",
        "ether proto 0x88b8 queue 6",
        "ether proto 0x88b9 queue 6 loc 3",
    ];

    #[test]
    fn a_plan_is_carried_out_and_what_was_before_can_be_put_back() {
        let mut driver = Frail::new(&THERE);
        let original = driver.rules.clone();
        let plan = plan_set(&driver.table().expect("table"), &rules(&DESIRED)).expect("a plan");
        assert_eq!(plan.steps.len(), 6);
        apply(&mut driver, &plan).expect("applied");
        let again = plan_set(&driver.table().expect("table"), &rules(&DESIRED)).expect("a plan");
        assert_eq!((again.steps.len(), again.kept.len()), (0, 6));
        put_back(&mut driver, &before(&plan)).expect("put back");
        assert_eq!(driver.rules, original);
    }

    #[test]
    fn after_a_failure_of_any_step_nothing_half_done_stays() {
        let plan =
            |driver: &mut Frail| plan_set(&driver.table().expect("table"), &rules(&DESIRED)).expect("a plan");
        let steps = plan(&mut Frail::new(&THERE)).steps.len();
        for failing in 0..steps {
            let mut driver = Frail::new(&THERE);
            driver.refuse = failing..failing + 1;
            let original = driver.rules.clone();
            let plan = plan(&mut driver);
            let failed = apply(&mut driver, &plan).expect_err("refused");
            assert!(matches!(failed.table, TableNow::AsBefore), "step {failing}: {failed}");
            assert_eq!(driver.rules, original, "step {failing}");
            assert!(driver.changes > failing, "step {failing} was tried");
        }
    }

    #[test]
    fn a_table_that_cannot_be_put_back_is_said_to_be_half_done_with_its_places() {
        let mut driver = Frail::new(&THERE);
        driver.refuse = 1..usize::MAX;
        let plan = plan_set(&driver.table().expect("table"), &rules(&DESIRED)).expect("a plan");
        let failed = apply(&mut driver, &plan).expect_err("refused");
        assert!(matches!(failed.table, TableNow::HalfDone { .. }));
        assert!(failed.to_string().contains("7 (was ether proto 0x88ba drop loc 7)"), "{failed}");
    }

    #[test]
    fn a_driver_that_keeps_another_rule_than_it_was_given_is_found_and_put_back() {
        let mut driver = Frail { lies: true, ..Frail::new(&THERE[4..]) };
        let original = driver.rules.clone();
        let plan = plan_set(&driver.table().expect("table"), &rules(&["ether proto 0x88b5 queue 1"]))
            .expect("a plan");
        let failed = apply(&mut driver, &plan).expect_err("another queue");
        assert!(
            matches!((&failed.error, &failed.table), (FlowError::NotTaken { .. }, TableNow::AsBefore)),
            "{failed}"
        );
        assert_eq!(driver.rules, original);
    }

    #[test]
    fn a_place_that_somebody_takes_meanwhile_is_not_overwritten() {
        let mut driver = Frail::new(&[]);
        let plan = plan_set(&driver.table().expect("table"), &rules(&DESIRED[1..3])).expect("a plan");
        let intruder = emit(&rules(&["ether proto 0x0800 queue 1 loc 14"])[0]);
        driver.rules.insert(14, intruder);
        let failed = apply(&mut driver, &plan).expect_err("taken");
        assert!(matches!(failed.error, FlowError::Changed { location: 14, .. }), "{failed}");
        assert_eq!(driver.rules.into_values().collect::<Vec<_>>(), [intruder]);
    }
}
