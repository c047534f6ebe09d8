//! The deny list: tokens that were ended before they expired, and the reasons.

use deskpass_core::{Digest, Timestamp};

use crate::cache::CacheChange;
use crate::database::{Sql, Tx};
use crate::{Result, StoreError};

named_enum! {
    /// Why a token was ended before it expired.
    pub enum EndReason {
        /// The user signed out.
        SignedOut = "signed_out",
        /// A newer session replaced it, or something it depends on changed.
        Kicked = "kicked",
        /// Its employee was disabled.
        Disabled = "disabled",
        /// Its employee left, according to the platform.
        Left = "left",
    }
}

pub(crate) fn deny(tx: &mut Tx<'_>, digest: Digest, why: EndReason, until: Timestamp) -> Result<()> {
    let text = "INSERT INTO denied_token (digest, reason, until) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
    tx.execute(text, &args![digest, why.name(), until])?;
    tx.record_change(CacheChange::Session(digest));
    Ok(())
}

/// The reason why a digest is on the deny list, if it is.
pub(crate) fn denied(sql: &Sql<'_>, digest: Digest) -> Result<Option<EndReason>> {
    let text = "SELECT reason FROM denied_token WHERE digest = $1";
    let Some(reason) = sql.first(text, &args![digest], |row| row.text(0))? else { return Ok(None) };
    EndReason::from_name(&reason).map(Some).ok_or_else(|| StoreError::damaged("unknown reason on the deny list"))
}
