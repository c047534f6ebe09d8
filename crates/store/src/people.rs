//! What the platform says about people: who left, what it sent by itself, and whom to ask it about.

mod checks;
mod chores;
mod corporation;
mod events;
mod identifiers;
mod leaving;
mod plans;
mod rename;
mod same_person;
mod watch;

pub use chores::Chore;
pub(crate) use events::EVENT_RETENTION;
pub use events::{ClaimedEvent, PendingEvent, ReceivedEvent, Reception};
pub use leaving::{Leaving, LeftOutcome};
pub(crate) use plans::{claim_statement, statements};
pub use rename::{RenameOutcome, RenameStage, Renaming};
