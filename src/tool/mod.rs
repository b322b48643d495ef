//! Built-in tools as programs: what runs on hosts, also by hand.

pub mod duration;
pub mod flow_prove;
pub mod flow_rules;
pub mod flow_table;
pub mod http_client;
pub mod http_load;
pub mod http_permits;
pub mod http_request;
pub mod http_result;
pub mod http_serve;
pub mod http_turns;
pub mod input;
pub mod latency;
pub mod nic_counters;
pub mod packet_receive;
pub mod packet_send;
pub mod receive_result;
pub mod receive_view;
pub mod result;
pub mod sent;
pub mod stop;
pub mod voice;
pub mod way_in;
pub mod way_out;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_receive;

use clap::Subcommand;

use flow_rules::FlowRulesArgs;
use http_load::HttpLoadArgs;
use http_serve::HttpServeArgs;
use nic_counters::NicCountersArgs;
use packet_receive::PacketReceiveArgs;
use packet_send::PacketSendArgs;

/// The tools of `fieldtrial tool …`.
#[derive(Debug, Clone, Subcommand)]
pub enum Tool {
    PacketSend(PacketSendArgs),
    PacketReceive(PacketReceiveArgs),
    NicCounters(NicCountersArgs),
    FlowRules(FlowRulesArgs),
    HttpServe(HttpServeArgs),
    HttpLoad(HttpLoadArgs),
}

impl Tool {
    /// Runs the tool to its end and returns the exit code: 0 done, 1 a fault, 2 bad arguments,
    /// 3 refused by this host, 6 a change that could not be taken back.
    #[must_use]
    pub fn run(&self) -> i32 {
        match self {
            Self::PacketSend(args) => packet_send::run(args),
            Self::PacketReceive(args) => packet_receive::run(args),
            Self::NicCounters(args) => nic_counters::run(args),
            Self::FlowRules(args) => flow_rules::run(args),
            Self::HttpServe(args) => http_serve::run(args),
            Self::HttpLoad(args) => http_load::run(args),
        }
    }
}
