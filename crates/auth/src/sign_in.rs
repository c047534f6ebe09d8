//! Sign-in: the one place where sessions begin, for all login methods.

use std::sync::Arc;
use std::time::Duration;

use deskpass_core::{
    Access, ClientInfo, Digest, EmployeeKey, IdentifiedPerson, LoginMethod, LoginSource, NoEntropy, PendingSignIn,
    Person, PersonPreview, PlatformVouching, Role, Roles, SealedToken, Secret, Session, SignInOrigin, SignInStage,
    Timestamp, nearby_network,
};
use deskpass_store::{AuditEvent, BeginOutcome, NewSession, NoticeSubject, Precondition, SignInNetwork, SignInStep};

use crate::holder::HolderState;
use crate::people::refusal_of;
use crate::{Auth, AuthEvent, BindPolicy, Error, Refusal, TokenError};

/// A request to begin a session.
#[derive(Debug)]
pub(crate) struct SignInRequest<'a> {
    pub(crate) employee: &'a EmployeeKey,
    /// The role to begin with; by default the highest one that is held and that the client is for.
    pub(crate) role: Option<&'a str>,
    pub(crate) method: LoginMethod,
    /// The proof of the user's identity.
    pub(crate) proof: SignInProof,
    /// The client; by default that of the initial role.
    pub(crate) source: Option<LoginSource>,
    pub(crate) visitor: &'a ClientInfo,
}

/// The proof of a user's identity.
#[derive(Clone, Debug)]
pub(crate) enum SignInProof {
    /// No proof.
    None,
    /// The platform identified the user: it was asked at this time, if that is known.
    Platform(Option<Timestamp>),
    /// The platform identified this linked identity just now, which may act as the employee.
    Linked(EmployeeKey),
    /// The platform identified the user earlier, as this bind proof says.
    BindProof(Digest),
    /// A password, which began this partial session, and a one-time password.
    Password {
        /// The digest of the partial session.
        half: Digest,
        /// Whether the platform vouched for the owner of the device.
        device_proven: bool,
    },
}

impl SignInProof {
    fn vouching(&self) -> PlatformVouching {
        match self {
            Self::Platform(_) | Self::Password { device_proven: true, .. } => PlatformVouching::Directly,
            Self::Linked(_) | Self::BindProof(_) => PlatformVouching::Through,
            Self::None | Self::Password { device_proven: false, .. } => PlatformVouching::None,
        }
    }

    /// The refusal when the proof is not valid any more.
    fn refusal(&self) -> Refusal {
        match self {
            // Another request completed the partial session first, or it ended.
            Self::Password { .. } => Refusal::Token(TokenError::Unknown),
            _ => Refusal::UnknownEmployee,
        }
    }

    /// The proof of a user whom the platform identified.
    pub(crate) fn of(who: &IdentifiedPerson) -> Self {
        who.through.clone().map_or(Self::Platform(who.identified_at), Self::Linked)
    }
}

/// The default role of a user who holds no other.
#[derive(Clone, Copy, Debug)]
pub struct DefaultRoleGrant {
    /// The role.
    pub role: Role,
    /// Whether the role comes from the agent record.
    pub by_record: bool,
}

#[derive(Debug)]
pub(crate) struct StartedSession {
    pub(crate) session: Session,
    pub(crate) person: Arc<Person>,
    pub(crate) roles: Roles,
    /// Whether this request began it, and counts it. An earlier one with the same token may have: it has counted it, unless it got
    /// no answer to either of its attempts. So a session is counted at most once.
    pub(crate) is_new: bool,
}

impl StartedSession {
    pub(crate) fn shown(&self) -> PersonPreview {
        PersonPreview { employee_id: self.person.employee_id.clone(), name: self.person.name.clone() }
    }
}

/// A session that has just begun, with its token.
#[derive(Debug)]
pub struct SignedIn {
    /// The token.
    pub token: Secret<Access>,
    /// The session.
    pub session: Session,
    /// The employee.
    pub person: Arc<Person>,
    /// The effective roles.
    pub roles: Roles,
}

/// How often a session is tried to begin while the roles of its employee change.
const MAX_ATTEMPTS: usize = 3;

impl Auth {
    /// Signs a user in and returns the token.
    pub(crate) async fn sign_in(&self, request: SignInRequest<'_>) -> Result<SignedIn, Error> {
        let token = Secret::generate(&self.entropy)?;
        let StartedSession { session, person, roles, .. } = self.begin_session(request, token.digest(), None).await?;
        Ok(SignedIn { token, session, person, roles })
    }

