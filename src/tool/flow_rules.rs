//! `flow-rules`: which frames a port's card puts on which receive queue.

use clap::{Args, Subcommand};

use super::flow_table::{Changes, Listing};
use super::voice::{Fault, Voice};
use crate::model::flow_rule::{self, FlowRule};
use crate::nic::flow_apply::{FlowDriver, NotApplied, TableNow, apply};
use crate::nic::flow_error::FlowError;
use crate::nic::flow_plan::{Plan, plan_clear, plan_set};
use crate::nic::flow_port::FlowPort;
use crate::nic::flow_refusal::Refusal;
use crate::nic::management;

/// Lists, plans, sets, proves and clears the flow rules of a port's card (ethtool calls them rxnfc or ntuple).
///
/// Streams of raw frames differ by ethertype alone, and cards do not spread them by hashing. One rule
/// per stream puts each on a queue of its own.
///
/// Ours are the rules that look at nothing but an ethertype from 0x88b5 to 0x88c4. A rule that looks
/// for the same frames as one that you ask for is taken as ours too. All others are left alone.
///
/// A change is done wholly or not at all: after a failure the rules are put back as they were.
///
/// Exit codes: 0 done, 2 bad input, 3 the card or its driver refuses, 6 rules could not be put back.
///
/// Examples:
///   fieldtrial tool flow-rules list --port enp1s0
///   fieldtrial tool flow-rules plan --port enp1s0 --streams 3 --queues 1,2,3
///   fieldtrial tool flow-rules set --port enp1s0 --streams 3 --queues 1,2,3
///   fieldtrial tool flow-rules set --port enp1s0 --rule 'udp4 dst-port 4789 queue 2'
///   fieldtrial tool flow-rules prove --port enp1s0 --streams 3 --queues 1,2,3
///   fieldtrial tool flow-rules clear --port enp1s0
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub struct FlowRulesArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Clone, Subcommand)]
enum Action {
    /// Show every rule in the card's table, and whose it is; changes nothing and needs no rights
    List(PortArgs),
    /// Show what `set` would do; changes nothing and needs no rights
    Plan(SetArgs),
    /// Make the rules asked for, and no others of ours, be in the table
    Set(SetArgs),
    /// Watch on which queue each stream of a running `packet-send` arrives, and tell whether it is the right one
    ///
    /// A rule that a card accepts may still steer nothing. This changes no rule. It ends when standard
    /// input says what was sent, at the end of input, or by Ctrl-C.
    Prove(ProveArgs),
    /// Remove our rules, or those at the places named
    Clear(ClearArgs),
}

#[derive(Debug, Clone, Args)]
struct ProveArgs {
    #[command(flatten)]
    port: PortArgs,
    /// Streams of `packet-send`: 1 to 16
    #[arg(long, value_name = "N")]
    streams: u16,
    /// Receive queues of stream 0, 1, 2 …, e.g. 1,2,3
    #[arg(long, value_name = "Q,Q…", value_delimiter = ',', required = true)]
    queues: Vec<String>,
}

#[derive(Debug, Clone, Args)]
struct PortArgs {
    /// Interface whose card has the rules
    #[arg(long, value_name = "IF")]
    port: String,
    /// Print JSON lines also on a terminal
    #[arg(long)]
    json: bool,
}

/// The rules asked for.
#[derive(Debug, Clone, Args)]
#[command(after_help = RULE_HELP)]
struct SetArgs {
    #[command(flatten)]
    port: PortArgs,
    /// Streams of `packet-send`, each steered by its ethertype from 0x88b5 on: 1 to 16
    #[arg(long, value_name = "N", requires = "queues")]
    streams: Option<u16>,
    /// Receive queues of stream 0, 1, 2 …, e.g. 1,2,3
    #[arg(long, value_name = "Q,Q…", value_delimiter = ',', requires = "streams")]
    queues: Vec<String>,
    /// A rule in words, see below; may be given several times
    #[arg(long = "rule", value_name = "RULE", required_unless_present = "streams")]
    rules: Vec<String>,
}

const RULE_HELP: &str = "\
A rule is a kind of frame, the fields that must match, and what becomes of the frames:
  ether [src MAC] [dst MAC] [proto 0x88b5] [vlan-etype 0x8100] [vlan 5] queue 3
  ip4|ip6 [src-ip A] [dst-ip A] drop
  tcp4|udp4|sctp4|tcp6|udp6|sctp6 [src-ip A] [dst-ip A] [src-port P] [dst-port P] queue 2 [loc 10]
Without `loc`, the highest free place of the table is taken. Each field is matched in full.";

#[derive(Debug, Clone, Args)]
struct ClearArgs {
    #[command(flatten)]
    port: PortArgs,
    /// Remove what is at this place instead, whoever put it there; may be given several times
    #[arg(long = "loc", value_name = "PLACE")]
    locations: Vec<u32>,
}

