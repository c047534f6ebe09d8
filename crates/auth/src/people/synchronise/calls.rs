//! The calls that list the directory: at a pace, again when the platform is busy, and counted where the platform meters them.

use std::time::Duration;

use deskpass_platform::{Answer, Error as PlatformError, Meaning};
use tokio::time::sleep;

use super::super::lookups::no_calls_left;
use super::super::pace::Pace;
use crate::{Auth, Error};

/// Below the limits of all platforms for one API.
const CALLS_PER_SECOND: u32 = 15;
/// The pause after a call that the platform refused as one too many, times the number of attempts.
const RETRY_PAUSE: Duration = Duration::from_secs(2);
const MAX_ATTEMPTS: u32 = 4;
/// Where calls are metered, so many days of lookups are the most that one listing may cost, unless the operator forces it.
const MAX_METERED_DAYS: u32 = 20;
/// After so many calls they are counted in the budget.
const CALLS_PER_COUNT: u32 = 20;

/// The calls.
#[derive(Debug)]
pub(super) struct Calls {
    pace: Pace,
    /// The most calls.
    at_most: u32,
    made: u32,
    /// How many of them are counted in the budget.
    counted: u32,
}

impl Calls {
    pub(super) fn new(auth: &Auth, force: bool) -> Self {
        let metered = auth.platform.lookups_per_day().filter(|_| !force);
        let at_most = metered.map_or(u32::MAX, |per_day| per_day.saturating_mul(MAX_METERED_DAYS));
        Self { pace: Pace::per_second(CALLS_PER_SECOND), at_most, made: 0, counted: 0 }
    }

    /// Makes a call when the pace permits it, and again if the platform is busy.
    pub(super) async fn make<'a, T>(&mut self, call: impl Fn() -> Answer<'a, T> + Send) -> Result<T, PlatformError> {
        let mut attempt = 1;
        loop {
            if self.made >= self.at_most {
                tracing::warn!(
                    calls = self.made,
                    "the directory is too large to be read where calls are metered; to read it anyway, run `deskpass sync --force`"
                );
                return Err(no_calls_left());
            }
            self.pace.wait().await;
            self.made += 1;
            match call().await {
                Err(error) if attempt < MAX_ATTEMPTS && is_busy(&error) => sleep(RETRY_PAUSE * attempt).await,
                answer => return answer,
            }
            attempt += 1;
        }
    }

    /// Counts the calls in the budget if they are some.
    pub(super) async fn settle_some(&mut self, auth: &Auth) -> Result<(), Error> {
        if self.made - self.counted >= CALLS_PER_COUNT { self.settle(auth).await } else { Ok(()) }
    }

    /// Counts the calls in the budget.
    pub(super) async fn settle(&mut self, auth: &Auth) -> Result<(), Error> {
        auth.count_listing(self.made - self.counted).await?;
        self.counted = self.made;
        Ok(())
    }
}

/// Whether the platform may accept the call in a moment.
fn is_busy(error: &PlatformError) -> bool {
    matches!(error.meaning(), Meaning::Limited) || error.is_refused_as(Meaning::Retry)
}
