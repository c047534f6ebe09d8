//! The one place a session is born, whatever the way in.

use std::sync::Arc;

use deskpass_core::{
    Access, Digest, EmployeeKey, LoginMethod, LoginSource, NoEntropy, Person, Role, Roles, Secret, Session, Shown,
    Timestamp, Visitor,
};
use deskpass_store::{Birth, Event, LogEntry, Member};

use crate::{Auth, Error, Refusal};

/// Somebody who may sign in, and how.
#[derive(Debug)]
pub(crate) struct Admission<'a> {
    pub(crate) employee: &'a EmployeeKey,
    /// The role to begin with; otherwise the highest one held.
    pub(crate) role: Option<&'a str>,
    pub(crate) method: LoginMethod,
    /// Whether the platform vouched for them, and with which proof, should it be one that is used up.
    pub(crate) proven: Proven,
    /// The client; without one, that of the role they begin with.
    pub(crate) source: Option<LoginSource>,
    pub(crate) visitor: &'a Visitor,
}

/// What stands behind somebody's word that they are who they are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Proven {
    /// Nothing.
    No,
    /// The platform, a moment ago.
    Directly,
    /// The platform, as this proof says.
    By(Digest),
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

/// A session that has just begun: the only time its token is seen.
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
        let Begun { session, person, roles } = self.mint(admission, token.digest()).await?;
        Ok(SignedIn { token, session, person, roles })
    }

    /// Begins a session for the token with this digest: checks who somebody is, and commits session and log together before
    /// it returns.
    pub(crate) async fn mint(&self, admission: Admission<'_>, token: Digest) -> Result<Begun, Error> {
        let (person, roles, role) = self.admit(&admission).await?;
        let session = self.session_for(&person, role, &admission);
        // Whether the employee is shut out is asked once more inside the transaction. Roles need not be: they are asked
        // for at every use.
        if !self.store.begin_session(self.birth(token, &session, &admission)?).await? {
            return Err(Refusal::Disabled.into());
        }
        tracing::debug!(employee = ?session.employee, method = session.method.name(), "signed in");
        Ok(Begun { session, person, roles })
    }

    async fn admit(&self, admission: &Admission<'_>) -> Result<(Arc<Member>, Roles, Role), Error> {
        let person = self.store.person(admission.employee).await?.ok_or(Refusal::UnknownEmployee)?;
        if person.disabled {
            return Err(Refusal::Disabled.into());
        }
        let proven = !matches!(admission.proven, Proven::No);
        let roles = self.policy.admitted(admission.method, proven, person.roles);
        let highest = roles.highest().ok_or(Refusal::NoRole)?;
        let role = match admission.role {
            Some(name) => held(name, roles)?,
            None => highest,
        };
        Ok((person, roles, role))
    }

    fn session_for(&self, person: &Person, role: Role, admission: &Admission<'_>) -> Session {
        let now = self.clock.now();
        Session {
            employee: person.key.clone(),
            current_role: role,
            method: admission.method,
            proven: !matches!(admission.proven, Proven::No),
            source: admission.source.unwrap_or(LoginSource::of(role)),
            created_at: now,
            expires_at: now + self.policy.lifetime,
        }
    }

    fn birth(&self, digest: Digest, session: &Session, admission: &Admission<'_>) -> Result<Birth, NoEntropy> {
        Ok(Birth {
            digest,
            session: session.clone(),
            proof: match admission.proven {
                Proven::By(proof) => Some(proof),
                Proven::No | Proven::Directly => None,
            },
            at_most: self.policy.max_per_employee,
            deny_until: self.deny_until(session.created_at),
            entry: self.entry(Event::SignIn, session, session.created_at, admission.visitor)?,
        })
    }

    pub(crate) fn entry(
        &self,
        event: Event,
        session: &Session,
        at: Timestamp,
        visitor: &Visitor,
    ) -> Result<LogEntry, NoEntropy> {
        Ok(LogEntry {
            id: format!("{:012x}{:020x}", at.millis(), u128::from_be_bytes(self.entropy.bytes()?) >> 48),
            at,
            event,
            employee: session.employee.clone(),
            role: session.current_role,
            method: session.method,
            source: session.source,
            visitor: visitor.clone(),
        })
    }
}

/// The role called `name`, when it is among those held.
pub(crate) fn held(name: &str, roles: Roles) -> Result<Role, Refusal> {
    let role = Role::from_name(name).filter(|role| roles.holds(*role));
    role.ok_or_else(|| Refusal::RoleNotHeld(name.chars().take(64).collect()))
}
