//! Signing in by naming an employee, for people of connected corporations.

use deskpass_core::{EmployeeKey, LoginMethod, LoginSource, Visitor};

use crate::mint::Admission;
use crate::{Auth, BindPolicy, Error, Refusal, SignedIn};

impl Auth {
    /// Signs the named employee in, as far as this desk lets strangers do so.
    ///
    /// # Errors
    /// One and the same refusal wherever the caller has not shown who they are, so that nobody learns who works here.
    pub async fn bind(&self, employee: &EmployeeKey, visitor: &Visitor) -> Result<SignedIn, Error> {
        match &self.policy.bind {
            BindPolicy::Open => {}
            BindPolicy::OpenTo(networks) if networks.contain(visitor.address.decided) => {}
            BindPolicy::OpenTo(_) | BindPolicy::Proof | BindPolicy::Off => return Err(Refusal::UnknownEmployee.into()),
        }
        let (method, source) = (LoginMethod::Bind, LoginSource::H5);
        self.mint(Admission { employee, role: None, method, source, visitor }).await
    }
}
