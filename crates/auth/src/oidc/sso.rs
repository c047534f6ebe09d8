//! Single sign-on: the session of a browser, and what a client requires of it.

use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use deskpass_core::oidc::SignInRequirement;
use deskpass_core::{ClientInfo, Digest, Secret, SingleSignOn};
use deskpass_store::{AuditEvent, LogEntry};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::{Auth, Error, Refusal, TokenHolder};

/// The length of a `sid`, in characters: 132 bits.
const SID_CHARS: usize = 22;

/// What made another user the one at a browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrowserArrival {
    /// A sign-in. Its answer may be delivered once more, late: it replaces no session that is newer.
    SignIn,
    /// A press that continued to a program, which counts once and when it happens: the cookie follows it.
    Press,
}

impl BrowserArrival {
    /// Why the session of the former user ended, for the log.
    const fn detail(self) -> &'static str {
        match self {
            Self::SignIn => "another user signed in in this browser",
            Self::Press => "another user continued to a program in this browser",
        }
    }
}

impl Auth {
    /// The holder of the session that a browser's single sign-on cookie belongs to, if the session is valid.
    pub(super) async fn browser_holder(
        &self,
        cookie: Option<Secret<SingleSignOn>>,
        from: Option<IpAddr>,
    ) -> Result<Option<TokenHolder>, Error> {
        let Some(cookie) = cookie else { return Ok(None) };
        let session = self.store.browser_session(cookie.digest(), self.clock.now()).await?;
        let Some(session) = session else { return Ok(None) };
        self.valid_holder(session, from).await
    }

    /// Separates a browser's single sign-on cookie from the session that it belongs to, now that another user is there: the next program
    /// would still get the first user. The first user's session ends with it, since nothing else in the browser leads to it any more.
    /// All tabs of one user stay signed in.
    pub async fn end_replaced_session(
        &self,
        cookie: &Secret<SingleSignOn>,
        session_there: Digest,
        arrival: BrowserArrival,
        visitor: &ClientInfo,
    ) -> Result<(), Error> {
        let now = self.clock.now();
        let Some(session) = self.store.browser_session(cookie.digest(), now).await? else { return Ok(()) };
        let Some(first) = self.untouched_holder(session).await? else { return Ok(()) };
        let Some(next) = self.untouched_holder(session_there).await? else { return Ok(()) };
        if first.session().employee == next.session().employee {
            return Ok(());
        }
        let is_newer = first.session().created_at > next.session().created_at;
        if is_newer && arrival == BrowserArrival::SignIn {
            return Ok(self.store.forget_browser_session(cookie.digest()).await?);
        }
        let plain = self.entry(AuditEvent::Logout, first.session(), now, visitor)?;
        let detail = arrival.detail().to_owned();
        let entry = LogEntry { actor: Some(next.session().employee.clone()), detail, ..plain };
        // If it has ended meanwhile, nothing is left to do.
        self.store.end_session(session, self.deny_until(now), entry).await?;
        // Last, so that a repetition after a failure finds the session.
        Ok(self.store.forget_browser_session(cookie.digest()).await?)
    }

    /// The holder of the session with this digest, if the session is valid.
    pub(super) async fn valid_holder(
        &self,
        session: Digest,
        from: Option<IpAddr>,
    ) -> Result<Option<TokenHolder>, Error> {
        match self.authenticate_digest(session, from).await {
            Ok(holder) => Ok(Some(holder)),
            Err(Error::Refused(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The same, without an address. Does not count as a use of the session.
    pub(super) async fn untouched_holder(&self, session: Digest) -> Result<Option<TokenHolder>, Error> {
        match self.authenticate_untouched(session).await {
            Ok(holder) => Ok(Some(holder)),
            Err(Error::Refused(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Issues the single sign-on cookie of a session: a new one each time, so that a cookie that was planted in the browser never
    /// becomes that of a signed-in user.
    pub(super) async fn issue_sso_cookie(&self, holder: &TokenHolder) -> Result<Secret<SingleSignOn>, Error> {
        let cookie = Secret::generate(&self.entropy)?;
        let until = holder.session().expires_at;
        self.store.remember_browser_session(cookie.digest(), holder.digest(), until).await?;
        Ok(cookie)
    }

    /// Why a session is not enough for a client: it is too old, or of another user than expected.
    pub(super) async fn shortfall(
        &self,
        holder: &TokenHolder,
        required: &SignInRequirement,
    ) -> Result<Option<Refusal>, Error> {
        if required.not_before.is_some_and(|not_before| holder.session().created_at < not_before) {
            return Ok(Some(Refusal::NewSignInNeeded));
        }
        Ok(match &required.subject {
            Some(subject) if self.subject_of(holder.person()).await? != *subject => Some(Refusal::AnotherUserNeeded),
            _ => None,
        })
    }

    /// The identifier by which a client knows a session. It differs between clients, and tells nothing about the token.
    pub(crate) fn session_sid(&self, session: &Digest, client_id: &str) -> String {
        // A key of 32 bytes is never too long for HMAC.
        let mac = Hmac::<Sha256>::new_from_slice(&self.credential_vault.sid_key());
        let mac = mac.map(|mac| mac.chain_update(session.bytes()).chain_update(client_id.as_bytes()));
        let bytes: [u8; 32] = mac.map_or([0; 32], |mac| mac.finalize().into_bytes().into());
        let mut sid = URL_SAFE_NO_PAD.encode(bytes);
        sid.truncate(SID_CHARS);
        sid
    }
}
