//! Sign-in, token checks and administration: one file for each flow, and one place where sessions begin.

mod admin;
mod agent;
mod anonymous_refusals;
mod attempts;
mod audit;
mod bind;
mod chore_lease;
mod code_claim;
mod code_exchange;
mod credential_vault;
mod delivered_sign_in;
mod departure;
mod dev;
mod device_owner;
mod error;
mod error_code;
mod hash_queue;
mod holder;
mod key_check;
mod known_browser;
mod limit;
mod link_opener;
mod logged_references;
mod notice;
mod oauth;
mod observer;
mod oidc;
mod otp;
mod partial_or_full;
mod password;
mod password_hasher;
mod password_keys;
mod people;
mod permission;
mod platform_user;
mod policy;
mod qr;
mod question;
mod recent_sign_in;
mod refusal;
mod scan_outcome;
mod service;
mod session;
mod sign_in;
mod single_use;
mod socket;
mod statistics;
mod sweep;
mod token_error;

use std::sync::Arc;

use deskpass_core::{Clock, CorpId, EmployeeId, EmployeeKey, Entropy, NoEntropy, Timestamp};
use deskpass_platform::Messenger;
use deskpass_store::{ChainKeys, SharedState, Store};
use tokio::sync::Notify;

pub use admin::{
    AccessScope, Administrator, AllowListPreview, DeviceReset, KeyStatus, KeyUse, ListedOidcClient, LogQuery,
    NewOidcClient, NewServiceKey, PasswordReset, PeopleQuery, PeopleResult, ResealedBatch, RoleRules, SessionQuery,
};
pub use agent::{AgentCredentials, AgentLogin, AgentLoginOutcome, IssuedPartialSession};
pub use anonymous_refusals::AnonymousRefusals;
pub use code_claim::CodeBearer;
pub use code_exchange::CodeExchange;
pub use credential_vault::CredentialVault;
pub use dev::{DEV_USERS, DevUser};
pub use error::{Error, InternalError};
pub use error_code::ErrorCode;
pub use hash_queue::HashQueueState;
pub use key_check::KeyVerdict;
pub use link_opener::LinkOpener;
pub use logged_references::LoggedReferences;
pub use oauth::{BegunSigns, CallbackOutcome, ConfirmationRequest, OAuthCallback, PROOF_LIFETIME, RedirectTarget};
pub use observer::{
    AttemptedCredential, AuthEvent, AuthObserver, EventOutcome, FunnelStep, LeaverSource, LogoutOutcome, NoticeOutcome,
    PersonCheckOutcome, TokenGrant, TokenOutcome,
};
pub use oidc::{
    AuthorizationFailure, AuthorizationPageError, AuthorizationPrompt, AuthorizationStep, BrowserArrival,
    CheckedAuthorization, ClientCredentials, CodeRedemptionRequest, Continued, EmailDecision, IntrospectedToken,
    IssuedTokens, LogoutSender, LogoutStep, Needs, OidcError, RequestOrigin, ResolvedClient, SecretMethod, SigningKey,
    SigningKeys, TokenDetails, UnregisteredAddress, client_secret_digest,
};
pub use otp::{BoundDevice, DeviceSetup, DeviceStatus, FreshCode};
pub use partial_or_full::{PartialOrFull, PartialTokenHolder};
pub use password::PasswordChange;
pub use people::{
    EventError, ROLE_LIFETIMES, RuleEffect, SyncOptions, SyncProgress, SyncReport, SyncStep, UpdatedPerson,
};
pub use policy::{
    AgentPolicy, BindPolicy, FileClient, ForeignCodePolicy, KeptRequestPolicy, OidcPolicy, PasswordPolicy,
    PeoplePolicy, Policy, QuestionPolicy,
};
pub use qr::{ConfirmationPrompt, IssuedTicket, Poller, TicketStatus};
pub use question::{
    AnsweredQuestion, AskedQuestion, InvitationTexts, MAX_SHOWN_BODY, MAX_SHOWN_PATH, Operation, PhonePrompt,
    QuestionKind, ResetKind, UnsettledAnswers, UnshowableOperation,
};
pub use recent_sign_in::RECENT_SIGN_IN;
pub use refusal::{
    ReasonExplanation, Refusal, RefusalInfo, audited_reasons, explain_reason, logged_refusal, whole_seconds,
};
pub use scan_outcome::ScanOutcome;
pub use session::{ActiveUser, TokenHolder};
pub use sign_in::{DefaultRoleGrant, SignedIn};
pub use socket::{CloseReason, Delivery, LiveSockets, Socket, SocketEvent};
pub use token_error::TokenError;

/// The service that runs every flow, with everything the flows need. Clones share all state.
#[derive(Clone, Debug)]
pub struct Auth {
    /// The database.
    pub store: Store,
    /// Short-lived state that flows and nodes share.
    pub shared: Arc<SharedState<CodeExchange>>,
    /// The platform, which identifies users.
    pub platform: Arc<dyn Messenger>,
    /// The clock of the service.
    pub clock: Clock,
    /// The source of randomness for secrets.
    pub entropy: Entropy,
    /// The keys that protect agents' secrets.
    pub credential_vault: Arc<CredentialVault>,
    /// The keys that chain the rows of the login log.
    pub chain_keys: ChainKeys,
    /// Counters of refusals that name no employee.
    pub anonymous_refusals: Arc<AnonymousRefusals>,
    /// The last refusals that have a line in the service log.
    pub logged_references: Arc<LoggedReferences>,
    /// Answers of phones that have no effect, until the log says so.
    pub unsettled_answers: Arc<UnsettledAnswers>,
    /// Fires when a notice is due.
    pub notices_due: Arc<Notify>,
    /// Fires when an event of the platform is to be handled.
    pub events_due: Arc<Notify>,
    /// Fires when people with sessions are to be checked at once.
    pub recheck_due: Arc<Notify>,
    /// Fires when a client of OpenID Connect is to be told that a session ended.
    pub logouts_due: Arc<Notify>,
    /// The keys that sign ID tokens, as far as they are opened.
    pub signing_keys: Arc<SigningKeys>,
    /// The sockets that are connected to this node.
    pub sockets: Arc<LiveSockets>,
    /// Receives what metrics count.
    pub observer: AuthObserver,
    /// The settings of this deployment.
    pub policy: Policy,
}

impl Auth {
    /// The key of an employee. Without a corporation, the home corporation is meant.
    #[must_use]
    pub fn resolve_key(&self, corp: Option<&CorpId>, id: &EmployeeId) -> EmployeeKey {
        EmployeeKey::new(corp.unwrap_or(&self.policy.home_corp), id, &self.policy.home_corp)
    }

    /// The key that a log row is about when it concerns the whole deployment or names no employee.
    pub(crate) fn deployment_key(&self) -> EmployeeKey {
        EmployeeKey::from_parts(self.policy.home_corp.as_str(), "")
    }

    /// A new record id. Ids sort by time.
    pub(crate) fn record_id(&self, at: Timestamp) -> Result<String, NoEntropy> {
        Ok(format!("{:012x}{:020x}", at.millis(), u128::from_be_bytes(self.entropy.bytes()?) >> 48))
    }

    fn deny_until(&self, now: Timestamp) -> Timestamp {
        now + self.policy.session_lifetime
    }
}
