//! Counts of the steps of sign-ins, by the hour.

use std::time::Duration;

use deskpass_core::Timestamp;
use deskpass_store::{HourlyCounts, SignInStep};
use schemars::JsonSchema;
use serde::Serialize;

use crate::App;
use crate::http::error::{ApiError, FieldError};
use crate::http::request::{FromFields, Query, Reader};
use crate::http::response::Reply;
use crate::timestamp::Rfc3339;

/// The default range.
const DEFAULT_RANGE: Duration = Duration::from_hours(7 * 24);

/// The largest range.
const MAX_RANGE: Duration = Duration::from_hours(93 * 24);

/// The time range of the statistics.
#[derive(Debug, FromFields)]
pub(crate) struct TimeRangeQuery {
    /// The start of the range; seven days before its end unless given.
    from: Option<Timestamp>,
    /// The end of the range; now unless given.
    to: Option<Timestamp>,
}

impl TimeRangeQuery {
    /// The start and the end of the range; it ends now unless the query says otherwise.
    fn span(&self, now: Timestamp) -> Result<(Timestamp, Timestamp), ApiError> {
        let to = self.to.unwrap_or(now);
        let from = self.from.unwrap_or(to - DEFAULT_RANGE);
        if from >= to || to.since(from) > MAX_RANGE {
            let why = ["must be before to, by 93 days at most", "必须早于 to，且相差不超过 93 天"];
            return Err(ApiError::field("from", FieldError::Format(why)));
        }
        Ok((from, to))
    }
}

/// Counts of the steps of sign-ins in an hour.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct HourShown {
    /// The start of the hour.
    at: Rfc3339,
    qr_shown: u64,
    qr_scanned: u64,
    qr_confirmed: u64,
    qr_collected: u64,
    /// Completed sign-ins by any method.
    sign_ins: u64,
    refused: u64,
}

impl From<HourlyCounts> for HourShown {
    fn from(hour: HourlyCounts) -> Self {
        Self {
            at: Rfc3339(hour.at),
            qr_shown: hour.times(SignInStep::QrShown),
            qr_scanned: hour.times(SignInStep::QrScanned),
            qr_confirmed: hour.times(SignInStep::QrConfirmed),
            qr_collected: hour.times(SignInStep::QrCollected),
            sign_ins: hour.times(SignInStep::SignedIn),
            refused: hour.times(SignInStep::Refused),
        }
    }
}

/// The hours with at least one step.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Statistics {
    from: Rfc3339,
    to: Rfc3339,
    items: Vec<HourShown>,
}

/// Returns the counts of sign-ins. They are not divided by department or corporation, so the caller must have access to all.
pub(crate) async fn list(
    app: App,
    reader: Reader,
    Query(query): Query<TimeRangeQuery>,
) -> Result<Reply<Statistics>, ApiError> {
    if reader.access_scope(&app, Some(&app.auth.policy.home_corp)).await?.department_id.is_some() {
        return reader.deny(&app).await;
    }
    let (from, to) = query.span(app.auth.clock.now())?;
    let hours = app.auth.statistics(from, to).await?;
    Ok(Reply(Statistics {
        from: Rfc3339(from),
        to: Rfc3339(to),
        items: hours.into_iter().map(HourShown::from).collect(),
    }))
}
