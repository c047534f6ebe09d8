//! The minimal baseline for sessions that are not in memory: the service's statement on SQLite, on one connection, and nothing else.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::error::BenchError;
use crate::postgres_baseline::{Digests, FIND};
use crate::server::cpu;
use crate::stats::{Cost, Round, nanoseconds, now};

/// A connection that reads the store of a running service.
#[derive(Debug)]
pub(crate) struct SqliteLookUps {
    connection: Connection,
    digests: Digests,
}

impl SqliteLookUps {
    pub(crate) fn open(directory: &Path, digests: Digests) -> Result<Self, BenchError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Ok(Self { connection: Connection::open_with_flags(directory.join("deskpass.db"), flags)?, digests })
    }

    /// Looks up one session after the other for the duration of a round.
    pub(crate) fn round(&mut self, length: Duration) -> Result<Round, BenchError> {
        let mut find = self.connection.prepare_cached(FIND)?;
        let (used, start) = (cpu("self")?, now());
        let (mut latencies, mut last) = (Vec::new(), start);
        while last - start < length {
            let mut rows = find.query([self.digests.next()])?;
            if rows.next()?.is_none() {
                return Err("SQLite alone found no session".into());
            }
            // The other roles.
            while rows.next()?.is_some() {}
            drop(rows);
            let done = now();
            latencies.push(nanoseconds(done - last));
            last = done;
        }
        // Here the benchmark process itself is measured.
        let spent = cpu("self")?.saturating_sub(used);
        Ok(Round::of(latencies.len(), Cost { elapsed: last - start, cpu: spent, own: spent }, latencies))
    }
}
