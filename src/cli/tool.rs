//! `tool` and `agent`: what runs on hosts.

use super::exit::Exit;
use crate::agent::{AgentArgs, serve};
use crate::tool::Tool;

/// Ends the process with the tool's own status, which its user on a host relies on.
pub fn tool(tool: &Tool) -> Vec<Exit> {
    std::process::exit(tool.run())
}

pub fn agent(args: &AgentArgs) -> Vec<Exit> {
    std::process::exit(serve(args))
}
