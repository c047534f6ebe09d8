//! The outcome of a QR sign-in, for the phone that confirmed it.

use std::time::Duration;

use deskpass_core::{Confirm, Digest, EarlyEnd, Secret, SignInStage};
use deskpass_store::{PointerKind, SignInPointer};
use tokio::time::timeout;

use crate::{Auth, Error, Refusal};

/// The progress of a sign-in, as the phone that scanned its code sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanOutcome {
    /// The phone has not decided.
    Undecided,
    /// The phone confirmed, and the waiting browser has not collected the token.
    Confirmed,
    /// The waiting browser has collected the token.
    SignedIn,
}

impl ScanOutcome {
    fn of(stage: &SignInStage) -> Option<Self> {
        match stage {
            SignInStage::Scanned(_) => Some(Self::Undecided),
            SignInStage::Confirmed { .. } | SignInStage::Ready { delivered_at: None, .. } => Some(Self::Confirmed),
            SignInStage::Ready { delivered_at: Some(_), .. } => Some(Self::SignedIn),
            SignInStage::Waiting | SignInStage::Over => None,
        }
    }
}

impl Auth {
    /// The progress of the sign-in that a phone scanned. Only its secret gives access. Reading it changes nothing.
    ///
    /// # Errors
    /// When the sign-in was cancelled or refused, or has expired, or the shared state fails.
    pub async fn scan_outcome(&self, confirm: &str) -> Result<ScanOutcome, Error> {
        let (pointer, _) = self.claim_pointer(confirm).await?;
        self.outcome_of(pointer).await
    }

    /// The same, but waits up to `limit` while the waiting browser has not collected the token.
    ///
    /// # Errors
    /// As [`Auth::scan_outcome`].
    pub async fn await_scan_outcome(&self, confirm: &str, limit: Duration) -> Result<ScanOutcome, Error> {
        let (pointer, _) = self.claim_pointer(confirm).await?;
        let Some(changes) = self.shared.sign_ins.watch(&pointer.to, self.clock.now()).await? else {
            return self.outcome_of(pointer).await;
        };
        let settled = async {
            loop {
                // Subscribes before it reads the state, so that no change is missed in between.
                let next = changes.next();
                match self.outcome_of(pointer).await? {
                    ScanOutcome::Confirmed => next.await,
                    outcome => return Ok(outcome),
                }
            }
        };
        match timeout(limit, settled).await {
            Ok(outcome) => outcome,
            Err(_) => self.outcome_of(pointer).await,
        }
    }

    /// The ticket and the digest of a phone's secret.
    pub(crate) async fn ticket_of_confirm(&self, confirm: &str) -> Result<(Digest, Digest), Error> {
        let (pointer, confirm) = self.claim_pointer(confirm).await?;
        Ok((pointer.to, confirm))
    }

    /// What a phone's secret points to, and the digest of the secret.
    async fn claim_pointer(&self, confirm: &str) -> Result<(SignInPointer, Digest), Error> {
        let confirm = Secret::<Confirm>::parse(confirm).map_err(|_| Refusal::SignInOver)?.digest();
        let pointer = self.shared.claims.read_with(&confirm, self.clock.now(), |pointer| *pointer).await?;
        Ok((pointer.ok_or(Refusal::SignInOver)?, confirm))
    }

    /// The progress of the sign-in that a phone's secret pointed to.
    async fn outcome_of(&self, SignInPointer { to, kind, .. }: SignInPointer) -> Result<ScanOutcome, Error> {
        if kind == PointerKind::DeliveredSignIn {
            return Ok(ScanOutcome::SignedIn);
        }
        let read = self.shared.sign_ins.read_with(&to, self.clock.now(), |sign_in| ScanOutcome::of(&sign_in.stage));
        Ok(read.await?.flatten().ok_or(Refusal::SignInOver)?)
    }
}

/// The end of a sign-in for this refusal, if it is about the person who scanned the code.
pub(crate) fn early_end(refusal: &Refusal) -> Option<EarlyEnd> {
    match refusal {
        Refusal::NotAMember | Refusal::UnknownEmployee => Some(EarlyEnd::NotAMember),
        Refusal::NoRole | Refusal::HolderUnconfirmed => Some(EarlyEnd::NoRole),
        Refusal::LeftPlatform => Some(EarlyEnd::Left),
        Refusal::Disabled => Some(EarlyEnd::Disabled),
        Refusal::AddressNotAllowed(_) => Some(EarlyEnd::AddressNotAllowed),
        Refusal::WrongNumber => Some(EarlyEnd::WrongNumber),
        _ => None,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use deskpass_core::EarlyEnd;
    use serde_json::json;

    /// Nodes of another version share the records.
    #[test]
    fn an_end_is_known_by_its_name_also_to_nodes_that_know_fewer() {
        for name in EarlyEnd::NAMES {
            let end: EarlyEnd = serde_json::from_value(json!(name)).unwrap();
            assert_eq!(serde_json::to_value(end).unwrap(), name);
        }
        assert_eq!(serde_json::from_value::<EarlyEnd>(json!("invented_later")).unwrap(), EarlyEnd::Refused);
    }
}
