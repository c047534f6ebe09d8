//! The one place a session is born, whatever the way in.

use std::sync::Arc;

use deskpass_core::{
    Access, Digest, EmployeeKey, Identified, LoginMethod, LoginSource, NoEntropy, Person, Role, Roles, Secret, Session,
    Shown, Visitor, Vouched, network_around,
};
use deskpass_store::{Beginning, Birth, Event, Grounds, Member, SignInNetwork, Step, Subject};

use crate::{Auth, BindPolicy, Error, Refusal, TokenProblem};

/// Somebody who may sign in, and how.
#[derive(Debug)]
pub(crate) struct Admission<'a> {
    pub(crate) employee: &'a EmployeeKey,
    /// The role to begin with; otherwise the highest one held.
    pub(crate) role: Option<&'a str>,
    pub(crate) method: LoginMethod,
    /// What stands behind their word that they are who they are.
    pub(crate) proven: Proven,
    /// The client; without one, that of the role they begin with.
    pub(crate) source: Option<LoginSource>,
    pub(crate) visitor: &'a Visitor,
}

/// What stands behind somebody's word that they are who they are.
#[derive(Clone, Debug)]
pub(crate) enum Proven {
    /// Nothing.
    No,
    /// The platform, a moment ago.
    Directly,
    /// The platform, a moment ago, as this identity, which may act as them.
    Through(EmployeeKey),
    /// The platform, as this proof says.
    By(Digest),
    /// A password, with which this half of a sign-in began, and a one-time password.
    ByPassword {
        /// The half.
        half: Digest,
        /// Whether the platform vouched for whoever bound the device.
        device_proven: bool,
    },
}

impl Proven {
    fn vouched(&self) -> Vouched {
        match self {
            Self::Directly | Self::ByPassword { device_proven: true, .. } => Vouched::Directly,
            Self::Through(_) | Self::By(_) => Vouched::Through,
            Self::No | Self::ByPassword { device_proven: false, .. } => Vouched::Nobody,
        }
    }

    /// What to say when it does not hold any more.
    fn failed(&self) -> Refusal {
        match self {
            // Used up by somebody who was quicker, or ended.
            Self::ByPassword { .. } => Refusal::Token(TokenProblem::Unknown),
            _ => Refusal::UnknownEmployee,
        }
    }

    /// By the platform's own word about somebody.
    pub(crate) fn of(who: &Identified) -> Self {
        who.through.clone().map_or(Self::Directly, Self::Through)
    }
}

/// What somebody could act as.
#[derive(Debug)]
pub(crate) struct Prospects {
    pub(crate) roles: Roles,
    /// The one among them that nobody gave them.
    lent: Option<Lent>,
}

/// A role that is lent to somebody whom nobody gave one.
#[derive(Clone, Copy, Debug)]
pub struct Lent {
    /// The role.
    pub role: Role,
    /// Whether their agent record lends it.
    pub by_record: bool,
}

/// A session that has just begun.
#[derive(Debug)]
pub(crate) struct Begun {
    pub(crate) session: Session,
    pub(crate) person: Arc<Member>,
    pub(crate) roles: Roles,
}

impl Begun {
    pub(crate) fn shown(&self) -> Shown {
        Shown { employee_id: self.person.employee_id.clone(), name: self.person.name.clone() }
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
    pub person: Arc<Member>,
    /// The roles that count in it.
    pub roles: Roles,
}

impl Auth {
    /// Signs somebody in and hands their token over.
    pub(crate) async fn sign_in(&self, admission: Admission<'_>) -> Result<SignedIn, Error> {
        let token = Secret::generate(&self.entropy)?;
        let Begun { session, person, roles } = self.mint(admission, token.digest(), None).await?;
        Ok(SignedIn { token, session, person, roles })
    }

    /// Begins a session for the token with this digest: checks who somebody is, and commits session and log together before
    /// it returns. `phone` is the one that confirmed it, where one did: then the employee is told of a network that is new.
    pub(crate) async fn mint(
        &self,
        admission: Admission<'_>,
        token: Digest,
        phone: Option<&Visitor>,
    ) -> Result<Begun, Error> {
        let person = self.store.person(admission.employee).await?.ok_or(Refusal::UnknownEmployee)?;
        if person.disabled {
            return Err(Refusal::Disabled.into());
        }
        let Prospects { roles, lent } = self.prospects(&person, admission.method, &admission.proven).await?;
        let role = self.first_role(roles, admission.role, admission.visitor).await?;
        let session = self.session_for(&person, role, lent, &admission);
        // Whether the employee is shut out is asked once more inside the transaction, and whether what is lent still is.
        // Other roles need not be: they are asked for at every use.
        let network = self.sign_in_network(&session, admission.visitor, phone)?;
        match self.store.begin_session(self.birth(token, &session, lent, &admission, network)?).await? {
            Beginning::Begun => {}
            Beginning::BegunWithNotice => self.noticed.notify_one(),
            Beginning::ShutOut => return Err(Refusal::Disabled.into()),
            Beginning::Unlent => return Err(Refusal::NoRole.into()),
            Beginning::Groundless => return Err(admission.proven.failed().into()),
        }
        tracing::debug!(employee = ?session.employee, method = session.method.name(), "signed in");
        self.count(Step::SignedIn);
        Ok(Begun { session, person, roles })
    }

