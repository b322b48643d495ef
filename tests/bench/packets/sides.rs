//! What can stand at both ends of a cable, as the words that start it.

use std::path::Path;

use crate::bench::PROGRAM;

/// Bytes of a frame that RFC 2544 counts and no program writes.
const FCS: u32 = 4;
/// Both addresses and the ethertype.
const HEADER: u32 = 14;

/// What sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    AfPacket,
    AfXdp,
    /// Frames that a program in the kernel makes.
    XdpLive,
    Trafgen,
}

/// What receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receiver {
    /// `packet-receive` with these options.
    Ours(&'static str),
    /// The benchmark itself: AF_XDP with or without asking the driver for each frame's stamp.
    Asking(bool),
    NetsniffNg,
    Tcpdump,
}

/// Who is at the far end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Far {
    Nobody,
    /// A program that drops.
    Dropped,
    Tool(Receiver),
}

/// What a side is measured by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// Thousands of frames per second that arrived, or were received.
    Rate,
    /// Milliseconds of the receiver's CPU per second.
    Cpu,
    /// Frames lost.
    Lost,
}

/// One of those that take turns.
#[derive(Debug, Clone, Copy)]
pub struct Side {
    pub name: &'static str,
    pub source: Source,
    pub frame_size: u32,
    /// Frames per second; None is as fast as it can.
    pub pace: Option<f64>,
    /// CPUs of the source, which has as many threads.
    pub cpus: &'static str,
    pub threads: u32,
    pub far: Far,
    pub value: Value,
}

impl Side {
    /// A source on CPU 0 at full speed, and nobody at the far end.
    pub const fn of(name: &'static str, source: Source, frame_size: u32) -> Self {
        let (pace, cpus, threads, far, value) = (None, "0", 1, Far::Nobody, Value::Rate);
        Self { name, source, frame_size, pace, cpus, threads, far, value }
    }

    pub const fn to(mut self, far: Far) -> Self {
        self.far = far;
        self
    }

    pub const fn paced(mut self, pace: f64) -> Self {
        self.pace = Some(pace);
        self
    }

    pub const fn by(mut self, value: Value) -> Self {
        self.value = value;
        self
    }

    /// Two threads on two queues.
    pub const fn twice(mut self) -> Self {
        self.cpus = "0,1";
        self.threads = 2;
        self
    }

    /// A program that has to be installed, where one is.
    pub fn needs(&self) -> Option<&'static str> {
        match (self.source, self.far) {
            (Source::Trafgen, _) => Some("trafgen"),
            (_, Far::Tool(Receiver::NetsniffNg)) => Some("netsniff-ng"),
            (_, Far::Tool(Receiver::Tcpdump)) => Some("tcpdump"),
            _ => None,
        }
    }

    /// The command line of the source; `folder` takes its configuration.
    pub fn source_words(&self, interface: &str, folder: &Path) -> Vec<String> {
        let path = match self.source {
            Source::AfPacket => "af_packet",
            Source::AfXdp => "af_xdp",
            Source::XdpLive => "xdp_live",
            Source::Trafgen => return self.trafgen(interface, folder),
        };
        let rate = self.pace.map_or_else(|| "max".to_owned(), |pace| format!("{pace:.0}"));
        let mut line = format!(
            "tool packet-send --interface {interface} --path {path} --frame-size {} --streams {} --rate {rate} \
             --duration 60s --json",
            self.frame_size, self.threads
        );
        if self.threads > 1 {
            line += &format!(" --cpus {}", self.cpus);
        }
        if self.source == Source::AfXdp {
            line += " --xdp-copy copy";
        }
        words(PROGRAM, &line)
    }

    /// Constant frames to the same addresses with the same ethertype.
    fn trafgen(&self, interface: &str, folder: &Path) -> Vec<String> {
        let file = folder.join("trafgen.cfg");
        let rest = self.frame_size - FCS - HEADER;
        let frame = format!(
            "{{ 0x02, 0, 0, 0, 0, 0x0b, 0x02, 0, 0, 0, 0, 0x0a, c16(0x88b5), fill(0x5a, {rest}) }}\n"
        );
        std::fs::write(&file, frame).expect("a file for trafgen");
        let mut all = words("trafgen", &format!("-o {interface} -P {} -Q -C -c", self.threads));
        all.push(file.to_string_lossy().into_owned());
        all
    }

    /// The command line of the receiver.
    pub fn receiver_words(&self, kind: Receiver, interface: &str) -> Vec<String> {
        match kind {
            Receiver::Ours(options) => words(
                PROGRAM,
                &format!(
                    "tool packet-receive --interface {interface} --frame-size {} --drain 200ms --json {options}",
                    self.frame_size
                ),
            ),
            Receiver::Asking(asks) => {
                let own = std::env::current_exe().expect("own path");
                words(&own.to_string_lossy(), &format!("{} {interface} {asks}", super::asking::ROLE))
            }
            Receiver::NetsniffNg => {
                words("netsniff-ng", &format!("--in {interface} --silent -Q -N --ring-size 64MiB"))
            }
            Receiver::Tcpdump => words("tcpdump", &format!("-i {interface} -nn -p -B 65536 -w /dev/null")),
        }
    }
}

impl Receiver {
    /// Whether it speaks as `packet-receive` does.
    pub fn is_ours(self) -> bool {
        matches!(self, Self::Ours(_) | Self::Asking(_))
    }

    /// Frames that a rival says it received.
    pub fn received(self, said: &str) -> Result<u64, String> {
        let phrase = if self == Self::Tcpdump { "packets captured" } else { "packets incoming" };
        let before = said.lines().find_map(|line| line.split_once(phrase)).map(|(before, _)| before);
        let count = before.and_then(|before| before.split_whitespace().last()?.parse().ok());
        count.ok_or_else(|| format!("no number of {phrase}: {}", super::tool::last_words(said)))
    }
}

fn words(program: &str, line: &str) -> Vec<String> {
    std::iter::once(program).chain(line.split_whitespace()).map(str::to_owned).collect()
}