    /// Begins a session for the token with this digest: checks the employee, and commits session and log entry together before it
    /// returns. `phone` is the phone that confirmed the sign-in, if any: then the employee gets a notice about a new network.
    pub(crate) async fn begin_session(
        &self,
        request: SignInRequest<'_>,
        token: Digest,
        phone: Option<&ClientInfo>,
    ) -> Result<StartedSession, Error> {
        for _ in 0..MAX_ATTEMPTS {
            let person = self.store.person(request.employee).await?.ok_or(Refusal::UnknownEmployee)?;
            if let Some(begun) = self.begin_session_of(person, &request, token, phone).await? {
                return Ok(begun);
            }
            // The person in memory may be older than a change of roles on another node.
            self.store.forget_person(request.employee);
        }
        Err(Refusal::NoRole.into())
    }

    /// Begins a session of this person; `None` if the default role that they should get may not apply any more.
    async fn begin_session_of(
        &self,
        person: Arc<Person>,
        request: &SignInRequest<'_>,
        token: Digest,
        phone: Option<&ClientInfo>,
    ) -> Result<Option<StartedSession>, Error> {
        if let Some(refusal) = refusal_of(&person) {
            return Err(refusal.into());
        }
        let (roles, default_role) = self.available_roles(&person, request.method, &request.proof).await?;
        self.require_role_of_holder(&person, roles, request.role)?;
        let role = self.initial_role(roles, request.role, request.source, request.visitor).await?;
        let session = self.build_session(&person, role, default_role, request);
        // The transaction checks again that the employee is enabled and the default role applies. Other roles: at every use.
        let network = self.sign_in_network(&session, request.visitor, phone)?;
        let held = person.roles_at(session.created_at);
        let new_session = self.new_session(token, &session, (held, default_role), request, network)?;
        let outcome = self.store.begin_session(new_session).await?;
        let is_new = outcome != BeginOutcome::AlreadyBegun;
        match outcome {
            BeginOutcome::Begun | BeginOutcome::AlreadyBegun => {}
            BeginOutcome::BegunWithNotice => self.notices_due.notify_one(),
            BeginOutcome::EmployeeDisabled => {
                // Meanwhile an administrator disabled the employee, or the platform said that they left.
                let person = self.store.person(request.employee).await?;
                return Err(person.and_then(|person| refusal_of(&person)).unwrap_or(Refusal::Disabled).into());
            }
            // Meanwhile the identifier passed to another person: who it is must be asked again.
            BeginOutcome::HolderChanged => return Err(Refusal::SignInOver.into()),
            BeginOutcome::DefaultRoleRevoked => return Ok(None),
            BeginOutcome::PreconditionFailed => return Err(request.proof.refusal().into()),
        }
        tracing::debug!(employee = %session.employee, method = session.method.name(), "signed in");
        if is_new {
            self.count_step(SignInStep::SignedIn);
            self.observer.notify(AuthEvent::SignedIn(session.method));
        }
        Ok(Some(StartedSession { session, person, roles, is_new }))
    }

    /// A pending sign-in with this token, which is not valid before its session begins.
    pub(crate) fn new_ticketed_sign_in(
        &self,
        token: (Digest, SealedToken),
        asked: SignInOrigin,
        bound_to: Option<Digest>,
        lifetime: Duration,
    ) -> PendingSignIn {
        let (expires_at, stage) = (self.clock.now() + lifetime, SignInStage::Waiting);
        PendingSignIn { asked, bound_to, token, expires_at, stage, ended: None, numbers: None }
    }

    /// The roles of a user who signs in through the platform, and the default role among them.
    pub async fn platform_sign_in_roles(&self, person: &Person) -> Result<(Roles, Option<DefaultRoleGrant>), Error> {
        self.available_roles(person, LoginMethod::Qrcode, &SignInProof::Platform(None)).await
    }

    /// The roles of a user in a session that begins with this method and proof, and the default role among them.
    pub(crate) async fn available_roles(
        &self,
        person: &Person,
        method: LoginMethod,
        proof: &SignInProof,
    ) -> Result<(Roles, Option<DefaultRoleGrant>), Error> {
        if self.holder_state(person) == HolderState::Refused {
            return Ok((Roles::NONE, None));
        }
        let held = person.roles_at(self.clock.now());
        let admitted = |default_role| self.policy.effective_roles(method, proof.vouching(), default_role, held);
        if !admitted(None).is_empty() {
            return Ok((admitted(None), None));
        }
        let default_role = self.default_role(person, proof).await?;
        Ok((admitted(default_role.map(|default| default.role)), default_role))
    }

