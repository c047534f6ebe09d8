//! The platform's redirect: a code comes back, and with it somebody.

use std::time::Duration;

use deskpass_core::{
    Asked, BindProof, Confirm, Digest, EmployeeKey, Flow, Identified, LoginMethod, LoginSource, Pending, Secret,
    Ticket, Visitor,
};
use deskpass_store::{Flow as Journey, Held};
use serde::{Deserialize, Serialize};

use crate::log::Attempt;
use crate::mint::{Admission, Proven};
use crate::once::SingleUse;
use crate::{Auth, BindPolicy, Error, Refusal};

/// How long a browser may be away at the platform.
pub(crate) const FLOW: Duration = Duration::from_mins(10);
/// How long the page may take to trade its ticket.
const TICKET: Duration = Duration::from_mins(1);
/// How long somebody may think about whether to continue.
pub(crate) const PENDING: Duration = Duration::from_mins(3);
/// How long a proof of who somebody is counts.
pub const PROOF_LIFETIME: Duration = Duration::from_mins(5);

/// What a browser brings back from the platform.
#[derive(Clone, Debug)]
pub struct Callback {
    /// The code that stands for somebody.
    pub code: String,
    /// Which sign-in was scanned, when a phone scanned one.
    pub scan_id: Option<String>,
    /// The cookie of a browser that began this.
    pub flow: Option<Digest>,
    /// The browser.
    pub visitor: Visitor,
    /// Whether it brought the `state` back that we sent along.
    pub has_state: bool,
    /// Whether another page opened the link, as far as the browser says.
    pub opened_by_page: bool,
}

/// Where a browser goes in the end: where it wanted, or to the page of a client.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Destination {
    /// The address it asked for when it began.
    Asked(String),
    /// A client's page.
    Client(LoginSource),
}

