//! fieldtrial: declared performance experiments whose evidence can be trusted.
//!
//! The floor plan. P is pure (no files, clocks, processes), W runs on the workstation, H on hosts.
//!
//! | room | | one sentence | may use |
//! |---|---|---|---|
//! | `model` | P | the words of the glossary as types | – |
//! | `yaml` | P | the one door to YAML: options, limits, located values, complaints with carets | model |
//! | `rule` | P | the one door to CEL: rules over levels and facts, and plain conditions | model |
//! | `campaign` | P | YAML → Campaign: file shape, resolve, all complaints, JSON schema | model, yaml, rule |
//! | `dead_end` | P | YAML → dead ends: changes that lost, and whether a cell repeats one | rule, yaml |
//! | `inventory` | P | YAML → Hosts | model, yaml, rule |
//! | `design` | P | Campaign → Plan: grid, exclusions, order, audit | model, yaml, rule, campaign, dead_end |
//! | `verify` | P | outputs and proofs → Verified: equal, correct, clean | model, rule |
//! | `protocol` | P | what workstation and agent say to each other | model |
//! | `evidence` | P | the events and rows of a record, as types and text | model |
//! | `conduct` | W | the spine: walk the plan, prepare, prove, measure, limits | model, rule, campaign, design, verify, evidence |
//! | `remote` | W | reach a host over ssh or locally: master, upload, session, heartbeat | model, protocol, conduct |
//! | `embedded` | W | the lab in a box: namespaces, links and agents that we make ourselves | model, remote |
//! | `record` | W | the archive: writer, reader, layout, what is published, history | model, evidence, gate |
//! | `analysis` | P | evidence → Findings: summary and effects | model, evidence |
//! | `compare` | P | two records beside each other: facts that differ, numbers that moved | model, evidence, analysis |
//! | `release` | P | what a program file says of itself, and in which order releases came | – |
//! | `gate` | P | records against what was published: levels, floors, verdicts, refusals | model, evidence, analysis |
//! | `export` | P | findings and rows in the formats of other tools | model, analysis, evidence, report |
//! | `plot` | P | figures as SVG text: axes, charts, forest rows, bars | – |
//! | `report` | P | Findings → pages and tables | model, analysis, evidence, gate, plot, compare |
//! | `schedule` | P | a campaign on a calendar: expressions, their dates, units for systemd and cron | – |
//! | `agent` | H | the servant on a host: serve, facts, journal, lease, children | model, protocol, setting, nic |
//! | `setting` | H | one file per host setting: read, apply, put back | model, nic |
//! | `nic` | H | the doorway to the kernel: links, counters and flow rules | model |
//! | `packet` | H | frames, ledger, AF_PACKET senders and receivers | model, nic |
//! | `xdp` | H | AF_XDP sockets by plain system calls, and the programs that they need | model, packet, nic |
//! | `tool` | H | built-in tools as programs | model, packet, nic, xdp |
//! | `cli` | W | the front door: arguments, terminal, exit codes | all, wiring only |

pub mod agent;
pub mod analysis;
pub mod campaign;
pub mod cli;
pub mod compare;
pub mod conduct;
pub mod dead_end;
pub mod design;
pub mod embedded;
pub mod evidence;
pub mod export;
pub mod gate;
pub mod inventory;
pub mod model;
pub mod nic;
pub mod packet;
pub mod plot;
pub mod protocol;
pub mod record;
pub mod release;
pub mod remote;
pub mod report;
pub mod rule;
pub mod schedule;
pub mod setting;
pub mod tool;
pub mod verify;
pub mod xdp;
pub mod yaml;
