//! Where the servers are that several nodes share.

use std::fmt;
use std::path::PathBuf;

/// A Redis server, or several that belong together.
#[derive(Clone)]
pub struct Redis {
    /// Its address, with the password.
    pub url: String,
    /// What the names of its keys begin with.
    pub prefix: String,
    /// Seals everything that is left there.
    pub key: [u8; 32],
    /// Certificates of an authority that is trusted besides the system's.
    pub ca_file: Option<PathBuf>,
}

impl fmt::Debug for Redis {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { prefix, ca_file, .. } = self;
        out.debug_struct("Redis").field("prefix", prefix).field("ca_file", ca_file).finish_non_exhaustive()
    }
}
