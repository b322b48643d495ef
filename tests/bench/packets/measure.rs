//! One reading: a source at the near end, somebody or nobody at the far end, and a window of one second.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::machine::{between, stolen_ns, turns};
use super::pair::{End, Namespaces, Pair};
use super::sides::{Far, Receiver, Side, Value};
use super::tool::{Tool, result_of};

const WINDOW: Duration = Duration::from_secs(1);
/// Traffic before the window.
const WARM_UP: Duration = Duration::from_millis(300);
/// Rivals do not say when they are ready.
const RIVAL_READY: Duration = Duration::from_millis(900);
const START_LIMIT: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// Until the last frames have been counted.
const LAST_FRAMES: Duration = Duration::from_millis(100);
/// A source that wants all of its CPU has to get so much of it. The kernel itself keeps 0.05 from
/// real-time tasks (sched_rt_runtime_us).
const LEAST_SHARE: f64 = 0.9;
const MOST_STOLEN: f64 = 0.03;
const LEAST_PACE: f64 = 0.98;

/// What one side came to in one round.
#[derive(Debug, Clone)]
pub struct Reading {
    pub value: f64,
    /// Frames that a receiver of ours missed of those sent.
    pub lost: Option<u64>,
    /// Why the reading says nothing.
    pub void: Option<String>,
}

/// The window, by counters of the far port and of the kernel's scheduler.
struct Window {
    arrived_per_second: f64,
    /// CPU of the sender, in CPUs for each of its threads.
    sender_share: f64,
    /// CPU of the receiver, in CPUs.
    receiver_cpus: f64,
    /// Part of the window in which the receiver was ready and its CPU was with others.
    receiver_waited: f64,
    /// CPUs that the hypervisor gave to others.
    stolen: f64,
}

/// Takes one reading. Errors say which tool failed and what it said.
pub fn measure(spaces: &Namespaces, pair: &mut Pair, side: &Side, folder: &Path) -> Result<Reading, String> {
    let _program = (side.far == Far::Dropped).then(|| spaces.drop_all(pair));
    let mut receiver = match side.far {
        Far::Tool(kind) => Some(open(spaces, pair, side, kind, folder)?),
        Far::Nobody | Far::Dropped => None,
    };
    let before = pair.arrived();
    let words = side.source_words(&pair.near_name, folder);
    let mut source = Tool::start(spaces, End::Near, side.cpus, &words, folder)
        .map_err(|e| format!("{}: {e}", words[0]))?;
    let window = watch(pair, side, &mut source, receiver.as_ref())?;
    source.interrupt();
    let sent = source.end()?;
    sleep(LAST_FRAMES);
    let (received, lost) = match (side.far, receiver.as_mut()) {
        (Far::Tool(kind), Some(_)) => {
            let receiver = receiver.take().expect("just seen");
            let told = hear(receiver, kind, side, &sent)?;
            (Some(told.received), told.lost)
        }
        _ => (None, None),
    };
    let arrived = pair.arrived().counters().rx_packets - before.counters().rx_packets;
    let value = match (side.value, received) {
        (Value::Cpu, _) => window.receiver_cpus * 1e3,
        (Value::Lost, _) => lost.ok_or("the receiver told no loss")? as f64,
        (Value::Rate, None) => window.arrived_per_second / 1e3,
        (Value::Rate, Some(received)) if received <= arrived => {
            window.arrived_per_second / 1e3 * received as f64 / arrived.max(1) as f64
        }
        (Value::Rate, Some(received)) => {
            return Err(format!("it counted {received} frames, and only {arrived} arrived"));
        }
    };
    Ok(Reading { value, lost, void: void(&window, side) })
}

fn open(
    spaces: &Namespaces,
    pair: &Pair,
    side: &Side,
    kind: Receiver,
    folder: &Path,
) -> Result<Tool, String> {
    let words = side.receiver_words(kind, &pair.far_name);
    let mut tool =
        Tool::start(spaces, End::Far, "1", &words, folder).map_err(|e| format!("{}: {e}", words[0]))?;
    if kind.is_ours() {
        tool.wait_until_ready()?;
    } else {
        sleep(RIVAL_READY);
        tool.check_alive()?;
    }
    Ok(tool)
}

