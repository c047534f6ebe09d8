//! Admin commands about what OpenID Connect clients know an employee by.

use deskpass_auth::{Auth, Error, Refusal};
use deskpass_core::EmailSource;
use deskpass_platform::client::email_address;

use super::text::describe_error;
use super::{CommandResult, EmployeeSelector};

/// Sets the address that clients of OpenID Connect are told, or removes it.
pub(super) async fn set_email(auth: &Auth, who: &EmployeeSelector, address: Option<&str>) -> CommandResult {
    let address = address.map(|text| email_address(text).filter(|address| !address.is_empty()));
    if address == Some(None) {
        return Err("ADDRESS must be an e-mail address such as zhangsan@example.com".to_owned());
    }
    let (address, name, key) = (address.flatten(), &who.employee, who.key(auth)?);
    if address.is_none() {
        let person = auth.store.person(&key).await.map_err(describe_error)?;
        let has_none = |source: Option<EmailSource>| source != Some(EmailSource::Operator);
        if person.is_some_and(|person| has_none(person.email.as_ref().map(|email| email.source))) {
            return Ok(format!("no address was entered for {name}, so there was nothing to remove"));
        }
    }
    match auth.operator().set_email(key, address.as_deref()).await {
        Ok(()) => Ok(match address {
            Some(address) => format!("the address of {name} is {address}"),
            None => {
                format!("{name} has no entered address; one that the platform knows comes back at the next sign-in")
            }
        }),
        Err(Error::Refused(Refusal::Exists)) => {
            Err("another employee has this address; see `deskpass employee list`. Nothing was changed".to_owned())
        }
        Err(error) => Err(who.explain(error)),
    }
}

/// Ends what the identifier's former holder had, so that clients do not take the new one for the same person.
pub(super) async fn new_person(auth: &Auth, who: &EmployeeSelector) -> CommandResult {
    let renewed = auth.operator().renew_subject(who.key(auth)?).await;
    let ended = renewed.map_err(|error| who.explain(error))?;
    let name = &who.employee;
    Ok(format!(
        "{name} is another person for connected programs: a new subject at the next sign-in, and no entered e-mail address; \
         {ended} session(s) ended. Roles, password and authenticator stay: see `deskpass role revoke` and `deskpass agent`"
    ))
}
