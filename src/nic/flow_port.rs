//! The flow rules of a real port, by ioctl.

use std::io;

use super::card::{Card, request};
use super::clock::{monotonic_ns, sleep_until_ns};
use super::flow_apply::FlowDriver;
use super::flow_bytes::text;
use super::flow_error::{FlowError, beside_known_good};
use super::flow_plan::FlowTable;
use super::rxnfc::{GRXCLSRLCNT, GRXCLSRULE, GRXRINGS, Rxnfc, SRXCLSRLDEL, ask_for_places, places};

/// A card in reset answers EBUSY; an E810 comes back within a second or two.
const BUSY_LIMIT_NS: u64 = 3_000_000_000;
const BUSY_PAUSE_NS: u64 = 50_000_000;
/// Readings of a table that somebody else changes at the same time.
const MOST_READINGS: usize = 8;
/// ETHTOOL_GFLAGS answers its command and the flags of the features that are on.
const GFLAGS: u32 = 0x25;
const FLAG_NTUPLE: u32 = 1 << 27;
/// More rules than any card has; a larger count is nonsense and not memory to ask for.
const MOST_RULES: u32 = 1 << 20;

/// An open door to the flow rules of one interface of this network namespace.
pub struct FlowPort {
    card: Card,
    driver: String,
}

impl FlowPort {
    /// # Errors
    /// No such interface here.
    pub fn open(interface: &str) -> Result<Self, FlowError> {
        let refused = |source: io::Error| kernel(interface, "open it", source);
        let card = Card::open(interface).map_err(refused)?;
        card.index().map_err(refused)?;
        // Not every driver says its name, and a name is only needed for what is known of it.
        let driver = card.driver().unwrap_or_default();
        Ok(Self { card, driver })
    }

