//! Admin commands about what OpenID Connect clients know an employee by.

use deskpass_auth::{Auth, EmailDecision, Error, Refusal};
use deskpass_core::{EmailSource, EmployeeKey};
use deskpass_platform::client::email_address;
use deskpass_store::UnconfirmedHolder;

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
    match auth.operator().set_email(key.clone(), address.as_deref()).await {
        Ok(()) => Ok(match address {
            Some(address) => {
                let warning = dispute_warning(auth, &key).await;
                format!("the address of {name} is {address}{warning}")
            }
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

/// Says that clients are not told an address that was just entered, if that is so. The address is stored in any case, so a failure
/// to find out is none of the command.
async fn dispute_warning(auth: &Auth, key: &EmployeeKey) -> String {
    let Ok(Some(person)) = auth.store.person(key).await else { return String::new() };
    match auth.email_decision(&person).await {
        Ok(EmailDecision::Disputed { other, .. }) => {
            let id = other.id();
            format!("\nwarning: {id} is told this address through oidc.email_domain: neither is told it now")
        }
        _ => String::new(),
    }
}

/// Ends what the identifier's former holder had, so that clients do not take the new one for the same person.
pub(super) async fn new_person(auth: &Auth, who: &EmployeeSelector) -> CommandResult {
    let renewed = auth.operator().renew_subject(who.key(auth)?).await;
    let ended = renewed.map_err(|error| who.explain(error))?;
    let name = &who.employee;
    Ok(format!(
        "{name} is another person for connected programs: a new subject at the next sign-in, and no entered e-mail address; \
         {ended} session(s) ended. Roles, password and authenticator stay: see `deskpass role revoke` and `deskpass agent`; then \
         `deskpass employee confirm`, if the platform says that it is another person"
    ))
}

/// Confirms the person who has an identifier now, as the answer shows them.
pub(super) async fn confirm_holder(auth: &Auth, who: &EmployeeSelector) -> CommandResult {
    let (name, key) = (&who.employee, who.key(auth)?);
    let holder = auth.store.unconfirmed_holder(key.clone()).await.map_err(describe_error)?;
    let digest = holder.as_ref().map(UnconfirmedHolder::digest).unwrap_or_default();
    let confirmed = auth.operator().confirm_holder(key, digest).await.map_err(|error| who.explain(error))?;
    if !confirmed {
        return Ok(format!("{name} needs no confirmation: the platform says nothing about another person"));
    }
    let [former, now] = holder.map_or([None, None], |holder| [holder.former.name, holder.now.name]);
    let [former, now] = [former, now].map(|name| name.unwrap_or_else(|| "?".to_owned()));
    Ok(format!("{name} is confirmed ({former} -> {now}): what is recorded for this identifier counts again"))
}
