//! The one integration test binary: what is tested from outside the rooms.

mod desk;
mod elf;
mod house;
mod lab;
mod lab_holds;
mod mistakes;
mod over_ssh;
mod process;
mod quickstart;
mod record;
mod runner;
mod skip;
mod spine;
