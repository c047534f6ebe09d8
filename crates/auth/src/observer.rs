//! What metrics count of the flows.

use std::fmt;
use std::sync::Arc;

use deskpass_core::LoginMethod;
use deskpass_store::AuditEvent;

/// An event that metrics count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthEvent {
    /// A sign-in reached a step.
    Step(FunnelStep),
    /// A session began.
    SignedIn(LoginMethod),
    /// A request was refused, whether or not its row was written.
    Refused {
        /// The audit event of the refusal.
        event: AuditEvent,
        /// The reason in the audit log.
        reason: &'static str,
    },
    /// An attempt at a password or a one-time password was refused without a check, because of earlier ones.
    LockedOut(AttemptedCredential),
    /// A notice was tried.
    Notice(NoticeOutcome),
    /// An OpenID Connect client requested tokens.
    OidcTokens(TokenGrant, TokenOutcome),
    /// An OpenID Connect client, by its identifier, was told that a session ended.
    OidcLogout(String, LogoutOutcome),
    /// The platform sent events.
    PlatformEvents(EventOutcome),
    /// The platform was asked about a person with a session.
    PersonChecked(PersonCheckOutcome),
    /// A person left according to the platform.
    PersonLeft(LeaverSource),
}

/// A step on the way to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunnelStep {
    /// A QR code was shown.
    QrShown,
    /// A phone scanned it.
    QrScanned,
    /// The user confirmed, and the session began.
    QrConfirmed,
    /// The waiting browser collected the token.
    QrCollected,
    /// A browser got the platform's address.
    OauthStarted,
    /// A browser came back from the platform with a code.
    OauthReturned,
    /// Its session began.
    OauthSignedIn,
    /// A password was checked.
    PasswordChecked,
    /// It was right, and awaits a one-time password.
    PasswordAccepted,
}

/// What an attempt was made at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptedCredential {
    /// A password.
    Password,
    /// A one-time password.
    Otp,
}

/// What came of an attempt to deliver a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeOutcome {
    /// It was delivered.
    Delivered,
    /// It can never be delivered.
    Dropped,
    /// It is tried again later.
    Postponed,
}

/// What an OpenID Connect client requested tokens with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenGrant {
    /// An authorization code.
    AuthorizationCode,
    /// A refresh token.
    RefreshToken,
}

/// What came of a request for tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenOutcome {
    /// The client got tokens.
    Issued,
    /// The client was refused.
    Refused,
    /// The service failed.
    Failed,
}

/// What came of an attempt to tell a client that a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogoutOutcome {
    /// The client accepted it.
    Delivered,
    /// It is tried again later.
    Postponed,
    /// The client has not accepted it for a day.
    Abandoned,
}

/// What came of a request of the platform with events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventOutcome {
    /// It was accepted.
    Accepted,
    /// All of its events had arrived before.
    Repeated,
    /// The signature is missing or wrong.
    Signature,
    /// It is too old, or from the future.
    Time,
    /// It is not what the platform sends.
    Malformed,
    /// It is about another application or corporation.
    Receiver,
    /// No token or key is configured.
    NotConfigured,
    /// The store did not accept it in time, so the platform sends it again.
    Unavailable,
}

/// What came of asking the platform about a person with a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PersonCheckOutcome {
    /// The person is a member.
    Active,
    /// The person left.
    Left,
    /// The person left, but was not locked because so many did.
    Held,
    /// The platform failed.
    Failed,
}

/// How the service learned that a person left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaverSource {
    /// The platform sent an event.
    Event,
    /// The check of people with sessions.
    Recheck,
    /// The synchronisation with the directory.
    Sync,
    /// The person's own sign-in.
    SignIn,
}

impl FunnelStep {
    /// All steps, in their order.
    pub const ALL: [Self; 9] = [
        Self::QrShown,
        Self::QrScanned,
        Self::QrConfirmed,
        Self::QrCollected,
        Self::OauthStarted,
        Self::OauthReturned,
        Self::OauthSignedIn,
        Self::PasswordChecked,
        Self::PasswordAccepted,
    ];

