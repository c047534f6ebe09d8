//! Authorization codes: each belongs to a user, is valid once, and expires soon.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use deskpass_core::{Entropy, NoEntropy, Timestamp};

use crate::address_book::Person;

/// The maximum number of codes; beyond it, the oldest is removed first.
const MAX_CODES: usize = 10_000;

/// How long a code is remembered, to distinguish a used or expired one from an unknown one.
const MEMORY: Duration = Duration::from_mins(30);

/// Where a code comes from. Some platforms exchange each kind elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CodeKind {
    /// The authorization page inside the platform's client.
    InClient,
    /// The sign-in page in a browser.
    Browser,
    /// The platform's script on a page inside its client.
    Script,
}

/// What a code stands for.
#[derive(Clone, Debug)]
pub(crate) struct CodeGrant {
    pub(crate) who: Arc<Person>,
    pub(crate) kind: CodeKind,
    /// The address to which the code was sent; a code of a script has none.
    pub(crate) redirect_uri: Option<String>,
    /// The PKCE challenge of the link.
    pub(crate) challenge: Option<String>,
    pub(crate) lifetime: Duration,
}

/// Why a code is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CodeFailure {
    Unknown,
    Used,
    Expired,
}

/// The codes of the last time.
#[derive(Debug, Default)]
pub(crate) struct Codes {
    issued: HashMap<String, IssuedCode>,
    /// The codes by age, each with the time at which it is forgotten.
    by_age: VecDeque<(Timestamp, String)>,
}

#[derive(Debug)]
struct IssuedCode {
    grant: CodeGrant,
    expires: Timestamp,
    used: bool,
}

impl Codes {
    /// Issues a new code.
    pub(crate) fn issue(&mut self, grant: CodeGrant, now: Timestamp, entropy: Entropy) -> Result<String, NoEntropy> {
        self.evict(now, MAX_CODES - 1);
        let code = format!("{:032x}", entropy.bytes().map(u128::from_be_bytes)?);
        let expires = now + grant.lifetime;
        self.issued.insert(code.clone(), IssuedCode { grant, expires, used: false });
        self.by_age.push_back((now + MEMORY, code.clone()));
        Ok(code)
    }

    /// What the code stands for, if it is still valid. The code stays valid.
    pub(crate) fn find(&self, code: &str, now: Timestamp) -> Result<&CodeGrant, CodeFailure> {
        let found = self.issued.get(code).ok_or(CodeFailure::Unknown)?;
        match found {
            IssuedCode { used: true, .. } => Err(CodeFailure::Used),
            IssuedCode { expires, .. } if *expires <= now => Err(CodeFailure::Expired),
            IssuedCode { grant, .. } => Ok(grant),
        }
    }

    /// What the code stands for, if it is still valid. Invalidates the code.
    pub(crate) fn redeem(&mut self, code: &str, now: Timestamp) -> Result<CodeGrant, CodeFailure> {
        let grant = self.find(code, now)?.clone();
        if let Some(found) = self.issued.get_mut(code) {
            found.used = true;
        }
        Ok(grant)
    }

    fn evict(&mut self, now: Timestamp, keep: usize) {
        while let Some((forgotten, code)) = self.by_age.front()
            && (*forgotten <= now || self.by_age.len() > keep)
        {
            self.issued.remove(code);
            self.by_age.pop_front();
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::address_book::AddressBook;

    fn person() -> Arc<Person> {
        AddressBook::default().by_id("user01").unwrap()
    }

    fn grant(who: &Arc<Person>, lifetime: Duration) -> CodeGrant {
        CodeGrant { who: who.clone(), kind: CodeKind::Browser, redirect_uri: None, challenge: None, lifetime }
    }

    #[test]
    fn the_oldest_code_is_evicted_first() {
        let (mut codes, now) = (Codes::default(), Timestamp::from_millis(0));
        let who = person();
        let mut issue = || codes.issue(grant(&who, Duration::from_mins(5)), now, Entropy::system()).unwrap();
        let (first, second) = (issue(), issue());
        for _ in 2..=MAX_CODES {
            issue();
        }
        assert_eq!((codes.issued.len(), codes.by_age.len()), (MAX_CODES, MAX_CODES));
        assert_eq!(codes.redeem(&first, now).unwrap_err(), CodeFailure::Unknown);
        assert!(codes.redeem(&second, now).is_ok());
    }

    #[test]
    fn a_code_is_valid_once_and_not_for_long() {
        let (mut codes, now) = (Codes::default(), Timestamp::from_millis(0));
        let who = person();
        let mut issue =
            |minutes| codes.issue(grant(&who, Duration::from_mins(minutes)), now, Entropy::system()).unwrap();
        let (short, long) = (issue(3), issue(5));
        let later = now + Duration::from_mins(3);
        assert_eq!(codes.redeem(&short, later).unwrap_err(), CodeFailure::Expired);
        assert!(codes.find(&long, later).is_ok() && codes.redeem(&long, later).is_ok());
        assert_eq!(codes.redeem(&long, later).unwrap_err(), CodeFailure::Used);
    }
}
