//! Browsers in which an agent has signed in before.

use deskpass_core::{Digest, EmployeeKey, Timestamp};

use crate::database::Tx;
use crate::{Result, Store};

impl Store {
    /// Records that an agent has signed in with the browser that holds the value with this digest. Does
    /// nothing if the employee is not an agent.
    pub async fn remember_browser(&self, digest: Digest, key: EmployeeKey, until: Timestamp) -> Result<()> {
        self.database
            .write(move |tx| {
                let text = "INSERT INTO known_browser (digest, corp_id, employee_key, expires_at)
                    SELECT $1, corp_id, employee_key, $4 FROM agent WHERE corp_id = $2 AND employee_key = $3 AND device_only = 0
                    ON CONFLICT (digest, corp_id, employee_key) DO UPDATE SET expires_at = excluded.expires_at";
                tx.execute(text, &args![digest, key.corp(), key.id(), until]).map(drop)
            })
            .await
    }

    /// Whether any agent has signed in before with the browser that holds the value with this digest. Agents may share a browser.
    pub async fn is_browser_known(&self, digest: Digest, now: Timestamp) -> Result<bool> {
        let text = "SELECT 1 FROM known_browser WHERE digest = $1 AND expires_at > $2 LIMIT 1";
        self.database.read(move |sql| sql.exists(text, &args![digest, now])).await
    }

    /// Whether the agent has signed in before with the browser that holds the value with this digest.
    pub async fn is_browser_known_to(&self, digest: Digest, key: EmployeeKey, now: Timestamp) -> Result<bool> {
        let text = "SELECT 1 FROM known_browser
            WHERE digest = $1 AND corp_id = $2 AND employee_key = $3 AND expires_at > $4";
        self.database.read(move |sql| sql.exists(text, &args![digest, key.corp(), key.id(), now])).await
    }
}

/// Deletes the known browsers of an agent, except the browser that holds the value with the digest `keep`.
pub(super) fn forget_all(tx: &Tx<'_>, key: &EmployeeKey, keep: Option<Digest>) -> Result<()> {
    let text = "DELETE FROM known_browser WHERE corp_id = $1 AND employee_key = $2 AND digest <> $3";
    let keep = keep.map(|keep| keep.to_text()).unwrap_or_default();
    tx.execute(text, &args![key.corp(), key.id(), &*keep]).map(drop)
}
