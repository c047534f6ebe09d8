//! The calls that list the directory: at a pace, again when the platform is busy, and counted where the platform meters them.

use std::time::Duration;

use deskpass_platform::{Answer, DirectoryPage, Error as PlatformError, InvalidResponse, Meaning};
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

/// The most pages of a list: more are a mistake.
const MAX_PAGES: usize = 10_000;

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
    async fn make<'a, T>(&mut self, call: impl Fn() -> Answer<'a, T> + Send) -> Result<T, PlatformError> {
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

    /// Reads a list to its end. `list` reads the page at a cursor.
    pub(super) async fn read_all<'a, T>(
        &mut self,
        list: impl Fn(Option<String>) -> Answer<'a, DirectoryPage<T>> + Send + Sync,
    ) -> Result<Vec<T>, PlatformError> {
        let (mut items, mut cursor) = (Vec::new(), None::<String>);
        for _ in 0..MAX_PAGES {
            let page = self.make(|| list(cursor.clone())).await?;
            items.extend(page.items);
            cursor = page.next;
            if cursor.is_none() {
                return Ok(items);
            }
        }
        // A part of a list must not pass for all of it: the rest would seem to have left.
        Err(PlatformError::InvalidResponse(InvalidResponse::TooLarge))
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

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn calls() -> Calls {
        Calls { pace: Pace::per_second(1_000_000_000), at_most: u32::MAX, made: 0, counted: 0 }
    }

    /// A list of so many pages, each with its number.
    fn page_of(pages: usize, cursor: Option<String>) -> Answer<'static, DirectoryPage<usize>> {
        let number: usize = cursor.map_or(0, |cursor| cursor.parse().unwrap());
        let next = Some(number + 1).filter(|next| *next < pages).map(|next| next.to_string());
        Box::pin(async move { Ok(DirectoryPage { items: vec![number], next }) })
    }

    #[tokio::test]
    async fn a_list_is_read_to_its_end() {
        assert_eq!(calls().read_all(|cursor| page_of(1, cursor)).await.unwrap(), [0]);
        assert_eq!(calls().read_all(|cursor| page_of(3, cursor)).await.unwrap(), [0, 1, 2]);
    }

    #[tokio::test]
    async fn a_list_without_an_end_is_not_taken_for_a_complete_one() {
        let read = calls().read_all(|cursor| page_of(usize::MAX, cursor)).await;
        assert!(matches!(read, Err(PlatformError::InvalidResponse(InvalidResponse::TooLarge))), "{read:?}");
    }
}