    /// The names of its method and of the step, in metrics.
    #[must_use]
    pub const fn names(self) -> [&'static str; 2] {
        let (qrcode, oauth2) = (LoginMethod::Qrcode.name(), LoginMethod::Oauth2.name());
        match self {
            Self::QrShown => [qrcode, "shown"],
            Self::QrScanned => [qrcode, "scanned"],
            Self::QrConfirmed => [qrcode, "confirmed"],
            Self::QrCollected => [qrcode, "collected"],
            Self::OauthStarted => [oauth2, "started"],
            Self::OauthReturned => [oauth2, "returned"],
            Self::OauthSignedIn => [oauth2, "signed_in"],
            Self::PasswordChecked => [LoginMethod::Password.name(), "checked"],
            Self::PasswordAccepted => [LoginMethod::Password.name(), "accepted"],
        }
    }
}

impl AttemptedCredential {
    /// All credentials.
    pub const ALL: [Self; 2] = [Self::Password, Self::Otp];

    /// The name in metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Password => "password",
            Self::Otp => "otp",
        }
    }
}

impl NoticeOutcome {
    /// All outcomes.
    pub const ALL: [Self; 3] = [Self::Delivered, Self::Dropped, Self::Postponed];

    /// The name in metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Dropped => "dropped",
            Self::Postponed => "postponed",
        }
    }
}

impl TokenGrant {
    /// All grants.
    pub const ALL: [Self; 2] = [Self::AuthorizationCode, Self::RefreshToken];

    /// The name in the protocol and in metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AuthorizationCode => "authorization_code",
            Self::RefreshToken => "refresh_token",
        }
    }
}

impl TokenOutcome {
    /// All outcomes.
    pub const ALL: [Self; 3] = [Self::Issued, Self::Refused, Self::Failed];

    /// The name in metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Issued => "issued",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }
}

impl LogoutOutcome {
    /// All outcomes.
    pub const ALL: [Self; 3] = [Self::Delivered, Self::Postponed, Self::Abandoned];

    /// The name in metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Postponed => "postponed",
            Self::Abandoned => "abandoned",
        }
    }
}

impl EventOutcome {
    /// All outcomes.
    pub const ALL: [Self; 8] = [
        Self::Accepted,
        Self::Repeated,
        Self::Signature,
        Self::Time,
        Self::Malformed,
        Self::Receiver,
        Self::NotConfigured,
        Self::Unavailable,
    ];

    /// The name in metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Repeated => "repeated",
            Self::Signature => "signature",
            Self::Time => "time",
            Self::Malformed => "malformed",
            Self::Receiver => "receiver",
            Self::NotConfigured => "not_configured",
            Self::Unavailable => "unavailable",
        }
    }
}

impl PersonCheckOutcome {
    /// All outcomes.
    pub const ALL: [Self; 4] = [Self::Active, Self::Left, Self::Held, Self::Failed];

    /// The name in metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Left => "left",
            Self::Held => "held",
            Self::Failed => "failed",
        }
    }
}

impl LeaverSource {
    /// All sources.
    pub const ALL: [Self; 4] = [Self::Event, Self::Recheck, Self::Sync, Self::SignIn];

    /// The name in metrics and in the audit log.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Recheck => "recheck",
            Self::Sync => "sync",
            Self::SignIn => "sign_in",
        }
    }
}

/// Receives the events. Without a listener they are dropped.
#[derive(Clone, Default)]
pub struct AuthObserver(Option<Arc<dyn Fn(AuthEvent) + Send + Sync>>);

impl AuthObserver {
    /// An observer that calls `listener` with each event.
    #[must_use]
    pub fn new(listener: impl Fn(AuthEvent) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listener)))
    }

    pub(crate) fn notify(&self, event: AuthEvent) {
        if let Some(listener) = &self.0 {
            listener(event);
        }
    }

    pub(crate) fn step(&self, step: FunnelStep) {
        self.notify(AuthEvent::Step(step));
    }
}

impl fmt::Debug for AuthObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthObserver").finish_non_exhaustive()
    }
}
