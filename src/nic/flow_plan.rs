//! From a table of flow rules to the steps that make it the desired one.

use super::flow_bytes::{emit, parse, text};
use super::flow_refusal::Refusal;
use super::rxnfc::{COOKIE_DROP, ETHER, FLOW_RSS, Rxnfc, VALUE};
use crate::model::flow_rule::{ETHERTYPE_BASE, FieldValue, FlowAction, FlowKind, FlowRule, MOST_STREAMS};

/// What a port's card keeps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FlowTable {
    /// Name of the driver; empty where it is not known.
    pub driver: String,
    /// Receive queues; None where the driver does not tell.
    pub queues: Option<u32>,
    /// Places, of which the first is 0.
    pub capacity: u32,
    /// In the driver's order.
    pub rules: Vec<Rxnfc>,
}

/// One change of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Remove(Rxnfc),
    /// At the same place.
    Replace {
        was: Rxnfc,
        now: Rxnfc,
    },
    Insert(Rxnfc),
}

/// The way to the desired table. Rules in neither list nor step are not touched.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    pub steps: Vec<Step>,
    /// Desired and there already.
    pub kept: Vec<Rxnfc>,
    /// Somebody else's.
    pub foreign: Vec<Rxnfc>,
}

impl Plan {
    /// Rules that come into the table.
    pub fn added(&self) -> impl Iterator<Item = &Rxnfc> {
        self.steps.iter().filter_map(|step| match step {
            Step::Remove(_) => None,
            Step::Replace { now, .. } | Step::Insert(now) => Some(now),
        })
    }
}

/// Whether a rule is one that steers a stream of ours, and so was put there by us: it looks at the
/// ethertype alone, and that is one of the sixteen which streams have.
#[must_use]
pub fn is_ours(rule: &Rxnfc) -> bool {
    let streams = ETHERTYPE_BASE..ETHERTYPE_BASE + MOST_STREAMS;
    parse(rule).is_some_and(|rule| match (rule.kind, &rule.fields[..]) {
        (FlowKind::Ether, [("proto", FieldValue::Ethertype(number))]) => streams.contains(number),
        _ => false,
    })
}

/// Whether both do the same to the same frames at the same place.
#[must_use]
pub fn is_same(one: &Rxnfc, other: &Rxnfc) -> bool {
    // The count is the number of an RSS context, where a rule has one, and nothing otherwise.
    let context = |rule: &Rxnfc| (rule.flags() & FLOW_RSS != 0).then(|| rule.count());
    one.matches_like(other)
        && (one.cookie(), one.location(), context(one)) == (other.cookie(), other.location(), context(other))
}

/// Plans that the desired rules and no others of ours are in the table. A listed rule that looks for
/// the same frames as a desired one is taken as ours too; all others are left alone.
///
/// # Errors
/// All refusals at once.
pub fn plan_set(table: &FlowTable, desired: &[FlowRule]) -> Result<Plan, Vec<Refusal>> {
    let mut draft = Draft { table, refusals: Vec::new(), stays: Vec::new(), placed: Vec::new() };
    draft.refuse_contradictions(desired);
    draft.sort_out(desired);
    desired.iter().filter(|rule| rule.location.is_some()).for_each(|rule| draft.place(rule));
    desired.iter().filter(|rule| rule.location.is_none()).for_each(|rule| draft.place(rule));
    draft.refuse_by_driver();
    draft.finish()
}

/// Plans that our rules go, or those at the places named, whoever put them there.
///
/// # Errors
/// Nothing stands at a place named.
pub fn plan_clear(table: &FlowTable, locations: &[u32]) -> Result<Plan, Vec<Refusal>> {
    let there = |location: u32| table.rules.iter().any(|rule| rule.location() == location);
    let missing: Vec<_> = locations.iter().filter(|location| !there(**location)).collect();
    if !missing.is_empty() {
        return Err(missing
            .into_iter()
            .map(|location| Refusal::NothingThere { location: *location })
            .collect());
    }
    let goes = |rule: &Rxnfc| match locations {
        [] => is_ours(rule),
        named => named.contains(&rule.location()),
    };
    let (gone, stays): (Vec<Rxnfc>, Vec<Rxnfc>) = table.rules.iter().partition(|rule| goes(rule));
    let (kept, foreign) = stays.into_iter().partition(is_ours);
    Ok(Plan { steps: gone.into_iter().map(Step::Remove).collect(), kept, foreign })
}

