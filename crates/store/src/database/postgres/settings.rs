//! The settings for a PostgreSQL server.

use std::fmt;
use std::path::PathBuf;

/// The settings for a PostgreSQL server that several nodes share.
#[derive(Clone)]
pub struct PostgresSettings {
    /// `postgres://user:password@host:port/database`, with the options of PostgreSQL URLs.
    pub url: String,
    /// The maximum number of connections of this node, besides the connection that reads the journal.
    pub connections: usize,
    /// A CA file to trust in addition to the system's certificates.
    pub ca_file: Option<PathBuf>,
}

impl fmt::Debug for PostgresSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresSettings").field("connections", &self.connections).finish_non_exhaustive()
    }
}
