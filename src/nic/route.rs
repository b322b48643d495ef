//! A route netlink socket: one request, its answers, within a limit of time.

use std::io;
use std::os::fd::AsRawFd;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkBuffer, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

/// Longest wait for one answer; the kernel answers at once unless it holds its network lock.
const ANSWER_LIMIT_S: libc::time_t = 5;
/// More datagrams than any interface list fills.
const MOST_DATAGRAMS: usize = 10_000;

/// An open NETLINK_ROUTE socket of the network namespace it was opened in.
#[derive(Debug)]
pub struct Route {
    socket: Socket,
    sequence: u32,
}

impl Route {
    /// # Errors
    /// The kernel gives no netlink socket.
    pub fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        let limit = libc::timeval { tv_sec: ANSWER_LIMIT_S, tv_usec: 0 };
        // SAFETY: the descriptor is open, and pointer and length describe `limit`.
        let code = unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_RCVTIMEO,
                (&raw const limit).cast(),
                size_of_val(&limit) as libc::socklen_t,
            )
        };
        if code != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { socket, sequence: 0 })
    }

    /// Sends one change and waits until the kernel has carried it out.
    ///
    /// # Errors
    /// What the kernel answered, as an OS error.
    pub fn change(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.exchange(message, NLM_F_REQUEST | NLM_F_ACK | flags).map(|_| ())
    }

    /// Asks for one object.
    ///
    /// # Errors
    /// What the kernel answered, as an OS error.
    pub fn get(&mut self, message: RouteNetlinkMessage) -> io::Result<Option<RouteNetlinkMessage>> {
        Ok(self.exchange(message, NLM_F_REQUEST | NLM_F_ACK)?.pop())
    }

    /// Asks for all objects of a kind.
    ///
    /// # Errors
    /// What the kernel answered, as an OS error.
    pub fn list(&mut self, message: RouteNetlinkMessage) -> io::Result<Vec<RouteNetlinkMessage>> {
        self.exchange(message, NLM_F_REQUEST | NLM_F_DUMP)
    }

    /// Sends a request that was encoded elsewhere.
    ///
    /// # Errors
    /// The socket failed.
    pub fn send(&self, request: &[u8]) -> io::Result<()> {
        self.socket.send(request, 0).map(|_| ())
    }

    /// Reads one datagram into `answer` and returns its length.
    ///
    /// # Errors
    /// The socket failed, or no answer came within the limit.
    pub fn receive(&self, answer: &mut [u8]) -> io::Result<usize> {
        let mut rest = answer;
        self.socket.recv(&mut rest, 0)
    }

    fn exchange(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<Vec<RouteNetlinkMessage>> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut header = NetlinkHeader::default();
        header.flags = flags;
        header.sequence_number = self.sequence;
        let mut request = NetlinkMessage::new(header, NetlinkPayload::from(message));
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;

        let mut answers = Vec::new();
        for _ in 0..MOST_DATAGRAMS {
            let (datagram, _) = self.socket.recv_from_full()?;
            if self.take(&datagram, &mut answers)? {
                return Ok(answers);
            }
        }
        Err(io::Error::other("the kernel's list of interfaces does not end"))
    }

    /// Reads the messages of one datagram; true when the exchange is complete.
    fn take(&self, datagram: &[u8], answers: &mut Vec<RouteNetlinkMessage>) -> io::Result<bool> {
        let mut rest = datagram;
        while !rest.is_empty() {
            let length = NetlinkBuffer::new_checked(rest).map_err(io::Error::other)?.length() as usize;
            let message =
                NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest).map_err(io::Error::other)?;
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or(&[]);
            // An answer to an earlier request that had timed out.
            if message.header.sequence_number != self.sequence {
                continue;
            }
            match message.payload {
                NetlinkPayload::InnerMessage(inner) => answers.push(inner),
                NetlinkPayload::Done(_) => return Ok(true),
                NetlinkPayload::Error(error) if error.code.is_none() => return Ok(true),
                NetlinkPayload::Error(error) => return Err(error.to_io()),
                _ => {}
            }
        }
        Ok(false)
    }
}
