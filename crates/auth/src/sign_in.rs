//! The one place a session is born, whatever the way in.

use std::sync::Arc;
use std::time::Duration;

use deskpass_core::{
    Access, ClientInfo, Digest, EmployeeKey, IdentifiedPerson, LoginMethod, LoginSource, NoEntropy, PendingSignIn,
    Person, PersonPreview, PlatformVouching, Role, Roles, Secret, Session, SignInOrigin, SignInStage, Ticket,
    nearby_network,
};
use deskpass_store::{
    AuditEvent, BeginOutcome, CachedPerson, NewSession, NoticeSubject, Precondition, SignInNetwork, SignInStep,
};

use crate::{Auth, BindPolicy, Error, Refusal, TokenError};

/// Somebody who may sign in, and how.
#[derive(Debug)]
pub(crate) struct SignInRequest<'a> {
    pub(crate) employee: &'a EmployeeKey,
    /// The role to begin with; otherwise the highest one held.
    pub(crate) role: Option<&'a str>,
    pub(crate) method: LoginMethod,
    /// What stands behind their word that they are who they are.
    pub(crate) proof: SignInProof,
    /// The client; without one, that of the role they begin with.
    pub(crate) source: Option<LoginSource>,
    pub(crate) visitor: &'a ClientInfo,
}

/// What stands behind somebody's word that they are who they are.
#[derive(Clone, Debug)]
pub(crate) enum SignInProof {
    /// Nothing.
    None,
    /// The platform, a moment ago.
    Platform,
    /// The platform, a moment ago, as this identity, which may act as them.
    Linked(EmployeeKey),
    /// The platform, as this proof says.
    BindProof(Digest),
    /// A password, with which this half of a sign-in began, and a one-time password.
    Password {
        /// The half.
        half: Digest,
        /// Whether the platform vouched for whoever bound the device.
        device_proven: bool,
    },
}

impl SignInProof {
    fn vouching(&self) -> PlatformVouching {
        match self {
            Self::Platform | Self::Password { device_proven: true, .. } => PlatformVouching::Directly,
            Self::Linked(_) | Self::BindProof(_) => PlatformVouching::Through,
            Self::None | Self::Password { device_proven: false, .. } => PlatformVouching::None,
        }
    }

    /// What to say when it does not hold any more.
    fn refusal(&self) -> Refusal {
        match self {
            // Used up by somebody who was quicker, or ended.
            Self::Password { .. } => Refusal::Token(TokenError::Unknown),
            _ => Refusal::UnknownEmployee,
        }
    }

    /// By the platform's own word about somebody.
    pub(crate) fn of(who: &IdentifiedPerson) -> Self {
        who.through.clone().map_or(Self::Platform, Self::Linked)
    }
}

/// What somebody could act as.
#[derive(Debug)]
pub(crate) struct AvailableRoles {
    pub(crate) roles: Roles,
    /// The one among them that nobody gave them.
    lent: Option<DefaultRoleGrant>,
}

/// A role that is lent to somebody whom nobody gave one.
#[derive(Clone, Copy, Debug)]
pub struct DefaultRoleGrant {
    /// The role.
    pub role: Role,
    /// Whether their agent record lends it.
    pub by_record: bool,
}

/// A session that has just begun.
#[derive(Debug)]
pub(crate) struct StartedSession {
    pub(crate) session: Session,
    pub(crate) person: Arc<CachedPerson>,
    pub(crate) roles: Roles,
}

impl StartedSession {
    pub(crate) fn shown(&self) -> PersonPreview {
        PersonPreview { employee_id: self.person.employee_id.clone(), name: self.person.name.clone() }
    }
}

/// A session that has just begun, with its token.
#[derive(Debug)]
pub struct SignedIn {
    /// The token to hand over.
    pub token: Secret<Access>,
    /// The session.
    pub session: Session,
    /// Whose it is.
    pub person: Arc<CachedPerson>,
    /// The roles that count in it.
    pub roles: Roles,
}

impl Auth {
    /// Signs somebody in and hands their token over.
    pub(crate) async fn sign_in(&self, request: SignInRequest<'_>) -> Result<SignedIn, Error> {
        let token = Secret::generate(&self.entropy)?;
        let StartedSession { session, person, roles } = self.begin_session(request, token.digest(), None).await?;
        Ok(SignedIn { token, session, person, roles })
    }

    /// Begins a session for the token with this digest: checks who somebody is, and commits session and log together before
    /// it returns. `phone` is the one that confirmed it, where one did: then the employee is told of a network that is new.
    pub(crate) async fn begin_session(
        &self,
        request: SignInRequest<'_>,
        token: Digest,
        phone: Option<&ClientInfo>,
    ) -> Result<StartedSession, Error> {
        let person = self.store.person(request.employee).await?.ok_or(Refusal::UnknownEmployee)?;
        if person.disabled {
            return Err(Refusal::Disabled.into());
        }
        let AvailableRoles { roles, lent } = self.available_roles(&person, request.method, &request.proof).await?;
        let role = self.initial_role(roles, request.role, request.visitor).await?;
        let session = self.build_session(&person, role, lent, &request);
        // Whether the employee is shut out is asked once more inside the transaction, and whether what is lent still is.
        // Other roles need not be: they are asked for at every use.
        let network = self.sign_in_network(&session, request.visitor, phone)?;
        match self.store.begin_session(self.new_session(token, &session, lent, &request, network)?).await? {
            BeginOutcome::Begun => {}
            BeginOutcome::BegunWithNotice => self.notices_due.notify_one(),
            BeginOutcome::EmployeeDisabled => return Err(Refusal::Disabled.into()),
            BeginOutcome::DefaultRoleRevoked => return Err(Refusal::NoRole.into()),
            BeginOutcome::PreconditionFailed => return Err(request.proof.refusal().into()),
        }
        tracing::debug!(employee = ?session.employee, method = session.method.name(), "signed in");
        self.count_step(SignInStep::SignedIn);
        Ok(StartedSession { session, person, roles })
    }

