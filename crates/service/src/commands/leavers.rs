//! Admin commands about people whom the platform keeps out.

use deskpass_auth::Auth;

use super::text::describe_error;
use super::{CommandResult, EmployeeSelector};

/// Enables an employee, who may still be locked out because of the platform.
pub(super) async fn enable(auth: &Auth, who: &EmployeeSelector) -> CommandResult {
    let (name, key) = (&who.employee, who.key(auth)?);
    auth.operator().enable(key.clone()).await.map_err(|error| who.explain(error))?;
    let person = auth.store.person(&key).await.map_err(describe_error)?;
    Ok(if person.is_some_and(|person| person.left.is_some()) {
        format!("{name} is enabled, but the platform says that they left: `deskpass employee return {}`", who.typed())
    } else {
        format!("{name} is enabled")
    })
}

/// Admits an employee who left according to the platform.
pub(super) async fn readmit(auth: &Auth, who: &EmployeeSelector) -> CommandResult {
    let (name, key) = (&who.employee, who.key(auth)?);
    let returned = auth.operator().readmit(key.clone()).await.map_err(|error| who.explain(error))?;
    let person = auth.store.person(&key).await.map_err(describe_error)?;
    let disabled = if person.is_some_and(|person| person.disabled) {
        format!(", but is disabled here; to enable: deskpass employee enable {}", who.typed())
    } else {
        String::new()
    };
    Ok(if returned {
        format!(
            "{name} is admitted again{disabled}. If the platform says again that they left, they are locked out again"
        )
    } else {
        format!("{name} was not locked out because of the platform{disabled}")
    })
}
