//! A blocking connection to PostgreSQL, used like the embedded database: each call sends a statement and waits for its
//! result until a deadline.
//!
//! Each connection has its own single-threaded runtime, which runs only while a caller waits for a result. That avoids
//! waking another thread.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use futures_util::future::{try_join, try_join_all};
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, timeout_at};
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{CancelToken, Client, Error, Statement};

use super::address::PostgresAddress;
use super::primary_proof::{
    HEARTBEAT, HEARTBEAT_TIMEOUT, PrimaryProof, READ_STANDBY_NAMES, unproven, waits_for_standby,
};
use crate::cache::BootInstant;
use crate::database::row_reader::{RowReader, all_rows};
use crate::database::{Row, SqlValue};
use crate::{Result, StoreError};

/// The settings of every database session, for uses that may take `timeout`. The server's own timeouts keep a slow
/// statement, or a transaction of a node that hangs, from blocking rows for other nodes. None of them ends the wait of a commit for a
/// standby: PostgreSQL stops the clock of a statement before it commits. JIT is off because compiling takes longer than any statement
/// here. The last statement reads whether commits wait for a standby.
fn session_settings(timeout: Duration) -> String {
    let [statement, idle] = [timeout * 3 / 4, timeout * 5 / 2].map(|limit| limit.as_millis());
    format!(
        "SET statement_timeout = {statement}; SET idle_in_transaction_session_timeout = {idle};
         SET default_transaction_isolation = 'read committed'; SET synchronous_commit = on; SET jit = off;
         {READ_STANDBY_NAMES}"
    )
}

/// The state of a connection after its last use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionHealth {
    /// No statement failed.
    Healthy,
    /// A statement failed; the connection can be used again.
    StatementFailed,
    /// Another transaction used the same rows; a retry is worthwhile.
    Conflict,
    /// The server did not answer in time; the connection is unusable.
    TimedOut,
    /// The server did not confirm in time that it is still the primary; the connection is unusable.
    Unproven,
    /// The connection is unusable, and most likely the other connections are too.
    Broken,
}

