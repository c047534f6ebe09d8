//! Authorization codes: each belongs to a user, is valid once, and expires soon.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use deskpass_core::{Entropy, NoEntropy, Timestamp};

use crate::SimulatedPerson;

const CODE_LIFETIME: Duration = Duration::from_mins(5);

/// The maximum number of codes; beyond it, the oldest is removed first.
const MAX_CODES: usize = 50_000;

/// The codes that have not been redeemed yet.
#[derive(Debug, Default)]
pub(crate) struct Codes {
    open: HashMap<String, &'static SimulatedPerson>,
    /// The codes by age. All have the same lifetime, so the oldest expires first.
    by_age: VecDeque<(Timestamp, String)>,
}

impl Codes {
    /// Issues a new code for a user.
    pub(crate) fn issue(
        &mut self,
        who: &'static SimulatedPerson,
        now: Timestamp,
        entropy: Entropy,
    ) -> Result<String, NoEntropy> {
        self.evict(now, MAX_CODES - 1);
        let code = format!("{:032x}", entropy.bytes().map(u128::from_be_bytes)?);
        self.open.insert(code.clone(), who);
        self.by_age.push_back((now + CODE_LIFETIME, code.clone()));
        Ok(code)
    }

    /// The user to whom the code belongs, if it is still valid. Invalidates the code.
    pub(crate) fn redeem(&mut self, code: &str, now: Timestamp) -> Option<&'static SimulatedPerson> {
        self.evict(now, MAX_CODES);
        self.open.remove(code)
    }

    fn evict(&mut self, now: Timestamp, keep: usize) {
        while let Some((expires, code)) = self.by_age.front()
            && (*expires <= now || self.by_age.len() > keep)
        {
            self.open.remove(code);
            self.by_age.pop_front();
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::PEOPLE;

    #[test]
    fn the_oldest_code_is_evicted_first() {
        let (mut codes, now) = (Codes::default(), Timestamp::from_millis(0));
        let mut issue = || codes.issue(PEOPLE.first().unwrap(), now, Entropy::system()).unwrap();
        let (first, second) = (issue(), issue());
        for _ in 2..=MAX_CODES {
            issue();
        }
        assert_eq!((codes.open.len(), codes.by_age.len()), (MAX_CODES, MAX_CODES));
        assert!(codes.redeem(&first, now).is_none());
        assert!(codes.redeem(&second, now).is_some());
    }
}
