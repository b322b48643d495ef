//! Instructions of the kernel's BPF machine, written down with labels.

/// Registers: R1 to R5 are arguments and are lost by a call, R0 is the result, R6 to R9 are kept, and
/// R10 is the end of the stack.
pub const R0: u8 = 0;
pub const R1: u8 = 1;
pub const R2: u8 = 2;
pub const R3: u8 = 3;
pub const R4: u8 = 4;
pub const R6: u8 = 6;
pub const R7: u8 = 7;
pub const R8: u8 = 8;
pub const R9: u8 = 9;
pub const R10: u8 = 10;

// linux/bpf_common.h and linux/bpf.h.
const CLASS_LDX: u8 = 0x01;
const CLASS_STX: u8 = 0x03;
const CLASS_JMP: u8 = 0x05;
const CLASS_ALU64: u8 = 0x07;
const MODE_MEM: u8 = 0x60;
const FROM_REGISTER: u8 = 0x08;
/// Converts between the host's order and big-endian (BPF_ALU | BPF_END | BPF_TO_BE).
const TO_BIG_ENDIAN: u8 = 0xdc;
const LOAD_IMMEDIATE_64: u8 = 0x18;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const JUMP: u8 = 0x05;
/// What src_reg of a wide load or a call means.
const PSEUDO_MAP_FD: u8 = 1;
const PSEUDO_KFUNC_CALL: u8 = 2;

/// Width of a load or store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    Half,
    Word,
    Double,
}

impl Width {
    const fn bits(self) -> u8 {
        match self {
            Self::Word => 0x00,
            Self::Half => 0x08,
            Self::Double => 0x18,
        }
    }
}

/// 64-bit arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sum {
    Add,
    Subtract,
    Multiply,
    And,
    ShiftLeft,
    ShiftRight,
    /// The rest of a division.
    Modulo,
    Xor,
    Move,
    /// Shifts the sign in.
    ShiftRightSigned,
}

impl Sum {
    const fn code(self) -> u8 {
        match self {
            Self::Add => 0x00,
            Self::Subtract => 0x10,
            Self::Multiply => 0x20,
            Self::And => 0x50,
            Self::ShiftLeft => 0x60,
            Self::ShiftRight => 0x70,
            Self::Modulo => 0x90,
            Self::Xor => 0xa0,
            Self::Move => 0xb0,
            Self::ShiftRightSigned => 0xc0,
        }
    }
}

/// Unsigned comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    Equal,
    NotEqual,
    Above,
}

impl When {
    const fn code(self) -> u8 {
        match self {
            Self::Equal => 0x10,
            Self::Above => 0x20,
            Self::NotEqual => 0x50,
        }
    }
}

/// A register or a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    Register(u8),
    Number(i32),
}
use Operand::{Number, Register};

/// Where a jump leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label(usize);

/// Bytes of one instruction: code, registers, offset, number.
pub type Instruction = [u8; 8];

/// A program in the making.
#[derive(Debug, Default)]
pub struct Assembly {
    code: Vec<Instruction>,
    /// Where each label stands.
    labels: Vec<Option<usize>>,
    /// Jumps, by their place, and where they lead.
    jumps: Vec<(usize, Label)>,
}

impl Assembly {
    /// A label to jump to, placed later.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Places a label before the next instruction.
    pub fn place(&mut self, label: Label) {
        self.labels[label.0] = Some(self.code.len());
    }

    fn add(&mut self, code: u8, to: u8, from: u8, offset: i16, number: i32) {
        let [low, high] = offset.to_ne_bytes();
        let n = number.to_ne_bytes();
        // Two fields of four bits, the first in the low ones on little-endian machines.
        let registers = if cfg!(target_endian = "little") { from << 4 | to } else { to << 4 | from };
        self.code.push([code, registers, low, high, n[0], n[1], n[2], n[3]]);
    }

    fn operand(&mut self, code: u8, to: u8, operand: Operand) {
        match operand {
            Register(from) => self.add(code | FROM_REGISTER, to, from, 0, 0),
            Number(number) => self.add(code, to, 0, 0, number),
        }
    }

    /// `to = to SUM operand`; numbers are sign-extended.
    pub fn sum(&mut self, sum: Sum, to: u8, operand: Operand) {
        self.operand(CLASS_ALU64 | sum.code(), to, operand);
    }

    /// `to = operand`
    pub fn set(&mut self, to: u8, operand: Operand) {
        self.sum(Sum::Move, to, operand);
    }

    /// `to = number`, all 64 bits of it.
    pub fn set_wide(&mut self, to: u8, number: u64) {
        self.wide(to, 0, number);
    }

