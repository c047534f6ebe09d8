//! How a PostgreSQL server is reached.

use std::fmt;
use std::path::PathBuf;

/// A database server that several nodes share.
#[derive(Clone)]
pub struct PostgresSettings {
    /// `postgres://user:password@host:port/database`, with the options of such addresses.
    pub url: String,
    /// How many connections this node uses at most, besides the one that follows what others change.
    pub connections: usize,
    /// An authority to trust besides those this machine trusts.
    pub ca_file: Option<PathBuf>,
}

impl fmt::Debug for PostgresSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresSettings").field("connections", &self.connections).finish_non_exhaustive()
    }
}
