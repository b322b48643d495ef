//! The front door: arguments, terminal, exit codes; wiring only.

mod analyse;
mod annotate;
mod args;
mod cancel;
mod check;
mod compare;
mod derive;
mod desktop;
mod exit;
mod export;
mod failure;
mod gate;
mod gate_args;
mod history;
mod hosts;
mod init;
mod lab;
mod ladder;
mod ladder_files;
mod load;
mod patience;
mod plan;
mod plan_roles;
mod progress;
mod prune;
mod publish;
mod record_args;
mod report;
mod restore;
mod run;
mod schedule;
mod schema;
mod selection;
mod session;
mod show;
mod signals;
mod status;
mod tool;
mod versus;
mod voice;

use std::panic::{self, AssertUnwindSafe};

use clap::Parser;

use args::{Arguments, Command};
use failure::{Failure, Outcome};

const OURS: &str = "fieldtrial itself is at fault; the lines above say where\n\
    a record that was being written is whole up to its last line, and `fieldtrial resume RECORD` goes on with it\n\
    next: report those lines together with the command";

/// Parses the arguments of this process, does what they ask and says how it ended (0 to 13).
pub fn main() -> u8 {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let asked_for_help = !error.use_stderr();
            // A closed terminal is no reason to end otherwise than the arguments say.
            let _ = error.print();
            return if asked_for_help { 0 } else { exit::Exit::BadInput.code() };
        }
    };
    // What may be half done when we fail by a fault of our own is not looked at again.
    let ended = panic::catch_unwind(AssertUnwindSafe(|| dispatch(arguments.command)));
    match ended.unwrap_or_else(|_| Err(Failure::Fault(OURS.into()))) {
        Ok(exits) => exit::worst(&exits).code(),
        Err(failure) => {
            failure.print();
            failure.exit().code()
        }
    }
}

fn dispatch(command: Command) -> Outcome {
    match command {
        Command::Check(args) => check::check(&args),
        Command::Plan(args) => plan::plan(&args),
        Command::Analyse(args) => analyse::analyse(&args),
        Command::Init(args) => init::init(&args),
        Command::Run(args) => run::run(&args),
        Command::Versus(args) => versus::versus(&args),
        Command::Resume(args) => run::resume(&args),
        Command::Rerun(args) => run::rerun(&args),
        Command::Schedule(args) => schedule::schedule(&args),
        Command::Status(args) => status::status(&args),
        Command::Cancel(args) => cancel::cancel(&args),
        Command::Prune(args) => prune::prune(&args),
        Command::Report(args) => report::report(&args),
        Command::Export(args) => export::export(&args),
        Command::Show(args) => show::show(&args),
        Command::Annotate(args) => annotate::annotate(&args),
        Command::Publish(args) => publish::publish(&args),
        Command::Unpublish(args) => publish::unpublish(&args),
        Command::Gate(args) => gate::gate(&args),
        Command::History(args) => history::history(&args),
        Command::Ladder(args) => ladder::ladder(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::Restore(args) => restore::restore(&args),
        Command::Hosts(command) => hosts::hosts(&command),
        Command::Schema(args) => schema::schema(&args),
        Command::Completions { shell } => schema::completions(shell),
        Command::Tool(tool) => Ok(tool::tool(&tool)),
        Command::Agent(args) => Ok(tool::agent(&args)),
    }
}
