//! Signing in by naming an employee, for people of connected corporations.

use deskpass_core::{BindProof, EmployeeKey, LoginMethod, LoginSource, Secret, Visitor};

use crate::log::Attempt;
use crate::mint::{Admission, Proven};
use crate::{Auth, BindPolicy, Error, PROOF_LIFETIME, Refusal, SignedIn};

impl Auth {
    /// Signs the named employee in, as far as a proof of the platform goes, and without one as far as this desk lets
    /// strangers do so.
    ///
    /// # Errors
    /// One and the same refusal wherever the caller has not shown who they are, so that nobody learns who works here.
    pub async fn bind(
        &self,
        employee: &EmployeeKey,
        proof: Option<&str>,
        visitor: &Visitor,
    ) -> Result<SignedIn, Error> {
        let attempt = Attempt::to_sign_in(Some(employee), LoginMethod::Bind, visitor);
        if let Some(proven) = self.proven(employee, proof).await? {
            let signed_in = self.sign_in(bound(employee, proven, visitor)).await;
            return self.recorded(attempt, signed_in).await.map_err(veiled);
        }
        self.recorded(attempt.claimed(), self.bind_without_proof(employee, visitor).await).await
    }

    async fn bind_without_proof(&self, employee: &EmployeeKey, visitor: &Visitor) -> Result<SignedIn, Error> {
        match &self.policy.bind {
            BindPolicy::Open => {}
            BindPolicy::OpenTo(networks) if networks.contain(visitor.address.decided) => {}
            BindPolicy::OpenTo(_) | BindPolicy::Proof | BindPolicy::Off => {
                return Err(Refusal::UnknownEmployee.into());
            }
        }
        self.sign_in(bound(employee, Proven::No, visitor)).await
    }

    async fn proven(&self, employee: &EmployeeKey, proof: Option<&str>) -> Result<Option<Proven>, Error> {
        let proof = proof.and_then(|proof| Secret::<BindProof>::parse(proof).ok());
        let Some(proof) = proof.filter(|_| !matches!(self.policy.bind, BindPolicy::Off)) else { return Ok(None) };
        let permits = self
            .store
            .proof_permits(proof.digest(), employee.clone(), self.clock.now_for_lifetime(PROOF_LIFETIME))
            .await?;
        Ok(permits.then(|| Proven::By(proof.digest())))
    }
}

fn bound<'a>(employee: &'a EmployeeKey, proven: Proven, visitor: &'a Visitor) -> Admission<'a> {
    Admission { employee, role: None, method: LoginMethod::Bind, proven, source: Some(LoginSource::H5), visitor }
}

/// Whether an employee was shut out is nothing to learn by binding. That they have no role is: their own proof says so.
fn veiled(error: Error) -> Error {
    match error {
        Error::Refused(Refusal::Disabled) => Refusal::UnknownEmployee.into(),
        other => other,
    }
}
