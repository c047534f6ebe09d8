//! Sessions, the ways to begin one, and what they may do.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use deskpass_core::PermissionMatrix;
use deskpass_derive::Section;
use ipnet::IpNet;

use crate::config::value::choice;

/// The lifetime and number of sessions.
#[derive(Clone, Debug, Section)]
pub struct Session {
    /// How long a session lasts after the sign-in, regardless of its use.
    #[setting(default = "8h", min = "1m", max = "30d")]
    pub lifetime: Duration,
    /// The maximum number of sessions per employee. A further sign-in ends the oldest. 0 is unlimited.
    #[setting(development = 0, production = 20, min = 0, max = 1_000_000)]
    pub max_per_employee: Option<NonZeroUsize>,
    /// The maximum number of sessions in memory, where a token is checked without the database. Each takes at most 400 bytes.
    #[setting(default = 1_000_000, restart, min = 1_000, max = 100_000_000)]
    pub cache_entries: usize,
}

/// Binding identities of connected corporations.
#[derive(Clone, Debug, Section)]
pub struct Bind {
    /// Who may sign in by naming an employee: users with a proof from the platform (proof), anyone (open), or no one (off).
    /// auto is open in development and proof in production. Outside development mode, sessions that begin without a proof
    /// never get the role admin.
    #[setting(default = "auto")]
    pub mode: BindMode,
    /// The networks that may call bind if it is open outside development mode.
    #[setting(default = "")]
    pub networks: Vec<IpNet>,
}

choice! {
    /// What a binding requires.
    pub enum BindMode {
        /// As [`BindMode::Open`] in development, as [`BindMode::Proof`] in production.
        Auto = "auto",
        /// A bind proof from the platform.
        Proof = "proof",
        /// Nothing.
        Open = "open",
        /// Binding is disabled.
        Off = "off",
    }
}

/// Agents and their passwords.
#[derive(Clone, Debug, Section)]
pub struct Agents {
    /// When agents may sign in with a password and a one-time password instead of through the platform: always, only while
    /// the platform cannot be reached (outage), or never (off).
    #[setting(development = "always", production = "outage")]
    pub password_fallback: PasswordFallback,
}

choice! {
    /// When agents may sign in with a password instead of through the platform.
    pub enum PasswordFallback {
        /// At any time.
        Always = "always",
        /// While the platform cannot be reached.
        Outage = "outage",
        /// Never.
        Off = "off",
    }
}

/// The access matrix.
#[derive(Clone, Debug, Section)]
pub struct Access {
    /// A file that replaces the built-in access matrix: what each role may do, and in which scope. `deskpass config matrix`
    /// prints the matrix in force, to start from. The file is read at start and at a reload; all nodes need the same one.
    #[setting(example = "/etc/deskpass/matrix.toml")]
    pub matrix_file: Option<PathBuf>,
    /// The widest scope of each role, from the configured file or else from the built-in matrix.
    #[computed(PermissionMatrix::built_in())]
    pub matrix: PermissionMatrix,
}

/// The retention of the audit log.
#[derive(Clone, Debug, Section)]
pub struct Audit {
    /// How long rows of the audit log are kept: sign-ins, refusals and changes by administrators.
    #[setting(default = "400d", min = "1d", max = "3650d")]
    pub retention: Duration,
}
