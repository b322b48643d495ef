//! AF_XDP sockets by plain system calls, and the programs that they need.

pub mod assembly;
pub mod bpf;
pub mod btf;
pub mod error;
pub mod kept;
pub mod live;
pub mod memory;
pub mod options;
pub mod receiver;
pub mod redirect;
pub mod rights;
pub mod ring;
pub mod sender;
pub mod socket;

#[cfg(test)]
mod tests;
