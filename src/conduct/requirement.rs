//! What a cell needs of its hosts: ports, requirements by name, and held facts.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde_json::Value;

use crate::model::facts::{Facts, KNOWN};
use crate::model::hosts::{Host, PortRef};
use crate::model::setting;
use crate::model::workload::Work;
use crate::rule::{Condition, Rule, Scope};

/// A requirement of a host with what was found.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Checked {
    pub name: String,
    pub rule: String,
    pub met: bool,
    /// What was found instead; empty when met.
    pub found: String,
    /// The port that it is about; None for a requirement of the host itself.
    #[serde(skip)]
    pub port: Option<String>,
}

/// Every requirement of a host, held facts included, against its facts.
pub fn check_host(host: &Host, hold: &IndexMap<String, String>, facts: &Facts) -> Vec<Checked> {
    let mut scope = Scope::default();
    for (name, value) in facts {
        scope.value(name, value);
    }
    let mut checked: Vec<Checked> = vec![];
    for (name, text) in &host.requirements {
        match Condition::parse(text) {
            Some(condition) => checked.extend(check_condition(name, text, &condition, host, facts)),
            None => checked.push(check_rule(name, text, &scope, facts)),
        }
    }
    for (port, declared) in &host.ports {
        let seen = facts.get("ports").and_then(|p| p.get(port));
        let there = seen.and_then(|s| s.get("present")).and_then(Value::as_bool) == Some(true);
        checked.push(Checked {
            name: format!("port {port}"),
            rule: format!("interface {} exists", declared.interface),
            met: there,
            found: if there { String::new() } else { interfaces(facts) },
            port: Some(port.clone()),
        });
        for (fact, wanted) in &declared.expect {
            let check = check_equal(&format!("port {port}"), fact, wanted, seen.and_then(|s| s.get(fact)));
            checked.push(Checked { port: Some(port.clone()), ..check });
        }
    }
    if let Some(stuck) = facts.get("not_put_back").and_then(Value::as_array) {
        let found: Vec<&str> = stuck.iter().filter_map(Value::as_str).collect();
        checked.push(Checked {
            name: "put back".into(),
            rule: "every setting is as it was before an earlier session".into(),
            met: false,
            found: found.join("; "),
            port: None,
        });
    }
    // A setting is brought to its value later, and proven then.
    for (fact, wanted) in hold.iter().filter(|(name, _)| setting::known(name).is_none()) {
        checked.push(check_equal("hold", fact, wanted, facts.get(fact)));
    }
    checked
}

/// Why a cell's hosts cannot run it: (reason, evidence) of each requirement missed.
pub fn missed(
    work: &Work,
    hosts: &[&Host],
    hold: &IndexMap<String, String>,
    facts: &BTreeMap<String, Facts>,
) -> Vec<String> {
    let needed: Vec<&PortRef> = match work {
        Work::Packets(w) => vec![&w.tx, &w.rx],
        Work::Command(_) => vec![],
    };
    let mut missed = Vec::new();
    for host in hosts {
        let Some(facts) = facts.get(&host.name) else {
            missed.push(format!("{}: its facts were never seen", host.name));
            continue;
        };
        for check in check_host(host, hold, facts).into_iter().filter(|c| !c.met) {
            let is_needed = |port: &String| needed.iter().any(|n| n.host == host.name && n.port == *port);
            let other_port = check.port.as_ref().is_some_and(|port| !is_needed(port));
            if !other_port {
                missed.push(format!("{}: {} ({}): {}", host.name, check.name, check.rule, check.found));
            }
        }
    }
    missed
}

fn interfaces(facts: &Facts) -> String {
    let names = facts.get("interfaces").and_then(Value::as_array).into_iter().flatten();
    let names: Vec<&str> = names.filter_map(Value::as_str).collect();
    format!("no such interface; the host has {}", names.join(", "))
}

/// A condition on a fact of the host, or on one of ports, which then every port must meet.
fn check_condition(
    name: &str,
    text: &str,
    condition: &Condition,
    host: &Host,
    facts: &Facts,
) -> Vec<Checked> {
    if KNOWN.contains(&condition.fact.as_str()) {
        return vec![one_condition(name.to_owned(), text, condition, None, &|name| facts.get(name))];
    }
    let check = |port: &String| {
        let seen = facts.get("ports").and_then(|ports| ports.get(port));
        let name = format!("{name} (port {port})");
        one_condition(name, text, condition, Some(port), &|name| seen?.get(name))
    };
    host.ports.keys().map(check).collect()
}

fn one_condition<'a>(
    name: String,
    text: &str,
    condition: &Condition,
    port: Option<&String>,
    fact: &dyn Fn(&str) -> Option<&'a Value>,
) -> Checked {
    let (met, found) = match condition.eval(fact) {
        Ok(true) => (true, String::new()),
        Ok(false) => (false, condition.found(fact)),
        Err(why) => (false, why),
    };
    Checked { name, rule: text.into(), met, found, port: port.cloned() }
}

fn check_rule(name: &str, text: &str, scope: &Scope, facts: &Facts) -> Checked {
    let answer = Rule::parse(text)
        .map_err(|e| e.text)
        .and_then(|rule| rule.eval(scope).map(|met| (met, rule.names().iter().cloned().collect::<Vec<_>>())));
    let (met, found) = match answer {
        Ok((true, _)) => (true, String::new()),
        Ok((false, names)) => {
            let found: Vec<String> = names
                .iter()
                .map(|n| format!("{n} is {}", facts.get(n).map_or("unknown".into(), show)))
                .collect();
            (false, found.join(", "))
        }
        Err(why) => (false, why),
    };
    Checked { name: name.into(), rule: text.into(), met, found, port: None }
}

fn check_equal(name: &str, fact: &str, wanted: &str, seen: Option<&Value>) -> Checked {
    let seen = seen.filter(|v| !v.is_null()).map(show);
    let met = seen.as_deref() == Some(wanted);
    let found = match (met, seen) {
        (true, _) => String::new(),
        (false, Some(seen)) => format!("{fact} is {seen}"),
        (false, None) => format!("the host does not tell its {fact}"),
    };
    Checked { name: name.into(), rule: format!("{fact} is {wanted}"), met, found, port: None }
}

fn show(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
