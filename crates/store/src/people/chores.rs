//! Work that one node at a time does for all, and what it must remember.

use std::time::Duration;

use deskpass_core::Timestamp;

use crate::{Result, Store};

/// Work that one node at a time does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chore {
    /// Removing expired records.
    Sweep,
    /// Asking the platform whether people with live sessions are still active.
    Recheck,
    /// Synchronising with the platform's directory.
    Synchronise,
}

impl Chore {
    /// What the synchronisation remembers after a restore: that it is due since this time. The rest of what it remembers is lost.
    #[must_use]
    pub fn due_state(at: Timestamp) -> String {
        format!("{{\"due_at\":{}}}", at.millis())
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sweep => "sweep",
            Self::Recheck => "recheck",
            Self::Synchronise => "synchronise",
        }
    }
}

impl Store {
    /// Claims a chore for this node until `until`; `false` if another node has the lease.
    pub async fn claim_chore(&self, chore: Chore, now: Timestamp, until: Timestamp) -> Result<bool> {
        // A lease longer than any the service takes was taken by a wrong clock.
        let text = "UPDATE chore SET until = $3 WHERE name = $1 AND (until <= $2 OR until > $4)";
        let wrong = until + Duration::from_hours(1);
        self.database.write(move |tx| Ok(tx.execute(text, &args![chore.name(), now, until, wrong])? == 1)).await
    }

    /// What a chore must remember, if anything.
    pub async fn chore_state(&self, chore: Chore) -> Result<Option<String>> {
        let text = "SELECT state FROM chore WHERE name = $1";
        let state = self.database.read(move |sql| sql.first(text, &args![chore.name()], |row| row.maybe_text(0)));
        Ok(state.await?.flatten())
    }

    /// Stores what a chore must remember, if what it remembers still is `expected`; `false`, with no change, when another node has
    /// changed it meanwhile.
    pub async fn set_chore_state(&self, chore: Chore, expected: Option<String>, state: Option<String>) -> Result<bool> {
        // No state is an empty text.
        let text = "UPDATE chore SET state = $3 WHERE name = $1 AND COALESCE(state, '') = $2";
        self.database
            .write(move |tx| {
                let values = args![chore.name(), expected.as_deref().unwrap_or_default(), state.as_deref()];
                Ok(tx.execute(text, &values)? == 1)
            })
            .await
    }
}
