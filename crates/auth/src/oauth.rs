//! Sign-in through the platform's OAuth redirect.

mod begun_here;
mod callback;
mod outcome;

use std::net::IpAddr;
use std::time::Duration;

use deskpass_core::{
    BindProof, ClientInfo, Digest, EmployeeKey, Flow, IdentifiedPerson, LoginMethod, LoginSource, Pending, Secret,
    SignInOrigin, TicketedToken,
};
use deskpass_store::{OAuthFlow, PendingConfirmation};

pub use self::begun_here::BegunSigns;
pub(crate) use self::begun_here::CodeDoor;
pub use self::callback::OAuthCallback;
pub use self::outcome::{CallbackOutcome, RedirectTarget};
use crate::audit::Attempt;
use crate::sign_in::{SignInProof, SignInRequest};
use crate::single_use::{FLOW_LIFETIME, PENDING_LIFETIME, SingleUse};
use crate::{Auth, BindPolicy, Error, FunnelStep, Refusal};

/// How long the page has to exchange its ticket for the token.
const TICKET_LIFETIME: Duration = Duration::from_mins(1);
/// How long a bind proof is valid.
pub const PROOF_LIFETIME: Duration = Duration::from_mins(5);

/// A user who must confirm that they started the sign-in.
#[derive(Debug)]
pub struct ConfirmationRequest {
    /// The user who would be signed in.
    pub who: IdentifiedPerson,
    /// How long the user has to confirm.
    pub remaining: Duration,
}

impl Auth {
    /// Records that a browser goes to the platform and is to end at `destination`, a page of client `source` if that is known;
    /// returns the browser's cookie. An unused cookie `own` for the same destination is kept, since another tab may be at the
    /// platform with it.
    pub async fn begin_flow(
        &self,
        destination: Option<String>,
        source: Option<LoginSource>,
        own: Option<Secret<Flow>>,
        address: IpAddr,
    ) -> Result<(Secret<Flow>, Duration), Error> {
        let (now, until) = (self.clock.now(), self.clock.now() + FLOW_LIFETIME);
        let extended = |flow: OAuthFlow| {
            let is_same = !flow.used && flow.destination == destination && flow.source == source;
            if is_same { Ok(OAuthFlow { until, ..flow }) } else { Err(()) }
        };
        let rate = self.policy.kept_requests.begun;
        if let Some(own) = own
            && let Some(Ok(_)) = self.shared.flows.update(&own.digest(), now, extended).await?
        {
            // Otherwise whoever begins again in time keeps any number of them.
            self.shared.flows.prolong_for(address, rate, &own.digest(), until, now).await?;
            self.observer.step(FunnelStep::OauthStarted);
            return Ok((own, FLOW_LIFETIME));
        }
        let cookie = Secret::generate(&self.entropy)?;
        let oauth_flow = OAuthFlow { destination, source, used: false, until };
        self.shared.flows.put_for(address, rate, cookie.digest(), oauth_flow, now).await?;
        self.observer.step(FunnelStep::OauthStarted);
        Ok((cookie, FLOW_LIFETIME))
    }

    /// The destination of the browser with this cookie.
    pub async fn destination(&self, flow: Option<Digest>) -> Result<Option<String>, Error> {
        let Some(flow) = flow else { return Ok(None) };
        let wanted = self.shared.flows.read_with(&flow, self.clock.now(), |flow| flow.destination.clone());
        Ok(wanted.await?.flatten())
    }

    /// Signs the user in if the browser started the flow, once; otherwise asks for a confirmation.
    pub(crate) async fn sign_in_or_ask(
        &self,
        who: IdentifiedPerson,
        flow: Option<Digest>,
        token: TicketedToken,
        visitor: &ClientInfo,
    ) -> Result<CallbackOutcome, Error> {
        if let Some(flow) = flow
            && let Some(oauth_flow) = self.mark_flow(&flow, true).await?
        {
            let entered = self.sign_in_with_ticket(&who, token, Some(oauth_flow), Some(flow), visitor);
            let answer = self.run_once(SingleUse::Flow, &flow, entered).await.transpose();
            if let Some(Err(Error::Internal(_))) = &answer {
                // The failure may be transient, so the browser may retry. If this update fails, too, the user is asked, and the
                // sign-in has the same token.
                drop(self.mark_flow(&flow, false).await);
            }
            if let Some(answer) = answer {
                return answer;
            }
        }
        let (now, pending) = (self.clock.now(), Secret::generate(&self.entropy)?);
        let confirmation = PendingConfirmation { who, token: Some(token), until: now + PENDING_LIFETIME };
        self.shared.pending.put(pending.digest(), confirmation, now).await?;
        Ok(CallbackOutcome::Continue(pending))
    }

    /// Marks a flow as used or unused; `None` if there is nothing to change.
    async fn mark_flow(&self, flow: &Digest, used: bool) -> Result<Option<OAuthFlow>, Error> {
        let marked = |oauth_flow: OAuthFlow| {
            if oauth_flow.used == used { Err(()) } else { Ok(OAuthFlow { used, ..oauth_flow }) }
        };
        Ok(self.shared.flows.update(flow, self.clock.now(), marked).await?.and_then(Result::ok))
    }

