//! Changes that an administrator makes to employees.

use std::time::Duration;

use deskpass_core::{Email, EmailSource, EmployeeKey, Person, Role, Roles, Timestamp};
use deskpass_store::{
    AuditEvent, ConfirmOutcome, DisableOutcome, GrantUntilOutcome, ListedPerson, NewEmployee, RevokeOutcome,
    RoleOrigin, SetEmailOutcome, SetRolesOutcome,
};

use super::Administrator;
use crate::{Auth, Error, ROLE_LIFETIMES, Refusal};

impl Administrator<'_> {
    /// Requires an employee within the administrator's scope.
    pub async fn require_employee(&self, employee: &EmployeeKey) -> Result<(), Error> {
        self.require_in_scope(employee)?;
        let person = self.auth.store.person(employee).await?;
        if person.is_some() { Ok(()) } else { Err(Refusal::NoSuchEmployee.into()) }
    }

    /// Adds an employee. Refused if the employee exists already.
    pub async fn add_employee(&self, person: Person) -> Result<(), Error> {
        self.require_in_scope(&person.key)?;
        let roles: Vec<_> = person.roles.iter().map(Role::name).collect();
        let entry = self.entry(AuditEvent::EmployeeAdded, &person.key, roles.join(", "))?;
        let new = NewEmployee { person, at: entry.at, entry: Some(entry) };
        let added = self.commit(self.auth.store.add_employee(self.author(), new)).await?;
        if added { Ok(()) } else { Err(Refusal::Exists.into()) }
    }

    /// Disables an employee and ends the employee's sessions; returns how many ended. Refused for the last administrator.
    pub async fn disable(&self, employee: EmployeeKey) -> Result<usize, Error> {
        self.require_in_scope(&employee)?;
        let entry = self.entry(AuditEvent::EmployeeDisabled, &employee, "")?;
        let (even_last, deny_until) = (self.may_remove_last_admin(&employee), self.auth.deny_until(entry.at));
        match self.commit(self.auth.store.disable(self.author(), employee, even_last, deny_until, entry)).await? {
            DisableOutcome::Done(ended) => Ok(ended),
            DisableOutcome::Unknown => Err(Refusal::NoSuchEmployee.into()),
            DisableOutcome::LastAdmin => self.refuse_last_admin().await,
        }
    }

    /// Enables an employee. Sessions that ended stay ended.
    pub async fn enable(&self, employee: EmployeeKey) -> Result<(), Error> {
        self.require_in_scope(&employee)?;
        let entry = self.entry(AuditEvent::EmployeeEnabled, &employee, "")?;
        let enabled = self.commit(self.auth.store.enable(self.author(), employee, entry)).await?;
        if enabled { Ok(()) } else { Err(Refusal::NoSuchEmployee.into()) }
    }

    /// Admits an employee again who left according to the platform, for an operator who knows better than the platform; `false` if the
    /// employee had not left. If the platform says again that they left, they are locked again.
    pub async fn readmit(&self, employee: EmployeeKey) -> Result<bool, Error> {
        if self.who.is_some() {
            return self.refuse(Refusal::NotPermitted).await;
        }
        self.require_employee(&employee).await?;
        let entry = self.entry(AuditEvent::EmployeeReturned, &employee, "operator")?;
        Ok(self.auth.store.readmit(employee, entry).await?)
    }

    /// Replaces the roles of an employee; returns the updated record. Refused if it would remove the last administrator.
    pub async fn set_roles(&self, employee: EmployeeKey, roles: Roles) -> Result<ListedPerson, Error> {
        self.require_in_scope(&employee)?;
        let entry = self.entry(AuditEvent::RolesChanged, &employee, "")?;
        let (even_last, deny_until) = (self.may_remove_last_admin(&employee), self.auth.deny_until(entry.at));
        let change = self.auth.store.set_roles(self.author(), employee.clone(), roles, even_last, deny_until, entry);
        match self.commit(change).await? {
            SetRolesOutcome::Changed(_) | SetRolesOutcome::Unchanged => {}
            SetRolesOutcome::Unknown => return Err(Refusal::NoSuchEmployee.into()),
            SetRolesOutcome::LastAdmin => return self.refuse_last_admin().await,
            SetRolesOutcome::FromRule(role) => return Err(Refusal::RoleFromRule(role).into()),
        }
        Ok(self.auth.store.listed_person(employee).await?.ok_or(Refusal::NoSuchEmployee)?)
    }

    /// Grants a role to an employee; `false` if the employee held it already.
    pub async fn grant(&self, employee: EmployeeKey, role: &str) -> Result<bool, Error> {
        self.require_in_scope(&employee)?;
        let role = self.auth.parse_assignable_role(&employee, role).await?;
        let entry = self.entry(AuditEvent::RolesChanged, &employee, format!("+{role}"))?;
        self.commit(self.auth.store.grant(self.author(), employee, role, entry)).await
    }

    /// Revokes a role of an employee; `false` if the employee did not hold it. The employee's sessions lose it at once.
    pub async fn revoke(&self, employee: EmployeeKey, role: &str) -> Result<bool, Error> {
        self.require_in_scope(&employee)?;
        let role = self.auth.parse_assignable_role(&employee, role).await?;
        let entry = self.entry(AuditEvent::RolesChanged, &employee, format!("-{role}"))?;
        let even_last = self.may_remove_last_admin(&employee);
        match self.commit(self.auth.store.revoke(self.author(), employee, role, even_last, entry)).await? {
            RevokeOutcome::Revoked => Ok(true),
            RevokeOutcome::NotHeld => Ok(false),
            RevokeOutcome::LastAdmin => self.refuse_last_admin().await,
            RevokeOutcome::FromRule => Err(Refusal::RoleFromRule(role).into()),
        }
    }

    /// Grants a temporary role to an employee; returns when it ends. It replaces an earlier end. Refused if the employee holds the
    /// role permanently.
    pub async fn grant_until(
        &self,
        employee: EmployeeKey,
        role: Role,
        lifetime: Duration,
        reason: &str,
    ) -> Result<Timestamp, Error> {
        self.require_in_scope(&employee)?;
        let lifetime = lifetime.clamp(*ROLE_LIFETIMES.start(), *ROLE_LIFETIMES.end());
        let minutes = lifetime.as_secs().div_ceil(60);
        let entry =
            self.entry(AuditEvent::RolesChanged, &employee, format!("+{role} for {minutes} minutes: {reason}"))?;
        let until = entry.at + lifetime;
        let change = self.auth.store.grant_until(self.author(), employee, role, until, reason.to_owned(), entry);
        match self.commit(change).await? {
            GrantUntilOutcome::Granted => Ok(until),
            GrantUntilOutcome::HeldForGood => Err(Refusal::Exists.into()),
            GrantUntilOutcome::Unknown => Err(Refusal::NoSuchEmployee.into()),
        }
    }

    /// The roles of an employee, and where each comes from.
    pub async fn role_origins(&self, employee: EmployeeKey) -> Result<Vec<RoleOrigin>, Error> {
        self.require_employee(&employee).await?;
        Ok(self.auth.store.role_origins(employee).await?)
    }

    /// Sets the e-mail address that clients of OpenID Connect are told about an employee, or removes it. The platform's address, if
    /// it has one, comes back at the next sign-in. Refused if another employee has the address.
    pub async fn set_email(&self, employee: EmployeeKey, email: Option<&str>) -> Result<(), Error> {
        self.require_in_scope(&employee)?;
        let entry = self.entry(AuditEvent::EmailChanged, &employee, email.unwrap_or("removed"))?;
        let address = email.map(|text| Email { address: text.to_owned(), source: EmailSource::Operator });
        let change = self.auth.store.set_email(self.author(), employee, address, entry);
        match self.commit(change).await? {
            SetEmailOutcome::Set => Ok(()),
            SetEmailOutcome::NoSuchEmployee => Err(Refusal::NoSuchEmployee.into()),
            SetEmailOutcome::Taken => Err(Refusal::Exists.into()),
        }
    }

    /// Makes an employee a new person to the clients of OpenID Connect: the platform has given the identifier to another person, who must
    /// not get what the clients keep for the former one. Ends the employee's sessions with all that clients got, and takes away the
    /// subject, in place of which there is a new one at the next need, and the e-mail address; returns how many sessions ended.
    pub async fn renew_subject(&self, employee: EmployeeKey) -> Result<usize, Error> {
        self.require_in_scope(&employee)?;
        let entry = self.entry(AuditEvent::SubjectRenewed, &employee, "")?;
        let deny_until = self.auth.deny_until(entry.at);
        let ended = self.commit(self.auth.store.renew_subject(self.author(), employee, deny_until, entry)).await?;
        Ok(ended.ok_or(Refusal::NoSuchEmployee)?)
    }

    /// Confirms that the present holder of an identifier, whom this digest of [`UnconfirmedHolder`](deskpass_store::UnconfirmedHolder)
    /// names, may have what the record has, after the platform said that it is another person; `false` if there was nothing to confirm.
    /// Refused if the platform names yet another person since.
    pub async fn confirm_holder(&self, employee: EmployeeKey, digest: String) -> Result<bool, Error> {
        self.require_in_scope(&employee)?;
        let entry = self.entry(AuditEvent::HolderConfirmed, &employee, "")?;
        let deny_until = self.auth.deny_until(entry.at);
        let confirming = self.auth.store.confirm_holder(self.author(), employee, digest, deny_until, entry);
        match self.commit(confirming).await? {
            ConfirmOutcome::Confirmed => Ok(true),
            ConfirmOutcome::NotNeeded => Ok(false),
            ConfirmOutcome::Changed => Err(Refusal::HolderChanged.into()),
            ConfirmOutcome::Unknown => Err(Refusal::NoSuchEmployee.into()),
        }
    }

    /// Refuses to remove the last administrator. For an operator, who is asked to confirm it, that is no refusal and is not logged.
    async fn refuse_last_admin<T>(&self) -> Result<T, Error> {
        if self.who.is_none() { Err(Refusal::LastAdmin.into()) } else { self.refuse(Refusal::LastAdmin).await }
    }
}

impl Auth {
    pub(super) async fn parse_assignable_role(&self, employee: &EmployeeKey, role: &str) -> Result<Role, Error> {
        let role = Role::from_name(role).ok_or_else(|| Refusal::NoSuchRole(role.to_owned()))?;
        self.store.person(employee).await?.ok_or(Refusal::NoSuchEmployee)?;
        Ok(role)
    }
}
