//! The audit log: one row per audit event, written in the transaction of the event.

mod by_reference;
mod chain;
mod chain_walk;
mod entry;
mod event;
mod key_check;
mod marker;
mod page;
mod prune;
mod receipt;
mod row;
mod row_check;
mod verify;

pub use chain::{ChainKey, KEY_CHECK_PURPOSE, KEY_CHECK_TEXT};
pub use entry::LogEntry;
pub use event::AuditEvent;
pub use key_check::{KeyCheckState, is_key_of_log, key_check_state};
pub(crate) use marker::{begin_chains, is_other_key, is_own_key};
pub use page::{LogFilter, LogPage, read_log};
pub(crate) use page::{find_row, first_id_at, page_statements, read_page};
pub use receipt::{InvalidReceipt, Receipt};
pub use row::LogRow;
pub use verify::{LogFault, LogFaultKind, LogVerdict, VerifyError, verify_log};
