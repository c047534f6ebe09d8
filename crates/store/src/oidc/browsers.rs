//! The browsers in which a session was used for a client, by their single sign-on cookie.

use deskpass_core::{Digest, Timestamp};

use crate::{Result, Store};

impl Store {
    /// Records that the browser with this cookie uses a session.
    pub async fn remember_browser_session(&self, cookie: Digest, session: Digest, expires_at: Timestamp) -> Result<()> {
        let text = "INSERT INTO oidc_browser (digest, session, expires_at) VALUES ($1, $2, $3)
            ON CONFLICT (digest) DO UPDATE SET session = excluded.session, expires_at = excluded.expires_at";
        self.database.write(move |tx| tx.execute(text, &args![cookie, session, expires_at]).map(drop)).await
    }

    /// Has a cookie stand for no session any more.
    pub async fn forget_browser_session(&self, cookie: Digest) -> Result<()> {
        let text = "DELETE FROM oidc_browser WHERE digest = $1";
        self.database.write(move |tx| tx.execute(text, &args![cookie]).map(drop)).await
    }

    /// The session of the browser with this cookie; the caller looks it up, since it may have ended.
    pub async fn browser_session(&self, cookie: Digest, now: Timestamp) -> Result<Option<Digest>> {
        let text = "SELECT session FROM oidc_browser WHERE digest = $1 AND expires_at > $2";
        self.database.read(move |sql| sql.first(text, &args![cookie, now], |row| row.digest(0))).await
    }
}
