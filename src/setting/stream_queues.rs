//! The receive queue of each stream of ours, by a flow rule for its ethertype.

use super::{Setting, SettingError, State};
use crate::model::flow_rule::{FlowRule, MOST_STREAMS};
use crate::model::setting::{STREAM_QUEUES, stream_queues};
use crate::nic::flow_apply::{FlowDriver, apply};
use crate::nic::flow_bytes::{emit, parse, text};
use crate::nic::flow_error::FlowError;
use crate::nic::flow_plan::{FlowTable, is_ours, plan_set};
use crate::nic::flow_port::FlowPort;

/// A part is `stream 3` with the text of its rule, or an empty one where no rule steers it. Rules of
/// somebody else are no part, and are never touched.
pub(super) struct StreamQueues(pub String);

impl StreamQueues {
    fn table(&self) -> Result<(FlowPort, FlowTable), SettingError> {
        let mut port = FlowPort::open(&self.0).map_err(unfit)?;
        let table = port.table().map_err(unfit)?;
        Ok((port, table))
    }

    fn plan(
        &self,
        table: &FlowTable,
        desired: &[FlowRule],
    ) -> Result<crate::nic::flow_plan::Plan, SettingError> {
        plan_set(table, desired).map_err(|refusals| {
            let texts: Vec<String> = refusals.iter().map(ToString::to_string).collect();
            SettingError::Refused(texts.join("; "))
        })
    }
}

impl Setting for StreamQueues {
    fn name(&self) -> &'static str {
        STREAM_QUEUES
    }

    fn read(&self) -> Result<State, SettingError> {
        state(&self.table()?.1)
    }

    fn wanted(&self, value: &str, _: &State) -> Result<State, SettingError> {
        let desired = stream_queues(value).map_err(SettingError::Refused)?;
        let table = self.table()?.1;
        let plan = self.plan(&table, &desired)?;
        // As the table will be; where each rule stands is known by now.
        state(&FlowTable { rules: plan.kept.iter().chain(plan.added()).copied().collect(), ..table })
    }

    fn write(&self, parts: &State) -> Result<(), SettingError> {
        let (mut port, table) = self.table()?;
        let mut all = state(&table)?;
        all.extend(parts.iter().map(|(part, text)| (part.clone(), text.clone())));
        let rules = all.values().filter(|text| !text.is_empty()).map(|text| text.parse::<FlowRule>());
        let desired: Vec<FlowRule> =
            rules.collect::<Result<_, _>>().map_err(|error| SettingError::Refused(error.to_string()))?;
        let plan = self.plan(&table, &desired)?;
        apply(&mut port, &plan).map_err(|failed| SettingError::Refused(failed.to_string()))
    }

    fn shown(&self, state: &State) -> String {
        let rules = (0..MOST_STREAMS).filter_map(|stream| {
            let rule: FlowRule = state.get(&part(stream))?.parse().ok()?;
            Some((stream, rule.action))
        });
        let shown: Vec<String> = rules.map(|(stream, action)| format!("stream {stream}: {action}")).collect();
        if shown.is_empty() { "none".to_owned() } else { shown.join(", ") }
    }
}

fn part(stream: u16) -> String {
    format!("stream {stream}")
}

fn state(table: &FlowTable) -> Result<State, SettingError> {
    let mut state: State = (0..MOST_STREAMS).map(|stream| (part(stream), String::new())).collect();
    for stream in 0..MOST_STREAMS {
        let looks_for = emit(&FlowRule::of_stream(stream, 0));
        let rules: Vec<_> =
            table.rules.iter().filter(|rule| is_ours(rule) && rule.matches_like(&looks_for)).collect();
        match rules[..] {
            [] => {}
            [rule] if parse(rule).is_some() => drop(state.insert(part(stream), text(rule))),
            _ => {
                return Err(SettingError::Refused(format!(
                    "the card has several rules for stream {stream}; next step: `fieldtrial tool flow-rules clear`"
                )));
            }
        }
    }
    Ok(state)
}

fn unfit(error: FlowError) -> SettingError {
    match error {
        FlowError::Missing { .. } | FlowError::NoTable { .. } => SettingError::Absent(error.to_string()),
        _ => SettingError::Refused(error.to_string()),
    }
}
