//! Frame sizes of a run, taken in turn by sequence number.

use std::fmt;
use std::str::FromStr;

/// Bytes of the frame check sequence: counted in a frame size (RFC 2544), made by the hardware.
pub const FCS_BYTES: u32 = 4;
/// Frame sizes with FCS.
pub const SMALLEST_FRAME: u32 = 64;
pub const LARGEST_FRAME: u32 = 1518;
/// Sizes in one turn; more than a sweep over every size has.
const MOST_SIZES: usize = 2048;

/// Simple IMIX: IP packets of 40, 576 and 1500 bytes as 7:4:1, which is 64, 594 and 1518 on the wire
/// with FCS (TRex `stl/imix.py`: 60, 590, 1514 without). The order within the twelve is ours.
const IMIX: [u32; 12] = mix_of(594);
/// CSIT's IMIX_v4_1: 28 × 64, 16 × 570, 4 × 1518 (FD.io CSIT, test methodology); the same 7:4:1.
const IMIX_CSIT: [u32; 12] = mix_of(570);

const fn mix_of(middle: u32) -> [u32; 12] {
    let (small, large) = (SMALLEST_FRAME, LARGEST_FRAME);
    [small, middle, small, small, middle, small, large, small, middle, small, middle, small]
}

/// A repeating turn of frame sizes with FCS, as in RFC 6985: the frame with sequence number n has the
/// size at place n modulo its length. So the receiver knows every size, whatever was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sizes {
    text: String,
    turn: Vec<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SizesError {
    #[error(
        "frame size {0} is out of range: expected {SMALLEST_FRAME} to {LARGEST_FRAME} bytes, which count the {FCS_BYTES} bytes of FCS"
    )]
    Size(u32),
    #[error(
        "frame size {0:?}: expected bytes as in 64, a list as in 64,512,1518, a sweep from-to/step as in \
         64-1518/64, imix, or imix-csit"
    )]
    Text(String),
    #[error("{0} frame sizes are too many for one turn: expected at most {MOST_SIZES}")]
    Many(usize),
}

impl Sizes {
    /// Frames that all have one size.
    ///
    /// # Errors
    /// The size is out of range.
    pub fn one(size: u32) -> Result<Self, SizesError> {
        Self::checked(size.to_string(), vec![size])
    }

    /// Sizes in the order in which they are taken, never empty.
    #[must_use]
    pub fn turn(&self) -> &[u32] {
        &self.turn
    }

    /// The largest size, with FCS.
    #[must_use]
    pub fn largest(&self) -> u32 {
        self.turn.iter().copied().max().unwrap_or(SMALLEST_FRAME)
    }

    /// Mean bytes of a frame with FCS over a whole turn, for rates in bits.
    #[must_use]
    pub fn mean_bytes(&self) -> f64 {
        let sum: u64 = self.turn.iter().map(|&size| u64::from(size)).sum();
        sum as f64 / self.turn.len() as f64
    }

    fn checked(text: String, turn: Vec<u32>) -> Result<Self, SizesError> {
        if let Some(&size) = turn.iter().find(|size| !(SMALLEST_FRAME..=LARGEST_FRAME).contains(*size)) {
            return Err(SizesError::Size(size));
        }
        if turn.len() > MOST_SIZES {
            return Err(SizesError::Many(turn.len()));
        }
        Ok(Self { text, turn })
    }
}

impl FromStr for Sizes {
    type Err = SizesError;

    fn from_str(text: &str) -> Result<Self, SizesError> {
        let wrong = || SizesError::Text(text.to_owned());
        let number = |digits: &str| digits.trim().parse::<u32>().map_err(|_| wrong());
        let turn = match (text.trim(), text.split_once('-')) {
            ("imix", _) => IMIX.to_vec(),
            ("imix-csit", _) => IMIX_CSIT.to_vec(),
            (_, Some((from, rest))) => {
                let (to, step) = rest.split_once('/').ok_or_else(wrong)?;
                let (from, to, step) = (number(from)?, number(to)?, number(step)?);
                if step == 0 || to < from {
                    return Err(wrong());
                }
                // Both ends before anything is made of them.
                for end in [from, to] {
                    Self::one(end)?;
                }
                (from..=to).step_by(step as usize).collect()
            }
            _ => text.split(',').map(number).collect::<Result<_, _>>()?,
        };
        Self::checked(text.trim().to_owned(), turn)
    }
}

/// As it was declared.
impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn turn(text: &str) -> Vec<u32> {
        text.parse::<Sizes>().unwrap_or_else(|e| panic!("{e}")).turn().to_vec()
    }

    #[test]
    fn one_size_a_list_and_a_sweep_are_taken_as_written() {
        assert_eq!(turn("64"), [64]);
        assert_eq!(turn("512, 64,512"), [512, 64, 512]);
        assert_eq!(turn("64-128/32"), [64, 96, 128]);
        assert_eq!(turn("64-127/32"), [64, 96], "never beyond the end");
        assert_eq!(turn("64-1518/1").len(), 1455);
        assert_eq!("64-128/32".parse::<Sizes>().expect("sweep").to_string(), "64-128/32");
    }

    #[test]
    fn both_mixes_are_seven_to_four_to_one_with_their_published_means() {
        for (text, middle, mean) in [("imix", 594, 361.833), ("imix-csit", 570, 353.833)] {
            let sizes = turn(text);
            let count = |size| sizes.iter().filter(|s| **s == size).count();
            assert_eq!((count(64), count(middle), count(1518)), (7, 4, 1), "{text}");
            let got = text.parse::<Sizes>().expect("a mix").mean_bytes();
            assert!((got - mean).abs() < 0.001, "{text}: {got}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused_with_what_was_expected() {
        for text in ["", "big", "64,", "64-128", "64-128/0", "128-64/8", "-5", "64-128/x", "imix,64"] {
            let why = text.parse::<Sizes>().expect_err(text).to_string();
            assert!(why.contains("64,512,1518") && why.contains(&format!("{text:?}")), "{why}");
        }
        for (text, size) in [
            ("63", 63),
            ("1519", 1519),
            ("64,9000", 9000),
            ("10-128/2", 10),
            ("64-4000000000/1", 4_000_000_000),
        ] {
            assert_eq!(text.parse::<Sizes>(), Err(SizesError::Size(size)), "{text}");
        }
        let many = vec!["64"; MOST_SIZES + 1].join(",");
        assert_eq!(many.parse::<Sizes>(), Err(SizesError::Many(MOST_SIZES + 1)));
    }

    proptest! {
        #[test]
        fn any_text_is_refused_or_gives_sizes_in_range(text in "[0-9a-z,/ -]{0,16}") {
            if let Ok(sizes) = text.parse::<Sizes>() {
                prop_assert!(!sizes.turn().is_empty());
                prop_assert!(sizes.turn().iter().all(|s| (64..=1518).contains(s)));
                prop_assert!(sizes.mean_bytes() <= f64::from(sizes.largest()));
            }
        }

        #[test]
        fn a_list_keeps_its_order_and_its_mean(list in prop::collection::vec(64u32..=1518, 1..50)) {
            let text = list.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
            let sizes: Sizes = text.parse().expect("in range");
            prop_assert_eq!(sizes.turn(), &list[..]);
            let sum: u32 = list.iter().sum();
            prop_assert!((sizes.mean_bytes() * list.len() as f64 - f64::from(sum)).abs() < 1e-6);
        }
    }
}
