//! `hosts check` and `hosts discover`: what hosts are, as a table or as a file.

use std::collections::BTreeMap;
use std::path::Path;

use comfy_table::{Table, presets};
use serde_json::{Value, json};

use super::args::{HostsCommand, LabArgs};
use super::exit::Exit;
use super::failure::{Failure, Outcome};
use super::lab::{Opened, open_hosts};
use super::load::load_hosts;
use super::voice::{answer, answer_json};
use crate::conduct::check_host;
use crate::inventory::discovered;
use crate::model::change::{Seen, named};
use crate::model::facts::Facts;
use crate::model::hosts::{Become, Host, Hosts, Transport};
use crate::model::setting::known;
use crate::yaml::Source;

pub fn hosts(command: &HostsCommand) -> Outcome {
    match command {
        HostsCommand::Check { file, lab, json } => check(file, lab, *json),
        HostsCommand::Discover { alias, config, sudo, lab } => discover(alias, config.as_deref(), *sudo, lab),
    }
}

fn check(file: &Path, lab: &LabArgs, as_json: bool) -> Outcome {
    let (source, hosts) = load_hosts(file)?;
    let opened = open_hosts(&hosts, &source, lab)?;
    let mut all_met = true;
    let mut told = serde_json::Map::new();
    for (name, host) in &hosts.hosts {
        let empty = Facts::new();
        let facts = opened.facts.get(name).unwrap_or(&empty);
        let checks = check_host(host, &Default::default(), facts);
        all_met &= checks.iter().all(|c| c.met);
        let interfaces = host.ports.values().map(|port| port.interface.clone()).collect();
        let settings =
            opened.fleet.settings(name, interfaces).map_err(|e| Failure::Unavailable(e.to_string()))?;
        if as_json {
            let settings: Vec<Value> = settings.iter().map(setting_json).collect();
            told.insert(
                name.clone(),
                json!({ "facts": facts, "requirements": checks, "settings": settings }),
            );
            continue;
        }
        let mut table = Table::new();
        table.load_style(presets::UTF8_BORDERS_ONLY).set_header(["requirement", "rule", "met", "found"]);
        for check in &checks {
            let met = if check.met { "yes" } else { "NO" };
            table.add_row([check.name.as_str(), &check.rule, met, &check.found]);
        }
        answer(format_args!("{name} ({})", isolation(&opened, name)))?;
        if !checks.is_empty() {
            answer(table)?;
        }
        answer(facts_table(facts))?;
        answer(format_args!("{}\n", settings_table(&settings)))?;
    }
    if as_json {
        answer_json(&json!({ "ok": all_met, "hosts": told }))?;
    }
    Ok(if all_met { vec![] } else { vec![Exit::Refused] })
}

fn isolation(opened: &Opened, host: &str) -> String {
    let note = opened.notes.iter().find(|n| n.host == host);
    note.map_or(String::new(), |n| format!("{}, jobs end by {}", n.transport, n.isolation))
}

fn facts_table(facts: &Facts) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY).set_header(["fact", "value"]);
    for (name, value) in facts {
        match value {
            Value::Object(ports) if name == "ports" => {
                for (port, facts) in ports {
                    for (fact, value) in facts.as_object().into_iter().flatten() {
                        table.add_row([format!("port {port}: {fact}"), shown(value)]);
                    }
                }
            }
            value => drop(table.add_row([name.clone(), shown(value)])),
        }
    }
    table
}

/// Settings that campaigns may hold, with what they are now and whether they can be changed.
fn settings_table(settings: &[Seen]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY).set_header(["setting", "now", "can be changed", "tried on"]);
    for seen in settings {
        let name = named(&seen.setting, seen.interface.as_deref());
        let can = seen.why.as_ref().map_or("yes".to_owned(), |why| format!("no: {why}"));
        let tried = known(&seen.setting).map_or("", |known| known.tried.name());
        let now = seen.now.clone().unwrap_or_else(|| "–".into());
        table.add_row([name.as_str(), now.as_str(), can.as_str(), tried]);
    }
    table
}

fn setting_json(seen: &Seen) -> Value {
    json!({
        "setting": seen.setting, "interface": seen.interface, "now": seen.now, "settable": seen.why.is_none(),
        "why": seen.why, "tried_on": known(&seen.setting).map(|known| known.tried.name()),
    })
}

fn shown(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if text.chars().count() > 70 { text.chars().take(69).chain(['…']).collect() } else { text }
}

fn discover(alias: &str, config: Option<&Path>, sudo: bool, lab: &LabArgs) -> Outcome {
    // ssh would take it for an option.
    if alias.starts_with('-') || alias.is_empty() || alias.contains(char::is_whitespace) {
        return Err(Failure::Input(format!("expected an ssh alias or address, found {alias:?}")));
    }
    let host = Host {
        name: alias.to_owned(),
        transport: Transport::Ssh {
            alias: alias.to_owned(),
            user: None,
            config: config.map(Path::to_owned),
            r#become: if sudo { Become::Sudo } else { Become::No },
        },
        ports: Default::default(),
        requirements: Default::default(),
    };
    let hosts = Hosts { hosts: [(alias.to_owned(), host.clone())].into(), links: vec![], lease_ms: 10_000 };
    let opened = open_hosts(&hosts, &Source::new(format!("discover {alias}"), ""), lab)?;
    let empty = BTreeMap::new();
    answer(discovered(&host, opened.facts.get(alias).unwrap_or(&empty)).trim_end())?;
    Ok(vec![])
}
