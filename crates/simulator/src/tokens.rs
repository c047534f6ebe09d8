//! The access tokens that the platform has issued.

use std::collections::VecDeque;
use std::time::Duration;

use deskpass_core::{Entropy, NoEntropy, Timestamp};

use crate::errcode::Refused;

const TOKEN_LIFETIME: Duration = Duration::from_hours(2);

/// The number of remembered tokens, to distinguish an expired token from an unknown one.
const MAX_TOKENS: usize = 16;

/// The tokens, oldest first.
#[derive(Debug, Default)]
pub(crate) struct IssuedTokens(VecDeque<IssuedToken>);

#[derive(Debug)]
struct IssuedToken {
    value: String,
    expires: Timestamp,
}

impl IssuedTokens {
    /// The token and its remaining lifetime in seconds: the same token until it expires.
    pub(crate) fn issue(&mut self, now: Timestamp, entropy: Entropy) -> Result<(String, u64), NoEntropy> {
        if let Some(token) = self.0.back().filter(|token| now < token.expires) {
            let left = token.expires.since(now) + Duration::from_millis(999);
            return Ok((token.value.clone(), left.as_secs()));
        }
        let value = format!("{:032x}{:032x}", random(entropy)?, random(entropy)?);
        if self.0.len() >= MAX_TOKENS {
            self.0.pop_front();
        }
        self.0.push_back(IssuedToken { value: value.clone(), expires: now + TOKEN_LIFETIME });
        Ok((value, TOKEN_LIFETIME.as_secs()))
    }

    pub(crate) fn check(&self, value: Option<&str>, now: Timestamp) -> Result<(), Refused> {
        let value = value.ok_or(41001)?;
        let token = self.0.iter().find(|token| token.value == value).ok_or(40014)?;
        if now < token.expires { Ok(()) } else { Err(42001.into()) }
    }

    /// Revokes all tokens before their expiry, as the platform occasionally does; returns how many there were.
    pub(crate) fn revoke_all(&mut self) -> usize {
        std::mem::take(&mut self.0).len()
    }
}

fn random(entropy: Entropy) -> Result<u128, NoEntropy> {
    entropy.bytes().map(u128::from_be_bytes)
}
