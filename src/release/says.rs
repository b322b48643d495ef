//! What a program file says of itself: its compilers, and the C library that it needs.

use object::elf::SHT_GNU_VERNEED;
use object::read::elf::{ElfFile64, FileHeader};
use object::{Endianness, Object, ObjectSection};

/// What was read; empty where the file is no ELF program of 64 bits or says nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
pub struct Says {
    /// Texts of the section `.comment`, which compilers and linkers write.
    pub compilers: Vec<String>,
    /// The newest symbol version of the C library that it needs; None where it needs none.
    pub libc_floor: Option<String>,
}

impl Says {
    /// In a few words.
    pub fn words(&self) -> String {
        let mut words = self.compilers.clone();
        words.extend(self.libc_floor.iter().map(|floor| format!("needs {floor}")));
        match words.is_empty() {
            true => "says nothing of its compiler".to_owned(),
            false => words.join("; "),
        }
    }
}

/// Reads a program file.
pub fn says(bytes: &[u8]) -> Says {
    let Ok(file) = ElfFile64::<Endianness>::parse(bytes) else { return Says::default() };
    let comment =
        file.section_by_name(".comment").and_then(|section| section.data().ok()).unwrap_or_default();
    let mut compilers: Vec<String> = comment
        .split(|byte| *byte == 0)
        .map(|text| String::from_utf8_lossy(text).trim().to_owned())
        .filter(|text| !text.is_empty())
        .collect();
    compilers.sort();
    compilers.dedup();
    Says { compilers, libc_floor: libc_floor(&file, bytes) }
}

/// `GLIBC_2.34` and the like stand in the string table that the needed versions are linked to.
fn libc_floor(file: &ElfFile64<'_, Endianness>, bytes: &[u8]) -> Option<String> {
    let endian = file.endian();
    let header = file.elf_header();
    let sections = header.sections(endian, bytes).ok()?;
    let needs = sections.iter().any(|section| section.sh_type.get(endian) == SHT_GNU_VERNEED);
    let strings = file.section_by_name(".dynstr").filter(|_| needs)?.data().ok()?;
    let versions = strings.split(|byte| *byte == 0).filter_map(|text| str::from_utf8(text).ok());
    let numbers = |text: &str| -> Option<Vec<u32>> {
        text.strip_prefix("GLIBC_")?.split('.').map(|part| part.parse().ok()).collect()
    };
    versions.filter_map(|text| Some((numbers(text)?, text))).max().map(|(_, text)| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_program_says_nothing() {
        assert_eq!(says(b"#!/bin/sh\necho\n"), Says::default());
        assert_eq!(says(b""), Says::default());
        assert_eq!(Says::default().words(), "says nothing of its compiler");
    }
}
