//! People who come and go: what the platform says about them, and the roles that follow from rules or end by themselves.

mod chore_state;
mod event_leavers;
mod events;
mod leaver;
mod leaver_guard;
mod lookups;
mod pace;
mod recheck;
mod renaming;
mod role_rules;
mod rule_tags;
mod stored_change;
mod synchronise;
mod timed_roles;
mod watch;

pub use events::EventError;
pub(crate) use leaver::{refusal_of, token_problem};
pub use role_rules::RuleEffect;
pub use synchronise::{SyncOptions, SyncProgress, SyncReport, SyncStep, UpdatedPerson};
pub use timed_roles::ROLE_LIFETIMES;
