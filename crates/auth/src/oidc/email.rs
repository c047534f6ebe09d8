//! The address of an employee that clients are told.

use deskpass_core::{EmployeeId, EmployeeKey, Person};

use crate::{Auth, Error};

impl Auth {
    /// The address of an employee: that of the record, which the platform or an operator has set, or else one made from
    /// `email_domain`. No employee can edit any of them, and no two employees have the same: a client that knows its users by
    /// address must not confuse them.
    pub(super) async fn email_of(&self, person: &Person) -> Result<Option<String>, Error> {
        if let Some(email) = &person.email {
            let is_disputed = self.is_made_for_another(&email.address, &person.key).await?;
            return Ok((!is_disputed).then(|| email.address.clone()));
        }
        let Some(domain) = &self.policy.oidc.email_domain else { return Ok(None) };
        let is_home = person.key.corp() == self.policy.home_corp.as_str();
        let Some(address) = is_home.then(|| domain_address(&person.employee_id, domain)).flatten() else {
            return Ok(None);
        };
        // The platform may have given this address to a colleague whose identifier is written differently.
        let owner = self.store.employee_of_email(address.clone()).await?;
        Ok(owner.is_none_or(|owner| owner == person.key).then_some(address))
    }

    /// Whether an address is that which `email_domain` makes for another employee, who has no other. Clients may have been told it about
    /// that employee, so they are told it about neither until one of the two has another address.
    async fn is_made_for_another(&self, address: &str, own: &EmployeeKey) -> Result<bool, Error> {
        let Some(domain) = &self.policy.oidc.email_domain else { return Ok(false) };
        let Some(id) = employee_of_address(address, domain) else { return Ok(false) };
        let other = self.resolve_key(None, &id);
        if other == *own {
            return Ok(false);
        }
        let other = self.store.person(&other).await?;
        let is_disputed = other.is_some_and(|other| other.email.is_none());
        if is_disputed {
            tracing::warn!(
                employee = %own,
                "clients are not told the e-mail address of an employee: email_domain makes the same for another one"
            );
        }
        Ok(is_disputed)
    }
}

/// The identifier that an address in this domain is made from.
fn employee_of_address(address: &str, domain: &str) -> Option<EmployeeId> {
    let (id, of) = address.rsplit_once('@')?;
    if of.eq_ignore_ascii_case(domain) { EmployeeId::parse(id).ok() } else { None }
}

/// The address made from an identifier; `None` if the identifier cannot be the first part of an address.
fn domain_address(employee_id: &str, domain: &str) -> Option<String> {
    let is_dotted_badly = employee_id.starts_with('.') || employee_id.ends_with('.') || employee_id.contains("..");
    let is_local_part = !employee_id.is_empty() && !employee_id.contains('@') && !is_dotted_badly;
    is_local_part.then(|| format!("{employee_id}@{domain}").to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_made_from_a_plain_identifier_only() {
        assert_eq!(domain_address("Li.Lei", "Example.com").as_deref(), Some("li.lei@example.com"));
        for bad in ["", ".a", "a.", "a..b", "a@b"] {
            assert_eq!(domain_address(bad, "example.com"), None, "{bad}");
        }
    }

    #[test]
    fn an_address_in_the_domain_leads_back_to_its_identifier() {
        let id = |address| employee_of_address(address, "example.com").map(|id| id.as_str().to_owned());
        assert_eq!(id("li.lei@Example.com").as_deref(), Some("li.lei"));
        for other in ["li.lei@example.org", "li.lei@mail.example.com", "李雷@example.com", "li.lei", "@example.com"] {
            assert_eq!(id(other), None, "{other}");
        }
    }
}