struct Draft<'a> {
    table: &'a FlowTable,
    refusals: Vec<Refusal>,
    /// Foreign rules.
    stays: Vec<Rxnfc>,
    /// Desired rules at their places, with the rule that is there now.
    placed: Vec<(Rxnfc, Option<Rxnfc>)>,
}

impl Draft<'_> {
    fn refuse_contradictions(&mut self, desired: &[FlowRule]) {
        for (n, second) in desired.iter().enumerate() {
            for first in &desired[..n] {
                let same_place = first.location.is_some() && first.location == second.location;
                if same_place || emit(first).matches_like(&emit(second)) {
                    let (first, second) = (first.to_string(), second.to_string());
                    self.refusals.push(Refusal::Contradiction { first, second });
                }
            }
        }
    }

    fn sort_out(&mut self, desired: &[FlowRule]) {
        let wanted = |rule: &Rxnfc| desired.iter().any(|desired| emit(desired).matches_like(rule));
        self.stays =
            self.table.rules.iter().filter(|rule| !is_ours(rule) && !wanted(rule)).copied().collect();
    }

    fn place(&mut self, rule: &FlowRule) {
        if let (FlowAction::Queue(queue), Some(queues)) = (rule.action, self.table.queues)
            && queue >= queues
        {
            self.refusals.push(Refusal::Queue { rule: rule.to_string(), last: queues.saturating_sub(1) });
            return;
        }
        let mut bytes = emit(rule);
        match self.find_place(rule, &bytes) {
            Ok(location) => {
                bytes.set_location(location);
                self.placed.push((bytes, self.there(location)));
            }
            Err(refusal) => self.refusals.push(refusal),
        }
    }

    fn find_place(&self, rule: &FlowRule, bytes: &Rxnfc) -> Result<u32, Refusal> {
        let capacity = self.table.capacity;
        let name = || rule.to_string();
        if capacity == 0 {
            return Err(Refusal::NoPlaces { rule: name() });
        }
        if let Some(location) = rule.location {
            if location >= capacity {
                return Err(Refusal::Place { rule: name(), last: capacity - 1 });
            }
            return match self.stays.iter().find(|holder| holder.location() == location) {
                Some(holder) => Err(Refusal::Taken { rule: name(), holder: text(holder), location }),
                None => Ok(location),
            };
        }
        let taken = |location: u32| self.placed.iter().any(|(rule, _)| rule.location() == location);
        let mut same = self.table.rules.iter().filter(|listed| listed.matches_like(bytes));
        if let Some(listed) = same.find(|listed| !taken(listed.location())) {
            return Ok(listed.location());
        }
        // No driver is asked to choose: ice refuses RX_CLS_LOC_ANY (the third of the three ice traps).
        let free = |location: &u32| self.there(*location).is_none() && !taken(*location);
        let full = || Refusal::Full { rule: name(), rules: self.table.rules.len(), capacity };
        (0..capacity).rev().find(free).ok_or_else(full)
    }

    fn there(&self, location: u32) -> Option<Rxnfc> {
        self.table.rules.iter().find(|rule| rule.location() == location).copied()
    }

    /// What this driver is known to refuse with a bare "Invalid argument".
    fn refuse_by_driver(&mut self) {
        let driver = self.table.driver.clone();
        let per = match driver.as_str() {
            "ice" | "i40e" => "per flow type and port",
            "ixgbe" => "per port",
            _ => return,
        };
        let all: Vec<(Rxnfc, bool)> = self
            .stays
            .iter()
            .map(|rule| (*rule, true))
            .chain(self.placed.iter().map(|(rule, _)| (*rule, false)))
            .collect();
        for (n, (second, second_is_foreign)) in all.iter().enumerate() {
            if *second_is_foreign {
                continue;
            }
            let names = |first: &Rxnfc| (driver.clone(), text(first), text(second));
            let together = |first: &Rxnfc| per == "per port" || first.flow_type() == second.flow_type();
            // One complaint a rule: more would repeat it for each stream.
            let other =
                all[..n].iter().find(|(first, _)| together(first) && first.input_set() != second.input_set());
            if let Some((first, is_foreign)) = other {
                let (driver, first, second) = names(first);
                let foreign = if *is_foreign { " (somebody else's)" } else { "" };
                self.refusals.push(Refusal::InputSet { driver, per, first, second, foreign });
            } else if let Some((first, _)) = all[..n].iter().find(|(first, _)| same_header(first, second))
                && driver == "ice"
            {
                let (driver, first, second) = names(first);
                self.refusals.push(Refusal::SameHeader { driver, first, second });
            }
            let rule = parse(second).filter(|_| driver == "ice" && second.flow_type() == ETHER);
            if let Some(rule) = rule
                && rule.field("proto").is_some()
                && rule.field("vlan").is_some()
                && rule.field("vlan-etype").is_none()
            {
                self.refusals.push(Refusal::VlanAlone { driver: driver.clone(), rule: rule.to_string() });
            }
        }
    }

    fn finish(self) -> Result<Plan, Vec<Refusal>> {
        if !self.refusals.is_empty() {
            return Err(self.refusals);
        }
        let goes = |rule: &&Rxnfc| {
            let stays = self.stays.iter().any(|stays| stays.location() == rule.location());
            !stays && !self.placed.iter().any(|(placed, _)| placed.location() == rule.location())
        };
        let mut removed: Vec<Rxnfc> = self.table.rules.iter().filter(goes).copied().collect();
        let mut plan = Plan { steps: Vec::new(), kept: Vec::new(), foreign: self.stays };
        for (now, was) in self.placed {
            match was {
                Some(was) if is_same(&was, &now) => plan.kept.push(was),
                Some(was) if self.table.driver != "ice" || ice_replaces(&was, &now) => {
                    plan.steps.push(Step::Replace { was, now });
                }
                was => {
                    removed.extend(was);
                    plan.steps.push(Step::Insert(now));
                }
            }
        }
        // What goes makes room first: on ice, for another input set too.
        plan.steps.splice(0..0, removed.into_iter().map(Step::Remove));
        Ok(plan)
    }
}

