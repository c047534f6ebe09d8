//! The tokens with which an app acts for a user who signed in.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use deskpass_core::{Entropy, NoEntropy, Timestamp};

use crate::address_book::Person;
use crate::tokens::{TokenFailure, random_token};

/// The maximum number of tokens; beyond it, the oldest is removed first.
const MAX_TOKENS: usize = 10_000;

/// The tokens, oldest first.
#[derive(Debug, Default)]
pub(crate) struct UserTokens(VecDeque<UserToken>);

#[derive(Debug)]
struct UserToken {
    value: String,
    who: Arc<Person>,
    expires: Timestamp,
}

impl UserTokens {
    /// Issues a new token for a user.
    pub(crate) fn issue(
        &mut self,
        prefix: &str,
        who: Arc<Person>,
        lifetime: Duration,
        now: Timestamp,
        entropy: Entropy,
    ) -> Result<String, NoEntropy> {
        let value = random_token(prefix, entropy)?;
        if self.0.len() >= MAX_TOKENS {
            self.0.pop_front();
        }
        self.0.push_back(UserToken { value: value.clone(), who, expires: now + lifetime });
        Ok(value)
    }

    /// The user of a valid token.
    pub(crate) fn check(&self, value: Option<&str>, now: Timestamp) -> Result<Arc<Person>, TokenFailure> {
        let value = value.ok_or(TokenFailure::Missing)?;
        // The token that is looked for is almost always one of the newest.
        let token = self.0.iter().rev().find(|token| token.value == value).ok_or(TokenFailure::Unknown)?;
        if now < token.expires { Ok(token.who.clone()) } else { Err(TokenFailure::Expired) }
    }
}