    /// `to = ` the map of a descriptor.
    pub fn set_map(&mut self, to: u8, descriptor: i32) {
        self.wide(to, PSEUDO_MAP_FD, u64::from(descriptor as u32));
    }

    fn wide(&mut self, to: u8, kind: u8, number: u64) {
        self.add(LOAD_IMMEDIATE_64, to, kind, 0, number as u32 as i32);
        self.add(0, 0, 0, 0, (number >> 32) as u32 as i32);
    }

    /// Converts the low `bits` of a register between the host's order and the network's.
    pub fn swap(&mut self, register: u8, bits: i32) {
        self.add(TO_BIG_ENDIAN, register, 0, 0, bits);
    }

    /// `to = *(from + offset)`
    pub fn load(&mut self, width: Width, to: u8, from: u8, offset: i16) {
        self.add(CLASS_LDX | MODE_MEM | width.bits(), to, from, offset, 0);
    }

    /// `*(to + offset) = from`
    pub fn store(&mut self, width: Width, to: u8, offset: i16, from: u8) {
        self.add(CLASS_STX | MODE_MEM | width.bits(), to, from, offset, 0);
    }

    pub fn jump_when(&mut self, left: u8, when: When, right: Operand, label: Label) {
        self.jumps.push((self.code.len(), label));
        self.operand(CLASS_JMP | when.code(), left, right);
    }

    pub fn jump(&mut self, label: Label) {
        self.jumps.push((self.code.len(), label));
        self.add(JUMP, 0, 0, 0, 0);
    }

    /// Calls a helper of the kernel by its number (enum bpf_func_id).
    pub fn call(&mut self, helper: i32) {
        self.add(CALL, 0, 0, 0, helper);
    }

    /// Calls a function of the kernel by its BTF type.
    pub fn call_kernel(&mut self, function: u32) {
        self.add(CALL, 0, PSEUDO_KFUNC_CALL, 0, function as i32);
    }

    pub fn exit(&mut self) {
        self.add(EXIT, 0, 0, 0, 0);
    }

    /// The finished program. Every label that is jumped to has been placed.
    #[must_use]
    pub fn finish(mut self) -> Vec<Instruction> {
        for (at, label) in self.jumps {
            let to = self.labels[label.0].expect("a label that is jumped to is placed");
            let offset = i16::try_from(to as i64 - at as i64 - 1).expect("programs here are short");
            self.code[at][2..4].copy_from_slice(&offset.to_ne_bytes());
        }
        self.code
    }
}

#[cfg(all(test, target_endian = "little"))]
mod tests {
    use super::*;

    fn hex(code: &[Instruction]) -> Vec<String> {
        code.iter().map(|i| i.iter().map(|b| format!("{b:02x}")).collect()).collect()
    }

    /// Against bytes of the kernel's instruction set document (RFC 9669) and of `llvm-mc -arch=bpf`.
    #[test]
    fn instructions_have_the_bytes_of_the_instruction_set() {
        let mut a = Assembly::default();
        a.set(R6, Register(R1));
        a.set(R0, Number(2));
        a.load(Width::Word, R2, R1, 4);
        a.load(Width::Half, R4, R2, 12);
        a.store(Width::Double, R10, -8, R0);
        a.sum(Sum::Add, R4, Number(-14));
        a.sum(Sum::ShiftRight, R7, Number(31));
        a.sum(Sum::Modulo, R9, Number(12));
        a.swap(R4, 16);
        a.set_wide(R1, 0x1122_3344_5566_7788);
        a.set_map(R1, 5);
        a.call(51);
        a.call_kernel(0x01_02_03);
        a.exit();
        let wanted = [
            "bf16000000000000",
            "b700000002000000",
            "6112040000000000",
            "69240c0000000000",
            "7b0af8ff00000000",
            "07040000f2ffffff",
            "770700001f000000",
            "970900000c000000",
            "dc04000010000000",
            "1801000088776655",
            "0000000044332211",
            "1811000005000000",
            "0000000000000000",
            "8500000033000000",
            "8520000003020100",
            "9500000000000000",
        ];
        assert_eq!(hex(&a.finish()), wanted);
    }

    #[test]
    fn jumps_lead_to_their_labels_forward_and_back() {
        let mut a = Assembly::default();
        let (start, end) = (a.label(), a.label());
        a.place(start);
        a.jump_when(R4, When::Above, Register(R3), end);
        a.jump_when(R4, When::NotEqual, Number(7), start);
        a.jump(end);
        a.exit();
        a.place(end);
        a.exit();
        let wanted = ["2d34030000000000", "5504feff07000000", "0500010000000000", "9500000000000000"];
        assert_eq!(hex(&a.finish())[..4], wanted);
    }
}
