//! A signing key as it is stored.

use deskpass_core::oidc::{KeyTimes, SigningAlgorithm};

use crate::Result;
use crate::database::{Row, Sql};

/// A signing key as it is stored.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredSigningKey {
    /// Identifier of the key, which tokens name.
    pub kid: String,
    /// Its algorithm.
    pub algorithm: SigningAlgorithm,
    /// The public key, as a JSON Web Key.
    pub public_jwk: String,
    /// The private key, sealed.
    pub sealed: String,
    /// When it is published and signs.
    pub times: KeyTimes,
}

debug_only!(StoredSigningKey, kid, algorithm, times);

/// All signing keys, the oldest first. A key whose algorithm only a later version knows is left out.
pub(crate) fn read_keys(sql: &Sql<'_>) -> Result<Vec<StoredSigningKey>> {
    let text = "SELECT kid, algorithm, public_jwk, sealed, created_at, active_from, withdrawn_at FROM oidc_key
        ORDER BY created_at, kid";
    let read = |row: &Row<'_>| {
        let Some(algorithm) = SigningAlgorithm::from_name(&row.text(1)?) else { return Ok(None) };
        let times = KeyTimes {
            created_at: row.timestamp(4)?,
            active_from: row.timestamp(5)?,
            withdrawn_at: row.maybe_timestamp(6)?,
        };
        let (kid, public_jwk, sealed) = (row.text(0)?, row.text(2)?, row.text(3)?);
        Ok(Some(StoredSigningKey { kid, algorithm, public_jwk, sealed, times }))
    };
    Ok(sql.rows(text, &[], read)?.into_iter().flatten().collect())
}
