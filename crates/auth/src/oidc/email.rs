//! The address of an employee that clients are told.

use deskpass_core::{Email, EmployeeId, EmployeeKey, Person};

use crate::{Auth, Error};

/// What clients are told as the address of an employee, or why they are told none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EmailDecision {
    /// The address of the record, which the platform or an operator has set.
    Recorded(Email),
    /// The address that `email_domain` makes.
    Derived(String),
    /// None: one employee has this address by the record, and another one by `email_domain`. Clients may know either of them by it,
    /// so they are told it about neither.
    Disputed {
        /// The address of both.
        address: String,
        /// The other employee.
        other: EmployeeKey,
    },
    /// None: the record has none, and `email_domain` is not set.
    NoDomain,
    /// None: the record has none, and `email_domain` is for the home corporation.
    OtherCorporation,
    /// None: the record has none, and the identifier cannot be the first part of an address.
    NoLocalPart,
}

impl EmailDecision {
    /// The address that clients are told.
    fn into_address(self) -> Option<String> {
        match self {
            Self::Recorded(email) => Some(email.address),
            Self::Derived(address) => Some(address),
            Self::Disputed { .. } | Self::NoDomain | Self::OtherCorporation | Self::NoLocalPart => None,
        }
    }
}

impl Auth {
    /// The address of an employee that clients are told.
    pub(super) async fn email_of(&self, person: &Person) -> Result<Option<String>, Error> {
        let decision = self.email_decision(person).await?;
        if let EmailDecision::Disputed { other, .. } = &decision {
            tracing::warn!(
                employee = %person.key,
                %other,
                "clients are not told the e-mail address of an employee: another one has the same by email_domain or by the record"
            );
        }
        Ok(decision.into_address())
    }

    /// Decides what clients are told as the address of an employee: that of the record, which the platform or an operator has set, or
    /// else one made from `email_domain`. No employee can edit any of them, and no two employees have the same: a client that knows
    /// its users by address must not confuse them.
    pub async fn email_decision(&self, person: &Person) -> Result<EmailDecision, Error> {
        if let Some(email) = &person.email {
            let other = self.other_with_derived(&email.address, &person.key).await?;
            return Ok(match other {
                Some(other) => EmailDecision::Disputed { address: email.address.clone(), other },
                None => EmailDecision::Recorded(email.clone()),
            });
        }
        let Some(domain) = &self.policy.oidc.email_domain else { return Ok(EmailDecision::NoDomain) };
        if person.key.corp() != self.policy.home_corp.as_str() {
            return Ok(EmailDecision::OtherCorporation);
        }
        let Some(address) = domain_address(&person.employee_id, domain) else { return Ok(EmailDecision::NoLocalPart) };
        let owner = self.store.employee_of_email(address.clone()).await?;
        Ok(match owner.filter(|owner| *owner != person.key) {
            Some(other) => EmailDecision::Disputed { address, other },
            None => EmailDecision::Derived(address),
        })
    }

    /// Another employee for whom `email_domain` makes this address, and who has no other.
    async fn other_with_derived(&self, address: &str, own: &EmployeeKey) -> Result<Option<EmployeeKey>, Error> {
        let Some(domain) = &self.policy.oidc.email_domain else { return Ok(None) };
        let Some(id) = employee_of_address(address, domain) else { return Ok(None) };
        let other = self.resolve_key(None, &id);
        if other == *own {
            return Ok(None);
        }
        let person = self.store.person(&other).await?;
        Ok(person.filter(|person| person.email.is_none()).map(|_| other))
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
