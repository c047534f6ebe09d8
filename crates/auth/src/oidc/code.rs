//! Authorization codes: issued to a browser, redeemed by the client, once.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use deskpass_core::oidc::{AuthorizationCodeRecord, AuthorizationRequest, CodeVerifier, OidcScope};
use deskpass_core::{AuthorizationCode, ClientInfo, Digest, OidcAccess, RefreshToken, Secret, Session, Timestamp};
use deskpass_store::{Actor, AuditEvent, GrantOutcome, LogEntry, NewGrant};

use super::client::{Admission, ResolvedClient};
use super::error::{OidcError, invalid_client, invalid_grant};
use super::id_token::{ACCESS_TOKEN_LIFETIME, IdTokenContent, IssuedTokens};
use super::request_check::permits;
use crate::audit::Attempt;
use crate::{Auth, Error, Refusal, TokenGrant, TokenHolder};

/// How long a code can be redeemed.
const CODE_LIFETIME: Duration = Duration::from_mins(1);
/// The clock difference between two nodes that is allowed for: a record may last longer on another node.
const CLOCK_SKEW: Duration = Duration::from_mins(5);

/// A code that a client redeems.
#[derive(Clone)]
pub struct CodeRedemptionRequest {
    /// The code.
    pub code: String,
    /// The address that the code was sent to.
    pub redirect_uri: String,
    /// The PKCE verifier.
    pub verifier: Option<String>,
}

/// Prints neither the code nor the verifier.
impl fmt::Debug for CodeRedemptionRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CodeRedemptionRequest").field("redirect_uri", &self.redirect_uri).finish_non_exhaustive()
    }
}

impl CodeRedemptionRequest {
    /// Whether the code was issued for this client and this request, and the client may still have it. A verifier without a challenge is
    /// refused as well: an attacker may have removed the challenge.
    fn matches(&self, record: &AuthorizationCodeRecord, client: &ResolvedClient) -> bool {
        let is_proven = match (&record.challenge, &self.verifier) {
            (Some(challenge), Some(verifier)) => {
                CodeVerifier::parse(verifier).is_some_and(|verifier| challenge.is_met_by(&verifier))
            }
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        let (has_challenge, has_nonce) = (record.challenge.is_some(), record.nonce.is_some());
        is_proven
            && record.client_id == client.id
            && record.redirect_uri == self.redirect_uri
            && permits(&client.registration, &record.redirect_uri, has_challenge, has_nonce)
    }
}

/// A code that passed all checks, with the tokens that it will be exchanged for.
#[derive(Debug)]
struct Redemption<'a> {
    client: &'a ResolvedClient,
    holder: &'a TokenHolder,
    code: Digest,
    record: &'a AuthorizationCodeRecord,
    admission: Admission,
    subject: String,
    sid: String,
    access: Secret<OidcAccess>,
    refresh: Option<Secret<RefreshToken>>,
    now: Timestamp,
}

impl Redemption<'_> {
    fn access_expires_at(&self) -> Timestamp {
        (self.now + ACCESS_TOKEN_LIFETIME).min(self.holder.session().expires_at)
    }
}

impl Auth {
    /// Issues a code; returns the client's address with it.
    pub(super) async fn issue_code(
        &self,
        request: &AuthorizationRequest,
        session: Digest,
        address: IpAddr,
    ) -> Result<String, Error> {
        let (now, code) = (self.clock.now(), Secret::<AuthorizationCode>::generate(&self.entropy)?);
        let record = AuthorizationCodeRecord {
            client_id: request.client_id.clone(),
            redirect_uri: request.redirect_uri.clone(),
            scopes: request.scopes,
            nonce: request.nonce.clone(),
            challenge: request.challenge,
            session,
            address,
            until: now + CODE_LIFETIME,
        };
        self.shared.oidc_codes.put(code.digest(), record, now).await?;
        Ok(self.client_redirect(&request.redirect_uri, request.state.as_deref(), &[("code", code.expose())]))
    }

    /// Exchanges a code for tokens. The client is authenticated already, so that a wrong secret uses nothing up.
    pub async fn redeem_code(
        &self,
        client: &ResolvedClient,
        redemption: CodeRedemptionRequest,
        visitor: &ClientInfo,
    ) -> Result<IssuedTokens, OidcError> {
        let answer = self.redeem_uncounted(client, &redemption, visitor).await;
        self.count_tokens(TokenGrant::AuthorizationCode, &answer);
        answer
    }

    async fn redeem_uncounted(
        &self,
        client: &ResolvedClient,
        request: &CodeRedemptionRequest,
        visitor: &ClientInfo,
    ) -> Result<IssuedTokens, OidcError> {
        let code = Secret::<AuthorizationCode>::parse(&request.code).map_err(|_| invalid_grant())?.digest();
        let now = self.clock.now();
        // The record stays, so that a second use is recognised.
        let record = self.shared.oidc_codes.read_with(&code, now, AuthorizationCodeRecord::clone).await?;
        let Some(record) = record else {
            let entry = self.code_reuse_entry(client, now, visitor)?;
            self.store.end_grant_of_code(code, client.id.clone(), now, entry).await?;
            return Err(invalid_grant());
        };
        if !request.matches(&record, client) {
            return Err(invalid_grant());
        }
        let holder = self.authenticate_untouched(record.session).await?;
        let redemption = self.prepare_redemption(client, &holder, (code, &record), visitor).await?;
        self.exchange(redemption, visitor).await
    }

