//! The one integration test binary: what is tested from outside the rooms.

mod desk;
mod elf;
mod house;
mod lab;
mod lab_holds;
mod mistakes;
mod over_ssh;
mod process;
<<<<<<< HEAD
mod quickstart;
mod record;
=======
mod runner;
>>>>>>> tests
mod skip;
mod spine;