/// Whether ice puts the one in the place of the other. It tells a changed rule from a copy by its
/// queue, and keeps queue 0 for one that drops; and the old rule holds its input set until it is gone.
fn ice_replaces(was: &Rxnfc, now: &Rxnfc) -> bool {
    let queue = |rule: &Rxnfc| if rule.cookie() == COOKIE_DROP { 0 } else { rule.cookie() };
    let copy = was.matches_like(now) && queue(was) == queue(now);
    !copy && (was.flow_type() != now.flow_type() || was.input_set() == now.input_set())
}

/// Destination, source and ethertype, which is all that ice compares to find a copy.
fn same_header(one: &Rxnfc, other: &Rxnfc) -> bool {
    let header = |rule: &Rxnfc| rule.0[VALUE..VALUE + 14].to_vec();
    one.flow_type() == ETHER && other.flow_type() == ETHER && header(one) == header(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(texts: &[&str]) -> Vec<FlowRule> {
        texts.iter().map(|text| text.parse().expect("a good rule")).collect()
    }

    fn table(driver: &str, texts: &[&str]) -> FlowTable {
        let rules = rules(texts).iter().map(emit).collect();
        FlowTable { driver: driver.to_owned(), queues: Some(8), capacity: 16, rules }
    }

    /// Steps as texts: `-` removes, `+` inserts, `old => new` replaces.
    fn steps(table: &FlowTable, desired: &[&str]) -> Vec<String> {
        let plan = plan_set(table, &rules(desired)).expect("a plan");
        plan.steps.iter().map(step).collect()
    }

    fn step(step: &Step) -> String {
        match step {
            Step::Remove(rule) => format!("-{}", text(rule)),
            Step::Replace { was, now } => format!("{} => {}", text(was), text(now)),
            Step::Insert(rule) => format!("+{}", text(rule)),
        }
    }

    fn refused(table: &FlowTable, desired: &[&str]) -> Vec<String> {
        let refusals = plan_set(table, &rules(desired)).expect_err("refused");
        refusals.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_lacks_is_inserted_from_the_top_downward_around_other_peoples_rules() {
        let there = table("", &["ether proto 0x0800 queue 1 loc 15", "ether proto 0x0806 drop loc 13"]);
        assert_eq!(
            steps(&there, &["ether proto 0x88b5 queue 3", "ether proto 0x88b6 queue 4"]),
            ["+ether proto 0x88b5 queue 3 loc 14", "+ether proto 0x88b6 queue 4 loc 12"]
        );
        let plan = plan_set(&there, &rules(&["ether proto 0x88b5 queue 3"])).expect("a plan");
        assert_eq!((plan.foreign, plan.kept), (there.rules, vec![]));
    }

    #[test]
    fn what_is_right_is_kept_what_is_wrong_is_replaced_and_what_is_left_of_ours_goes_first() {
        let there = table(
            "ice",
            &[
                "ether proto 0x88b5 queue 3 loc 9",
                "ether proto 0x88b6 queue 3 loc 2",
                "ether proto 0x88c4 queue 3 loc 15",
            ],
        );
        let desired =
            ["ether proto 0x88b6 queue 4", "ether proto 0x88b5 queue 3", "ether proto 0x88b7 queue 5"];
        assert_eq!(
            steps(&there, &desired),
            [
                "-ether proto 0x88c4 queue 3 loc 15",
                "ether proto 0x88b6 queue 3 loc 2 => ether proto 0x88b6 queue 4 loc 2",
                "+ether proto 0x88b7 queue 5 loc 14",
            ]
        );
        assert_eq!(steps(&there, &[]).len(), 3);
        assert!(plan_set(&table("ice", &[]), &[]).expect("a plan").steps.is_empty());
    }

    #[test]
    fn a_second_plan_over_the_result_of_the_first_changes_nothing() {
        let there = table("ice", &["ether proto 0x0800 queue 1 loc 15", "ether proto 0x88b6 drop loc 3"]);
        let desired = rules(&["ether proto 0x88b5 queue 3", "ether proto 0x88b6 queue 4"]);
        let mut after = there.clone();
        for step in plan_set(&there, &desired).expect("a plan").steps {
            match step {
                Step::Remove(rule) => after.rules.retain(|there| there.location() != rule.location()),
                Step::Insert(rule) => after.rules.push(rule),
                Step::Replace { now, .. } => {
                    after.rules.retain(|there| there.location() != now.location());
                    after.rules.push(now);
                }
            }
        }
        let again = plan_set(&after, &desired).expect("a plan");
        assert_eq!((again.steps, again.kept.len(), again.foreign.len()), (vec![], 2, 1));
    }

    #[test]
    fn a_rule_with_a_place_gets_it_unless_somebody_else_has_it() {
        let there = table("", &["ether proto 0x0800 queue 1 loc 5", "ether proto 0x88b6 queue 1 loc 6"]);
        assert_eq!(
            steps(&there, &["ether proto 0x88b5 queue 3 loc 6"]),
            ["ether proto 0x88b6 queue 1 loc 6 => ether proto 0x88b5 queue 3 loc 6"]
        );
        assert_eq!(
            steps(&there, &["ether proto 0x88b6 queue 1 loc 7"]),
            ["-ether proto 0x88b6 queue 1 loc 6", "+ether proto 0x88b6 queue 1 loc 7"]
        );
        let said = refused(&there, &["ether proto 0x88b5 queue 3 loc 5"]);
        assert!(said[0].contains("somebody else's rule") && said[0].contains("0x0800"), "{said:?}");
        let said = refused(&there, &["ether proto 0x88b5 queue 3 loc 16"]);
        assert!(said[0].contains("places 0 to 15"), "{said:?}");
    }

    #[test]
    fn a_rule_whose_place_another_one_takes_moves_on() {
        let there = table("", &["ether proto 0x88b5 queue 1 loc 5"]);
        assert_eq!(
            steps(&there, &["ether proto 0x88b5 queue 1", "ether proto 0x88b6 queue 2 loc 5"]),
            [
                "ether proto 0x88b5 queue 1 loc 5 => ether proto 0x88b6 queue 2 loc 5",
                "+ether proto 0x88b5 queue 1 loc 15",
            ]
        );
    }

    #[test]
    fn queues_places_and_contradictions_are_refused_all_at_once() {
        let mut there = table("", &[]);
        let said = refused(&there, &["ether proto 0x88b5 queue 8", "udp4 dst-port 1 queue 9"]);
        assert!(said.len() == 2 && said[0].contains("queues 0 to 7"), "{said:?}");
        there.queues = None;
        assert_eq!(steps(&there, &["ether proto 0x88b5 queue 8"]).len(), 1);
        let said = refused(&there, &["ether proto 0x88b5 queue 1", "ether proto 0x88b5 drop"]);
        assert!(said[0].contains("contradict"), "{said:?}");
        let said = refused(&there, &["ether proto 0x88b5 queue 1 loc 3", "ether proto 0x88b6 queue 1 loc 3"]);
        assert!(said[0].contains("contradict"), "{said:?}");
        there.capacity = 1;
        let said = refused(&there, &["ether proto 0x88b5 queue 1", "ether proto 0x88b6 queue 1"]);
        assert!(said[0].contains("full") && said[0].contains("0x88b6"), "{said:?}");
        there.capacity = 0;
        assert!(refused(&there, &["ether proto 0x88b5 queue 1"])[0].contains("no places"));
    }

    #[test]
    fn one_input_set_per_flow_type_is_a_law_of_ice_found_before_anything_is_asked() {
        let mixed = ["ether proto 0x88b5 queue 1", "ether dst 02:00:00:00:00:01 queue 2"];
        let said = refused(&table("ice", &[]), &mixed);
        assert!(said.len() == 1 && said[0].contains("one input set"), "{said:?}");
        assert_eq!(steps(&table("mlx5_core", &[]), &mixed).len(), 2);
        let there = table("ice", &["ether src 02:00:00:00:00:01 drop loc 3"]);
        let said = refused(&there, &["ether proto 0x88b5 queue 1"]);
        assert!(said[0].contains("somebody else's"), "{said:?}");
        // Other flow types have sets of their own, and what goes frees its own.
        assert_eq!(steps(&there, &["udp4 dst-port 1 queue 1", "tcp4 src-port 1 queue 1"]).len(), 2);
        assert_eq!(
            refused(&table("ixgbe", &[]), &["udp4 dst-port 1 queue 1", "tcp4 src-port 1 queue 1"]).len(),
            1
        );
        let stale = table("ice", &["ether proto 0x88b5 queue 1 loc 3"]);
        assert_eq!(steps(&stale, &["ether dst 02:00:00:00:00:01 queue 2"]).len(), 2);
    }

    #[test]
    fn what_ice_takes_for_a_copy_is_refused_with_the_reason() {
        let twins = [
            "ether proto 0x88b5 vlan-etype 0x8100 vlan 1 queue 1",
            "ether proto 0x88b5 vlan-etype 0x8100 vlan 2 queue 2",
        ];
        let said = refused(&table("ice", &[]), &twins);
        assert!(said.len() == 1 && said[0].contains("copy"), "{said:?}");
        assert_eq!(steps(&table("igc", &[]), &twins).len(), 2);
        let said = refused(&table("ice", &[]), &["ether proto 0x88b5 vlan 1 queue 1"]);
        assert!(said.len() == 1 && said[0].contains("vlan-etype"), "{said:?}");
    }

    #[test]
    fn on_ice_a_change_that_it_does_not_take_at_once_takes_two_steps() {
        let drops = ["ether proto 0x88b5 drop loc 3"];
        let two = ["-ether proto 0x88b5 drop loc 3", "+ether proto 0x88b5 queue 0 loc 3"];
        assert_eq!(steps(&table("ice", &drops), &["ether proto 0x88b5 queue 0"]), two);
        assert_eq!(steps(&table("igc", &drops), &["ether proto 0x88b5 queue 0"]).len(), 1);
        assert_eq!(steps(&table("ice", &drops), &["ether proto 0x88b5 queue 1"]).len(), 1);
        let other_fields = ["ether dst 02:00:00:00:00:01 queue 2 loc 3"];
        assert_eq!(steps(&table("ice", &drops), &other_fields).len(), 2);
        assert_eq!(steps(&table("ice", &drops), &["udp4 dst-port 1 queue 2 loc 3"]).len(), 1);
    }

    #[test]
    fn clearing_takes_ours_or_the_places_named_and_nothing_else() {
        let there =
            table("", &["ether proto 0x88b5 queue 1 loc 5", "ether proto 0x88b5 vlan 3 queue 1 loc 6"]);
        let plan = plan_clear(&there, &[]).expect("a plan");
        assert_eq!(plan.steps.iter().map(step).collect::<Vec<_>>(), ["-ether proto 0x88b5 queue 1 loc 5"]);
        assert_eq!(plan.foreign.len(), 1);
        let plan = plan_clear(&there, &[6]).expect("a plan");
        assert_eq!((plan.steps.len(), plan.kept.len()), (1, 1));
        assert_eq!(plan_clear(&there, &[7]), Err(vec![Refusal::NothingThere { location: 7 }]));
    }
}