    /// One call; as long as the card is busy, again and again within a limit.
    fn call(&self, structure: &mut [u8]) -> Result<(), Answer> {
        let began = monotonic_ns();
        loop {
            let asked = structure.to_vec();
            // SAFETY: `structure` is whole: 192 bytes, and for a list as many more as its count says.
            let code = match unsafe { self.card.ethtool_at(structure.as_mut_ptr().cast()) } {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            let waited_ns = monotonic_ns() - began;
            match code.raw_os_error() {
                Some(libc::EBUSY) if waited_ns < BUSY_LIMIT_NS => {
                    structure.copy_from_slice(&asked);
                    sleep_until_ns(monotonic_ns() + BUSY_PAUSE_NS);
                }
                Some(libc::EBUSY) => return Err(Answer::Busy { waited_ms: waited_ns / 1_000_000 }),
                _ => return Err(Answer::Refused(code)),
            }
        }
    }

    fn read(&self, what: &'static str, structure: &mut [u8]) -> Result<(), FlowError> {
        self.call(structure).map_err(|answer| match answer {
            Answer::Refused(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
                FlowError::NoTable { interface: self.card.name().to_owned(), driver: self.driver.clone() }
            }
            answer => self.explain(what, answer, None),
        })
    }

    /// Size and places; None when a rule came in between, so that the room did not suffice.
    fn places(&self) -> Result<Option<(u32, Vec<u32>)>, FlowError> {
        let mut count = Rxnfc::ask(GRXCLSRLCNT);
        self.read("count its flow rules", &mut count.0)?;
        let mut list = ask_for_places(count.count().min(MOST_RULES));
        match self.call(&mut list) {
            Err(Answer::Refused(error)) if error.raw_os_error() == Some(libc::EMSGSIZE) => return Ok(None),
            done => done.map_err(|answer| self.explain("list its flow rules", answer, None))?,
        }
        let nonsense = || {
            let source = io::Error::other("the driver's list is longer than the room it was given");
            kernel(self.card.name(), "list its flow rules", source)
        };
        let (capacity, places) = places(&list).ok_or_else(nonsense)?;
        Ok(Some((capacity.try_into().unwrap_or(u32::MAX), places)))
    }

    /// Queues by the channels in use, which on ice may be more than the rings that hashing uses.
    fn queues(&self) -> Option<u32> {
        let mut rings = Rxnfc::ask(GRXRINGS);
        let channels = self.card.get(request::GCHANNELS, 9).ok().map(|words| words[5] + words[8]);
        let channels = channels.filter(|queues| *queues > 0);
        let rings = self.call(&mut rings.0).ok().and_then(|()| rings.data().try_into().ok());
        channels.max(rings)
    }

    fn ntuple_is_off(&self) -> bool {
        let mut words = [GFLAGS, 0];
        // SAFETY: the whole structure of this request.
        let asked = unsafe { self.card.ethtool_at(words.as_mut_ptr().cast()) };
        asked.is_ok() && words[1] & FLAG_NTUPLE == 0
    }

    fn explain(&self, what: &'static str, answer: Answer, rule: Option<&Rxnfc>) -> FlowError {
        let interface = self.card.name().to_owned();
        let driver = self.driver.clone();
        let error = match answer {
            Answer::Busy { waited_ms } => return FlowError::Busy { interface, waited_ms },
            Answer::Refused(error) => error,
        };
        match (error.raw_os_error(), rule) {
            (Some(libc::EPERM), _) => FlowError::Permission { interface },
            (Some(libc::EOPNOTSUPP), _) if self.ntuple_is_off() => FlowError::NtupleOff { interface },
            (Some(libc::EOPNOTSUPP), Some(rule)) => {
                FlowError::Unsupported { interface, driver, rule: text(rule) }
            }
            (Some(libc::ENOSPC), Some(rule)) => FlowError::Full { interface, rule: text(rule) },
            (Some(libc::EINVAL), Some(rule)) => {
                let bytes = beside_known_good(rule).into();
                FlowError::Invalid { interface, driver, rule: text(rule), bytes }
            }
            _ => kernel(&interface, what, error),
        }
    }
}

/// What a call came to, if not to success.
enum Answer {
    Busy { waited_ms: u64 },
    Refused(io::Error),
}

fn kernel(interface: &str, what: &'static str, source: io::Error) -> FlowError {
    let interface = interface.to_owned();
    match source.raw_os_error() {
        Some(libc::ENODEV) => FlowError::Missing { interface },
        // What no interface can be called, the card does not even ask for.
        None if source.kind() == io::ErrorKind::InvalidInput => FlowError::Missing { interface },
        _ => FlowError::Kernel { interface, what, source },
    }
}

impl FlowDriver for FlowPort {
    fn table(&mut self) -> Result<FlowTable, FlowError> {
        for _ in 0..MOST_READINGS {
            let Some((capacity, places)) = self.places()? else { continue };
            let rules = places.iter().map(|place| self.get(*place)).collect::<Result<Vec<_>, _>>()?;
            // None is a rule that went between the list and the look at it.
            let Some(rules) = rules.into_iter().collect() else { continue };
            return Ok(FlowTable { driver: self.driver.clone(), queues: self.queues(), capacity, rules });
        }
        Err(FlowError::Racing { interface: self.card.name().to_owned() })
    }

    fn get(&mut self, location: u32) -> Result<Option<Rxnfc>, FlowError> {
        let mut rule = Rxnfc::ask_about(GRXCLSRULE, location);
        match self.call(&mut rule.0) {
            Ok(()) => {
                // Some drivers leave it as they found it, and some do not.
                rule.set_location(location);
                Ok(Some(rule))
            }
            Err(Answer::Refused(error))
                if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOENT)) =>
            {
                Ok(None)
            }
            Err(answer) => Err(self.explain("read a flow rule", answer, None)),
        }
    }

    fn insert(&mut self, rule: &Rxnfc) -> Result<(), FlowError> {
        let mut request = rule.insertion();
        self.call(&mut request.0).map_err(|answer| self.explain("insert a flow rule", answer, Some(rule)))
    }

    fn delete(&mut self, location: u32) -> Result<(), FlowError> {
        let mut request = Rxnfc::ask_about(SRXCLSRLDEL, location);
        match self.call(&mut request.0) {
            Err(Answer::Refused(error)) if error.raw_os_error() == Some(libc::ENOENT) => Ok(()),
            done => done.map_err(|answer| self.explain("delete a flow rule", answer, None)),
        }
    }

    fn interface(&self) -> &str {
        self.card.name()
    }
}
