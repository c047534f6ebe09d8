//! An entry of the audit log.

use deskpass_core::{ClientAddress, ClientInfo, EmployeeKey, LoginMethod, LoginSource, Role, Timestamp};

use super::chain::{RowContent, RowContentV2};
use super::{AuditEvent, ChainKeys};
use crate::database::Tx;
use crate::{Result, Store};

/// One row of the log.
#[derive(Clone, Debug)]
pub struct LogEntry {
    /// Sixteen bytes that begin with the time, in hexadecimal.
    pub id: String,
    /// When the event happened.
    pub at: Timestamp,
    /// The event.
    pub event: AuditEvent,
    /// The employee whom the event is about; without an identifier, the employee is unknown.
    pub about: EmployeeKey,
    /// The role that was active afterwards, or last.
    pub role: Option<Role>,
    /// The method of the sign-in or the attempt.
    pub method: Option<LoginMethod>,
    /// The client that the employee signed in to.
    pub source: Option<LoginSource>,
    /// The client's addresses and `User-Agent`.
    pub visitor: ClientInfo,
    /// The employee who caused the event, if it is about another employee.
    pub actor: Option<EmployeeKey>,
    /// The reason of a refusal.
    pub reason: Option<&'static str>,
    /// Further details, written by the service.
    pub detail: String,
    /// The keys of the hash chains.
    pub key: ChainKeys,
}

impl LogEntry {
    /// Adds details that became known later.
    #[must_use]
    pub(crate) fn with_detail(self, more: String) -> Self {
        let detail = if self.detail.is_empty() { more } else { format!("{}; {more}", self.detail) };
        Self { detail, ..self }
    }

    pub(super) fn texts(&self) -> EntryTexts {
        let ClientAddress { logged, decided, peer } = self.visitor.address;
        let [address, decided, peer] = [logged, decided, peer].map(|address| address.to_string());
        let reference = self.visitor.reference.map(|reference| reference.to_string());
        EntryTexts { address, decided, peer, reference }
    }

    /// The content of the row.
    pub(super) fn content<'a>(&'a self, texts: &'a EntryTexts, added: RowContentV2<'a>) -> RowContent<'a> {
        RowContent {
            id: &self.id,
            at: self.at.millis(),
            event: self.event.name(),
            corp: self.about.corp(),
            employee: self.about.id(),
            role: self.role.map_or(0, Role::id),
            method: self.method.map_or("", LoginMethod::name),
            source: self.source.map_or("", LoginSource::name),
            address: &texts.address,
            peer: &texts.peer,
            user_agent: self.visitor.user_agent.as_str(),
            actor: self.actor.as_ref().map(|actor| (actor.corp(), actor.id())),
            reason: self.reason,
            detail: &self.detail,
            v2: Some(added),
        }
    }
}

/// The values of an entry that only its row has as text.
pub(super) struct EntryTexts {
    address: String,
    decided: String,
    peer: String,
    reference: Option<String>,
}

impl EntryTexts {
    /// The content of the second version, with the end of another chain.
    pub(super) fn added<'a>(&'a self, seen_seq: i64, seen_hash: &'a str) -> RowContentV2<'a> {
        RowContentV2 { decided: &self.decided, seen_seq, seen_hash, reference: self.reference.as_deref() }
    }
}

impl Store {
    /// Logs an event without a change, such as a refusal.
    pub async fn record(&self, entry: LogEntry) -> Result<()> {
        self.database.write(move |tx| entry.write(tx)).await
    }

    /// Logs an event, and tries again by itself if it is unknown whether it was logged: there is one row.
    pub async fn record_repeatably(&self, entry: LogEntry) -> Result<()> {
        // The first attempt does not look for the row, so that a refusal takes as long as a probe.
        let work = move |tx: &mut Tx<'_>, is_repeated: bool| {
            if is_repeated { write_once(tx, &entry) } else { entry.write(tx) }
        };
        self.database.write_repeatably(work).await
    }

    /// Logs an event of which it is unknown whether it was logged before.
    pub async fn record_once(&self, entry: LogEntry) -> Result<()> {
        self.database.write(move |tx| write_once(tx, &entry)).await
    }
}

/// Writes the row unless it is there.
pub(crate) fn write_once(tx: &Tx<'_>, entry: &LogEntry) -> Result<()> {
    // An attempt that has not ended yet holds the chain. When it commits, this one fails, and the next one finds the row.
    if is_logged(tx, &entry.id)? { Ok(()) } else { entry.write(tx) }
}

/// Whether there is a row with this id.
pub(crate) fn is_logged(tx: &Tx<'_>, id: &str) -> Result<bool> {
    tx.exists("SELECT 1 FROM login_log WHERE id = $1", &args![id])
}
