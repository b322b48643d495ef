//! The kernel's structure of a flow rule, `struct ethtool_rxnfc`, as bytes.

/// ETHTOOL_* commands of linux/ethtool.h.
pub const GRXRINGS: u32 = 0x2d;
pub const GRXCLSRLCNT: u32 = 0x2e;
pub const GRXCLSRULE: u32 = 0x2f;
pub const GRXCLSRLALL: u32 = 0x30;
pub const SRXCLSRLDEL: u32 = 0x31;
pub const SRXCLSRLINS: u32 = 0x32;

/// Length of the structure on every 64-bit target.
pub const BYTES: usize = 192;
/// Where the places of GRXCLSRLALL begin. That is inside the structure's tail padding: reading them
/// from the end of the structure drops the first one (the second of the three ice traps).
pub const PLACES_AT: usize = 188;

/// Flow types and the flags that stand above them.
pub const TCP4: u32 = 0x01;
pub const UDP4: u32 = 0x02;
pub const SCTP4: u32 = 0x03;
pub const TCP6: u32 = 0x05;
pub const UDP6: u32 = 0x06;
pub const SCTP6: u32 = 0x07;
pub const IP4: u32 = 0x0d;
pub const IP6: u32 = 0x0e;
pub const ETHER: u32 = 0x12;
/// VLAN and user-defined fields are looked at.
pub const FLOW_EXT: u32 = 1 << 31;
/// The destination address of a rule for IP is looked at.
pub const FLOW_MAC_EXT: u32 = 1 << 30;
pub const FLOW_RSS: u32 = 1 << 29;
const FLAGS: u32 = FLOW_EXT | FLOW_MAC_EXT | FLOW_RSS;

/// Where the parts of the flow stand: values, their extension, masks, and the masks' extension. In a
/// mask a set bit means that the bit must match (the first of the three ice traps).
pub const VALUE: usize = 20;
const VALUE_EXT: usize = 72;
pub const MASK: usize = 92;
const MASK_EXT: usize = 144;
const FLOW_BYTES: usize = 52;
const EXT_BYTES: usize = 20;
/// Destination address within an extension, and where the VLAN's fields begin.
const EXT_MAC: core::ops::Range<usize> = 2..8;
const EXT_VLAN: usize = 8;
const MASK_DISTANCE: usize = MASK - VALUE;

const FLOW_TYPE: usize = 16;
const COOKIE: usize = 168;
const LOCATION: usize = 176;
const COUNT: usize = 184;
const DATA: usize = 8;
/// `ring_cookie` of a rule that drops (RX_CLS_FLOW_DISC).
pub const COOKIE_DROP: u64 = u64::MAX;
/// Of a rule that wakes a sleeping host (RX_CLS_FLOW_WAKE).
pub const COOKIE_WAKE: u64 = u64::MAX - 1;

const _: () = assert!(size_of::<usize>() == 8, "the structure is known for 64-bit targets only");

/// One request or answer; a listed rule is the answer that described it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rxnfc(pub [u8; BYTES]);

impl Rxnfc {
    /// A request that is zero but for its command: no byte of ours is left to chance.
    #[must_use]
    pub fn ask(command: u32) -> Self {
        let mut request = Self([0; BYTES]);
        request.put_u32(0, command);
        request
    }

    /// A request about the rule at one place.
    #[must_use]
    pub fn ask_about(command: u32, location: u32) -> Self {
        let mut request = Self::ask(command);
        request.put_u32(LOCATION, location);
        request
    }

    /// The request that inserts this rule.
    #[must_use]
    pub fn insertion(mut self) -> Self {
        self.put_u32(0, SRXCLSRLINS);
        self
    }

    #[must_use]
    pub fn command(&self) -> u32 {
        self.u32(0)
    }

    /// Rings of GRXRINGS; places in the table of GRXCLSRLALL.
    #[must_use]
    pub fn data(&self) -> u64 {
        self.u64(DATA)
    }

