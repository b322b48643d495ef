//! The built program must start on any host, hence it may not ask for a dynamic loader.

/// Program header type of the path of a dynamic loader, ELF specification figure 2-2.
const PT_INTERP: u32 = 3;

const HINT: &str = "the binary is dynamic: RUSTFLAGS or CARGO_ENCODED_RUSTFLAGS in the environment replaces \
                    the flags of .cargo/config.toml; next step: unset them and build again";

/// Types of all program headers of a little-endian 64-bit ELF file.
fn segment_types(elf: &[u8]) -> Result<Vec<u32>, String> {
    let word = |at: usize, bytes: usize| -> Result<u64, String> {
        let field = elf.get(at..at + bytes).ok_or(format!("ends before byte {}", at + bytes))?;
        Ok(field.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    };
    if elf.get(..6) != Some(&[0x7f, b'E', b'L', b'F', 2, 1]) {
        return Err("expected a little-endian 64-bit ELF file".to_owned());
    }
    let (table, size, count) = (word(32, 8)?, word(54, 2)?, word(56, 2)?);
    (0..count).map(|index| Ok(word((table + index * size) as usize, 4)? as u32)).collect()
}

/// Complains when a program asks for an interpreter.
fn check_static(elf: &[u8]) -> Result<(), String> {
    match segment_types(elf)? {
        types if types.is_empty() => Err("has no program headers, so it is no program".to_owned()),
        types if types.contains(&PT_INTERP) => Err(HINT.to_owned()),
        _ => Ok(()),
    }
}

/// A file of one header with these segments, as small as the reader accepts.
fn sample(types: &[u32]) -> Vec<u8> {
    let mut elf = vec![0; 64 + 56 * types.len()];
    elf[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1]);
    elf[32] = 64;
    elf[54] = 56;
    elf[56] = types.len() as u8;
    for (index, kind) in types.iter().enumerate() {
        elf[64 + 56 * index..][..4].copy_from_slice(&kind.to_le_bytes());
    }
    elf
}

#[test]
fn the_program_has_no_interpreter() {
    let path = env!("CARGO_BIN_EXE_fieldtrial");
    let elf = std::fs::read(path).unwrap_or_else(|error| panic!("cannot read {path}: {error}"));
    assert_eq!(check_static(&elf), Ok(()), "{path}");
}

#[test]
fn an_interpreter_is_noticed() {
    assert_eq!(check_static(&sample(&[1, 1, 4])), Ok(()));
    assert_eq!(check_static(&sample(&[6, PT_INTERP, 1])), Err(HINT.to_owned()));
}

#[test]
fn what_is_no_program_is_refused() {
    assert!(check_static(&sample(&[])).is_err());
    assert!(check_static(b"#!/bin/sh\n").is_err());
    assert!(check_static(&sample(&[1, 1])[..100]).is_err());
}