    /// The default role of a user without roles: that of the agent record, or else the deployment's, if the platform vouches.
    async fn default_role(&self, person: &Person, proof: &SignInProof) -> Result<Option<DefaultRoleGrant>, Error> {
        let usual = match proof {
            SignInProof::Platform(_) | SignInProof::Linked(_) => self.policy.default_role,
            // With a bind proof the platform vouches as with any sign-in through it. Where anyone may bind without a proof, in
            // development mode, only employees with a role can sign in.
            SignInProof::BindProof(_) if !matches!(self.policy.bind, BindPolicy::Open) => self.policy.default_role,
            SignInProof::Password { .. } => None,
            SignInProof::None | SignInProof::BindProof(_) => return Ok(None),
        };
        // The agent record is the former holder's, as the roles are.
        let by_record = if person.unconfirmed { None } else { self.store.agent_role(person.key.clone()).await? };
        let usual = usual.map(|role| DefaultRoleGrant { role, by_record: false });
        Ok(by_record.map(|role| DefaultRoleGrant { role, by_record: true }).or(usual))
    }

    /// The initial role: the requested one, or else the highest that is allowed at the client's address and that the requesting client
    /// is for. Who holds none that the client is for begins with the highest.
    pub(crate) async fn initial_role(
        &self,
        roles: Roles,
        asked: Option<&str>,
        client: Option<LoginSource>,
        visitor: &ClientInfo,
    ) -> Result<Role, Error> {
        let highest = roles.highest().ok_or(Refusal::NoRole)?;
        let permitted = self.store.access_rules().await?.lists.permitted(roles, visitor.address.decided);
        match asked.map(|name| parse_held_role(name, roles)).transpose()? {
            Some(role) if !permitted.holds(role) => Err(Refusal::AddressNotAllowed(role).into()),
            Some(role) => Ok(role),
            None => {
                let fitting: Roles =
                    permitted.iter().filter(|role| client.is_none_or(|client| client.is_for(*role))).collect();
                Ok(fitting.highest().or(permitted.highest()).ok_or(Refusal::AddressNotAllowed(highest))?)
            }
        }
    }

    fn build_session(
        &self,
        person: &Person,
        role: Role,
        default_role: Option<DefaultRoleGrant>,
        request: &SignInRequest<'_>,
    ) -> Session {
        let now = self.clock.now();
        Session {
            employee: person.key.clone(),
            current_role: role,
            method: request.method,
            vouched: request.proof.vouching(),
            default_role: default_role.map(|default| default.role),
            source: request.source.unwrap_or(LoginSource::of(role)),
            created_at: now,
            expires_at: now + self.policy.session_lifetime,
        }
    }

    /// The network that a session begins from, with the notice for the case that it is new to the employee. The platform cannot
    /// notify users of other corporations.
    fn sign_in_network(
        &self,
        session: &Session,
        visitor: &ClientInfo,
        phone: Option<&ClientInfo>,
    ) -> Result<SignInNetwork, NoEntropy> {
        let network = nearby_network(visitor.address.decided);
        let (employee, at) = (&session.employee, session.created_at);
        let phone = phone.filter(|_| *employee.corp() == *self.policy.home_corp.as_str());
        let notice = phone.map(|_| self.new_notice(employee, NoticeSubject::NewNetwork, at, visitor)).transpose()?;
        let notify_on_first_sign_in = phone.is_some_and(|phone| nearby_network(phone.address.decided) != network);
        Ok(SignInNetwork { name: network.to_string(), notice, notify_on_first_sign_in })
    }

    fn new_session(
        &self,
        digest: Digest,
        session: &Session,
        (held, default_role): (Roles, Option<DefaultRoleGrant>),
        request: &SignInRequest<'_>,
        network: SignInNetwork,
    ) -> Result<NewSession, NoEntropy> {
        Ok(NewSession {
            digest,
            session: session.clone(),
            default_role_from_record: default_role.is_some_and(|default| default.by_record),
            held_roles: held,
            asked_at: if let SignInProof::Platform(asked_at) = request.proof { asked_at } else { None },
            precondition: match &request.proof {
                SignInProof::None | SignInProof::Platform(_) => Precondition::None,
                SignInProof::Linked(identity) => Precondition::Link(identity.clone()),
                SignInProof::BindProof(proof) => Precondition::Proof(*proof),
                SignInProof::Password { half, .. } => Precondition::PartialSession(*half),
            },
            at_most: self.policy.max_sessions_per_employee,
            deny_until: self.deny_until(session.created_at),
            network,
            entry: self.entry(AuditEvent::SignIn, session, session.created_at, request.visitor)?,
        })
    }
}

/// The role called `name`, if it is held.
pub(crate) fn parse_held_role(name: &str, roles: Roles) -> Result<Role, Refusal> {
    let role = Role::from_name(name).filter(|role| roles.holds(*role));
    role.ok_or_else(|| Refusal::RoleNotHeld(name.chars().take(64).collect()))
}
