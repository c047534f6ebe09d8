//! An entry of the audit log, appended to its chain.

use deskpass_core::{ClientAddress, ClientInfo, EmployeeKey, LoginMethod, LoginSource, Role, Timestamp};

use super::chain::{RowContent, RowContentV2, chain_of, witnessed_chain};
use super::{AuditEvent, ChainKey};
use crate::database::Tx;
use crate::{Store, StoreError};

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
    /// The key of the hash chains.
    pub key: ChainKey,
}

impl LogEntry {
    /// Adds details that became known later.
    #[must_use]
    pub(crate) fn with_detail(self, more: String) -> Self {
        let detail = if self.detail.is_empty() { more } else { format!("{}; {more}", self.detail) };
        Self { detail, ..self }
    }

    /// Appends the row to its chain, which stays locked until the transaction ends; so this is the last step of a
    /// transaction.
    pub(crate) fn write(&self, tx: &Tx<'_>) -> Result<(), StoreError> {
        let position = append(tx, self)?;
        let ClientInfo { address, user_agent } = &self.visitor;
        let actor = self.actor.as_ref();
        let values = args![
            &*self.id,
            self.at,
            self.event.name(),
            self.about.corp(),
            self.about.id(),
            self.role.map_or(0, Role::id),
            self.method.map_or("", LoginMethod::name),
            self.source.map_or("", LoginSource::name),
            address.logged,
            address.peer,
            user_agent.as_str(),
            actor.map(EmployeeKey::corp),
            actor.map(EmployeeKey::id),
            self.reason,
            &*self.detail,
            position.chain,
            position.seq,
            &*position.hash,
            address.decided,
            position.seen.0,
            &*position.seen.1
        ];
        tx.execute(
            "INSERT INTO login_log (id, at, event, corp_id, employee_key, role_id, login_method, login_source, ip_address,
             peer_address, user_agent, actor_corp_id, actor_key, reason, detail, chain, seq, hash,
             decided_address, seen_seq, seen_hash)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)",
            &values,
        )
        .map(drop)
    }
}

impl Store {
    /// Logs an event without a change, such as a refusal.
    pub async fn record(&self, entry: LogEntry) -> Result<(), StoreError> {
        self.database.write(move |tx| entry.write(tx)).await
    }
}

/// A position in a chain.
#[derive(Clone, Debug)]
struct ChainPosition {
    chain: i64,
    seq: i64,
    hash: String,
    /// The last row of another chain, and its hash.
    seen: (i64, String),
}

/// Takes the next position in the chain that an entry belongs to.
fn append(tx: &Tx<'_>, entry: &LogEntry) -> Result<ChainPosition, StoreError> {
    let chain = chain_of(&entry.id);
    let (seq, before) = if let Some(next) = next(tx, chain)? {
        next
    } else {
        let text = "INSERT INTO log_chain (chain, seq, hash, pruned_seq, pruned_hash, pruned_mac)
            VALUES ($1, 0, '', 0, '', '') ON CONFLICT DO NOTHING";
        tx.execute(text, &args![chain])?;
        next(tx, chain)?.ok_or_else(|| StoreError::damaged("missing end of a log chain"))?
    };
    let seen =
        tx.first("SELECT seq, hash FROM log_chain WHERE chain = $1", &args![witnessed_chain(chain, seq)], |row| {
            Ok((row.int(0)?, row.text(1)?))
        })?;
    let seen = seen.unwrap_or_default();
    let ClientAddress { logged, decided, peer } = entry.visitor.address;
    let [address, decided, peer] = [logged, decided, peer].map(|address| address.to_string());
    let content = RowContent {
        id: &entry.id,
        at: entry.at.millis(),
        event: entry.event.name(),
        corp: entry.about.corp(),
        employee: entry.about.id(),
        role: entry.role.map_or(0, Role::id),
        method: entry.method.map_or("", LoginMethod::name),
        source: entry.source.map_or("", LoginSource::name),
        address: &address,
        peer: &peer,
        user_agent: entry.visitor.user_agent.as_str(),
        actor: entry.actor.as_ref().map(|actor: &EmployeeKey| (actor.corp(), actor.id())),
        reason: entry.reason,
        detail: &entry.detail,
        v2: Some(RowContentV2 { decided: &decided, seen_seq: seen.0, seen_hash: &seen.1 }),
    };
    let hash = content.hash(&entry.key, chain, seq, &before);
    tx.execute("UPDATE log_chain SET hash = $2 WHERE chain = $1", &args![chain, &*hash])?;
    Ok(ChainPosition { chain, seq, hash, seen })
}

/// The next position in a chain and the hash of the last row; locks the chain until the transaction ends.
fn next(tx: &Tx<'_>, chain: i64) -> Result<Option<(i64, String)>, StoreError> {
    let text = "UPDATE log_chain SET seq = seq + 1 WHERE chain = $1 RETURNING seq, hash";
    tx.first(text, &args![chain], |row| Ok((row.int(0)?, row.text(1)?)))
}
