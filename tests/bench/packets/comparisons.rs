//! What is compared with what, and what is asked of it: the gates below which a change is a fault, and the goals.

use super::sides::Receiver::{Asking, NetsniffNg, Ours, Tcpdump};
use super::sides::Source::{AfPacket, AfXdp, Trafgen, XdpLive};
use super::sides::{Far, Side, Value};

/// Frames per second at which nothing may be lost.
const STEADY: f64 = 500_000.0;

/// What a gate asks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Asked {
    /// The ratio of ours to the best rival is at least this.
    AtLeast(f64),
    /// The same, and nothing is lost.
    AtLeastAndWhole(f64),
    /// The ratio is at most this, and nothing is lost.
    AtMostAndWhole(f64),
    /// Nothing is lost.
    Whole,
}

/// One row of the result.
pub struct Comparison {
    pub name: &'static str,
    /// Names of sides.
    pub ours: &'static str,
    pub rivals: &'static [&'static str],
    pub asked: Asked,
    pub goal: f64,
}

/// Sides that take turns within each round.
pub struct Group {
    pub queues: u32,
    pub sides: Vec<Side>,
    pub comparisons: Vec<Comparison>,
}

fn row(
    name: &'static str,
    ours: &'static str,
    rivals: &'static [&'static str],
    asked: Asked,
    goal: f64,
) -> Comparison {
    Comparison { name, ours, rivals, asked, goal }
}

/// All groups in their order. AF_XDP receives at full speed into 2048 slots (4 MiB), and at a steady rate into
/// its deep ring: that one loses nothing to a pause of its process, and takes turns through so much memory
/// that caches miss.
pub fn all() -> Vec<Group> {
    use Asked::{AtLeast, AtLeastAndWhole, AtMostAndWhole, Whole};
    let group = |queues, sides: &[Side], comparisons| Group { queues, sides: sides.to_vec(), comparisons };
    vec![
        group(
            1,
            &[
                Side::of("sendmmsg", AfPacket, 64),
                Side::of("AF_XDP", AfXdp, 64),
                Side::of("trafgen", Trafgen, 64),
            ],
            vec![
                row("AF_PACKET send, 64 B", "sendmmsg", &["trafgen"], AtLeast(1.0), 1.10),
                row("AF_XDP copy send, 64 B", "AF_XDP", &["trafgen"], AtLeast(1.35), 1.57),
                row("AF_XDP against own AF_PACKET send, 64 B", "AF_XDP", &["sendmmsg"], AtLeast(1.25), 1.42),
            ],
        ),
        group(
            1,
            &[Side::of("sendmmsg", AfPacket, 1518), Side::of("trafgen", Trafgen, 1518)],
            vec![row("AF_PACKET send, 1518 B", "sendmmsg", &["trafgen"], AtLeast(1.0), 1.07)],
        ),
        group(
            2,
            &[
                Side::of("two senders", AfXdp, 64).to(Far::Dropped).twice(),
                Side::of("one sender", AfXdp, 64).to(Far::Dropped),
            ],
            vec![row("2 senders on 2 queues, 64 B", "two senders", &["one sender"], AtLeast(1.7), 1.95)],
        ),
        group(
            1,
            &[
                Side::of("ring", AfXdp, 64).to(Far::Tool(Ours("--path af_packet"))),
                Side::of("netsniff-ng", AfXdp, 64).to(Far::Tool(NetsniffNg)),
                Side::of("tcpdump", AfXdp, 64).to(Far::Tool(Tcpdump)),
                Side::of("without stamps", AfXdp, 64).to(Far::Tool(Ours("--path af_packet --stamps none"))),
            ],
            vec![
                row(
                    "AF_PACKET receive, 64 B",
                    "ring",
                    &["netsniff-ng", "tcpdump"],
                    AtLeastAndWhole(0.95),
                    1.05,
                ),
                row("AF_PACKET receive with stamps", "ring", &["without stamps"], AtLeast(0.85), 0.90),
            ],
        ),
        group(
            1,
            &[
                Side::of("ring", AfXdp, 64)
                    .paced(STEADY)
                    .to(Far::Tool(Ours("--path af_packet")))
                    .by(Value::Cpu),
                Side::of("recvmmsg", AfXdp, 64)
                    .paced(STEADY)
                    .to(Far::Tool(Ours("--path af_packet_recvmmsg")))
                    .by(Value::Cpu),
            ],
            vec![row("CPU of the ring at 500 kpps", "ring", &["recvmmsg"], AtMostAndWhole(0.3), 0.1)],
        ),
        group(
            1,
            &[
                Side::of("AF_XDP", XdpLive, 64).to(Far::Tool(Ours("--path af_xdp --ring 4"))),
                Side::of("drop", XdpLive, 64).to(Far::Dropped),
                Side::of("only counts", XdpLive, 64)
                    .to(Far::Tool(Ours("--path af_xdp --ring 4 --count-only"))),
                Side::of("without stamps", XdpLive, 64)
                    .to(Far::Tool(Ours("--path af_xdp --ring 4 --stamps none"))),
            ],
            vec![
                row("AF_XDP receive, 64 B", "AF_XDP", &["drop"], AtLeast(0.55), 0.72),
                row("full ledger on AF_XDP, 64 B", "AF_XDP", &["only counts"], AtLeast(0.85), 0.85),
                row("AF_XDP receive with stamps", "AF_XDP", &["without stamps"], AtLeast(0.85), 0.90),
            ],
        ),
        group(
            1,
            &[
                Side::of("AF_XDP", XdpLive, 1518).to(Far::Tool(Ours("--path af_xdp --ring 4"))),
                Side::of("only counts", XdpLive, 1518)
                    .to(Far::Tool(Ours("--path af_xdp --ring 4 --count-only"))),
            ],
            vec![row("full ledger on AF_XDP, 1518 B", "AF_XDP", &["only counts"], AtLeast(0.85), 0.85)],
        ),
        group(
            1,
            &[
                Side::of("asking", XdpLive, 64).to(Far::Tool(Asking(true))),
                Side::of("not asking", XdpLive, 64).to(Far::Tool(Asking(false))),
            ],
            vec![row("XDP metadata stamp for each frame", "asking", &["not asking"], AtLeast(0.85), 0.90)],
        ),
        group(
            1,
            &[Side::of("AF_XDP", XdpLive, 64)
                .paced(STEADY)
                .to(Far::Tool(Ours("--path af_xdp")))
                .by(Value::Lost)],
            vec![row("AF_XDP receive at 500 kpps", "AF_XDP", &[], Whole, 0.0)],
        ),
    ]
}
