//! Sign-in by naming an employee, for users of connected corporations.

use deskpass_core::{BindProof, ClientInfo, EmployeeKey, LoginMethod, LoginSource, Secret};

use crate::audit::Attempt;
use crate::sign_in::{SignInProof, SignInRequest};
use crate::{Auth, BindPolicy, Error, PROOF_LIFETIME, Refusal, SignedIn};

impl Auth {
    /// Signs the named employee in: with a proof of the platform, or without one where the bind policy permits it. Where the
    /// caller is not identified, the refusal is always the same, so that it does not reveal who is an employee.
    pub async fn bind(
        &self,
        employee: &EmployeeKey,
        proof: Option<&str>,
        visitor: &ClientInfo,
    ) -> Result<SignedIn, Error> {
        let attempt = Attempt::to_sign_in(Some(employee), LoginMethod::Bind, visitor);
        if let Some(proof) = self.check_bind_proof(employee, proof).await? {
            let signed_in = self.sign_in(bind_request(employee, proof, visitor)).await;
            return self.audit_outcome(attempt, signed_in).await.map_err(hide_disabled);
        }
        self.audit_outcome(attempt.claimed(), self.bind_without_proof(employee, visitor).await).await
    }

    async fn bind_without_proof(&self, employee: &EmployeeKey, visitor: &ClientInfo) -> Result<SignedIn, Error> {
        match &self.policy.bind {
            BindPolicy::Open => {}
            BindPolicy::OpenTo(networks) if networks.contains(visitor.address.decided) => {}
            BindPolicy::OpenTo(_) | BindPolicy::Proof | BindPolicy::Off => {
                return Err(Refusal::UnknownEmployee.into());
            }
        }
        self.sign_in(bind_request(employee, SignInProof::None, visitor)).await
    }

    async fn check_bind_proof(
        &self,
        employee: &EmployeeKey,
        proof: Option<&str>,
    ) -> Result<Option<SignInProof>, Error> {
        let proof = proof.and_then(|proof| Secret::<BindProof>::parse(proof).ok());
        let Some(proof) = proof.filter(|_| !matches!(self.policy.bind, BindPolicy::Off)) else { return Ok(None) };
        let now = self.clock.now_for_lifetime(PROOF_LIFETIME);
        let permits = self.store.proof_permits(proof.digest(), employee.clone(), now).await?;
        Ok(permits.then(|| SignInProof::BindProof(proof.digest())))
    }
}

fn bind_request<'a>(employee: &'a EmployeeKey, proof: SignInProof, visitor: &'a ClientInfo) -> SignInRequest<'a> {
    SignInRequest { employee, role: None, method: LoginMethod::Bind, proof, source: Some(LoginSource::H5), visitor }
}

/// Hides that an employee is disabled or has left. That the employee has no role is not hidden: the caller's own proof was accepted.
fn hide_disabled(error: Error) -> Error {
    match error {
        Error::Refused(Refusal::Disabled | Refusal::LeftPlatform) => Refusal::UnknownEmployee.into(),
        other => other,
    }
}
