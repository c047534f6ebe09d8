//! Whether this service sent the browser to the platform that brings a code from there. Another code costs the platform no call where
//! the platform returns our state; elsewhere a bounded number of calls, which sign-ins that began here do not share. A sign-in that
//! began here brings one code, or a few; more count as others do. So do all codes from a network that began many sign-ins for codes
//! which the platform refused.

use std::net::IpAddr;
use std::time::Duration;

use deskpass_core::{Digest, ScanId, Secret, nearby_network, rate_limit_address};
use deskpass_platform::{CodeRedemption, RedirectRule};
use deskpass_store::LimitSubject;

use super::OAuthCallback;
use crate::platform_user::ExchangedCode;
use crate::{Auth, Error, ForeignCodePolicy, Refusal};

/// How many codes a sign-in that began here may bring, in the time that each of its signs lasts: a user may start again.
const CODES_PER_SIGN_IN: u32 = 3;
const SIGN_LIFETIME: Duration = Duration::from_mins(10);
/// How many codes of sign-ins that began here the platform refuses, from one nearby network and in that time, before they count as
/// others do. The codes of people are hardly ever refused there; a program begins any number of sign-ins and invents the codes.
const REFUSED_CODES_PER_NETWORK: u32 = 30;

/// What a request carries to show that its sign-in began here.
#[derive(Clone, Copy, Debug, Default)]
pub struct BegunSigns {
    /// The digest of the scan id of a phone.
    pub scan_id: Option<Digest>,
    /// The cookie of the browser that started the flow.
    pub flow: Option<Digest>,
    /// The digest of a `state` with a recent seal of the service: then it sent a browser to the platform, if not this one.
    pub sealed_state: Option<Digest>,
}

impl BegunSigns {
    /// The signs of a request, of which the scan id may be any text.
    #[must_use]
    pub fn new(scan_id: Option<&str>, flow: Option<Digest>, sealed_state: Option<Digest>) -> Self {
        let scan_id = scan_id.and_then(|scan_id| Secret::<ScanId>::parse(scan_id).ok());
        Self { scan_id: scan_id.map(|scan_id| scan_id.digest()), flow, sealed_state }
    }
}

/// Where a code is brought. Each has a total of its own, so that nobody closes one door at the other.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CodeDoor {
    Callback,
    AgentLogin,
}

impl Auth {
    /// Requires a sign that the sign-in began here, or a place in the budget of the others.
    pub(super) async fn require_begun_here(&self, code: &Digest, callback: &OAuthCallback) -> Result<(), Error> {
        // The platform was asked about it, and is asked no more.
        if self.shared.codes.read_with(code, self.clock.now(), |_| ()).await?.is_some() {
            return Ok(());
        }
        let sign = self.begun_sign(&callback.signs()).await?;
        match (sign, self.platform.redirect_rule()) {
            // It is over, which is found out before the platform is asked.
            (None, _) if callback.scan_id.is_some() => Ok(()),
            // The state that older nodes write says nothing about its origin.
            (None, RedirectRule::Exact) if !self.shared.hears_older_nodes() => Err(Refusal::InvalidCode.into()),
            _ => Ok(self.admit_code(sign, callback.visitor.address.decided, CodeDoor::Callback).await?),
        }
    }

    /// The sign that the sign-in of a request began here, if it has one.
    pub(crate) async fn begun_sign(&self, signs: &BegunSigns) -> Result<Option<Digest>, Error> {
        let now = self.clock.now();
        if let Some(scan_id) = signs.scan_id
            && self.shared.scan_ids.read_with(&scan_id, now, |_| ()).await?.is_some()
        {
            return Ok(Some(scan_id));
        }
        if let Some(flow) = signs.flow
            && self.shared.flows.read_with(&flow, now, |_| ()).await?.is_some()
        {
            return Ok(Some(flow));
        }
        Ok(signs.sealed_state)
    }

    /// Counts a code about which the platform will be asked: as one of few of its sign-in, or in the budget of the others. While too
    /// many codes of its network were refused there, that is the only one.
    pub(crate) async fn admit_code(
        &self,
        sign: Option<Digest>,
        address: IpAddr,
        door: CodeDoor,
    ) -> Result<(), Refusal> {
        match sign {
            Some(sign)
                if !self.brings_refused_codes(address).await && self.is_one_of_few(b"codes of sign", sign).await =>
            {
                Ok(())
            }
            _ => self.count_foreign_code(address, door).await,
        }
    }

    /// Asks the platform about a code, and counts it for its network if the sign-in began here and the platform refuses it. Others have
    /// their budget, and do not count here: else a stranger without a sign-in of ours would use up what those of the network have.
    pub(crate) async fn exchange_counted_code(
        &self,
        redemption: CodeRedemption<'_>,
        signs: &BegunSigns,
        address: IpAddr,
    ) -> Result<ExchangedCode, Error> {
        let exchanged = self.exchange_code(redemption).await;
        if self.policy.limits_requests
            && matches!(exchanged, Err(Error::Refused(Refusal::InvalidCode)))
            && matches!(self.begun_sign(signs).await, Ok(Some(_)))
        {
            // The code is refused in any case: what is over the limit tells in what follows.
            drop(self.limit(refused_codes_key(address), REFUSED_CODES_PER_NETWORK, SIGN_LIFETIME).await);
        }
        exchanged
    }

    /// Whether the platform refused too many codes of sign-ins that began here, from the network of this address.
    async fn brings_refused_codes(&self, address: IpAddr) -> bool {
        let key = refused_codes_key(address);
        self.policy.limits_requests && self.is_limited(key, REFUSED_CODES_PER_NETWORK, SIGN_LIFETIME).await
    }

    /// Counts what a sign is used for; false if that is too much.
    pub(crate) async fn is_one_of_few(&self, purpose: &[u8], sign: Digest) -> bool {
        let key = Digest::of(&[purpose, sign.bytes()]);
        !self.policy.limits_requests || self.limit(key, CODES_PER_SIGN_IN, SIGN_LIFETIME).await.is_ok()
    }

    /// Counts a call: first for its address and its network, so that neither uses up the budget of all.
    async fn count_foreign_code(&self, address: IpAddr, door: CodeDoor) -> Result<(), Refusal> {
        let ForeignCodePolicy { per_address, per_network, in_total } = self.policy.foreign_codes;
        let client = rate_limit_address(address).to_string();
        let own = Digest::of(&[b"foreign_codes", client.as_bytes()]);
        let network = nearby_network(address).to_string();
        let near = Digest::of(&[b"foreign_codes_network", network.as_bytes()]);
        let all = match door {
            CodeDoor::Callback => Digest::of(&[b"foreign_codes_total"]),
            CodeDoor::AgentLogin => Digest::of(&[b"foreign_codes_total", b"agents/login"]),
        };
        for (key, rate) in [(own, per_address), (near, per_network), (all, in_total)] {
            let Some(rate) = rate else { continue };
            let admitted = self.shared.limits.admit(LimitSubject::Client, &key, rate, self.clock.now()).await;
            admitted.map_err(|_| Refusal::CodesLimited)?;
        }
        Ok(())
    }
}

/// What counts the codes of begun sign-ins that the platform refused, for the network of an address.
fn refused_codes_key(address: IpAddr) -> Digest {
    Digest::of(&[b"refused codes", nearby_network(address).to_string().as_bytes()])
}