    /// What somebody could act as who signs in through the platform, and the one among them that nobody gave them.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn usual_roles(&self, person: &Person) -> Result<(Roles, Option<Lent>), Error> {
        let Prospects { roles, lent } = self.prospects(person, LoginMethod::Qrcode, &Proven::Directly).await?;
        Ok((roles, lent))
    }

    /// What somebody could act as in a session that begins so.
    pub(crate) async fn prospects(
        &self,
        person: &Person,
        method: LoginMethod,
        proven: &Proven,
    ) -> Result<Prospects, Error> {
        let admitted = |lent| self.policy.admitted(method, proven.vouched(), lent, person.roles);
        if !admitted(None).is_empty() {
            return Ok(Prospects { roles: admitted(None), lent: None });
        }
        let lent = self.lent(person, proven).await?;
        Ok(Prospects { roles: admitted(lent.map(|lent| lent.role)), lent })
    }

    /// The role that is lent to somebody who would have none: that of their agent record, else the usual one, should the
    /// platform vouch for them.
    async fn lent(&self, person: &Person, proven: &Proven) -> Result<Option<Lent>, Error> {
        let usual = match proven {
            Proven::Directly | Proven::Through(_) => self.policy.default_role,
            // The platform vouches for whoever brings a proof as it does at any sign-in through it. Where binding takes nobody's
            // proof, in development mode, it is for those who were given a role.
            Proven::By(_) if !matches!(self.policy.bind, BindPolicy::Open) => self.policy.default_role,
            Proven::ByPassword { .. } => None,
            Proven::No | Proven::By(_) => return Ok(None),
        };
        let by_record = self.store.agent_role(person.key.clone()).await?;
        let usual = usual.map(|role| Lent { role, by_record: false });
        Ok(by_record.map(|role| Lent { role, by_record: true }).or(usual))
    }

    /// The role to begin with: the one that is asked for, else the highest that may be active from there.
    pub(crate) async fn first_role(&self, roles: Roles, asked: Option<&str>, visitor: &Visitor) -> Result<Role, Error> {
        let highest = roles.highest().ok_or(Refusal::NoRole)?;
        let permitted = self.store.rulebook().await?.lists.permitted(roles, visitor.address.decided);
        match asked.map(|name| held(name, roles)).transpose()? {
            Some(role) if !permitted.holds(role) => Err(Refusal::AddressNotAllowed(role).into()),
            Some(role) => Ok(role),
            None => Ok(permitted.highest().ok_or(Refusal::AddressNotAllowed(highest))?),
        }
    }

    fn session_for(&self, person: &Person, role: Role, lent: Option<Lent>, admission: &Admission<'_>) -> Session {
        let now = self.clock.now();
        Session {
            employee: person.key.clone(),
            current_role: role,
            method: admission.method,
            vouched: admission.proven.vouched(),
            lent: lent.map(|lent| lent.role),
            source: admission.source.unwrap_or(LoginSource::of(role)),
            created_at: now,
            expires_at: now + self.policy.lifetime,
        }
    }

    /// The network that a session begins from, with what its employee is told where that is new for them. People of other
    /// corporations cannot be told through the platform.
    fn sign_in_network(
        &self,
        session: &Session,
        visitor: &Visitor,
        phone: Option<&Visitor>,
    ) -> Result<SignInNetwork, NoEntropy> {
        let network = network_around(visitor.address.decided);
        let (employee, at) = (&session.employee, session.created_at);
        let phone = phone.filter(|_| *employee.corp() == *self.policy.home.as_str());
        let notice = phone.map(|_| self.notice(employee, Subject::NewNetwork, at, visitor)).transpose()?;
        let tells_first = phone.is_some_and(|phone| network_around(phone.address.decided) != network);
        Ok(SignInNetwork { name: network.to_string(), notice, tells_first })
    }

    fn birth(
        &self,
        digest: Digest,
        session: &Session,
        lent: Option<Lent>,
        admission: &Admission<'_>,
        network: SignInNetwork,
    ) -> Result<Birth, NoEntropy> {
        Ok(Birth {
            digest,
            session: session.clone(),
            lent_by_record: lent.is_some_and(|lent| lent.by_record),
            grounds: match &admission.proven {
                Proven::No | Proven::Directly => Grounds::None,
                Proven::Through(identity) => Grounds::Link(identity.clone()),
                Proven::By(proof) => Grounds::Proof(*proof),
                Proven::ByPassword { half, .. } => Grounds::Half(*half),
            },
            at_most: self.policy.max_per_employee,
            deny_until: self.deny_until(session.created_at),
            network,
            entry: self.entry(Event::SignIn, session, session.created_at, admission.visitor)?,
        })
    }
}

/// The role called `name`, when it is among those held.
pub(crate) fn held(name: &str, roles: Roles) -> Result<Role, Refusal> {
    let role = Role::from_name(name).filter(|role| roles.holds(*role));
    role.ok_or_else(|| Refusal::RoleNotHeld(name.chars().take(64).collect()))
}
