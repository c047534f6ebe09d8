//! What happened at the desk, one row for each event, written with the event itself.

mod chain;
mod chain_walk;
mod event;
mod marker;
mod page;
mod prune;
mod receipt;
mod row_check;
mod verify;

use deskpass_core::{ClientInfo, EmployeeKey, LoginMethod, LoginSource, Role, Timestamp};

use crate::database::Tx;
use crate::{Store, StoreError};

pub use chain::{ChainKey, KEY_CHECK_PURPOSE, KEY_CHECK_TEXT};
pub use event::AuditEvent;
pub use marker::is_key_of_log;
pub(crate) use marker::{begin_chains, is_other_key};
pub use page::{LogFilter, LogPage, LogRow, read_log};
pub(crate) use page::{find_row, first_id_at, read_page};
pub use receipt::{InvalidReceipt, Receipt};
pub use verify::{LogFault, LogFaultKind, LogVerdict, VerifyError, verify_log};

/// One row of the log.
#[derive(Clone, Debug)]
pub struct LogEntry {
    /// Sixteen bytes that begin with the time, in hexadecimal.
    pub id: String,
    /// When.
    pub at: Timestamp,
    /// What.
    pub event: AuditEvent,
    /// Whom it is about; without an identifier, nobody who is known.
    pub about: EmployeeKey,
    /// The role that was active afterwards, or last.
    pub role: Option<Role>,
    /// How they had signed in, or tried to.
    pub method: Option<LoginMethod>,
    /// Which client they had signed in to.
    pub source: Option<LoginSource>,
    /// From where.
    pub visitor: ClientInfo,
    /// Who did it, where somebody did it to somebody else.
    pub actor: Option<EmployeeKey>,
    /// Why not, in a word, where it was refused.
    pub reason: Option<&'static str>,
    /// What exactly, in words of ours.
    pub detail: String,
    /// What the rows are chained with.
    pub key: ChainKey,
}

impl LogEntry {
    /// The same, with what was found out meanwhile.
    #[must_use]
    pub(crate) fn with_detail(self, more: String) -> Self {
        let detail = if self.detail.is_empty() { more } else { format!("{}; {more}", self.detail) };
        Self { detail, ..self }
    }

    /// Writes the row at the end of its chain, which stays locked until the transaction ends: so it is the last thing that a
    /// transaction does.
    pub(crate) fn write(&self, tx: &Tx<'_>) -> Result<(), StoreError> {
        let position = chain::append(tx, self)?;
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
    /// Writes down what changed nothing, such as a refusal.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn record(&self, entry: LogEntry) -> Result<(), StoreError> {
        self.database.write(move |tx| entry.write(tx)).await
    }
}
