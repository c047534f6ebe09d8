//! The tokens of users whose codes were redeemed a moment ago.
//!
//! A code works once. If a later call of the same sign-in fails, the user may try again with the code, which the platform would
//! then refuse: the sign-in resumes with the token instead.

use std::fmt;
use std::time::Duration;

use deskpass_core::{Clock, Digest, Timestamp};
use quick_cache::sync::Cache;

use crate::{Error, Meaning};

const TOKEN_TTL: Duration = Duration::from_mins(1);
const MAX_TOKENS: usize = 256;

/// The tokens of users whose sign-in is not finished, by the digests of their codes. Nothing of them is shown.
pub struct UserTokens {
    clock: Clock,
    tokens: Cache<Digest, (String, Timestamp)>,
}

impl UserTokens {
    /// No tokens.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self { clock, tokens: Cache::new(MAX_TOKENS) }
    }

    /// The token, if it was issued within the last minute.
    #[must_use]
    pub fn get(&self, code: &Digest) -> Option<String> {
        let (token, issued) = self.tokens.get(code)?;
        self.is_fresh(issued).then_some(token)
    }

    /// Keeps a token until its sign-in ends, and for a minute at most.
    pub fn insert(&self, code: Digest, token: &str) {
        self.tokens.retain(|_, (_, issued)| self.is_fresh(*issued));
        self.tokens.insert(code, (token.to_owned(), self.clock.now()));
    }

    /// Forgets a token, unless the rest of its sign-in failed in a way that may pass.
    pub fn settle<T>(&self, code: &Digest, outcome: &Result<T, Error>) {
        let may_pass = |error: &Error| matches!(error.meaning(), Meaning::Retry | Meaning::Limited);
        if !outcome.as_ref().is_err_and(may_pass) {
            self.tokens.remove(code);
        }
    }

    fn is_fresh(&self, issued: Timestamp) -> bool {
        self.clock.now().since(issued) < TOKEN_TTL
    }
}

impl fmt::Debug for UserTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserTokens").field("len", &self.tokens.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_kept_for_a_minute_or_until_its_sign_in_ends() {
        let clock = Clock::manual(Timestamp::from_millis(1_700_000_000_000));
        let tokens = UserTokens::new(clock.clone());
        let [first, second] = [b"first".as_slice(), b"second"].map(|code| Digest::of(&[code]));
        tokens.insert(first, "canary-token");
        tokens.settle(&first, &Err::<(), _>(crate::Unreachable::TimedOut.into()));
        assert_eq!((tokens.get(&first).as_deref(), tokens.get(&second)), (Some("canary-token"), None));
        assert!(!format!("{tokens:?}").contains("canary"));
        tokens.insert(second, "b");
        tokens.settle(&second, &Err::<(), _>(Error::refused(7, Meaning::StartAgain)));
        assert_eq!(tokens.get(&second), None);
        clock.advance(TOKEN_TTL);
        assert_eq!(tokens.get(&first), None);
        tokens.insert(second, "b");
        assert_eq!(tokens.tokens.len(), 1, "nothing stays in memory for longer");
        tokens.settle(&second, &Ok(()));
        assert_eq!(tokens.tokens.len(), 0);
    }

    #[test]
    fn the_number_of_tokens_is_bounded() {
        let tokens = UserTokens::new(Clock::manual(Timestamp::from_millis(0)));
        for number in 0..10_000_u32 {
            tokens.insert(Digest::of(&[&number.to_be_bytes()]), "a");
        }
        assert!(tokens.tokens.len() < 2 * MAX_TOKENS);
    }
}
