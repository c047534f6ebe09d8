//! The access tokens that the platform has issued to the app.

use std::collections::VecDeque;
use std::time::Duration;

use deskpass_core::{Entropy, NoEntropy, Timestamp};

/// The number of remembered tokens, to distinguish an expired token from an unknown one.
const MAX_TOKENS: usize = 16;

/// How a platform issues tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenRule {
    /// The beginning of every token.
    pub(crate) prefix: &'static str,
    pub(crate) lifetime: Duration,
    pub(crate) renewal: Renewal,
}

/// What a platform answers to a request for a token while the last one is still valid.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Renewal {
    /// The same token with its remaining lifetime.
    Same,
    /// The same token, valid for a whole lifetime again.
    Extend,
    /// The same token; a new one beside it when less than this is left.
    Overlap(Duration),
}

/// Why a token is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenFailure {
    Missing,
    Unknown,
    Expired,
}

/// The tokens, oldest first.
#[derive(Debug, Default)]
pub(crate) struct IssuedTokens(VecDeque<IssuedToken>);

#[derive(Debug)]
struct IssuedToken {
    value: String,
    expires: Timestamp,
}

impl IssuedTokens {
    /// The token and its remaining lifetime in seconds.
    pub(crate) fn issue(
        &mut self,
        rule: TokenRule,
        now: Timestamp,
        entropy: Entropy,
    ) -> Result<(String, u64), NoEntropy> {
        let reserve = if let Renewal::Overlap(reserve) = rule.renewal { reserve } else { Duration::ZERO };
        if let Some(token) = self.0.back_mut().filter(|token| now + reserve < token.expires) {
            if matches!(rule.renewal, Renewal::Extend) {
                token.expires = now + rule.lifetime;
            }
            let left = token.expires.since(now) + Duration::from_millis(999);
            return Ok((token.value.clone(), left.as_secs()));
        }
        let value = random_token(rule.prefix, entropy)?;
        if self.0.len() >= MAX_TOKENS {
            self.0.pop_front();
        }
        self.0.push_back(IssuedToken { value: value.clone(), expires: now + rule.lifetime });
        Ok((value, rule.lifetime.as_secs()))
    }

    pub(crate) fn check(&self, value: Option<&str>, now: Timestamp) -> Result<(), TokenFailure> {
        let value = value.ok_or(TokenFailure::Missing)?;
        let token = self.0.iter().find(|token| token.value == value).ok_or(TokenFailure::Unknown)?;
        if now < token.expires { Ok(()) } else { Err(TokenFailure::Expired) }
    }

    /// Revokes all tokens before their expiry, as the platform occasionally does; returns how many there were.
    pub(crate) fn revoke_all(&mut self) -> usize {
        std::mem::take(&mut self.0).len()
    }
}

/// A token that cannot be guessed.
pub(crate) fn random_token(prefix: &str, entropy: Entropy) -> Result<String, NoEntropy> {
    let random = || entropy.bytes().map(u128::from_be_bytes);
    Ok(format!("{prefix}{:032x}{:032x}", random()?, random()?))
}
