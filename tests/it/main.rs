//! The one integration test binary: what is tested from outside the rooms.

mod elf;
mod house;
mod lab;
mod lab_holds;
mod process;
mod runner;
mod skip;
