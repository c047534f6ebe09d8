//! What chores remember. All nodes may change it at the same time, so each change is made to what is stored at that moment.

use deskpass_store::Chore;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Auth, Error, InternalError};

/// How often a change is tried. Each failure means that another node made a change.
const MAX_ATTEMPTS: usize = 50;

impl Auth {
    /// What a chore remembers.
    pub(super) async fn chore_state<S: Default + DeserializeOwned>(&self, chore: Chore) -> Result<S, Error> {
        Ok(parse(self.store.chore_state(chore).await?.as_deref()))
    }

    /// Changes what a chore remembers; returns what it remembers then. `change` may run more than once.
    pub(super) async fn change_chore_state<S>(
        &self,
        chore: Chore,
        change: impl Fn(S) -> S + Send + Sync,
    ) -> Result<S, Error>
    where
        S: Clone + Default + PartialEq + Serialize + DeserializeOwned + Send,
    {
        for _ in 0..MAX_ATTEMPTS {
            let stored = self.store.chore_state(chore).await?;
            let state: S = parse(stored.as_deref());
            let changed = change(state.clone());
            if changed == state {
                return Ok(state);
            }
            let text = serde_json::to_string(&changed).ok();
            if self.store.set_chore_state(chore, stored, text).await? {
                return Ok(changed);
            }
        }
        Err(InternalError::ChoreTaken.into())
    }
}

/// A state that this version cannot read begins anew.
fn parse<S: Default + DeserializeOwned>(stored: Option<&str>) -> S {
    stored.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}
