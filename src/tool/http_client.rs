//! A client of one connection: asks for one unit of work at a time and says what became of it.

use std::error::Error;
use std::net::SocketAddr;

use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::HOST;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::http_request::{answer, path};
use super::http_turns::until;
use crate::nic::clock::monotonic_ns;

/// A right answer is far shorter.
const MOST_BODY: usize = 64 * 1024;

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    Success,
    /// No answer by the deadline, or one after it.
    Timeout,
    /// The connection was refused, reset or closed early, or what came over it was no HTTP.
    TransportError(String),
    /// An answer in time, but not the right one.
    WrongAnswer(String),
}

/// Keeps its connection from answer to answer, and makes a new one after anything else.
#[derive(Debug)]
pub struct Client {
    to: SocketAddr,
    line: Option<Line>,
    /// Made so far.
    pub connections: u64,
}

#[derive(Debug)]
struct Line {
    sender: SendRequest<Empty<Bytes>>,
    /// Moves the bytes; dropping it closes the connection at once.
    _mover: JoinSet<()>,
}

impl Client {
    #[must_use]
    pub fn new(to: SocketAddr) -> Self {
        Self { to, line: None, connections: 0 }
    }

    /// Asks and waits for the answer until `deadline_ns` of the monotonic clock. The time of a new connection
    /// is part of the request that needs it.
    pub async fn ask(&mut self, number: u64, deadline_ns: u64) -> Fate {
        let exchanged = tokio::time::timeout(until(deadline_ns), self.exchange(number)).await;
        // The timer has steps of 1 ms, the clock has not.
        let fate =
            if monotonic_ns() > deadline_ns { Fate::Timeout } else { exchanged.unwrap_or(Fate::Timeout) };
        if matches!(fate, Fate::Timeout | Fate::TransportError(_)) {
            self.line = None;
        }
        fate
    }

    async fn exchange(&mut self, number: u64) -> Fate {
        match self.answer(number).await {
            Err(broken) => Fate::TransportError(broken),
            Ok((StatusCode::OK, body)) if body == answer(number) => Fate::Success,
            Ok((StatusCode::OK, body)) => Fate::WrongAnswer(format!(
                "expected {:?}, found {:?}",
                answer(number).trim_end(),
                String::from_utf8_lossy(&body[..body.len().min(60)]).trim_end()
            )),
            Ok((status, _)) => Fate::WrongAnswer(format!("expected status 200, found {status}")),
        }
    }

    /// Status and body; the error says what broke.
    async fn answer(&mut self, number: u64) -> Result<(StatusCode, Bytes), String> {
        let request = Request::get(path(number)).header(HOST, self.to.to_string()).body(Empty::new());
        let request = request.map_err(|why| why.to_string())?;
        let response = self.line().await?.sender.send_request(request).await.map_err(|why| cause(&why))?;
        let status = response.status();
        let body =
            Limited::new(response.into_body(), MOST_BODY).collect().await.map_err(|why| cause(&*why))?;
        Ok((status, body.to_bytes()))
    }

    async fn line(&mut self) -> Result<&mut Line, String> {
        // A server may close after an answer, which breaks no request.
        let open = match &mut self.line {
            Some(line) => line.sender.ready().await.is_ok(),
            None => false,
        };
        if !open {
            self.line = None;
        }
        match self.line {
            Some(ref mut line) => Ok(line),
            None => {
                let line = Line::open(self.to).await?;
                self.connections += 1;
                Ok(self.line.insert(line))
            }
        }
    }
}

impl Line {
    async fn open(to: SocketAddr) -> Result<Self, String> {
        let stream = TcpStream::connect(to).await.map_err(|why| cause(&why))?;
        // A request is one small write, which must not wait for more of them.
        stream.set_nodelay(true).map_err(|why| cause(&why))?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(|why| cause(&why))?;
        let mut mover = JoinSet::new();
        // Its failure is that of the request which is under way.
        mover.spawn(async move { drop(connection.await) });
        Ok(Self { sender, _mover: mover })
    }
}

/// The innermost reason, which names the event and not the layers that it came through.
fn cause(error: &(dyn Error + 'static)) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}