fn watch(pair: &mut Pair, side: &Side, source: &mut Tool, receiver: Option<&Tool>) -> Result<Window, String> {
    let idle = pair.arrived().counters().rx_packets;
    let began = Instant::now();
    while pair.arrived().counters().rx_packets == idle {
        source.check_alive()?;
        if began.elapsed() > START_LIMIT {
            return Err(format!("no frame of {} arrived within {START_LIMIT:?}", side.name));
        }
        sleep(LOOK_EVERY);
    }
    sleep(WARM_UP);
    let tools = [source.processes(), receiver.map(Tool::processes).unwrap_or_default()];
    let mut look = || (pair.arrived(), Instant::now(), tools.each_ref().map(|tool| turns(tool)), stolen_ns());
    let (first, first_at, first_turns, first_stolen) = look();
    sleep(WINDOW);
    let (last, last_at, last_turns, last_stolen) = look();
    source.check_alive()?;
    let seconds = (last.at_ns() - first.at_ns()) as f64 / 1e9;
    let cpu_seconds = (last_at - first_at).as_secs_f64();
    let share = |ns: u64| ns as f64 / 1e9 / cpu_seconds;
    let [sender, receiver] = [0, 1].map(|tool| between(&first_turns[tool], &last_turns[tool]));
    Ok(Window {
        arrived_per_second: (last.counters().rx_packets - first.counters().rx_packets) as f64 / seconds,
        sender_share: share(sender.ran_ns) / f64::from(side.threads),
        receiver_cpus: share(receiver.ran_ns),
        receiver_waited: share(receiver.waited_ns),
        stolen: share(last_stolen - first_stolen),
    })
}

/// What a receiver said at its end.
struct Told {
    received: u64,
    lost: Option<u64>,
}

fn hear(mut tool: Tool, kind: Receiver, side: &Side, sent: &str) -> Result<Told, String> {
    if !kind.is_ours() {
        tool.interrupt();
        let received = kind.received(&tool.end()?)?;
        return Ok(Told { received, lost: None });
    }
    let sent = &result_of(sent)?["streams"]["0"]["handed"];
    let sent = sent.as_u64().ok_or_else(|| format!("{} did not say what it sent", side.name))?;
    tool.tell(&serde_json::json!({"sent": {"0": sent}}).to_string())?;
    let result = result_of(&tool.end()?)?;
    let stream = &result["streams"]["0"];
    let received = stream["received"].as_u64().or(result["counted"]["0"].as_u64());
    let received = received.ok_or("the receiver did not say what it received")?;
    for fault in ["duplicated", "corrupted", "excess"] {
        if stream[fault].as_u64().unwrap_or(0) > 0 {
            return Err(format!("the receiver found frames {fault}: {stream}"));
        }
    }
    Ok(Told { received, lost: Some(sent.saturating_sub(received)) })
}

/// Whether the machine was ours during the window.
fn void(window: &Window, side: &Side) -> Option<String> {
    if window.stolen > MOST_STOLEN {
        return Some(format!("the machine stole time: {:.2} CPUs", window.stolen));
    }
    if window.receiver_waited > 1.0 - LEAST_SHARE {
        let waited = window.receiver_waited;
        return Some(format!(
            "the machine stole time: the receiver waited {waited:.2} of the window for its CPU"
        ));
    }
    match side.pace {
        Some(pace) if window.arrived_per_second < LEAST_PACE * pace => {
            Some(format!("the source came to {:.2} of its pace", window.arrived_per_second / pace))
        }
        None if window.sender_share < LEAST_SHARE => {
            Some(format!("the machine stole time: the sender had {:.2} of a CPU", window.sender_share))
        }
        _ => None,
    }
}
