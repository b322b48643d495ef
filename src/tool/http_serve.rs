//! `http-serve`: an HTTP server whose answers need a scarce permit.

use std::convert::Infallible;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};

use super::duration::parse_ns;
use super::http_permits::{Hold, Permits, Tally};
use super::http_request::{answer, number};
use super::voice::{Fault, Voice};

/// After a connection could not be accepted, as when descriptors ran out.
const PAUSE: Duration = Duration::from_millis(10);

/// Answers `GET /unit/N`, each with simulated work that needs one of a few permits.
///
/// A request waits for a permit in the order of arrival, holds it for the time of the work, and is then
/// answered with its number. The permits stand for any scarce resource, such as connections to a database.
/// Nothing else is limited: requests arrive at once and wait here. The work is a sleep, so no processor is
/// needed for it; it lasts up to 1 ms longer than asked for, and the result tells how long on average.
///
/// Ends by SIGTERM or Ctrl-C and then tells what became of the requests: `served`, `given_up` by clients
/// that closed their connection before the answer, `turned_away`, and `unfinished` at the end.
///
/// Example, with `fieldtrial tool http-load --to 127.0.0.1:8080` beside it:
///   fieldtrial tool http-serve --listen 127.0.0.1:8080 --permits 2 --work 20ms
#[derive(Debug, Clone, Args)]
#[command(verbatim_doc_comment)]
pub struct HttpServeArgs {
    /// Address and port to listen on, as in 127.0.0.1:8080 or [::1]:8080; port 0 takes a free one, which the
    /// `ready` line tells
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: SocketAddr,
    /// Requests that are worked on at once: 1 to 10000
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub permits: u32,
    /// How long one request holds its permit, e.g. 20ms
    #[arg(long, value_name = "TIME", value_parser = parse_ns, default_value = "20ms")]
    pub work: u64,
    /// Whether a request whose client has gone keeps its place and its permit until its work is done
    #[arg(long, value_enum, value_name = "WHETHER", default_value = "yes")]
    pub hold_after_disconnect: Hold,
    /// Print JSON lines also on a terminal
    #[arg(long)]
    pub json: bool,
}

/// Last line of `http-serve`.
#[derive(Debug, Clone, Serialize)]
struct ServeResult {
    event: &'static str,
    permits: u32,
    work_ns: u64,
    hold_after_disconnect: Hold,
    counts: Tally,
    /// Without an end when the server was told to end.
    unfinished: u64,
    /// Works whose client had gone.
    work_for_nobody: u64,
    /// Of one work; None where none was done.
    mean_held_ns: Option<u64>,
}

/// Runs until a signal and returns the exit code.
#[must_use]
pub fn run(args: &HttpServeArgs) -> i32 {
    let voice = Voice::new(args.json);
    voice.end(serve(args, voice))
}

fn serve(args: &HttpServeArgs, voice: Voice) -> Result<(), Fault> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let tally = runtime.map_err(Fault::failed)?.block_on(listen(args, voice))?;
    let result = ServeResult::new(args, tally);
    voice.say(&result, || result.plain());
    Ok(())
}

/// Serves until a signal; the account is of that moment, before what is in hand is dropped.
async fn listen(args: &HttpServeArgs, voice: Voice) -> Result<Tally, Fault> {
    let permits =
        Permits::new(args.permits as usize, Duration::from_nanos(args.work), args.hold_after_disconnect);
    let permits = Arc::new(permits);
    let mut terminate = signal(SignalKind::terminate()).map_err(Fault::failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(Fault::failed)?;
    let listener = TcpListener::bind(args.listen).await.map_err(|why| unheard(args.listen, &why))?;
    let address = listener.local_addr().map_err(Fault::failed)?;
    voice.say(&json!({"event": "ready", "address": address}), || {
        format!("listening on {address}, Ctrl-C ends it")
    });
    loop {
        tokio::select! {
            _ = terminate.recv() => return Ok(permits.so_far()),
            _ = interrupt.recv() => return Ok(permits.so_far()),
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    permits.connected();
                    tokio::spawn(converse(stream, Arc::clone(&permits)));
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            },
        }
    }
}

/// One connection to its end, by whichever side.
async fn converse(stream: TcpStream, permits: Arc<Permits>) {
    // An answer is one small write, which must not wait for more of them.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let permits = Arc::clone(&permits);
        async move { Ok::<_, Infallible>(respond(&request, &permits).await) }
    });
    // Dropped by hyper as soon as the client closes its side, and with it the request in hand.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn respond(request: &Request<Incoming>, permits: &Arc<Permits>) -> Response<Full<Bytes>> {
    let asked = number(request.uri().path()).filter(|_| request.method() == Method::GET);
    let (status, body) = match asked {
        None => {
            permits.turn_away();
            (StatusCode::NOT_FOUND, "expected GET /unit/N\n".to_owned())
        }
        Some(number) if permits.serve().await => (StatusCode::OK, answer(number)),
        Some(_) => (StatusCode::SERVICE_UNAVAILABLE, "too many wait already\n".to_owned()),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response
}

fn unheard(address: SocketAddr, why: &std::io::Error) -> Fault {
    let text = format!("cannot listen on {address}: {why}");
    match why.kind() {
        ErrorKind::AddrNotAvailable => {
            Fault::bad_input(format!("{text}; expected an address of this host, as `ip address` lists them"))
        }
        ErrorKind::PermissionDenied => {
            Fault::refused(format!("{text}; ports below 1024 need root, so choose a higher one"))
        }
        ErrorKind::AddrInUse => Fault::failed(format!("{text}; choose another port, or 0 for a free one")),
        _ => Fault::failed(text),
    }
}

impl ServeResult {
    fn new(args: &HttpServeArgs, tally: Tally) -> Self {
        Self {
            event: "result",
            permits: args.permits,
            work_ns: args.work,
            hold_after_disconnect: args.hold_after_disconnect,
            unfinished: tally.requests - tally.served - tally.given_up - tally.turned_away,
            work_for_nobody: tally.work_done.saturating_sub(tally.served),
            mean_held_ns: tally.held_ns.checked_div(tally.work_done),
            counts: tally,
        }
    }

    fn plain(&self) -> String {
        let Tally { connections, requests, served, given_up, turned_away, work_done, .. } = self.counts;
        let held = self
            .mean_held_ns
            .map_or_else(String::new, |ns| format!(", each {:.2} ms on average", ns as f64 / 1e6));
        format!(
            "requests       {requests} on {connections} connections\nserved         {served}\n\
             given up       {given_up} by clients that closed their connection before the answer\n\
             turned away    {turned_away}\nunfinished     {} when the server was told to end\n\
             work done      {work_done} times{held}, {} of them for nobody",
            self.unfinished, self.work_for_nobody
        )
    }
}