    /// A sign-in with a token of its own, which is made now and means nothing before its session begins.
    pub(crate) fn new_ticketed_sign_in(
        &self,
        ticket: &Secret<Ticket>,
        asked: SignInOrigin,
        bound_to: Option<Digest>,
        lifetime: Duration,
    ) -> Result<PendingSignIn, NoEntropy> {
        let token = Secret::<Access>::generate(&self.entropy)?;
        let (token, expires_at) = ((token.digest(), token.seal(ticket)), self.clock.now() + lifetime);
        Ok(PendingSignIn { asked, bound_to, token, expires_at, stage: SignInStage::Waiting })
    }

    /// What somebody could act as who signs in through the platform, and the one among them that nobody gave them.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn platform_sign_in_roles(&self, person: &Person) -> Result<(Roles, Option<DefaultRoleGrant>), Error> {
        let AvailableRoles { roles, lent } =
            self.available_roles(person, LoginMethod::Qrcode, &SignInProof::Platform).await?;
        Ok((roles, lent))
    }

    /// What somebody could act as in a session that begins so.
    pub(crate) async fn available_roles(
        &self,
        person: &Person,
        method: LoginMethod,
        proof: &SignInProof,
    ) -> Result<AvailableRoles, Error> {
        let admitted = |lent| self.policy.effective_roles(method, proof.vouching(), lent, person.roles);
        if !admitted(None).is_empty() {
            return Ok(AvailableRoles { roles: admitted(None), lent: None });
        }
        let lent = self.default_role(person, proof).await?;
        Ok(AvailableRoles { roles: admitted(lent.map(|lent| lent.role)), lent })
    }

    /// The role that is lent to somebody who would have none: that of their agent record, else the usual one, should the
    /// platform vouch for them.
    async fn default_role(&self, person: &Person, proof: &SignInProof) -> Result<Option<DefaultRoleGrant>, Error> {
        let usual = match proof {
            SignInProof::Platform | SignInProof::Linked(_) => self.policy.default_role,
            // The platform vouches for whoever brings a proof as it does at any sign-in through it. Where binding takes nobody's
            // proof, in development mode, it is for those who were given a role.
            SignInProof::BindProof(_) if !matches!(self.policy.bind, BindPolicy::Open) => self.policy.default_role,
            SignInProof::Password { .. } => None,
            SignInProof::None | SignInProof::BindProof(_) => return Ok(None),
        };
        let by_record = self.store.agent_role(person.key.clone()).await?;
        let usual = usual.map(|role| DefaultRoleGrant { role, by_record: false });
        Ok(by_record.map(|role| DefaultRoleGrant { role, by_record: true }).or(usual))
    }

    /// The role to begin with: the one that is asked for, else the highest that may be active from there.
    pub(crate) async fn initial_role(
        &self,
        roles: Roles,
        asked: Option<&str>,
        visitor: &ClientInfo,
    ) -> Result<Role, Error> {
        let highest = roles.highest().ok_or(Refusal::NoRole)?;
        let permitted = self.store.access_rules().await?.lists.permitted(roles, visitor.address.decided);
        match asked.map(|name| parse_held_role(name, roles)).transpose()? {
            Some(role) if !permitted.holds(role) => Err(Refusal::AddressNotAllowed(role).into()),
            Some(role) => Ok(role),
            None => Ok(permitted.highest().ok_or(Refusal::AddressNotAllowed(highest))?),
        }
    }

    fn build_session(
        &self,
        person: &Person,
        role: Role,
        lent: Option<DefaultRoleGrant>,
        request: &SignInRequest<'_>,
    ) -> Session {
        let now = self.clock.now();
        Session {
            employee: person.key.clone(),
            current_role: role,
            method: request.method,
            vouched: request.proof.vouching(),
            default_role: lent.map(|lent| lent.role),
            source: request.source.unwrap_or(LoginSource::of(role)),
            created_at: now,
            expires_at: now + self.policy.session_lifetime,
        }
    }

    /// The network that a session begins from, with what its employee is told where that is new for them. People of other
    /// corporations cannot be told through the platform.
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
        lent: Option<DefaultRoleGrant>,
        request: &SignInRequest<'_>,
        network: SignInNetwork,
    ) -> Result<NewSession, NoEntropy> {
        Ok(NewSession {
            digest,
            session: session.clone(),
            default_role_from_record: lent.is_some_and(|lent| lent.by_record),
            precondition: match &request.proof {
                SignInProof::None | SignInProof::Platform => Precondition::None,
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

/// The role called `name`, when it is among those held.
pub(crate) fn parse_held_role(name: &str, roles: Roles) -> Result<Role, Refusal> {
    let role = Role::from_name(name).filter(|role| roles.holds(*role));
    role.ok_or_else(|| Refusal::RoleNotHeld(name.chars().take(64).collect()))
}
