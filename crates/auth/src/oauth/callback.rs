//! The OAuth callback: a browser returns from the platform with a code.

use std::fmt;

use deskpass_core::{ClientInfo, Digest, EmployeeKey, LoginMethod, TicketedToken};
use deskpass_platform::{CodeRedemption, EntryPoint};
use deskpass_store::PlatformCode;

use super::BegunSigns;
use crate::audit::Attempt;
use crate::code_exchange::{
    CodeExchange, SHARED_OUTCOME_TIMEOUT, await_outcome, claim_exchange, store_identity, store_outcome,
};
use crate::link_opener::LinkOpener;
use crate::platform_user::{ExchangedCode, PlatformUser};
use crate::single_use::{CODE_LIFETIME, SingleUse, UseReceipt};
use crate::{Auth, CallbackOutcome, Error, FunnelStep, Refusal};

/// The request of a browser that returns from the platform.
#[derive(Clone)]
pub struct OAuthCallback {
    /// The platform's code, which identifies a user.
    pub code: String,
    /// Where the sign-in began: a platform may have codes of different kinds.
    pub entry: EntryPoint,
    /// The address to which the platform sent the browser back.
    pub redirect_uri: String,
    /// The PKCE verifier, if the link had a challenge.
    pub verifier: Option<String>,
    /// The scan id, if a phone scanned a QR code.
    pub scan_id: Option<String>,
    /// The cookie of the browser that started the flow.
    pub flow: Option<Digest>,
    /// The client.
    pub visitor: ClientInfo,
    /// Whether the request carries the `state` that the service sent; bound to this browser, where the platform returns all of it.
    pub is_from_own_link: bool,
    /// The digest of the state, if it has a recent seal of the service.
    pub sealed_state: Option<Digest>,
    /// What opened the link, as far as the browser reports.
    pub opener: LinkOpener,
}

impl OAuthCallback {
    pub(super) fn signs(&self) -> BegunSigns {
        BegunSigns::new(self.scan_id.as_deref(), self.flow, self.sealed_state)
    }

    fn redemption(&self) -> CodeRedemption<'_> {
        let Self { code, entry, redirect_uri, verifier, .. } = self;
        CodeRedemption { code, entry: *entry, redirect_uri, verifier: verifier.as_deref() }
    }
}

/// Prints neither the code nor the verifier.
impl fmt::Debug for OAuthCallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthCallback").field("entry", &self.entry).finish_non_exhaustive()
    }
}

impl Auth {
    /// Handles a callback. Must run to completion, whether or not the browser waits for it.
    pub async fn handle_callback(&self, callback: OAuthCallback) -> Result<CallbackOutcome, Error> {
        let (now, code) = (self.clock.now(), Digest::of(&[callback.code.as_bytes()]));
        if let Err(refused) = self.require_begun_here(&code, &callback).await {
            return self.audit_outcome(attempt(&callback, None), Err(refused)).await;
        }
        let (leased_at, token) = (self.clock.lease_now(), TicketedToken::generate(&self.entropy)?);
        let fresh = PlatformCode {
            browser: browser_digest(&callback),
            progress: CodeExchange::started(leased_at, token),
            until: now + CODE_LIFETIME,
        };
        let browser = fresh.browser;
        if self.shared.codes.put(code, fresh, now).await? {
            if callback.scan_id.is_none() {
                self.observer.step(FunnelStep::OauthReturned);
            }
            return self.run_exchange(code, &callback, None, token).await;
        }
        let seen = |seen: &PlatformCode<CodeExchange>| (seen.browser, seen.progress.is_claimable(leased_at));
        match self.shared.codes.read_with(&code, now, seen).await? {
            Some((first, _)) if first != browser => {
                self.audit_outcome(attempt(&callback, None), Err(Refusal::InvalidCode.into())).await
            }
            Some((_, true)) => self.retry_exchange(code, &callback, token).await,
            _ => await_outcome(&self.shared.codes, code, &self.clock, SHARED_OUTCOME_TIMEOUT).await,
        }
    }

    /// Retries an exchange that failed or was abandoned, unless another request claims it first. `fresh` is the token if the
    /// exchange has none.
    async fn retry_exchange(
        &self,
        code: Digest,
        callback: &OAuthCallback,
        fresh: TicketedToken,
    ) -> Result<CallbackOutcome, Error> {
        match claim_exchange(&self.shared.codes, code, &self.clock, fresh).await? {
            Some(seen) => {
                let token = seen.progress.token.unwrap_or(fresh);
                self.run_exchange(code, callback, seen.progress.exchanged(self.clock.now()), token).await
            }
            None => await_outcome(&self.shared.codes, code, &self.clock, SHARED_OUTCOME_TIMEOUT).await,
        }
    }

