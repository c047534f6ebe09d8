//! Access and refresh tokens of clients.

use std::sync::Arc;

use deskpass_core::{Digest, Timestamp};

use super::record::{AccessTokenRecord, GRANT_COLUMNS, GrantRecord, NEXT_COLUMN, grant};
use crate::cache::CacheLookup;
use crate::database::{Row, Sql, Tx};
use crate::{Result, Store};

/// The kind of a token.
#[derive(Clone, Copy, Debug)]
pub(super) enum TokenKind {
    /// It opens the userinfo endpoint.
    Access,
    /// It gives new tokens, once.
    Refresh,
}

impl TokenKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Access => "access",
            Self::Refresh => "refresh",
        }
    }
}

impl Store {
    /// Looks up the digest of an access token, with its grant. The caller checks when token and grant expire, whether the grant has
    /// ended, the session, the person and the client. If the store fails, the token must not count as valid.
    pub async fn oidc_access(&self, digest: &Digest) -> Result<Option<Arc<AccessTokenRecord>>> {
        let gap = match self.cache.look_up(&self.cache.access_tokens, digest).await {
            CacheLookup::Hit(record) => return Ok(Some(record)),
            CacheLookup::Miss(gap) => gap,
        };
        let digest = *digest;
        let Some(record) = self.database.read(move |sql| find_access(sql, digest)).await? else { return Ok(None) };
        let record = Arc::new(record);
        gap.fill(Arc::clone(&record));
        Ok(Some(record))
    }

    /// Drops an access token that has expired from the cache of this node.
    pub fn forget_oidc_access(&self, digest: &Digest) {
        self.cache.access_tokens.remove(digest);
    }

    /// A number that is another one after every change to any person that this node knows of.
    #[must_use]
    pub fn people_epoch(&self) -> u64 {
        self.cache.people_changes.now().number()
    }

    /// The grant of a refresh token, also if the token was used or the grant has ended.
    pub async fn grant_of_refresh(&self, token: Digest) -> Result<Option<GrantRecord>> {
        self.database.read(move |sql| find_grant_of_refresh(sql, token)).await
    }

    /// When a refresh token was used; `None` if it was not, or there is none.
    pub async fn refresh_used_at(&self, token: Digest) -> Result<Option<Timestamp>> {
        self.database.read(move |sql| used_at(sql, token)).await
    }
}

/// Finds a token of this kind, with its grant and its expiry.
pub(super) fn find_statement(kind: TokenKind) -> String {
    format!(
        "SELECT {GRANT_COLUMNS}, t.expires_at FROM oidc_token t JOIN oidc_grant g ON g.id = t.grant_id
         WHERE t.digest = $1 AND t.kind = '{}'",
        kind.name()
    )
}

fn find_access(sql: &Sql<'_>, digest: Digest) -> Result<Option<AccessTokenRecord>> {
    let read = |row: &Row<'_>| Ok(AccessTokenRecord::new(grant(row)?, row.timestamp(NEXT_COLUMN)?));
    sql.first(&find_statement(TokenKind::Access), &args![digest], read)
}

pub(super) fn find_grant_of_refresh(sql: &Sql<'_>, token: Digest) -> Result<Option<GrantRecord>> {
    sql.first(&find_statement(TokenKind::Refresh), &args![token], grant)
}

/// When a refresh token was used.
pub(super) fn used_at(sql: &Sql<'_>, token: Digest) -> Result<Option<Timestamp>> {
    let text = "SELECT used_at FROM oidc_token WHERE digest = $1 AND kind = 'refresh'";
    Ok(sql.first(text, &args![token], |row| row.maybe_timestamp(0))?.flatten())
}

/// Writes a token with its time and expiry. One that is derived from another may be there already.
pub(super) fn insert(
    tx: &Tx<'_>,
    digest: Digest,
    grant_id: &str,
    kind: TokenKind,
    (now, expires_at): (Timestamp, Timestamp),
) -> Result<()> {
    let text = "INSERT INTO oidc_token (digest, grant_id, kind, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (digest) DO NOTHING";
    tx.execute(text, &args![digest, grant_id, kind.name(), now, expires_at]).map(drop)
}
