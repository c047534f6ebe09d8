//! An entry of the audit log, appended to its chain.

use deskpass_core::{ClientAddress, ClientInfo, EmployeeKey, LoginMethod, LoginSource, Role, Timestamp};

use super::chain::{RowContent, RowContentV2, chain_of, witnessed_chain};
use super::{AuditEvent, ChainKeys};
use crate::database::Tx;
use crate::{Result, Store, StoreError};

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

    /// Appends several rows, in one order of the chains, so that two transactions which do so do not block each other.
    pub(crate) fn write_all(tx: &Tx<'_>, mut entries: Vec<Self>) -> Result<()> {
        entries.sort_by_key(|entry| chain_of(&entry.id));
        entries.into_iter().try_for_each(|entry| entry.write(tx))
    }

    /// Appends the row to its chain, and locks the chain until the transaction ends: so this is its last step.
    pub(crate) fn write(&self, tx: &Tx<'_>) -> Result<()> {
        let chain = chain_of(&self.id);
        let (seq, before, key_id) = next_position(tx, chain)?;
        let key = self.key.appending(tx, &key_id)?;
        let text = "SELECT seq, hash FROM log_chain WHERE chain = $1";
        let seen = tx.first(text, &args![witnessed_chain(chain, seq)], |row| Ok((row.int(0)?, row.text(1)?)))?;
        let (seen_seq, seen_hash) = seen.unwrap_or_default();
        let texts = self.texts();
        let added = texts.added(seen_seq, &seen_hash);
        let content = self.content(&texts, added);
        let hash = content.hash(key, chain, seq, &before);
        tx.execute("UPDATE log_chain SET hash = $2 WHERE chain = $1", &args![chain, &*hash])?;
        insert(tx, &content, added, (chain, seq, &hash))
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

/// Inserts a row at its position in a chain.
fn insert(
    tx: &Tx<'_>,
    content: &RowContent<'_>,
    RowContentV2 { decided, seen_seq, seen_hash, reference }: RowContentV2<'_>,
    (chain, seq, hash): (i64, i64, &str),
) -> Result<()> {
    let RowContent { id, at, event, corp, employee, role, method, source, user_agent, reason, detail, .. } = *content;
    let (address, peer, (actor_corp, actor)) = (content.address, content.peer, content.actor.unzip());
    let values = args![
        id, at, event, corp, employee, role, method, source, address, peer, user_agent, actor_corp, actor, reason,
        detail, chain, seq, hash, decided, seen_seq, seen_hash, reference
    ];
    let text = "INSERT INTO login_log (id, at, event, corp_id, employee_key, role_id, login_method, login_source,
        ip_address, peer_address, user_agent, actor_corp_id, actor_key, reason, detail, chain, seq, hash,
        decided_address, seen_seq, seen_hash, reference)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)";
    tx.execute(text, &values).map(drop)
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
fn write_once(tx: &Tx<'_>, entry: &LogEntry) -> Result<()> {
    // An attempt that has not ended yet holds the chain. When it commits, this one fails, and the next one finds the row.
    let is_written = tx.exists("SELECT 1 FROM login_log WHERE id = $1", &args![&*entry.id])?;
    if is_written { Ok(()) } else { entry.write(tx) }
}

/// The next position in a chain, the hash of the last row, and the name of the key; locks the chain until the transaction ends.
fn next_position(tx: &Tx<'_>, chain: i64) -> Result<(i64, String, String)> {
    let text = "UPDATE log_chain SET seq = seq + 1 WHERE chain = $1 RETURNING seq, hash, key_id";
    let next = || tx.first(text, &args![chain], |row| Ok((row.int(0)?, row.text(1)?, row.text(2)?)));
    if let Some(next) = next()? {
        return Ok(next);
    }
    let text = "INSERT INTO log_chain (chain, seq, hash, pruned_seq, pruned_hash, pruned_mac)
        VALUES ($1, 0, '', 0, '', '') ON CONFLICT DO NOTHING";
    tx.execute(text, &args![chain])?;
    next()?.ok_or_else(|| StoreError::damaged("missing end of a log chain"))
}
