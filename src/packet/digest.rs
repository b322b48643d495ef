//! One digest for many frames in any order.

use sha2::{Digest, Sha256};

/// Sum modulo 2^256 of the SHA-256 of each frame, read as a big-endian number. Equal for the same
/// frames in any order, and different when one is missing, doubled or changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FrameDigest {
    /// Least significant word first.
    sum: [u64; 4],
}

impl FrameDigest {
    /// Adds one frame, given in pieces.
    pub fn add(&mut self, frame: &[&[u8]]) {
        let mut hasher = Sha256::new();
        frame.iter().for_each(|piece| hasher.update(piece));
        let mut words = [0; 4];
        for (word, bytes) in words.iter_mut().zip(hasher.finalize().as_chunks::<8>().0.iter().rev()) {
            *word = u64::from_be_bytes(*bytes);
        }
        self.add_digest(&Self { sum: words });
    }

    /// Adds all frames of another digest.
    pub fn add_digest(&mut self, other: &Self) {
        let mut carry = false;
        for (sum, word) in self.sum.iter_mut().zip(other.sum) {
            let (partial, first) = sum.overflowing_add(word);
            let (total, second) = partial.overflowing_add(u64::from(carry));
            (*sum, carry) = (total, first || second);
        }
    }

    /// 64 hexadecimal digits, most significant first.
    #[must_use]
    pub fn hex(&self) -> String {
        self.sum.iter().rev().map(|word| format!("{word:016x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(frames: &[&[u8]]) -> String {
        let mut digest = FrameDigest::default();
        frames.iter().for_each(|frame| digest.add(&[frame]));
        digest.hex()
    }

    #[test]
    fn one_frame_gives_its_sha_256() {
        // SHA-256 of "abc", FIPS 180-2 appendix B.1.
        assert_eq!(digest(&[b"abc"]), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn pieces_of_a_frame_count_as_the_whole() {
        let mut pieces = FrameDigest::default();
        pieces.add(&[b"a", b"", b"bc"]);
        assert_eq!(pieces.hex(), digest(&[b"abc"]));
    }

    #[test]
    fn carries_run_through_all_words() {
        // 3 times the number above, modulo 2^256, by Python's integers.
        let three = "2f68443ead056fbec3c3c29b190a666b100a24eac2466fd61c32fe25d6004107";
        assert_eq!(digest(&[b"abc", b"abc", b"abc"]), three);
    }

    #[test]
    fn order_does_not_matter_but_loss_doubling_and_change_do() {
        let all = digest(&[b"a", b"b", b"c"]);
        assert_eq!(all, digest(&[b"c", b"a", b"b"]));
        for other in [digest(&[b"a", b"b"]), digest(&[b"a", b"b", b"b", b"c"]), digest(&[b"a", b"b", b"d"])] {
            assert_ne!(all, other);
        }
        assert_eq!(digest(&[]), "0".repeat(64));
    }
}
