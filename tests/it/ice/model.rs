//! A model of a card's table of flow rules, which answers as the driver ice does.

use std::collections::BTreeMap;

use libc::{EBUSY, EINVAL, EMSGSIZE, ENODEV, ENOENT, ENOSPC, EOPNOTSUPP, EPERM};

/// Length of `struct ethtool_rxnfc`, and of the flow rule that begins in it at 16.
pub const BYTES: usize = 192;
const RULE: std::ops::Range<usize> = 16..184;
/// Where the places of the list-all call begin.
const PLACES: usize = 188;

const GDRVINFO: u32 = 0x03;
const GFLAGS: u32 = 0x25;
const GRXRINGS: u32 = 0x2d;
const GRXCLSRLCNT: u32 = 0x2e;
const GRXCLSRULE: u32 = 0x2f;
const GRXCLSRLALL: u32 = 0x30;
const SRXCLSRLDEL: u32 = 0x31;
const SRXCLSRLINS: u32 = 0x32;
const SRXNTUPLE: u32 = 0x35;
const GCHANNELS: u32 = 0x3c;

const FLOW_EXT: u32 = 1 << 31;
const FLOW_MAC_EXT: u32 = 1 << 30;
/// ETH_FLAG_NTUPLE.
const FLAG_NTUPLE: u32 = 1 << 27;
const DROP: u64 = u64::MAX;

/// The card, its rules, and what is wrong with it.
pub struct Model {
    pub interface: String,
    /// The card at the other end, with an interface and rules of its own.
    pub twin: Option<Box<Model>>,
    pub driver: &'static str,
    pub capacity: u32,
    /// Filters of the hardware; fewer than places when something else uses some.
    pub filters: usize,
    /// Queues that a rule may name, and those that hashing uses.
    pub queues: u32,
    pub rss_queues: u32,
    /// Channels told, where that is not the number of queues.
    pub told_queues: Option<u32>,
    /// By place, 168 bytes each, as they were given.
    pub rules: BTreeMap<u32, Vec<u8>>,
    pub ntuple: bool,
    /// Without it, whoever changes rules lacks CAP_NET_ADMIN.
    pub rights: bool,
    /// So many answers more are EBUSY, as in a reset.
    pub busy: usize,
    /// Before the rework: what cannot be is EOPNOTSUPP throughout.
    pub older: bool,
    /// The count call leaves the table's size 0, as igb and mlx5 do.
    pub silent_count: bool,
    /// The interface is gone after so many requests.
    pub gone_after: usize,
    /// Changes that fail, counted from 0, and how.
    pub broken_changes: std::ops::Range<usize>,
    pub broken_errno: i32,
    /// A rule of somebody else's that comes right after the next count of rules.
    pub latecomer: Option<(u32, Vec<u8>)>,
    pub changes: usize,
    /// The head of every request answered, in order: 192 bytes of those about rules.
    pub log: Vec<Vec<u8>>,
}

impl Model {
    pub fn new(interface: &str) -> Self {
        Self {
            interface: interface.to_owned(),
            twin: None,
            driver: "ice",
            capacity: 16_384,
            filters: usize::MAX,
            queues: 16,
            rss_queues: 8,
            told_queues: None,
            rules: BTreeMap::new(),
            ntuple: true,
            rights: true,
            busy: 0,
            older: false,
            silent_count: false,
            gone_after: usize::MAX,
            broken_changes: 0..0,
            broken_errno: libc::EIO,
            latecomer: None,
            changes: 0,
            log: Vec::new(),
        }
    }

    /// The card that has this interface, if any of the two has.
    pub fn card(&mut self, interface: &[u8]) -> &mut Self {
        match self.twin.as_ref().is_some_and(|twin| twin.interface.as_bytes() == interface) {
            true => self.twin.as_mut().expect("it was there"),
            false => self,
        }
    }

    /// Length of the structure to read, where this model answers.
    pub fn answers(&self, interface: &[u8], command: u32) -> Option<usize> {
        let length = match command {
            GRXRINGS..=SRXCLSRLINS => BYTES,
            GDRVINFO => 196,
            GFLAGS => 8,
            SRXNTUPLE => 4,
            GCHANNELS => 36,
            _ => return None,
        };
        (interface == self.interface.as_bytes()).then_some(length)
    }

    /// Commands of the requests about rules so far. Whether the driver is asked for its features
    /// before, and whether the interface older than rxnfc is tried first, depends on ethtool's version.
    pub fn commands(&self) -> Vec<u32> {
        let commands = self.log.iter().map(|request| u32_at(request, 0));
        commands.filter(|command| (GRXRINGS..=SRXCLSRLINS).contains(command)).collect()
    }

