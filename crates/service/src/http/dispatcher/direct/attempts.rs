//! Which requests of a connection are tried the direct way.

/// The number of attempts in a row that have to fail before some requests are no longer tried.
const FAILURES_BEFORE_SKIPPING: u8 = 8;

/// The number of requests of which one is tried then.
const REQUESTS_PER_ATTEMPT: u8 = 8;

/// The last attempts of a connection to answer directly.
///
/// An attempt that fails costs some 5 % of a request whose session is not in memory, because the ordinary way begins anew. Where attempts keep
/// failing, as after the start of a node, only one request in eight is tried, until one succeeds.
#[derive(Debug, Default)]
pub(crate) struct DirectAttempts {
    /// The number of attempts in a row that failed, up to [`FAILURES_BEFORE_SKIPPING`].
    failed: u8,
    /// The number of requests since the last attempt.
    skipped: u8,
}

impl DirectAttempts {
    /// Whether to try the next request.
    pub(super) fn is_due(&mut self) -> bool {
        if self.failed < FAILURES_BEFORE_SKIPPING {
            return true;
        }
        self.skipped = (self.skipped + 1) % REQUESTS_PER_ATTEMPT;
        self.skipped == 0
    }

    /// Records whether an attempt succeeded.
    pub(super) fn record(&mut self, is_answered: bool) {
        self.failed = if is_answered { 0 } else { (self.failed + 1).min(FAILURES_BEFORE_SKIPPING) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of so many requests are tried, if each of them would fail or succeed.
    fn tried(attempts: &mut DirectAttempts, requests: usize, is_answered: bool) -> usize {
        let each = (0..requests).filter(|_| {
            let is_due = attempts.is_due();
            if is_due {
                attempts.record(is_answered);
            }
            is_due
        });
        each.count()
    }

    #[test]
    fn after_eight_failures_one_request_in_eight_is_tried_until_one_succeeds() {
        let mut attempts = DirectAttempts::default();
        assert_eq!(tried(&mut attempts, 100, true), 100);
        assert_eq!(tried(&mut attempts, 7, false), 7);
        assert_eq!(tried(&mut attempts, 1, true), 1, "seven are not enough");
        assert_eq!(tried(&mut attempts, 8 + 80, false), 8 + 10);
        assert_eq!(tried(&mut attempts, 8 + 100, true), 1 + 100, "the eighth succeeds");
    }
}
