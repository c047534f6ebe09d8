//! The deny list: tokens that were ended before they expired, and the reasons.

use deskpass_core::{Digest, Timestamp};

use crate::cache::CacheChange;
use crate::database::{Row, Sql, SqlValue, Tx};
use crate::{Result, StoreError};

/// The number of digests that one statement denies.
const DENY_BATCH: usize = 100;

const FIND_REASON: &str = "SELECT reason FROM denied_token WHERE digest = $1";

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

/// Denies several digests, as texts; the caller records the change for the caches. The rows of what had these tokens are deleted before:
/// a selection of rows that is made twice can find others the second time, which would end without a reason.
pub(crate) fn deny_all(tx: &Tx<'_>, digests: &[String], why: EndReason, until: Timestamp) -> Result<()> {
    for some in digests.chunks(DENY_BATCH) {
        let rows: Vec<_> = (3..).take(some.len()).map(|place| format!("(${place}, $1, $2)")).collect();
        let text = format!(
            "INSERT INTO denied_token (digest, reason, until) VALUES {} ON CONFLICT DO NOTHING",
            rows.join(", ")
        );
        let mut values = args![why.name(), until].to_vec();
        values.extend(some.iter().map(|digest| SqlValue::from(&**digest)));
        tx.execute(&text, &values)?;
    }
    Ok(())
}

/// The reason why a digest is on the deny list, if it is.
pub(crate) fn denied(sql: &Sql<'_>, digest: Digest) -> Result<Option<EndReason>> {
    sql.first(FIND_REASON, &args![digest], reason)
}

/// Whether a digest is on the deny list, for whatever reason.
pub(crate) fn is_denied(sql: &Sql<'_>, digest: Digest) -> Result<bool> {
    sql.exists(FIND_REASON, &args![digest])
}

fn reason(row: &Row<'_>) -> Result<EndReason> {
    EndReason::from_name(&row.text(0)?).ok_or_else(|| StoreError::damaged("unknown reason on the deny list"))
}