    /// Requests to insert a rule so far.
    pub fn insertions(&self) -> Vec<Vec<u8>> {
        self.log.iter().filter(|request| u32_at(request, 0) == SRXCLSRLINS).cloned().collect()
    }

    /// Answers in place; the list-all call makes the structure longer. The error is an errno.
    pub fn answer(&mut self, structure: &mut Vec<u8>) -> Result<(), i32> {
        self.log.push(structure.clone());
        if self.log.len() > self.gone_after {
            return Err(ENODEV);
        }
        match u32_at(structure, 0) {
            GDRVINFO => structure[4..4 + self.driver.len()].copy_from_slice(self.driver.as_bytes()),
            GFLAGS => put(structure, 4, if self.ntuple { FLAG_NTUPLE } else { 0 }),
            GCHANNELS => put(structure, 32, self.told_queues.unwrap_or(self.queues)),
            GRXRINGS => put(structure, 8, self.rss_queues),
            GRXCLSRLCNT => {
                put(structure, 184, self.rules.len() as u32);
                put(structure, 8, if self.silent_count { 0 } else { self.capacity });
                self.rules.extend(self.latecomer.take());
            }
            GRXCLSRLALL => return self.list(structure),
            GRXCLSRULE => {
                let rule = self.rules.get(&u32_at(structure, 176)).ok_or(EINVAL)?;
                structure[RULE].copy_from_slice(rule);
            }
            SRXCLSRLDEL | SRXCLSRLINS => return self.change(structure),
            _ => return Err(EOPNOTSUPP),
        }
        Ok(())
    }

    fn list(&self, structure: &mut Vec<u8>) -> Result<(), i32> {
        if self.rules.len() > u32_at(structure, 184) as usize {
            return Err(EMSGSIZE);
        }
        put(structure, 8, self.capacity);
        put(structure, 184, self.rules.len() as u32);
        structure.resize(BYTES.max(PLACES + 4 * self.rules.len()), 0);
        for (n, place) in self.rules.keys().enumerate() {
            put(structure, PLACES + 4 * n, *place);
        }
        Ok(())
    }

    fn change(&mut self, structure: &[u8]) -> Result<(), i32> {
        if !self.rights {
            return Err(EPERM);
        }
        if !self.ntuple {
            return Err(EOPNOTSUPP);
        }
        if self.busy > 0 {
            self.busy -= 1;
            return Err(EBUSY);
        }
        self.changes += 1;
        if self.broken_changes.contains(&(self.changes - 1)) {
            return Err(self.broken_errno);
        }
        let place = u32_at(structure, 176);
        if u32_at(structure, 0) == SRXCLSRLDEL {
            let absent = if self.driver == "igb" { EINVAL } else { ENOENT };
            return self.rules.remove(&place).map(drop).ok_or(absent);
        }
        let rule = structure[RULE].to_vec();
        match self.driver {
            "ice" => self.admit_ice(&rule)?,
            "igb" => self.admit_igb(&rule)?,
            _ if place >= self.capacity => return Err(ENOSPC),
            _ => {}
        }
        self.rules.insert(place, rule);
        Ok(())
    }

    /// The driver's checks in the driver's order.
    fn admit_ice(&self, rule: &[u8]) -> Result<(), i32> {
        let rule = Rule(rule);
        rule.check_user_field()?;
        if rule.flags() & FLOW_MAC_EXT != 0 {
            return Err(EINVAL);
        }
        rule.check_fields()
            .and_then(|()| rule.check_vlan())
            .and_then(|()| self.check_input_set(&rule))
            .map_err(|errno| if self.older { EOPNOTSUPP } else { errno })?;
        if rule.place() >= self.capacity {
            return Err(ENOSPC);
        }
        if self.rules.len() >= self.filters && !self.rules.contains_key(&rule.place()) {
            return Err(ENOSPC);
        }
        if rule.cookie() != DROP && rule.cookie() >= u64::from(self.queues) {
            return Err(EINVAL);
        }
        let copy = self.rules.values().map(|there| Rule(there)).find(|there| there.is_copy_of(&rule));
        let updated = |there: Rule| there.place() == rule.place() && there.queue() != rule.queue();
        if copy.is_some_and(|there| !updated(there)) { Err(EINVAL) } else { Ok(()) }
    }

    fn check_input_set(&self, rule: &Rule) -> Result<(), i32> {
        // A rule that is about to be replaced still counts.
        let mut others =
            self.rules.values().map(|there| Rule(there)).filter(|there| there.kind() == rule.kind());
        if others.any(|there| there.input_set() != rule.input_set()) { Err(EINVAL) } else { Ok(()) }
    }