    /// Begins a session with this token and stores it for the page to collect. Repetition with the same token begins no other
    /// session and has the same outcome.
    async fn sign_in_with_ticket(
        &self,
        who: &IdentifiedPerson,
        TicketedToken { ticket, token }: TicketedToken,
        oauth_flow: Option<OAuthFlow>,
        bound_to: Option<Digest>,
        visitor: &ClientInfo,
    ) -> Result<CallbackOutcome, Error> {
        self.update_person(who).await?;
        let now = self.clock.now();
        let (destination, source) = oauth_flow.map_or((None, None), |flow| (flow.destination, flow.source));
        let asking = source.unwrap_or(LoginSource::H5);
        // No phone is asked about this sign-in, so it names no OpenID Connect client.
        let asked = SignInOrigin { source: asking, visitor: visitor.clone(), at: now, client: None };
        let sign_in = self.new_ticketed_sign_in(token, asked, bound_to, TICKET_LIFETIME);
        let (employee, method, proof) = (&who.key, LoginMethod::Oauth2, SignInProof::of(who));
        let request = SignInRequest { employee, role: None, method, proof, source, visitor };
        let begun = self.begin_session(request, token.0, None).await?;
        if begun.is_new {
            self.observer.step(FunnelStep::OauthSignedIn);
        }
        // If an attempt before this one has stored it, that record stays.
        self.shared.sign_ins.put(ticket.digest(), sign_in.ready(begun.shown(), now), now).await?;
        let client = RedirectTarget::Client(LoginSource::of(begun.session.current_role));
        Ok(CallbackOutcome::SignedIn(ticket, destination.map_or(client, RedirectTarget::Asked)))
    }

    /// Issues a bind proof to an identified user, who then names the employee to act as.
    pub(crate) async fn issue_bind_proof(
        &self,
        identity: EmployeeKey,
        flow: Option<Digest>,
        scanned: bool,
    ) -> Result<CallbackOutcome, Error> {
        if matches!(self.policy.bind, BindPolicy::Off) {
            return Err(Refusal::NotAMember.into());
        }
        // An administrator who approves a link needs the identity.
        tracing::info!(%identity, "identified a user of a connected corporation, awaiting bind");
        let proof = Secret::<BindProof>::generate(&self.entropy)?;
        self.store.store_proof(proof.digest(), identity, self.clock.now() + PROOF_LIFETIME).await?;
        let destination = self.destination(flow).await?;
        let to = destination.map_or(RedirectTarget::Client(LoginSource::H5), RedirectTarget::Asked);
        Ok(CallbackOutcome::Bind { proof, to, scanned })
    }

    /// The user whom a confirmation would sign in. Changes nothing. Refused after it has expired.
    pub async fn pending_confirmation(&self, pending: &str) -> Result<ConfirmationRequest, Error> {
        let pending = Secret::<Pending>::parse(pending).map_err(|_| Refusal::SignInOver)?;
        let now = self.clock.now();
        let waiting = |held: &PendingConfirmation| ConfirmationRequest {
            who: held.who.clone(),
            remaining: held.until.since(now),
        };
        Ok(self.shared.pending.read_with(&pending.digest(), now, waiting).await?.ok_or(Refusal::SignInOver)?)
    }

    /// Signs the user in after the confirmation, bound to the browser's cookie if there is one.
    pub async fn confirm_pending(
        &self,
        pending: &str,
        bound_to: Option<Digest>,
        visitor: &ClientInfo,
    ) -> Result<CallbackOutcome, Error> {
        let pending = Secret::<Pending>::parse(pending).map_err(|_| Refusal::SignInOver)?;
        let held = self.shared.pending.take(&pending.digest(), self.clock.now()).await?.ok_or(Refusal::SignInOver)?;
        // A node of the previous version kept no token.
        let token = held.token.map_or_else(|| TicketedToken::generate(&self.entropy), Ok)?;
        let held = PendingConfirmation { token: Some(token), ..held };
        let attempt = Attempt::to_sign_in(Some(&held.who.key), LoginMethod::Oauth2, visitor);
        // A refusal that cannot be logged becomes an internal error, after which the user may confirm again.
        let entered = async {
            let signed_in = self.sign_in_with_ticket(&held.who, token, None, bound_to, visitor).await;
            self.audit_outcome(attempt, signed_in).await
        };
        let answer = match self.run_once(SingleUse::Pending, &pending.digest(), entered).await {
            Ok(None) => self.audit_outcome(attempt, Err(Refusal::SignInOver.into())).await,
            Ok(Some(answer)) => Ok(answer),
            Err(error) => Err(error),
        };
        if let Err(Error::Internal(_)) = &answer {
            // The failure may be transient, so the user may confirm again, with the same token. If this update fails, too, the
            // user starts again.
            drop(self.shared.pending.put(pending.digest(), held, self.clock.now()).await);
        }
        answer
    }
}
