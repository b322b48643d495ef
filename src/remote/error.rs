//! Why a host could not be reached, told apart by what helps.

/// Every text says what was expected, what was found, and the next step.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    #[error(
        "host {host} is unreachable: {found}\n  next: try `ssh {host} true`; look at address, cable, power and firewall"
    )]
    Unreachable { host: String, found: String },
    /// `found` is what OpenSSH itself says.
    #[error(
        "host {host}: its host key is refused:\n{found}\n  next: compare the key with the host's own (`ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` there), then put it into known_hosts; fieldtrial never does that by itself"
    )]
    HostKey { host: String, found: String },
    #[error(
        "host {host} does not let us in: {found}\n  next: try `ssh -o BatchMode=yes {host} true`; a key that asks for a passphrase must be in an ssh-agent"
    )]
    Authentication { host: String, found: String },
    #[error(
        "host {host} is a {machine}, this fieldtrial is built for {ours}\n  next: build it for {machine} and give it with `--agent {machine}=PATH`"
    )]
    Architecture { host: String, machine: String, ours: String },
    #[error(
        "host {host} has no folder that an agent can be started from; tried:\n{tried}\n  next: make one of them writable, on a file system without noexec"
    )]
    NoFolder { host: String, tried: String },
    #[error("host {host}: no space for the agent: {found}\n  next: free some there")]
    DiskFull { host: String, found: String },
    #[error(
        "host {host}: sudo does not let us become root without a password: {found}\n  next: allow it in sudoers (NOPASSWD) for this user, or drop `become: sudo`"
    )]
    Become { host: String, found: String },
    #[error(
        "host {host} is leased to {holder}\n  next: wait for its end, or ask its holder; the lease ends with that process"
    )]
    Leased { host: String, holder: String },
    #[error(
        "host {host}: {found}\n  next: use the same fieldtrial on both sides; the agent is uploaded by itself unless --agent names an older one"
    )]
    Protocol { host: String, found: String },
    #[error("host {host}: the agent did not start: {found}")]
    Agent { host: String, found: String },
    /// Nothing to do with the host.
    #[error("this machine: {found}")]
    Ours { found: String },
}

/// What an open session can run into.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    #[error("the session is lost: {0}")]
    Lost(String),
    #[error("the agent refused: {0}")]
    Refused(String),
}
