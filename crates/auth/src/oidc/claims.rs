//! What clients are told about a user and about the sign-in. A claim without a value is left out; none is null.

use deskpass_core::oidc::{ClientRegistration, OidcScope, OidcScopes};
use deskpass_core::{LoginMethod, Person, Role, Roles, Session, Timestamp};
use serde_json::{Map, Value, json};

use crate::{Auth, Error};

/// The user that claims are about, and what the client may know.
#[derive(Debug)]
pub(super) struct UserClaims<'a> {
    pub(super) subject: &'a str,
    pub(super) person: &'a Person,
    /// The address that no employee can edit, if there is one.
    pub(super) email: Option<&'a str>,
    /// Whether the groups contain the name of the department.
    pub(super) tells_department_name: bool,
    /// The roles that the client is told.
    pub(super) roles: Roles,
    pub(super) scopes: OidcScopes,
    pub(super) client: &'a ClientRegistration,
    pub(super) home_corp: &'a str,
}

impl UserClaims<'_> {
    /// The claims of the granted scopes, with the subject.
    pub(super) fn to_map(&self) -> Map<String, Value> {
        let mut claims = Map::new();
        claims.insert("sub".to_owned(), self.subject.into());
        if self.scopes.contains(OidcScope::Profile) {
            self.add_profile(&mut claims);
        }
        if let Some(email) = self.email.filter(|_| self.scopes.contains(OidcScope::Email)) {
            claims.insert("email".to_owned(), email.into());
            // Every address comes from the platform's administrator or an operator, never from the employee.
            claims.insert("email_verified".to_owned(), true.into());
        }
        if self.scopes.contains(OidcScope::Groups) {
            claims.insert("groups".to_owned(), self.groups().into());
        }
        if self.scopes.contains(OidcScope::Groups) || self.scopes.contains(OidcScope::Profile) {
            claims.insert("roles".to_owned(), self.roles.iter().map(Role::name).collect::<Vec<_>>().into());
        }
        claims
    }

    fn add_profile(&self, claims: &mut Map<String, Value>) {
        let Person { name, department, avatar, key, .. } = self.person;
        let username = preferred_username(self.person, self.home_corp);
        let texts = [
            ("name", name.as_str()),
            // A Chinese name is not split: no rule tells its parts apart.
            ("given_name", name.as_str()),
            ("preferred_username", username.as_str()),
            ("picture", avatar.as_str()),
            ("department", department.as_str()),
            ("corp_id", key.corp()),
        ];
        for (claim, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
            claims.insert(claim.to_owned(), text.into());
        }
    }

    /// The groups: an array, also of one or none.
    fn groups(&self) -> Vec<String> {
        let mut groups: Vec<String> = self.roles.iter().map(|role| self.client.group_of(role)).collect();
        let Person { department, department_id, .. } = self.person;
        if self.client.department_groups && !department_id.is_empty() {
            groups.push(format!("dept-id:{department_id}"));
        }
        if self.tells_department_name {
            groups.push(format!("dept:{department}"));
        }
        // Several roles may have the same group.
        groups.sort_unstable();
        groups.dedup();
        groups
    }
}

impl Auth {
    /// Whether a client is told the name of a person's department as a group: not if another department has the same name, since a
    /// program would give the people of both the same.
    pub(super) async fn tells_department_name(
        &self,
        person: &Person,
        client: &ClientRegistration,
    ) -> Result<bool, Error> {
        if !client.department_groups || person.department.is_empty() {
            return Ok(false);
        }
        if self.policy.oidc.shared_department_names {
            return Ok(true);
        }
        let home = || vec![self.policy.home_corp.as_str().to_owned()];
        let corps = if client.corporations.is_empty() { home() } else { client.corporations.clone() };
        Ok(!self.store.shares_department_name(person, corps).await?)
    }
}

/// The name of an employee for people: the identifier, with the corporation if it is not the home corporation, so that namesakes
/// differ.
pub(super) fn preferred_username(person: &Person, home_corp: &str) -> String {
    match person.key.corp() {
        corp if corp == home_corp => person.employee_id.clone(),
        corp => format!("{}@{corp}", person.employee_id),
    }
}

/// How the user was authenticated, as the claims `acr` and `amr` name it. `platform` is the name of the platform.
pub(super) fn authentication_claims(session: &Session, platform: &str) -> Map<String, Value> {
    let (context, methods) = match session.method {
        LoginMethod::Qrcode => (platform, vec!["mca", platform]),
        // Where any client may name an employee, nothing was proven: `0` says so (OpenID Connect Core §2).
        LoginMethod::Bind if !session.vouched.is_vouched() => ("0", Vec::new()),
        LoginMethod::Oauth2 | LoginMethod::Bind => (platform, vec![platform]),
        LoginMethod::Password => ("otp", vec!["pwd", "otp", "mfa"]),
        LoginMethod::Dev => ("dev", vec!["dev"]),
    };
    let mut claims = Map::new();
    claims.insert("acr".to_owned(), context.into());
    if !methods.is_empty() {
        claims.insert("amr".to_owned(), json!(methods));
    }
    claims
}