    /// Rules of GRXCLSRLCNT and GRXCLSRLALL; the RSS context of a rule.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.u32(COUNT)
    }

    pub fn set_count(&mut self, count: u32) {
        self.put_u32(COUNT, count);
    }

    /// Flow type without flags.
    #[must_use]
    pub fn flow_type(&self) -> u32 {
        self.u32(FLOW_TYPE) & !FLAGS
    }

    #[must_use]
    pub fn flags(&self) -> u32 {
        self.u32(FLOW_TYPE) & FLAGS
    }

    pub fn set_flow_type(&mut self, with_flags: u32) {
        self.put_u32(FLOW_TYPE, with_flags);
    }

    /// Queue in the lower 32 bits, one more than the virtual function above, or `COOKIE_DROP`.
    #[must_use]
    pub fn cookie(&self) -> u64 {
        self.u64(COOKIE)
    }

    pub fn set_cookie(&mut self, cookie: u64) {
        self.0[COOKIE..COOKIE + 8].copy_from_slice(&cookie.to_ne_bytes());
    }

    #[must_use]
    pub fn location(&self) -> u32 {
        self.u32(LOCATION)
    }

    pub fn set_location(&mut self, location: u32) {
        self.put_u32(LOCATION, location);
    }

    /// Matches `bytes`, in network order, at `at` of the values, each bit.
    pub fn match_fully(&mut self, at: usize, bytes: &[u8]) {
        self.0[VALUE + at..][..bytes.len()].copy_from_slice(bytes);
        self.0[MASK + at..][..bytes.len()].fill(0xff);
    }

    /// Matches two bytes of the extension: 8 is the VLAN's ethertype, 10 its tag.
    pub fn match_extension(&mut self, at: usize, bytes: [u8; 2]) {
        self.0[VALUE_EXT + at..][..2].copy_from_slice(&bytes);
        self.0[MASK_EXT + at..][..2].fill(0xff);
        self.put_u32(FLOW_TYPE, self.u32(FLOW_TYPE) | FLOW_EXT);
    }

    /// The fields that are looked at, and how: flow type, flags and masks. Cards like the E810 keep
    /// one of these per flow type and port.
    #[must_use]
    pub fn input_set(&self) -> InputSet {
        let mut mask = self.looked_at(MASK);
        // IP rules of ethtool carry the version with an empty mask.
        mask[FLOW_BYTES..].copy_from_slice(&self.extension(MASK_EXT));
        InputSet { flow_type: self.flow_type(), flags: self.flags(), mask }
    }

    /// Whether both take the same frames, wherever they stand and whatever becomes of those.
    #[must_use]
    pub fn matches_like(&self, other: &Self) -> bool {
        self.input_set() == other.input_set() && self.values() == other.values()
    }

    /// The values that count, with zero where the mask does not look.
    fn values(&self) -> [u8; FLOW_BYTES + EXT_BYTES] {
        let mut values = self.looked_at(VALUE);
        values[FLOW_BYTES..].copy_from_slice(&self.extension(VALUE_EXT));
        let mask = self.input_set().mask;
        values.iter_mut().zip(mask).for_each(|(value, mask)| *value &= mask);
        values
    }

    fn looked_at(&self, at: usize) -> [u8; FLOW_BYTES + EXT_BYTES] {
        let mut bytes = [0; FLOW_BYTES + EXT_BYTES];
        bytes[..FLOW_BYTES].copy_from_slice(&self.0[at..][..FLOW_BYTES]);
        bytes
    }

    /// An extension counts only as far as the flags say.
    fn extension(&self, at: usize) -> [u8; EXT_BYTES] {
        let mut bytes = [0; EXT_BYTES];
        let there = &self.0[at..][..EXT_BYTES];
        if self.flags() & FLOW_MAC_EXT != 0 {
            bytes[EXT_MAC].copy_from_slice(&there[EXT_MAC]);
        }
        if self.flags() & FLOW_EXT != 0 {
            bytes[EXT_VLAN..].copy_from_slice(&there[EXT_VLAN..]);
        }
        bytes
    }

    /// `length` bytes of the values at `at`: Some where each bit must match, None where none must.
    ///
    /// # Errors
    /// Only some bits must match.
    pub fn matched(&self, at: usize, length: usize) -> Result<Option<&[u8]>, PartialMask> {
        full(&self.0[VALUE + at..][..length], &self.0[VALUE + at + MASK_DISTANCE..][..length])
    }

    /// As `matched`, for two bytes of the extension.
    ///
    /// # Errors
    /// Only some bits must match.
    pub fn matched_extension(&self, at: usize) -> Result<Option<&[u8]>, PartialMask> {
        full(&self.0[VALUE_EXT + at..][..2], &self.0[MASK_EXT + at..][..2])
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from_ne_bytes(std::array::from_fn(|n| self.0[at + n]))
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from_ne_bytes(std::array::from_fn(|n| self.0[at + n]))
    }

    fn put_u32(&mut self, at: usize, value: u32) {
        self.0[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    }
}

/// What `Rxnfc::input_set` tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InputSet {
    pub flow_type: u32,
    flags: u32,
    mask: [u8; FLOW_BYTES + EXT_BYTES],
}

/// A field of which only some bits must match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartialMask;

fn full<'a>(value: &'a [u8], mask: &[u8]) -> Result<Option<&'a [u8]>, PartialMask> {
    match mask {
        mask if mask.iter().all(|byte| *byte == 0xff) => Ok(Some(value)),
        mask if mask.iter().all(|byte| *byte == 0) => Ok(None),
        _ => Err(PartialMask),
    }
}

/// A GRXCLSRLALL request with room for the places of so many rules.
#[must_use]
pub fn ask_for_places(count: u32) -> Vec<u8> {
    let mut request = Rxnfc::ask(GRXCLSRLALL);
    request.set_count(count);
    let mut bytes = request.0.to_vec();
    // The kernel copies the whole structure, and then the places over its tail.
    bytes.resize(BYTES.max(PLACES_AT + 4 * count as usize), 0);
    bytes
}

/// Size of the table and the places in use, out of the answer to `ask_for_places`. The size stands
/// here and not in the answer to GRXCLSRLCNT, where igb, igc and mlx5 leave it 0.
#[must_use]
pub fn places(answer: &[u8]) -> Option<(u64, Vec<u32>)> {
    let head = Rxnfc(*answer.first_chunk()?);
    let places = answer.get(PLACES_AT..PLACES_AT + 4 * head.count() as usize)?;
    let places = places.as_chunks().0.iter().map(|place| u32::from_ne_bytes(*place)).collect();
    Some((head.data(), places))
}