/// Runs to the end and returns the exit code.
#[must_use]
pub fn run(args: &FlowRulesArgs) -> i32 {
    let (port, work): (&PortArgs, &dyn Fn(Voice) -> Result<(), Fault>) = match &args.action {
        Action::List(port) => (port, &|voice| list(port, voice)),
        Action::Plan(args) => (&args.port, &|voice| set(args, false, voice)),
        Action::Set(args) => (&args.port, &|voice| set(args, true, voice)),
        Action::Prove(args) => (&args.port, &|voice| prove(args, voice)),
        Action::Clear(args) => (&args.port, &|voice| clear(args, voice)),
    };
    let voice = Voice::new(port.json);
    voice.end(work(voice))
}

fn list(args: &PortArgs, voice: Voice) -> Result<(), Fault> {
    let table = FlowPort::open(&args.port).and_then(|mut port| port.table()).map_err(fault)?;
    let listing = Listing::new(&args.port, &table);
    voice.say(&listing, || listing.plain());
    Ok(())
}

fn set(args: &SetArgs, for_real: bool, voice: Voice) -> Result<(), Fault> {
    let desired = desired(args)?;
    if for_real {
        guard(&args.port.port)?;
    }
    let mut port = FlowPort::open(&args.port.port).map_err(fault)?;
    let plan = plan_set(&port.table().map_err(fault)?, &desired).map_err(refused)?;
    finish(&mut port, &plan, for_real, voice)
}

fn clear(args: &ClearArgs, voice: Voice) -> Result<(), Fault> {
    guard(&args.port.port)?;
    let mut port = FlowPort::open(&args.port.port).map_err(fault)?;
    let plan = plan_clear(&port.table().map_err(fault)?, &args.locations).map_err(refused)?;
    finish(&mut port, &plan, true, voice)
}

fn finish(port: &mut FlowPort, plan: &Plan, for_real: bool, voice: Voice) -> Result<(), Fault> {
    if for_real {
        apply(port, plan).map_err(|failed: NotApplied| match &failed.table {
            TableNow::HalfDone { .. } => Fault::NotPutBack(failed.to_string()),
            _ => Fault::refused(&failed),
        })?;
    }
    let changes = Changes::new(port.interface(), plan, for_real);
    voice.say(&changes, || changes.plain());
    Ok(())
}

fn desired(args: &SetArgs) -> Result<Vec<FlowRule>, Fault> {
    let mut desired = Vec::new();
    if let Some(streams) = args.streams {
        desired.extend(of_streams(streams, &args.queues)?);
    }
    for text in &args.rules {
        desired.push(text.parse().map_err(|why| Fault::BadInput(format!("--rule {text:?}: {why}")))?);
    }
    Ok(desired)
}

fn prove(args: &ProveArgs, voice: Voice) -> Result<(), Fault> {
    of_streams(args.streams, &args.queues)?;
    let queues = queues(&args.queues)?;
    super::flow_prove::prove(&args.port.port, &queues[..usize::from(args.streams)], voice)
}

fn of_streams(streams: u16, named: &[String]) -> Result<Vec<FlowRule>, Fault> {
    let rules = FlowRule::of_streams(streams, &queues(named)?);
    rules.map_err(|why| Fault::BadInput(format!("--streams: {why}")))
}

fn queues(named: &[String]) -> Result<Vec<u32>, Fault> {
    let queues = named.iter().map(|text| flow_rule::queue(text));
    queues.collect::<Result<_, _>>().map_err(|why| Fault::BadInput(format!("--queues: {why}")))
}

/// A rule on the port that carries our own connection could cut it off.
fn guard(interface: &str) -> Result<(), Fault> {
    let connection = std::env::var("SSH_CONNECTION").unwrap_or_default();
    match management::interfaces(&connection) {
        Some(carrying) if carrying.iter().any(|name| name == interface) => Err(Fault::BadInput(format!(
            "{interface} carries the SSH connection or the default route of this host; expected a test port"
        ))),
        _ => Ok(()),
    }
}

fn fault(error: FlowError) -> Fault {
    match error {
        FlowError::Missing { .. } => Fault::bad_input(error),
        _ => Fault::refused(error),
    }
}

/// What the card's shape forbids is bad input; what its other rules or its driver forbid is a refusal.
fn refused(refusals: Vec<Refusal>) -> Fault {
    let of_input = |refusal: &Refusal| {
        use Refusal::{Contradiction, NothingThere, Place, Queue};
        matches!(refusal, Queue { .. } | Place { .. } | Contradiction { .. } | NothingThere { .. })
    };
    let texts: Vec<String> = refusals.iter().map(ToString::to_string).collect();
    let text = format!("no rule was changed: {}", texts.join("\nand "));
    if refusals.iter().all(of_input) { Fault::BadInput(text) } else { Fault::Refused(text) }
}
