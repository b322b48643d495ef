//! The kernel's own description of its types, searched for one function.

/// Where the running kernel shows it.
pub const KERNEL: &str = "/sys/kernel/btf/vmlinux";
const MAGIC: u16 = 0xeb9f;
/// Bytes of struct btf_type.
const TYPE: usize = 12;
const FUNCTION: u32 = 12;

/// The type identifier of a function, or None where the description is damaged or has no such one.
///
/// Layout: Documentation/bpf/btf.rst. A header tells where types and strings lie; types follow each
/// other, each with a tail that depends on its kind, and are numbered from 1.
#[must_use]
pub fn function(btf: &[u8], name: &str) -> Option<u32> {
    let u16_at = |at: usize| Some(u16::from_ne_bytes(*btf.get(at..)?.first_chunk()?));
    let u32_at = |at: usize| Some(u32::from_ne_bytes(*btf.get(at..)?.first_chunk()?));
    if u16_at(0)? != MAGIC {
        return None;
    }
    let header = u32_at(4)? as usize;
    let mut at = header.checked_add(u32_at(8)? as usize)?;
    let end = at.checked_add(u32_at(12)? as usize)?;
    let strings = btf.get(header.checked_add(u32_at(16)? as usize)?..)?;
    let named = |offset: u32| {
        let rest = strings.get(offset as usize..)?;
        Some(rest.strip_prefix(name.as_bytes())?.first() == Some(&0))
    };
    for id in 1u32.. {
        if at >= end {
            break;
        }
        let (name_offset, info) = (u32_at(at)?, u32_at(at + 4)?);
        let kind = info >> 24 & 0x1f;
        if kind == FUNCTION && named(name_offset) == Some(true) {
            return Some(id);
        }
        at += TYPE + tail(kind, info as usize & 0xffff)?;
    }
    None
}

/// Bytes after a type of a kind with so many members; None for kinds that are not known.
fn tail(kind: u32, members: usize) -> Option<usize> {
    Some(match kind {
        // Integer, variable, declaration tag.
        1 | 14 | 17 => 4,
        // Array.
        3 => 12,
        // Structure, union, section, 64-bit enumeration.
        4 | 5 | 15 | 19 => 12 * members,
        // Enumeration, function prototype.
        6 | 13 => 8 * members,
        // Pointer, forward, typedef, volatile, const, restrict, function, float, type tag.
        2 | 7..=12 | 16 | 18 => 0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn description() -> Vec<u8> {
        let mut types: Vec<u32> = Vec::new();
        // Integer; structure of two; prototype of one; function "frob"; function "frobnicate".
        types.extend([1, 1 << 24, 4, 32]);
        types.extend([1, 4 << 24 | 2, 8, 1, 1, 0, 1, 1, 32]);
        types.extend([0, 13 << 24 | 1, 1, 0, 1]);
        types.extend([1, 12 << 24, 3]);
        types.extend([6, 12 << 24, 3]);
        let types: Vec<u8> = types.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let strings = b"\0frob\0frobnicate\0";
        let mut btf = MAGIC.to_ne_bytes().to_vec();
        btf.extend([1, 0]);
        for word in [24, 0, types.len(), types.len(), strings.len()] {
            btf.extend((word as u32).to_ne_bytes());
        }
        btf.extend(types);
        btf.extend(strings);
        btf
    }

    #[test]
    fn a_function_is_found_by_its_whole_name() {
        let btf = description();
        assert_eq!((function(&btf, "frob"), function(&btf, "frobnicate")), (Some(4), Some(5)));
        assert_eq!((function(&btf, "fro"), function(&btf, "other")), (None, None));
    }

    #[test]
    fn a_damaged_description_ends_without_a_panic() {
        let btf = description();
        for length in 0..btf.len() {
            let found = function(&btf[..length], "frobnicate");
            assert!(found.is_none(), "cut to {length} bytes");
        }
        let mut unknown = btf.clone();
        unknown[31] = 31;
        assert_eq!(function(&unknown, "frobnicate"), None);
    }
}