    /// Only whole ethertypes, to a queue that exists, in sixteen places.
    fn admit_igb(&self, rule: &[u8]) -> Result<(), i32> {
        let rule = Rule(rule);
        let whole = rule.kind() == 0x12 && rule.mask()[12..14] == [0xff; 2];
        let fits = rule.place() < self.capacity && rule.cookie() < u64::from(self.queues);
        if whole && fits { Ok(()) } else { Err(EINVAL) }
    }
}

/// `struct ethtool_rx_flow_spec`: type, values 52, their extension 20, the same of masks, queue, place.
struct Rule<'a>(&'a [u8]);

impl Rule<'_> {
    fn kind(&self) -> u32 {
        u32_at(self.0, 0) & 0x1fff_ffff
    }

    fn flags(&self) -> u32 {
        u32_at(self.0, 0) & !0x1fff_ffff
    }

    fn value(&self) -> &[u8] {
        &self.0[4..56]
    }

    fn mask(&self) -> &[u8] {
        &self.0[76..128]
    }

    /// Of the extension: padding 2, address 6, VLAN type 2, VLAN tag 2, user-defined 8.
    fn value_ext(&self) -> &[u8] {
        &self.0[56..76]
    }

    fn mask_ext(&self) -> &[u8] {
        if self.flags() & FLOW_EXT == 0 { &[0; 20] } else { &self.0[128..148] }
    }

    fn cookie(&self) -> u64 {
        u64::from_ne_bytes(self.0[152..160].try_into().expect("eight bytes"))
    }

    fn place(&self) -> u32 {
        u32_at(self.0, 160)
    }

    /// As ice keeps it: a rule that drops has queue 0.
    fn queue(&self) -> u64 {
        if self.cookie() == DROP { 0 } else { self.cookie() }
    }

    fn input_set(&self) -> (u32, Vec<u8>) {
        (self.flags(), [self.mask(), self.mask_ext()].concat())
    }

    fn is_copy_of(&self, other: &Rule) -> bool {
        let compared = |rule: &Rule| match rule.kind() {
            0x12 => rule.value()[..14].to_vec(),
            _ => [rule.value(), rule.value_ext()].concat(),
        };
        self.kind() == other.kind() && compared(self) == compared(other)
    }

    fn check_user_field(&self) -> Result<(), i32> {
        let mask = u64::from_be_bytes(self.mask_ext()[12..].try_into().expect("eight bytes"));
        let offset = u16::from_be_bytes([self.value_ext()[16], self.value_ext()[17]]);
        let looked_at = mask == u64::from(u32::MAX);
        if (mask != 0 && !looked_at) || (looked_at && offset > 0x1fe) { Err(EINVAL) } else { Ok(()) }
    }

    /// Each field whole or not at all, and only those that the parser of the card knows.
    fn check_fields(&self) -> Result<(), i32> {
        let (fields, known): (&[usize], usize) = match self.kind() {
            0x01..=0x03 => (&[4, 4, 2, 2], 12),
            0x05..=0x07 => (&[16, 16, 2, 2], 36),
            0x0d => (&[4, 4], 8),
            0x0e => (&[16, 16], 32),
            0x12 => (&[6, 6, 2], 14),
            _ => return Err(EINVAL),
        };
        if self.mask().iter().chain(self.mask_ext()).all(|byte| *byte == 0) {
            return Err(EINVAL);
        }
        let mut at = 0;
        let ends = fields.iter().map(|length| {
            at += length;
            at - length..at
        });
        let whole = |mask: &[u8]| mask.iter().all(|byte| *byte == 0) || mask.iter().all(|byte| *byte == 0xff);
        let vlan = [&self.mask_ext()[8..10], &self.mask_ext()[10..12]];
        let all_whole = ends.map(|range| &self.mask()[range]).chain(vlan).all(whole);
        let others = self.mask()[known..].iter().any(|byte| *byte != 0);
        if all_whole && !others { Ok(()) } else { Err(EOPNOTSUPP) }
    }

    fn check_vlan(&self) -> Result<(), i32> {
        let number = |at: usize| u16::from_be_bytes([self.value_ext()[at], self.value_ext()[at + 1]]);
        let (has_type, has_tag) = (self.mask_ext()[8] != 0, self.mask_ext()[10] != 0);
        let bad_tag = has_tag && number(10) >= 4096;
        let bad_type = has_type && ![0x8100, 0x88a8, 0x9100].contains(&number(8));
        let alone = self.kind() == 0x12 && self.mask()[12] != 0 && has_tag && !has_type;
        if bad_tag || bad_type || alone { Err(EINVAL) } else { Ok(()) }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn put(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
}
