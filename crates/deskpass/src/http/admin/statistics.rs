//! How far sign-ins came, by the hour.

use std::time::Duration;

use axum::extract::State;
use deskpass_core::Timestamp;
use deskpass_store::{Hour, Step};
use schemars::JsonSchema;
use serde::Serialize;

use super::wrong;
use crate::Desk;
use crate::http::authority::Reader;
use crate::http::envelope::Reply;
use crate::http::failure::Failure;
use crate::http::fields::{Ask, Fields};
use crate::http::login::iso;
use crate::http::openapi::Moment;
use crate::http::query::Query;

/// How much is told to whoever does not say.
const USUAL: Duration = Duration::from_hours(7 * 24);

/// The most that is told at once.
const MOST: Duration = Duration::from_hours(93 * 24);

/// Which time somebody wants to know about.
#[derive(Debug)]
pub(in crate::http) struct TimeAsked {
    from: Option<Timestamp>,
    to: Option<Timestamp>,
}

impl Ask for TimeAsked {
    fn read(fields: &mut Fields) -> Option<Self> {
        let (from, to) = (fields.maybe_moment("from"), fields.maybe_moment("to"));
        Some(Self { from: from?, to: to? })
    }
}

impl TimeAsked {
    /// From when to when, where now is the end for whoever does not say.
    fn span(&self, now: Timestamp) -> Result<(Timestamp, Timestamp), Failure> {
        let to = self.to.unwrap_or(now);
        let from = self.from.unwrap_or(to - USUAL);
        if from >= to || to.since(from) > MOST {
            return Err(wrong("from", ["must be before to, by 93 days at most", "必须早于 to，且相差不超过 93 天"]));
        }
        Ok((from, to))
    }
}

/// How often each step was taken in an hour.
#[derive(Debug, JsonSchema, Serialize)]
pub(in crate::http) struct HourShown {
    /// When the hour began.
    #[schemars(with = "Moment")]
    at: String,
    qr_shown: u64,
    qr_scanned: u64,
    qr_confirmed: u64,
    qr_collected: u64,
    /// Whatever the way in.
    sign_ins: u64,
    refused: u64,
}

impl From<Hour> for HourShown {
    fn from(hour: Hour) -> Self {
        Self {
            at: iso(hour.at),
            qr_shown: hour.times(Step::QrShown),
            qr_scanned: hour.times(Step::QrScanned),
            qr_confirmed: hour.times(Step::QrConfirmed),
            qr_collected: hour.times(Step::QrCollected),
            sign_ins: hour.times(Step::SignedIn),
            refused: hour.times(Step::Refused),
        }
    }
}

/// The hours in which something happened.
#[derive(Debug, JsonSchema, Serialize)]
pub(in crate::http) struct Statistics {
    #[schemars(with = "Moment")]
    from: String,
    #[schemars(with = "Moment")]
    to: String,
    items: Vec<HourShown>,
}

/// Tells how far sign-ins came. They are not told apart by department or corporation, so this is for whoever sees all.
pub(in crate::http) async fn list(
    State(desk): State<Desk>,
    reader: Reader,
    Query(asked): Query<TimeAsked>,
) -> Result<Reply<Statistics>, Failure> {
    if reader.reach(&desk, Some(&desk.auth.policy.home)).await?.department_id.is_some() {
        return reader.refuse(&desk).await;
    }
    let (from, to) = asked.span(desk.auth.clock.now())?;
    let hours = desk.auth.statistics(from, to).await?;
    Ok(Reply(Statistics { from: iso(from), to: iso(to), items: hours.into_iter().map(HourShown::from).collect() }))
}