impl ConnectionHealth {
    fn from_error(error: &Error) -> Self {
        // The server is shutting down, has stopped, or has become read-only.
        let over = [
            SqlState::ADMIN_SHUTDOWN,
            SqlState::CRASH_SHUTDOWN,
            SqlState::CANNOT_CONNECT_NOW,
            SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
            SqlState::READ_ONLY_SQL_TRANSACTION,
        ];
        let others =
            [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED, SqlState::LOCK_NOT_AVAILABLE];
        match error.code() {
            None => Self::Broken,
            Some(code) if over.contains(code) => Self::Broken,
            Some(code) if others.contains(code) => Self::Conflict,
            Some(_) => Self::StatementFailed,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// Whether the column holds text; otherwise it holds a number.
    pub(crate) is_text: bool,
}

impl Column {
    const fn kind(&self) -> Type {
        if self.is_text { Type::TEXT } else { Type::INT8 }
    }
}

pub(crate) struct PostgresConnection {
    engine: ConnectionRuntime,
    client: Client,
    statements: RefCell<HashMap<String, Statement>>,
    deadline: Cell<Instant>,
    health: Cell<ConnectionHealth>,
    /// Whether a transaction was begun that may not have ended.
    in_transaction: Cell<bool>,
    /// Whether the server has not answered a commit in time.
    has_pending_commit: Cell<bool>,
    /// The index of the server among those of the address.
    server: usize,
    /// The generation of the journal reader in which the connection was opened.
    generation: u64,
    proof: PrimaryProof,
}

impl PostgresConnection {
    /// Opens a connection. Blocks, so it must run on a blocking thread.
    pub(super) fn open(address: &PostgresAddress, deadline: Instant) -> Result<Self> {
        let failed = |error: std::io::Error| StoreError::unavailable(&error);
        let engine = ConnectionRuntime(Some(Builder::new_current_thread().enable_all().build().map_err(failed)?));
        let generation = address.generation();
        let (client, server) = engine.block_on(async {
            let connected = timeout_at(deadline, address.connect()).await;
            let (client, driver, server) = connected.map_err(|_| StoreError::timed_out())??;
            // Polled while a caller waits for a result on this runtime.
            drop(tokio::spawn(driver));
            Ok::<_, StoreError>((client, server))
        })?;
        let connection = Self {
            engine,
            client,
            statements: RefCell::default(),
            deadline: Cell::new(deadline),
            health: Cell::new(ConnectionHealth::Healthy),
            in_transaction: Cell::new(false),
            has_pending_commit: Cell::new(false),
            server,
            generation,
            proof: PrimaryProof::new(false, Arc::clone(&address.proof)),
        };
        let settings = connection.wait(connection.client.simple_query(&session_settings(address.timeout)))?;
        connection.proof.set_synchronous(waits_for_standby(&settings));
        Ok(connection)
    }

    /// Prepares the connection for work that must finish by `deadline`.
    pub(super) fn reset_for(&self, deadline: Instant) {
        self.deadline.set(deadline);
        self.health.set(ConnectionHealth::Healthy);
    }

    pub(super) fn health(&self) -> ConnectionHealth {
        self.health.get()
    }

    /// Whether the next use can begin a transaction of its own. Statements in one that was left open would fail, or never be committed.
    pub(super) fn is_idle(&self) -> bool {
        !self.in_transaction.get()
    }

    pub(super) fn server(&self) -> usize {
        self.server
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// What cancels the statement that timed out, unless that is a commit. A commit that waits for a standby takes effect when it is
    /// cancelled: others would read, and rely on, what the next failover loses. It is left waiting, without a client: its outcome is
    /// unknown, its rows stay locked, and as soon as the standby confirms any later heartbeat, it has confirmed this commit, too.
    pub(super) fn cancel_token(&self) -> Option<CancelToken> {
        (!self.has_pending_commit.get()).then(|| self.client.cancel_token())
    }

    /// Cancels the statement that timed out before this returns: the process may end right after it.
    pub(super) fn cancel_now(&self, address: &PostgresAddress) {
        let Some(statement) = self.cancel_token() else { return };
        // Best effort: the server may be gone.
        let _ = self.engine.block_on(async {
            address.cancel(&statement).await;
            Ok(())
        });
    }

    /// Makes sure that the server was still the primary a moment ago. Called after a read, so that a slow one is covered as well.
    pub(super) fn confirm_primary(&self) -> Result<()> {
        if self.proof.is_due() { self.confirm_anew() } else { Ok(()) }
    }

    /// Makes sure that the server is still the primary, also where it was a moment ago.
    pub(super) fn confirm_anew(&self) -> Result<()> {
        let (began, deadline) = (BootInstant::now(), self.deadline.get());
        let limit = Instant::now() + HEARTBEAT_TIMEOUT;
        self.deadline.set(deadline.min(limit));
        let confirmed = self.wait(self.client.simple_query(HEARTBEAT));
        self.deadline.set(deadline);
        match confirmed {
            Ok(result) => {
                self.proof.set_synchronous(waits_for_standby(&result));
                self.proof.record(began);
                Ok(())
            }
            // Where the deadline of the work came first, the server had too little time.
            Err(_) if self.health.get() == ConnectionHealth::TimedOut && limit <= deadline => {
                self.health.set(ConnectionHealth::Unproven);
                Err(unproven())
            }
            Err(error) => Err(error),
        }
    }

    /// Adds a heartbeat to the transaction if commits wait for a standby, and returns whether it did. A transaction that changed nothing
    /// would commit without waiting: its result could come from a deposed server, or rest on a commit that was cancelled while it waited,
    /// which the next failover would undo. So it is added also where the last heartbeat is recent.
    pub(super) fn add_heartbeat(&self) -> Result<bool> {
        if !self.proof.is_synchronous() {
            return Ok(false);
        }
        let result = self.wait(self.client.simple_query(HEARTBEAT))?;
        let added = waits_for_standby(&result);
        self.proof.set_synchronous(added);
        Ok(added)
    }

    /// Commits the transaction. With a heartbeat in it, that proves that the server is the primary.
    pub(super) fn commit(&self, with_heartbeat: bool) -> Result<()> {
        let began = BootInstant::now();
        let committed = self.batch("COMMIT");
        self.has_pending_commit.set(self.health.get() == ConnectionHealth::TimedOut);
        committed?;
        if with_heartbeat {
            self.proof.record(began);
        }
        Ok(())
    }

    pub(crate) fn execute(&self, text: &str, values: &[SqlValue<'_>]) -> Result<usize> {
        let changed = self.wait(async {
            let statement = self.statement(text).await?;
            self.client.execute_raw(&statement, values).await
        })?;
        Ok(count(changed))
    }

    /// Runs statements in their order. All of them are sent before the first result is read: one round trip in all. After one that
    /// failed, the server runs no other of the transaction.
    pub(crate) fn execute_all(&self, statements: &[(&str, Vec<SqlValue<'_>>)]) -> Result<Vec<usize>> {
        if statements.is_empty() {
            return Ok(Vec::new());
        }
        let changed = self.wait(async {
            let mut prepared = Vec::with_capacity(statements.len());
            for (text, _) in statements {
                prepared.push(self.statement(text).await?);
            }
            let with_values = prepared.iter().zip(statements);
            try_join_all(with_values.map(|(statement, (_, values))| self.client.execute_raw(statement, values))).await
        })?;
        Ok(changed.into_iter().map(count).collect())
    }

    /// Runs statements in their order, and then a query: one round trip in all.
    pub(crate) fn execute_and_read<T>(
        &self,
        statements: &[(&str, Vec<SqlValue<'_>>)],
        text: &str,
        values: &[SqlValue<'_>],
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<(Vec<usize>, Vec<T>)> {
        let values: Vec<_> = values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        let (changed, rows) = self.wait(async {
            let mut prepared = Vec::with_capacity(statements.len());
            for (text, _) in statements {
                prepared.push(self.statement(text).await?);
            }
            let query = self.statement(text).await?;
            let with_values = prepared.iter().zip(statements);
            let changes = with_values.map(|(statement, (_, values))| self.client.execute_raw(statement, values));
            try_join(try_join_all(changes), self.client.query(&query, &values)).await
        })?;
        let rows = rows.iter().map(|row| read(&Row::Postgres(row))).collect::<Result<_>>()?;
        Ok((changed.into_iter().map(count).collect(), rows))
    }

    pub(crate) fn batch(&self, text: &str) -> Result<()> {
        if text.starts_with("BEGIN") {
            self.in_transaction.set(true);
        }
        self.wait(self.client.batch_execute(text))?;
        if matches!(text, "COMMIT" | "ROLLBACK") {
            self.in_transaction.set(false);
        }
        Ok(())
    }

    /// Runs a query and reads its rows in their order.
    pub(crate) fn each(&self, text: &str, values: &[SqlValue<'_>], reader: &mut dyn RowReader) -> Result<()> {
        let values: Vec<_> = values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        let rows = self.wait(async {
            let statement = self.statement(text).await?;
            self.client.query(&statement, &values).await
        })?;
        for row in &rows {
            if !reader.read(&Row::Postgres(row))? {
                break;
            }
        }
        Ok(())
    }

    pub(crate) fn rows<T>(
        &self,
        text: &str,
        values: &[SqlValue<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        all_rows(|reader| self.each(text, values, reader), read)
    }

    pub(crate) fn append(&self, table: &str, columns: &[Column], rows: &[Vec<SqlValue<'_>>]) -> Result<u64> {
        let names: Vec<_> = columns.iter().map(|column| &*column.name).collect();
        let kinds: Vec<_> = columns.iter().map(Column::kind).collect();
        let text = format!("COPY {table} ({}) FROM STDIN BINARY", names.join(", "));
        self.wait(async {
            let mut writer = pin!(BinaryCopyInWriter::new(self.client.copy_in(&text).await?, &kinds));
            for row in rows {
                writer.as_mut().write_raw(row).await?;
            }
            writer.finish().await
        })
    }

    async fn statement(&self, text: &str) -> Result<Statement, Error> {
        let known = self.statements.borrow().get(text).cloned();
        if let Some(statement) = known {
            return Ok(statement);
        }
        let statement = self.client.prepare(text).await?;
        self.statements.borrow_mut().insert(text.to_owned(), statement.clone());
        Ok(statement)
    }

    fn wait<T>(&self, answer: impl Future<Output = Result<T, Error>>) -> Result<T> {
        let deadline = self.deadline.get();
        self.engine.block_on(async {
            match timeout_at(deadline, answer).await {
                Ok(Ok(answer)) => Ok(answer),
                Ok(Err(error)) => {
                    self.health.set(ConnectionHealth::from_error(&error));
                    Err(error.into())
                }
                Err(_) => {
                    // The result may still arrive and would be read by the next caller.
                    self.health.set(ConnectionHealth::TimedOut);
                    Err(StoreError::timed_out())
                }
            }
        })
    }
}

fn count(rows: u64) -> usize {
    usize::try_from(rows).unwrap_or(usize::MAX)
}

/// The runtime that drives the connection while a caller waits.
struct ConnectionRuntime(Option<Runtime>);

impl ConnectionRuntime {
    fn block_on<T>(&self, answer: impl Future<Output = Result<T>>) -> Result<T> {
        let stopped = || StoreError::unavailable(&"the connection was closed");
        self.0.as_ref().ok_or_else(stopped)?.block_on(answer)
    }
}

impl Drop for ConnectionRuntime {
    fn drop(&mut self) {
        // Shut down in the background: a DNS resolver that does not answer would block the drop.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

debug_only!(PostgresConnection, health);

impl ToSql for SqlValue<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            SqlValue::Text(text) => text.to_sql(kind, out),
            // PostgreSQL infers INT4 for a placeholder next to a plain number.
            SqlValue::Int(number) if *kind == Type::INT4 => i32::try_from(*number)?.to_sql(kind, out),
            SqlValue::Int(number) => number.to_sql(kind, out),
            SqlValue::Null => Ok(IsNull::Yes),
        }
    }

    fn accepts(kind: &Type) -> bool {
        [Type::TEXT, Type::VARCHAR, Type::INT8, Type::INT4].contains(kind)
    }

    to_sql_checked!();
}
