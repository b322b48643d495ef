//! The files that `fieldtrial init` writes.

/// The hosts file of a campaign that names none: this machine alone.
pub const LOCAL_HOSTS: &str = include_str!("../../hosts/local.yaml");

/// The one host of [`LOCAL_HOSTS`].
pub const HERE: &str = "here";

/// A commented campaign called `name` on the hosts file `hosts` (relative to the campaign), for its
/// reader to change. It parses without complaints when `name` is a valid name.
pub fn starter(name: &str, hosts: &str) -> String {
    TEXT.replace("@NAME@", name).replace("@HOSTS@", hosts)
}

const TEXT: &str = r#"# A fieldtrial campaign.
#   fieldtrial check FILE   tells all that is wrong with it
#   fieldtrial plan FILE    shows every run that it would make
#   fieldtrial run FILE     runs it and writes a record with its report
# All keys with their meaning: fieldtrial schema campaign

campaign: @NAME@
question: How much does the change cost, and does that depend on the amount?

# Where it runs; the path is relative to this file.
hosts: @HOSTS@

# What the grid varies. Every level meets every other.
variables:
  lines: [100000, 1000000]

# The reference, measured in every block. `set` names what treatments may change.
control:
  set: {locale: C}

# What is compared with it: one change each.
treatments:
  - name: utf-8
    change: {locale: C.UTF-8}
    because: characters of several bytes have to be decoded

# The work of every cell; ${name} stands for a level of the cell.
workload:
  command:
    on: here
    shell: seq ${lines} | wc -m
    env: {LC_ALL: "${locale}"}

# Before anything is timed, every arm must give the control's output:
# exact, any_order (the same lines) or ignored.
verify: {output: exact}

# Every cell is measured once per block. One comparison needs at least 6 blocks.
blocks: {count: 10, order: mirrored, seed: 1}

# A run that takes longer is killed and counted as timed out.
timeout: 30s

# The primary response decides; within the margin two arms count as the same.
responses:
  - {name: wall_time, margin: 2%, primary: true}
  - {name: peak_rss}
"#;
