//! The program: hands its arguments to the front door and exits with what that says.

use clap::{Parser, Subcommand};
use fieldtrial::agent::{self, AgentArgs};

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    #[command(hide = true)]
    Agent(AgentArgs),
}

fn main() {
    let Command::Agent(args) = Arguments::parse().command;
    std::process::exit(agent::serve(&args))
}
