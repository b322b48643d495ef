//! The front door: arguments, terminal, exit codes; wiring only.

mod args;
mod check;
mod derive;
mod exit;
mod failure;
mod hosts;
mod init;
mod lab;
mod load;
mod plan;
mod progress;
mod report;
mod run;
mod schema;
mod session;
mod signals;
mod tool;

use clap::Parser;

use args::{Arguments, Command};
use failure::Outcome;

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
    match dispatch(arguments.command) {
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
        Command::Init(args) => init::init(&args),
        Command::Run(args) => run::run(&args),
        Command::Resume(args) => run::resume(&args),
        Command::Rerun(args) => run::rerun(&args),
        Command::Report(args) => report::report(&args),
        Command::Hosts(command) => hosts::hosts(&command),
        Command::Schema(args) => schema::schema(&args),
        Command::Completions { shell } => schema::completions(shell),
        Command::Tool(tool) => Ok(tool::tool(&tool)),
        Command::Agent(args) => Ok(tool::agent(&args)),
    }
}
