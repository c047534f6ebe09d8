//! Claims on the platform's codes: a code belongs to the first browser that brings it, at whichever door, and whatever the answer is.
//!
//! A code is in the address with which a browser returns, which proxies log and histories keep. A code that was refused or limited
//! is still good at the platform, so another browser must not be able to bring it after that.

use std::net::IpAddr;
use std::time::Duration;

use deskpass_core::{Digest, nearby_network};
use deskpass_store::{CodeClaim, LimitSubject};
use tokio::time::timeout;

use crate::{Auth, BegunSigns, Error, Refusal};

/// How long a claim lasts: longer than a platform accepts a code.
pub(crate) const CLAIM_LIFETIME: Duration = Duration::from_mins(10);

/// How long a request waits for its claims, all of them together.
const CLAIM_TIMEOUT: Duration = Duration::from_millis(2_500);

/// Who brings a code, and for what.
#[derive(Clone, Copy, Debug)]
pub struct CodeBearer {
    /// The browser, as far as requests tell browsers apart.
    pub browser: Digest,
    /// What it asks with the code; none where a page only passes codes on.
    pub request: Option<Digest>,
    /// Its address, whose network holds a share of the claims at most.
    pub address: IpAddr,
    /// What shows that the sign-in began here.
    pub signs: BegunSigns,
}

impl Auth {
    /// Claims one code or two for the browser that brings them. Refused if one was claimed for another browser, or for another
    /// request, and as too often if the network of the browser makes too many new claims: then the code stays unclaimed.
    /// After a failure it is tried again: a claim that has taken effect is the same one.
    pub async fn claim_codes(&self, codes: [&str; 2], bearer: &CodeBearer) -> Result<(), Error> {
        let claimed = async {
            match self.try_to_claim_codes(codes, bearer).await {
                Err(Error::Internal(_)) => {
                    self.shared.wait_until_up().await;
                    self.try_to_claim_codes(codes, bearer).await
                }
                claimed => claimed,
            }
        };
        match timeout(CLAIM_TIMEOUT, claimed).await {
            Ok(claimed) => claimed,
            Err(_) => Err(self.shared.timed_out().into()),
        }
    }

    async fn try_to_claim_codes(&self, [first, last]: [&str; 2], bearer: &CodeBearer) -> Result<(), Error> {
        if first == last {
            return self.try_to_claim_code(first, bearer).await;
        }
        let (first, last) = tokio::join!(self.try_to_claim_code(first, bearer), self.try_to_claim_code(last, bearer));
        first.and(last)
    }

    async fn try_to_claim_code(&self, code: &str, bearer: &CodeBearer) -> Result<(), Error> {
        let (now, digest) = (self.clock.now(), Digest::of(&[b"code", code.as_bytes()]));
        let CodeBearer { browser, request, address, .. } = *bearer;
        let fresh = CodeClaim { browser, request, until: now + CLAIM_LIFETIME };
        // Twice, since another request may claim it in between.
        for _ in 0..2 {
            let known = self.shared.code_claims.update(&digest, now, |held| joined(held, bearer)).await?;
            match known {
                Some(Ok(_) | Err(HeldClaim::SameRequest)) => return Ok(()),
                Some(Err(HeldClaim::Other)) => return Err(Refusal::InvalidCode.into()),
                None => self.admit_claim(bearer).await?,
            }
            let rate = self.policy.kept_requests.code_claims;
            if self.shared.code_claims.put_for(address, rate, digest, fresh, now).await? {
                return Ok(());
            }
        }
        Err(Refusal::InvalidCode.into())
    }

    /// Counts a new claim for the network of the browser. Within the rate none displaces another one. Over it, a sign-in that began
    /// here may still bring a few, which displace the oldest of the network.
    async fn admit_claim(&self, bearer: &CodeBearer) -> Result<(), Error> {
        let Some(rate) = self.policy.kept_requests.code_claims else { return Ok(()) };
        let network = nearby_network(bearer.address).to_string();
        let key = Digest::of(&[b"code claims", network.as_bytes()]);
        let admitted = self.shared.limits.admit(LimitSubject::Client, &key, rate, self.clock.now()).await;
        let Err(wait) = admitted else { return Ok(()) };
        match self.begun_sign(&bearer.signs).await? {
            Some(sign) if self.is_one_of_few(b"claims of sign", sign).await => Ok(()),
            _ => Err(Refusal::RateLimited(wait).into()),
        }
    }
}

/// A claim that stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeldClaim {
    /// It is for this browser and this request.
    SameRequest,
    /// It is for another one.
    Other,
}

/// The claim after the browser that holds it brings the code again.
fn joined(held: CodeClaim, bearer: &CodeBearer) -> Result<CodeClaim, HeldClaim> {
    if held.browser != bearer.browser {
        return Err(HeldClaim::Other);
    }
    match (held.request, bearer.request) {
        (None, Some(request)) => Ok(CodeClaim { request: Some(request), ..held }),
        (_, None) => Err(HeldClaim::SameRequest),
        (Some(held), Some(request)) if held == request => Err(HeldClaim::SameRequest),
        (Some(_), Some(_)) => Err(HeldClaim::Other),
    }
}

#[cfg(test)]
mod tests {
    use deskpass_core::Timestamp;

    use super::*;

    fn digest(text: &str) -> Digest {
        Digest::of(&[text.as_bytes()])
    }

    #[test]
    fn a_claim_is_for_one_browser_and_one_request() {
        let until = Timestamp::from_millis(0);
        let claim = |request: Option<&str>| CodeClaim { browser: digest("a"), request: request.map(digest), until };
        let bearer = |browser: &str, request: Option<&str>| CodeBearer {
            browser: digest(browser),
            request: request.map(digest),
            address: IpAddr::from([192, 0, 2, 1]),
            signs: BegunSigns::default(),
        };
        let (page, callback) = (claim(None), claim(Some("callback")));
        assert_eq!(joined(page, &bearer("a", Some("callback"))), Ok(callback));
        assert_eq!(joined(page, &bearer("a", None)), Err(HeldClaim::SameRequest));
        assert_eq!(joined(callback, &bearer("a", None)), Err(HeldClaim::SameRequest));
        assert_eq!(joined(callback, &bearer("a", Some("callback"))), Err(HeldClaim::SameRequest));
        assert_eq!(joined(callback, &bearer("a", Some("agents"))), Err(HeldClaim::Other));
        for request in [None, Some("callback")] {
            assert_eq!(joined(page, &bearer("b", request)), Err(HeldClaim::Other));
        }
    }
}