/// A time as tokens contain it: whole seconds since 1970.
pub(super) fn seconds(at: Timestamp) -> i64 {
    at.millis().div_euclid(1_000)
}

#[cfg(test)]
mod tests {
    use deskpass_core::{EmployeeKey, LoginSource, PlatformVouching};

    use super::*;

    fn person() -> Person {
        let key = EmployeeKey::from_parts("wwHome", "li.lei");
        let (name, department, department_id) = ("李雷".to_owned(), "IT".to_owned(), "2".to_owned());
        Person { name, department, department_id, ..Person::new(key, "Li.Lei") }
    }

    fn claims(person: &Person, scopes: &str, roles: Roles, client: &ClientRegistration) -> Value {
        let email = Some("li.lei@example.com");
        let scopes = OidcScopes::parse(scopes);
        let claims = UserClaims {
            subject: "s",
            person,
            email,
            tells_department_name: client.department_groups,
            roles,
            scopes,
            client,
            home_corp: "wwHome",
        };
        claims.to_map().into()
    }

    #[test]
    fn each_scope_has_its_claims_and_none_is_null() {
        let (person, client) = (person(), ClientRegistration::default());
        let roles = Roles::NONE.with(Role::Agent).with(Role::User);
        assert_eq!(claims(&person, "openid", roles, &client), json!({"sub": "s"}));
        assert_eq!(
            claims(&person, "openid email", roles, &client),
            json!({"sub": "s", "email": "li.lei@example.com", "email_verified": true})
        );
        assert_eq!(
            claims(&person, "openid profile", roles, &client),
            json!({
                "sub": "s", "name": "李雷", "given_name": "李雷", "preferred_username": "Li.Lei", "department": "IT",
                "corp_id": "wwHome", "roles": ["agent", "user"]
            })
        );
    }

    #[test]
    fn groups_are_always_an_array() {
        let (person, plain) = (person(), ClientRegistration::default());
        let one = Roles::NONE.with(Role::Agent);
        let groups = |roles, client: &ClientRegistration| {
            claims(&person, "openid groups", roles, client).get("groups").cloned().unwrap_or_default()
        };
        assert_eq!(groups(Roles::NONE, &plain), json!([]));
        assert_eq!(groups(one, &plain), json!(["role:agent"]));
        let mapped = [(Role::Agent, "staff".to_owned()), (Role::Admin, "staff".to_owned())];
        let client = ClientRegistration { groups: mapped.into(), department_groups: true, ..plain };
        assert_eq!(groups(one.with(Role::Admin), &client), json!(["dept-id:2", "dept:IT", "staff"]));
    }

    #[test]
    fn namesakes_of_other_corporations_differ() {
        let other = Person::new(EmployeeKey::from_parts("wwOther", "Li.Lei"), "Li.Lei");
        assert_eq!(preferred_username(&other, "wwHome"), "Li.Lei@wwOther");
        assert_eq!(preferred_username(&person(), "wwHome"), "Li.Lei");
    }

    #[test]
    fn the_method_of_the_sign_in_is_told_as_it_was() {
        let of = |method, vouched| {
            let now = Timestamp::from_millis(0);
            let session = Session {
                employee: EmployeeKey::from_parts("ww", "a"),
                current_role: Role::User,
                method,
                vouched,
                default_role: None,
                source: LoginSource::Oidc,
                created_at: now,
                expires_at: now,
            };
            Value::from(authentication_claims(&session, "wecom"))
        };
        let (none, directly, through) = (PlatformVouching::None, PlatformVouching::Directly, PlatformVouching::Through);
        assert_eq!(of(LoginMethod::Qrcode, directly), json!({"acr": "wecom", "amr": ["mca", "wecom"]}));
        assert_eq!(of(LoginMethod::Oauth2, directly), json!({"acr": "wecom", "amr": ["wecom"]}));
        assert_eq!(of(LoginMethod::Bind, through), json!({"acr": "wecom", "amr": ["wecom"]}));
        assert_eq!(of(LoginMethod::Bind, none), json!({"acr": "0"}));
        assert_eq!(of(LoginMethod::Password, directly), json!({"acr": "otp", "amr": ["pwd", "otp", "mfa"]}));
        assert_eq!(of(LoginMethod::Dev, none), json!({"acr": "dev", "amr": ["dev"]}));
    }
}
