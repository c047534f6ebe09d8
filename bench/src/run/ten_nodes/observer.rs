//! What PostgreSQL and Redis report about the nodes.

use std::time::Instant;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_postgres::Client;
use url::Url;

use crate::backends::{SharedBackend, connect};
use crate::error::BenchError;
use crate::stats::{float, now};

/// The connections of nodes, which name themselves.
const CONNECTIONS: &str =
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'deskpass'";

/// The number of reads of the journal, and of all statements, since they are counted.
const STATEMENTS: &str = "SELECT COALESCE(sum(calls) FILTER (WHERE query LIKE '%LEFT JOIN journal%'), 0)::bigint,
    COALESCE(sum(calls), 0)::bigint FROM pg_stat_statements
    WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND query NOT LIKE '%pg_stat%'";

/// Reads the figures of both servers.
pub(super) struct ClusterObserver {
    client: Client,
    /// Host and port of Redis.
    redis: String,
    counts_statements: bool,
}

/// The figures at a moment.
pub(super) struct Figures {
    at: Instant,
    connections: usize,
    /// Reads of the journal, and all statements, if they are counted.
    statements: Option<(usize, usize)>,
    commands: usize,
}

/// The connections, and what happened in each second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rates {
    pub(super) connections: f64,
    pub(super) journal_reads: Option<f64>,
    pub(super) statements: Option<f64>,
    pub(super) commands: f64,
}

impl ClusterObserver {
    pub(super) async fn open(backend: &SharedBackend, counts_statements: bool) -> Result<Self, BenchError> {
        let (client, redis) = (connect(&backend.store).await?, Url::parse(&backend.shared)?);
        if counts_statements {
            client.batch_execute("CREATE EXTENSION pg_stat_statements").await?;
        }
        let (host, port) = (redis.host_str().ok_or("no host of Redis")?, redis.port().ok_or("no port of Redis")?);
        Ok(Self { client, redis: format!("{host}:{port}"), counts_statements })
    }

    pub(super) async fn read(&self) -> Result<Figures, BenchError> {
        let connections: i64 = self.client.query_one(CONNECTIONS, &[]).await?.try_get(0)?;
        let statements = if self.counts_statements {
            let row = self.client.query_one(STATEMENTS, &[]).await?;
            let (reads, all): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
            Some((usize::try_from(reads)?, usize::try_from(all)?))
        } else {
            None
        };
        let commands = count_commands(&self.command_statistics().await?);
        Ok(Figures { at: now(), connections: usize::try_from(connections)?, statements, commands })
    }

    /// How often Redis ran each command.
    async fn command_statistics(&self) -> Result<String, BenchError> {
        let mut stream = TcpStream::connect(&self.redis).await?;
        // The server closes the connection after the second command, so that the answers end.
        stream.write_all(b"INFO commandstats\r\nQUIT\r\n").await?;
        let mut text = String::new();
        stream.read_to_string(&mut text).await?;
        Ok(text)
    }
}

impl Figures {
    /// What happened since `before`.
    pub(super) fn since(&self, before: &Self) -> Rates {
        let seconds = (self.at - before.at).as_secs_f64();
        let rate = |now: usize, then: usize| float(now.saturating_sub(then)) / seconds;
        let statements = self.statements.zip(before.statements);
        Rates {
            connections: float(self.connections),
            journal_reads: statements.map(|((now, _), (then, _))| rate(now, then)),
            statements: statements.map(|((_, now), (_, then))| rate(now, then)),
            commands: rate(self.commands, before.commands),
        }
    }
}

/// The number of commands, also of those in scripts, except for the ones of this observer.
fn count_commands(text: &str) -> usize {
    let calls = text.lines().filter_map(|line| {
        let (name, figures) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        let calls = figures.split(',').next()?.parse::<usize>().ok()?;
        (name != "info" && name != "quit").then_some(calls)
    });
    calls.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_counted_except_our_own() {
        let text = "$99\r\n# Commandstats\r\ncmdstat_publish:calls=611,usec=3\r\ncmdstat_info:calls=9,usec=1\r\n\
            cmdstat_config|get:calls=2,usec=4\r\n\r\n+OK\r\n";
        assert_eq!(count_commands(text), 613);
    }
}
