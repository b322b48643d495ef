//! `http-load`: a declared number of HTTP requests, each with a deadline and exactly one fate.

use std::net::SocketAddr;
use std::sync::Arc;

use clap::Args;
use tokio::task::JoinSet;

use super::duration::parse_ns;
use super::http_client::{Client, Fate};
use super::http_result::{Asked, Declared, LoadResult};
use super::http_turns::Turns;
use super::voice::{Fault, Voice};
use crate::nic::clock::monotonic_ns;

const MOST_RATE: f64 = 1e6;

/// Asks an HTTP server such as `http-serve` for units of work and tells what became of each.
///
/// A request is `GET /unit/N`; the right answer is status 200 and the text `work N done`. Each request has
/// exactly one of four fates: success, timeout, transport error, wrong answer. They add up to `--requests`.
/// At the deadline the client closes the connection.
///
/// Without `--rate` the loop is closed: `--concurrency` clients, each of which asks again as soon as it has an
/// answer or gives up. Latencies count from the start of a request, with its connection where it needs one.
///
/// With `--rate` the loop is open: requests are due at fixed times, whatever the server does. Latencies and
/// deadlines count from when a request was due, also while it waits for one of the `--concurrency` clients
/// to be free, so a stalled server cannot hide the requests that it kept from being sent. `most_behind_ns`
/// tells how far the sending fell behind.
///
/// Example, with `fieldtrial tool http-serve --listen 127.0.0.1:8080` beside it:
///   fieldtrial tool http-load --to 127.0.0.1:8080 --concurrency 8 --requests 40 --deadline 80ms
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub struct HttpLoadArgs {
    /// Address and port of the server, as in 127.0.0.1:8080 or [::1]:8080
    #[arg(long, value_name = "ADDR:PORT")]
    pub to: SocketAddr,
    /// Requests under way at once, each on a connection of its own: 1 to 1000
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub concurrency: u32,
    /// Requests in all: 1 to 1000000
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub requests: u64,
    /// When a client gives up and closes its connection, e.g. 80ms
    #[arg(long, value_name = "TIME", value_parser = parse_ns)]
    pub deadline: u64,
    /// Arrivals per second of an open loop, e.g. 100
    #[arg(long, value_name = "R", value_parser = parse_rate)]
    pub rate: Option<f64>,
    /// Print JSON lines also on a terminal
    #[arg(long)]
    pub json: bool,
}

/// Runs to the end and returns the exit code.
#[must_use]
pub fn run(args: &HttpLoadArgs) -> i32 {
    let voice = Voice::new(args.json);
    voice.end(load(args, voice))
}

fn load(args: &HttpLoadArgs, voice: Voice) -> Result<(), Fault> {
    if args.deadline == 0 {
        return Err(Fault::bad_input(
            "--deadline 0s: expected a time in which an answer can come, as in 80ms",
        ));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result = runtime.map_err(Fault::failed)?.block_on(ask_all(args))?;
    voice.say(&result, || result.plain());
    Ok(())
}

async fn ask_all(args: &HttpLoadArgs) -> Result<LoadResult, Fault> {
    let start_ns = monotonic_ns();
    let turns = match args.rate {
        None => Turns::closed(args.requests),
        Some(rate) => Turns::open(args.requests, start_ns, rate).map_err(Fault::failed)?,
    };
    let turns = Arc::new(turns);
    let mut clients = JoinSet::new();
    for _ in 0..args.concurrency {
        clients.spawn(ask(Client::new(args.to), Arc::clone(&turns), start_ns, args.deadline));
    }
    let (mut asked, mut connections) = (vec![], 0);
    while let Some(ended) = clients.join_next().await {
        let (of_one, made) = ended.map_err(Fault::failed)?;
        asked.extend(of_one);
        connections += made;
    }
    let wall_ns = monotonic_ns() - start_ns;
    let declared = Declared {
        requests: args.requests,
        concurrency: args.concurrency,
        deadline_ns: args.deadline,
        rate: args.rate,
    };
    Ok(LoadResult::new(declared, asked, wall_ns, connections))
}

/// One client, as long as there are turns; its requests, and the connections that it made.
async fn ask(mut client: Client, turns: Arc<Turns>, start_ns: u64, patience_ns: u64) -> (Vec<Asked>, u64) {
    let mut asked = vec![];
    while let Some(turn) = turns.next().await {
        let now_ns = monotonic_ns();
        let from_ns = turn.due_ns.unwrap_or(now_ns);
        let deadline_ns = from_ns.saturating_add(patience_ns);
        let in_time = now_ns < deadline_ns;
        let fate = if in_time { client.ask(turn.number, deadline_ns).await } else { Fate::Timeout };
        asked.push(Asked {
            number: turn.number,
            due_ns: turn.due_ns.map(|due_ns| due_ns - start_ns),
            sent_ns: in_time.then_some(now_ns - start_ns),
            latency_ns: monotonic_ns() - from_ns,
            fate,
        });
    }
    (asked, client.connections)
}

fn parse_rate(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix("/s").unwrap_or(text);
    let rate = number.parse().ok().filter(|rate| *rate > 0.0 && *rate <= MOST_RATE);
    rate.ok_or_else(|| {
        "expected arrivals per second above 0 and up to 1000000, as in 100 or 100/s".to_owned()
    })
}