/// What becomes of somebody who came back from the platform.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Answer {
    /// Their phone scanned a code, and they decide with this.
    Decide(#[serde(with = "deskpass_core::exposed")] Secret<Confirm>),
    /// They are signed in; the page collects the token with this.
    SignedIn(#[serde(with = "deskpass_core::exposed")] Secret<Ticket>, Destination),
    /// They must say that it was they who began, with this.
    Continue(#[serde(with = "deskpass_core::exposed")] Secret<Pending>),
    /// They must say which employee they are.
    Bind {
        /// With this.
        #[serde(with = "deskpass_core::exposed")]
        proof: Secret<BindProof>,
        /// There.
        to: Destination,
        /// Whether it was a phone that scanned a code, which it can do again afterwards.
        scanned: bool,
    },
}

/// Somebody who must say that it was they who began.
#[derive(Debug)]
pub struct Waiting {
    /// As whom they would be signed in.
    pub who: Identified,
    /// How long there is to say so.
    pub remaining: Duration,
}

impl Auth {
    /// Notes that a browser sets out to the platform and wants to be at `destination` in the end, which is the page of
    /// `source` if of any client; returns its cookie.
    ///
    /// # Errors
    /// When there is no randomness, or nowhere to note it.
    pub async fn set_out(
        &self,
        destination: Option<String>,
        source: Option<LoginSource>,
    ) -> Result<(Secret<Flow>, Duration), Error> {
        let (now, cookie) = (self.clock.now(), Secret::generate(&self.entropy)?);
        let journey = Journey { destination, source, used: false, until: now + FLOW };
        self.shared.flows.put(cookie.digest(), journey, now).await?;
        Ok((cookie, FLOW))
    }

    /// Where the browser with this cookie wants to be.
    ///
    /// # Errors
    /// When nobody can tell right now.
    pub async fn destination(&self, flow: Option<Digest>) -> Result<Option<String>, Error> {
        let Some(flow) = flow else { return Ok(None) };
        let wanted = self.shared.flows.look(&flow, self.clock.now(), |journey| journey.destination.clone()).await?;
        Ok(wanted.flatten())
    }

    /// Signs somebody in whose browser began this, once; asks anybody else.
    pub(crate) async fn let_in(
        &self,
        who: Identified,
        flow: Option<Digest>,
        visitor: &Visitor,
    ) -> Result<Answer, Error> {
        if let Some(flow) = flow
            && let Some(journey) = self.mark(&flow, true).await?
        {
            let entered = self.hand_over(&who, Some(journey), Some(flow), visitor);
            let answer = self.once(SingleUse::Flow, &flow, entered).await.transpose();
            if let Some(Err(Error::Internal(_))) = &answer {
                // That may pass: the browser may come again. Where this cannot be noted either, it sets out anew.
                drop(self.mark(&flow, false).await);
            }
            if let Some(answer) = answer {
                return answer;
            }
        }
        let (now, pending) = (self.clock.now(), Secret::generate(&self.entropy)?);
        self.shared.pending.put(pending.digest(), Held { who, until: now + PENDING }, now).await?;
        Ok(Answer::Continue(pending))
    }

    /// Notes that a journey is used, or not used after all; `None` when there is nothing to note.
    async fn mark(&self, flow: &Digest, used: bool) -> Result<Option<Journey>, Error> {
        let marked = |journey: Journey| if journey.used == used { Err(()) } else { Ok(Journey { used, ..journey }) };
        Ok(self.shared.flows.change(flow, self.clock.now(), marked).await?.and_then(Result::ok))
    }

    /// Begins a session and leaves its token for the page to collect.
    async fn hand_over(
        &self,
        who: &Identified,
        journey: Option<Journey>,
        bound_to: Option<Digest>,
        visitor: &Visitor,
    ) -> Result<Answer, Error> {
        self.welcome(who).await?;
        let (now, ticket) = (self.clock.now(), Secret::generate(&self.entropy)?);
        let (destination, source) = journey.map_or((None, None), |journey| (journey.destination, journey.source));
        let asked = Asked { source: source.unwrap_or(LoginSource::H5), visitor: visitor.clone(), at: now };
        let sign_in = self.ticketed(&ticket, asked, bound_to, TICKET)?;
        let (employee, method, proven) = (&who.key, LoginMethod::Oauth2, Proven::of(who));
        let admission = Admission { employee, role: None, method, proven, source, visitor };
        let begun = self.mint(admission, sign_in.token.0, None).await?;
        self.shared.sign_ins.put(ticket.digest(), sign_in.ready(begun.shown(), now), now).await?;
        let client = Destination::Client(LoginSource::of(begun.session.current_role));
        Ok(Answer::SignedIn(ticket, destination.map_or(client, Destination::Asked)))
    }

    /// Hands out a proof of who somebody is, with which they say as whom they want to act.
    pub(crate) async fn prove(
        &self,
        identity: EmployeeKey,
        flow: Option<Digest>,
        scanned: bool,
    ) -> Result<Answer, Error> {
        if matches!(self.policy.bind, BindPolicy::Off) {
            return Err(Refusal::NotAMember.into());
        }
        // Whoever is to approve a link needs to know for whom.
        tracing::info!(?identity, "somebody of a connected corporation is asked which employee they are");
        let proof = Secret::<BindProof>::generate(&self.entropy)?;
        self.store.keep_proof(proof.digest(), identity, self.clock.now() + PROOF_LIFETIME).await?;
        let destination = self.destination(flow).await?;
        let to = destination.map_or(Destination::Client(LoginSource::H5), Destination::Asked);
        Ok(Answer::Bind { proof, to, scanned })
    }

    /// Who would be signed in by continuing. Asking changes nothing.
    ///
    /// # Errors
    /// When it is too late, or nobody can tell right now.
    pub async fn pending(&self, pending: &str) -> Result<Waiting, Error> {
        let pending = Secret::<Pending>::parse(pending).map_err(|_| Refusal::Over)?;
        let now = self.clock.now();
        let waiting = |held: &Held| Waiting { who: held.who.clone(), remaining: held.until.since(now) };
        Ok(self.shared.pending.look(&pending.digest(), now, waiting).await?.ok_or(Refusal::Over)?)
    }

    /// Somebody says that it was they who began: they are signed in, bound to a browser's cookie when there is one.
    ///
    /// # Errors
    /// When it is too late, or they may not sign in.
    pub async fn proceed(&self, pending: &str, bound_to: Option<Digest>, visitor: &Visitor) -> Result<Answer, Error> {
        let pending = Secret::<Pending>::parse(pending).map_err(|_| Refusal::Over)?;
        let held = self.shared.pending.take(&pending.digest(), self.clock.now()).await?.ok_or(Refusal::Over)?;
        let attempt = Attempt::to_sign_in(Some(&held.who.key), LoginMethod::Oauth2, visitor);
        // A refusal that cannot be written down is none, so they may say so again.
        let entered = async { self.recorded(attempt, self.hand_over(&held.who, None, bound_to, visitor).await).await };
        let answer = match self.once(SingleUse::Pending, &pending.digest(), entered).await {
            Ok(None) => self.recorded(attempt, Err(Refusal::Over.into())).await,
            Ok(Some(answer)) => Ok(answer),
            Err(error) => Err(error),
        };
        if let Err(Error::Internal(_)) = &answer {
            // That may pass: they may say so again. Where they cannot be kept either, they begin anew.
            drop(self.shared.pending.put(pending.digest(), held, self.clock.now()).await);
        }
        answer
    }
}