    /// Checks the user and the client again, and makes the tokens.
    async fn prepare_redemption<'a>(
        &self,
        client: &'a ResolvedClient,
        holder: &'a TokenHolder,
        (code, record): (Digest, &'a AuthorizationCodeRecord),
        visitor: &ClientInfo,
    ) -> Result<Redemption<'a>, Error> {
        let rules = self.store.access_rules().await?;
        let admitted = self.admit_to_client(&rules, &client.id, holder, record.address);
        let attempt = Attempt::in_session(holder.session(), AuditEvent::OidcRefused, visitor);
        let admission = self.audit_outcome(attempt, admitted.map_err(Error::from)).await?;
        let scopes = record.scopes.intersection(client.registration.scopes);
        let wants_refresh = scopes.contains(OidcScope::OfflineAccess);
        Ok(Redemption {
            client,
            holder,
            code,
            record,
            admission,
            subject: self.subject_of(holder.person()).await?,
            sid: self.session_sid(&record.session, &client.id),
            access: Secret::generate(&self.entropy)?,
            refresh: wants_refresh.then(|| Secret::generate(&self.entropy)).transpose()?,
            now: self.clock.now(),
        })
    }

    async fn exchange(&self, redemption: Redemption<'_>, visitor: &ClientInfo) -> Result<IssuedTokens, OidcError> {
        let Redemption { client, holder, record, now, .. } = redemption;
        let scopes = record.scopes.intersection(client.registration.scopes);
        // Signed before the code is used up: if there is no key, the client may try again.
        let content = IdTokenContent {
            client,
            holder,
            subject: &redemption.subject,
            sid: &redemption.sid,
            scopes,
            roles: redemption.admission.told,
            nonce: record.nonce.as_deref(),
            issued_at: now,
            access_token: &redemption.access,
        };
        let id_token = self.sign_id_token(&content).await?;
        match self.store.begin_grant(self.new_grant(&redemption, visitor)?).await? {
            GrantOutcome::Begun => {}
            GrantOutcome::CodeUsed { ended } => {
                if ended.is_some() {
                    tracing::warn!(
                        client = client.id.as_str(),
                        "an authorization code was used twice; its grant has ended"
                    );
                }
                return Err(invalid_grant());
            }
            GrantOutcome::ClientDisabled => return Err(invalid_client("the client is disabled")),
            // It may not have what was prepared for it.
            GrantOutcome::ClientChanged => return Err(invalid_grant()),
            GrantOutcome::Revoked(revoked) => {
                let attempt = Attempt::in_session(holder.session(), AuditEvent::OidcRefused, visitor);
                self.record_refusal(attempt, &Refusal::from(revoked)).await?;
                return Err(invalid_grant());
            }
        }
        tracing::debug!(employee = %holder.session().employee, client = client.id.as_str(), "issued tokens");
        Ok(IssuedTokens {
            access_token: redemption.access,
            expires_in: redemption.access_expires_at().since(now),
            refresh_token: redemption.refresh,
            id_token,
            scopes,
        })
    }

    fn new_grant(&self, redemption: &Redemption<'_>, visitor: &ClientInfo) -> Result<NewGrant, Error> {
        let Redemption { client, holder, record, now, .. } = redemption;
        let (session, at) = (holder.session(), *now);
        let employee = session.employee.clone();
        Ok(NewGrant {
            id: self.record_id(at)?,
            actor: Actor { session: record.session, employee, role: None, from: Some(record.address), now: at },
            client: client.to_grant_client(),
            subject: redemption.subject.clone(),
            sid: redemption.sid.clone(),
            scopes: record.scopes.intersection(client.registration.scopes),
            roles: redemption.admission.relied_on,
            address: record.address,
            code: redemption.code,
            code_until: record.until + CLOCK_SKEW,
            expires_at: session.expires_at,
            access: (redemption.access.digest(), redemption.access_expires_at()),
            refresh: redemption.refresh.map(|refresh| refresh.digest()),
            entry: self.grant_entry(AuditEvent::OidcAuthorized, session, client, at, visitor)?,
            reuse_entry: self.grant_entry(AuditEvent::OidcReused, session, client, at, visitor)?,
        })
    }

    fn grant_entry(
        &self,
        event: AuditEvent,
        session: &Session,
        client: &ResolvedClient,
        at: Timestamp,
        visitor: &ClientInfo,
    ) -> Result<LogEntry, Error> {
        Ok(LogEntry { detail: format!("client {}", client.id), ..self.entry(event, session, at, visitor)? })
    }

    /// The log entry of the second use of a code whose record has expired. The store knows the user, if there is a grant.
    fn code_reuse_entry(
        &self,
        client: &ResolvedClient,
        at: Timestamp,
        visitor: &ClientInfo,
    ) -> Result<LogEntry, Error> {
        let plain = self.plain_entry(AuditEvent::OidcReused, &self.deployment_key(), at, visitor)?;
        Ok(LogEntry { detail: format!("client {}, code", client.id), ..plain })
    }
}
