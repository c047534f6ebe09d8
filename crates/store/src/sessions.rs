//! Sessions: begun, looked up, changed and ended, each in one transaction.

mod begin;
mod end_all;
mod end_restored;
mod ending;
mod held_roles;
mod last_use;
mod list;
mod lockout_preview;
mod lookup;
mod network;
mod new_session;
mod plans;
mod scope;

pub use begin::BeginOutcome;
pub use end_all::EndedBatch;
pub use end_restored::EndedByRestore;
pub(crate) use end_restored::end_restored;
pub use ending::SessionSelection;
pub(crate) use ending::end_one;
pub(crate) use last_use::LastUseBuffer;
pub(crate) use list::SessionWalk;
pub use list::{ListedSession, SessionFilter, SessionPage};
pub use lockout_preview::RoleLockout;
pub use lookup::SessionLookup;
pub(crate) use network::NETWORK_RETENTION;
pub use new_session::{NewSession, Precondition, SignInNetwork};
pub(crate) use plans::statements;
pub(crate) use scope::{SessionScope, end_sessions_of};
