//! `restore`: puts back on a host what a killed session left changed.

use serde_json::json;

use super::args::RestoreArgs;
use super::exit::Exit;
use super::failure::{Failure, Outcome};
use super::lab::{connect, unavailable};
use super::load::load_hosts;
use super::voice::{answer, answer_json};
use crate::conduct::lab::Lab;
use crate::model::change::PutBack;
use crate::model::hosts::{Become, Host, Transport};
use crate::remote::fleet::Fleet;

/// Silence after which either side gives the other up, where no hosts file says it.
const LEASE_MS: u64 = 10_000;

pub fn restore(args: &RestoreArgs) -> Outcome {
    let (host, lease_ms) = match &args.hosts {
        Some(file) => {
            let (_, hosts) = load_hosts(file)?;
            let known: Vec<&str> = hosts.hosts.keys().map(String::as_str).collect();
            let unknown = || {
                Failure::Input(format!(
                    "no host is called `{}` in {}\nnext: name one of {}",
                    args.host,
                    file.display(),
                    known.join(", ")
                ))
            };
            (hosts.hosts.get(&args.host).cloned().ok_or_else(unknown)?, hosts.lease_ms)
        }
        None => (behind_alias(args)?, LEASE_MS),
    };
    if host.transport == Transport::Netns {
        return Err(Failure::Input(format!(
            "{} is a host of the embedded lab: it is made anew for every session, so nothing of it can be put back",
            host.name
        )));
    }
    // Its first act there is to put back what it finds.
    let session = connect(&host, lease_ms, &super::lab::own_program()?, &args.lab)
        .map_err(|error| unavailable(&[(&host, error)]))?;
    let mut fleet = Fleet::new();
    fleet.add(&host.name, session);
    let mut done = fleet.welcome(&host.name).map(|welcome| welcome.found.clone()).unwrap_or_default();
    // What did not go the first time is tried once more, and then told once.
    let again = fleet.put_back(&host.name).map_err(|e| Failure::Unavailable(e.to_string()))?;
    done.back.extend(again.back);
    done.gone.extend(again.gone);
    done.stuck.retain(|why| why.contains("cannot be read"));
    done.stuck.extend(again.stuck);
    match args.json {
        true => answer_json(&json!({ "ok": done.stuck.is_empty(), "host": host.name, "restored": done }))?,
        false => answer(told(&host.name, &done))?,
    }
    Ok(if done.stuck.is_empty() { vec![] } else { vec![Exit::NotPutBack] })
}

fn behind_alias(args: &RestoreArgs) -> Result<Host, Failure> {
    let alias = &args.host;
    // ssh would take it for an option.
    if alias.starts_with('-') || alias.is_empty() || alias.contains(char::is_whitespace) {
        return Err(Failure::Input(format!("expected an ssh alias or address, found {alias:?}")));
    }
    let transport = Transport::Ssh {
        alias: alias.clone(),
        user: None,
        config: args.config.clone(),
        r#become: if args.sudo { Become::Sudo } else { Become::No },
    };
    Ok(Host { name: alias.clone(), transport, ports: Default::default(), requirements: Default::default() })
}

/// One line for each thing, the worst last.
pub fn told(host: &str, done: &PutBack) -> String {
    let lines = (done.back.iter().map(|applied| format!("put back {applied}")))
        .chain(done.gone.iter().map(|text| format!("nothing left to put back: {text}")))
        .chain(
            done.before_reboot
                .iter()
                .map(|text| format!("not replayed, because the host was started anew since: {text}")),
        )
        .chain(done.stuck.iter().map(|text| format!("NOT PUT BACK: {text}")));
    let lines: Vec<String> = lines.map(|line| format!("{host}: {line}")).collect();
    if lines.is_empty() { format!("{host}: nothing to put back") } else { lines.join("\n") }
}