    async fn run_exchange(
        &self,
        code: Digest,
        callback: &OAuthCallback,
        known: Option<ExchangedCode>,
        token: TicketedToken,
    ) -> Result<CallbackOutcome, Error> {
        let (used, who, outcome) = match self.identify_and_use_code(code, callback, known).await {
            Ok((exchanged, used)) => {
                let (who, outcome) = self.admit_user(callback, &exchanged, token).await;
                (Some(used), who, outcome)
            }
            Err(error) => (None, self.stored_user(&code).await, Err(error)),
        };
        let attempt = attempt(callback, who.as_ref());
        let attempt = match &outcome {
            Ok(_) => attempt,
            Err(_) => Attempt { refused: self.refused_scan_event(callback.scan_id.as_deref()).await, ..attempt },
        };
        let outcome = self.audit_outcome(attempt, outcome).await;
        match (used, &outcome, &callback.scan_id) {
            // The failure may be transient: the browser may retry. A session that may have begun has the same token then.
            (Some(used), Err(Error::Internal(_)), _) => self.undo_use(used).await,
            // The platform has identified the person. If this fails, the waiting browser only learns nothing.
            (Some(_), Err(Error::Refused(refusal)), Some(scan_id)) => {
                drop(self.turn_away(scan_id, refusal, callback.opener).await);
            }
            _ => {}
        }
        store_outcome(&self.shared.codes, code, self.clock.now(), outcome).await
    }

    /// Identifies the user and uses the code up. The identity is stored at once, because the platform returns it only once.
    async fn identify_and_use_code(
        &self,
        code: Digest,
        callback: &OAuthCallback,
        known: Option<ExchangedCode>,
    ) -> Result<(ExchangedCode, UseReceipt), Error> {
        if let Some(scan_id) = &callback.scan_id {
            self.require_scannable(scan_id, &callback.visitor).await?;
        }
        let exchanged = if let Some(exchanged) = known {
            exchanged
        } else {
            let address = callback.visitor.address.decided;
            let exchanged = self.exchange_counted_code(callback.redemption(), &callback.signs(), address).await?;
            store_identity(&self.shared.codes, code, self.clock.now(), &exchanged).await;
            exchanged
        };
        // The platform accepts a code once, but the record in Redis may have been restored.
        let used = self.use_once(SingleUse::Code, &code).await?.ok_or(Refusal::InvalidCode)?;
        Ok((exchanged, used))
    }

    /// The user, and the outcome for them.
    async fn admit_user(
        &self,
        OAuthCallback { scan_id, flow, visitor, is_from_own_link, opener, .. }: &OAuthCallback,
        exchanged: &ExchangedCode,
        token: TicketedToken,
    ) -> (Option<EmployeeKey>, Result<CallbackOutcome, Error>) {
        let identity = &exchanged.identity;
        if let Ok((key, _)) = self.employee_key(identity) {
            // From here on, the lines of this sign-in name the employee.
            tracing::Span::current().record("employee", tracing::field::display(key));
        }
        match self.question_of_scan(scan_id.as_deref()).await {
            Ok(Some(question)) => return self.open_as(exchanged, question, visitor).await,
            Ok(None) => {}
            Err(error) => return (None, Err(error)),
        }
        match (self.resolve_user(exchanged).await, scan_id) {
            (Ok(PlatformUser::Known(who)), Some(scan_id)) => {
                let key = who.key.clone();
                let claimed = self.claim_scan(scan_id, who, visitor.clone(), *opener).await;
                (Some(key), claimed.map(CallbackOutcome::Decide))
            }
            (Ok(PlatformUser::Known(who)), None) => {
                // Other requests did not come from a link that the service gave to this browser.
                let flow = flow.filter(|_| *is_from_own_link);
                (Some(who.key.clone()), self.sign_in_or_ask(who, flow, token, visitor).await)
            }
            (Ok(PlatformUser::Unknown(identity)), scan_id) => {
                (Some(identity.clone()), self.issue_bind_proof(identity, *flow, scan_id.is_some()).await)
            }
            (Err(error), _) => (self.employee_key(identity).ok().map(|(key, _)| key), Err(error)),
        }
    }

    /// The user of a code, if the platform has identified them.
    async fn stored_user(&self, code: &Digest) -> Option<EmployeeKey> {
        let seen = self.shared.codes.read_with(code, self.clock.now(), |seen| seen.progress.identity.clone());
        self.employee_key(&seen.await.ok()???).ok().map(|(key, _)| key)
    }

    /// Refuses a callback that carries no code, or none that it may use. Never returns `Ok`.
    pub async fn refuse_callback<T>(&self, why: Error, visitor: &ClientInfo) -> Result<T, Error> {
        let attempt = Attempt::to_sign_in(None, LoginMethod::Oauth2, visitor);
        self.audit_outcome(attempt, Err(why)).await
    }
}

fn attempt<'a>(callback: &'a OAuthCallback, who: Option<&'a EmployeeKey>) -> Attempt<'a> {
    let method = if callback.scan_id.is_some() { LoginMethod::Qrcode } else { LoginMethod::Oauth2 };
    Attempt::to_sign_in(who, method, &callback.visitor)
}

/// The digest that identifies a browser: its flow cookie, or else its address and user agent.
fn browser_digest(callback: &OAuthCallback) -> Digest {
    let ClientInfo { address, user_agent, .. } = &callback.visitor;
    callback
        .flow
        .unwrap_or_else(|| Digest::of(&[address.decided.to_string().as_bytes(), user_agent.as_str().as_bytes()]))
}
