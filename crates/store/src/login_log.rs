//! The audit log: one row per audit event, written in the transaction of the event.

mod begin;
mod by_reference;
mod chain;
mod chain_builder;
mod chain_walk;
mod entry;
mod event;
mod key_check;
mod key_evidence;
mod key_switch;
mod keys;
mod marker;
mod page;
mod plans;
mod prune;
mod receipt;
mod retired_key;
mod row;
mod row_check;
mod verify;

pub(crate) use begin::{begin_chains, restart_chains};
pub use chain_builder::{ChainBuilder, ChainPlace};
pub use entry::LogEntry;
pub use event::AuditEvent;
pub use key_check::{KeyCheckState, is_key_of_log, key_check_state};
pub(crate) use key_evidence::{is_other_key, is_own_key};
pub use key_switch::{KeyForgetting, KeyState, KeySwitch, read_key_state};
pub use keys::{ChainKeys, KnownKeys};
pub use page::{LogFilter, LogPage, read_log};
pub(crate) use page::{empty_page_statements, find_row, first_id_at, page_statements, read_page};
pub(crate) use plans::{pruning_statements, reading_statements};
pub use receipt::{InvalidReceipt, Receipt};
pub use row::LogRow;
pub use verify::{LogFault, LogFaultKind, LogVerdict, LogVerification, VerifyError, verify_log};
