//! The one integration test binary: what is tested from outside the rooms.

mod agent;
mod analyse;
mod desk;
mod elf;
mod embedded;
mod faults;
mod house;
mod lab;
mod lab_holds;
mod listeners;
mod method;
mod mistakes;
mod over_ssh;
mod process;
mod promises;
mod promises_desk;
mod promises_over_ssh;
mod quickstart;
mod record;
mod remote;
mod runner;
mod scene;
mod seams;
mod skip;
mod spine;
