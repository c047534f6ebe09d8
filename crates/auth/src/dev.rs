//! Development mode: test users, and a sign-in without the platform.

use deskpass_core::{
    ClientInfo, CorpId, EmployeeId, EmployeeKey, IdentifiedPerson, LoginMethod, LoginSource, Person, Role, Roles,
};
use deskpass_store::{ChangeAuthor, ListedPerson, NewEmployee};

use crate::audit::Attempt;
use crate::platform_user::identified_person;
use crate::sign_in::{SignInProof, SignInRequest};
use crate::{Auth, Error, SignedIn};

/// A test user: employee id, name, department with its id on the simulated platform, roles.
pub type DevUser = (&'static str, &'static str, (&'static str, &'static str), &'static [Role]);

/// The test users of a new development store.
pub const DEV_USERS: [DevUser; 6] = [
    ("admin01", "Ada Admin", ("IT", "2"), &[Role::Admin, Role::Agent, Role::User]),
    ("agent01", "Arno Agent", ("IT Service Desk", "3"), &[Role::Agent, Role::User]),
    ("user01", "Uma User", ("Sales", "4"), &[Role::User]),
    ("supervisor01", "Sven Supervisor", ("IT Service Desk", "3"), &[Role::Supervisor, Role::User]),
    ("security01", "Selma Security", ("Security", "5"), &[Role::Security, Role::User]),
    ("norole01", "Nora Norole", ("Finance", "6"), &[]),
];

/// The test users who are agents, and the role of their agent record.
const DEV_AGENTS: [(&str, Role); 3] =
    [("admin01", Role::Admin), ("agent01", Role::Agent), ("supervisor01", Role::Supervisor)];

impl Auth {
    /// Adds the test users that do not exist yet.
    pub async fn seed_dev_users(&self) -> Result<(), Error> {
        for (id, name, (department, department_id), roles) in DEV_USERS {
            let person = Person {
                name: name.to_owned(),
                department: department.to_owned(),
                department_id: department_id.to_owned(),
                roles: roles.iter().copied().collect::<Roles>(),
                ..Person::new(EmployeeKey::from_parts(self.policy.home_corp.as_str(), id), id)
            };
            let (key, at) = (person.key.clone(), self.clock.now());
            if self.store.add_employee(ChangeAuthor::NoSession, NewEmployee { person, at, entry: None }).await? {
                continue;
            }
            // The record is from before departments had ids.
            let known = self.store.person(&key).await?;
            if known.is_some_and(|known| known.department_id.is_empty() && known.department == department) {
                let department_id = Some(department_id.to_owned());
                let person = IdentifiedPerson { department_id, ..identified_person(key, id, None) };
                self.store.upsert_person(person, at).await?;
            }
        }
        for (id, role) in DEV_AGENTS {
            let key = EmployeeKey::from_parts(self.policy.home_corp.as_str(), id);
            self.store.add_agent(ChangeAuthor::NoSession, key, role, self.clock.now(), None).await?;
        }
        Ok(())
    }

    /// Signs in any employee, in any role the employee holds.
    pub async fn dev_login(
        &self,
        corp: Option<&CorpId>,
        id: &EmployeeId,
        role: Option<&str>,
        visitor: &ClientInfo,
    ) -> Result<SignedIn, Error> {
        let (method, proof, source) = (LoginMethod::Dev, SignInProof::None, Some(LoginSource::H5));
        let employee = &self.resolve_key(corp, id);
        let signed_in = self.sign_in(SignInRequest { employee, role, method, proof, source, visitor }).await;
        let attempt = Attempt::to_sign_in(Some(employee), method, visitor).claimed();
        self.audit_outcome(Attempt { source, ..attempt }, signed_in).await
    }

    /// The first employees of the directory.
    pub async fn dev_users(&self) -> Result<Vec<ListedPerson>, Error> {
        Ok(self.store.employees(None, 200).await?)
    }
}
