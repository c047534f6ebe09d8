//! The decision about a QR sign-in, on the phone that scanned the code.

use std::time::Duration;

use deskpass_core::{
    ClientInfo, Digest, EarlyEnd, IdentifiedPerson, InvalidTransition, LoginMethod, MatchNumber, NumberMatch,
    PendingSignIn, PersonPreview, PhoneClaim, Reference, SignInOrigin, SignInStage, Timestamp,
};
use deskpass_store::SignInStep;

use crate::audit::Attempt;
use crate::scan_outcome::early_end;
use crate::sign_in::{SignInProof, SignInRequest};
use crate::{Auth, Error, Refusal};

/// The question that a phone is asked.
#[derive(Debug)]
pub struct ConfirmationPrompt {
    /// The origin of the sign-in: client, source and time.
    pub asked: SignInOrigin,
    /// The user who would be signed in.
    pub who: IdentifiedPerson,
    /// The phone.
    pub phone: ClientInfo,
    /// Whether another page opened the link on the phone, according to its browser.
    pub opened_by_page: bool,
    /// How long the user has to decide.
    pub remaining: Duration,
    /// The numbers to choose from, if the screen shows one of them.
    pub choices: Option<[MatchNumber; 3]>,
}

impl Auth {
    /// The question that a phone is asked. Reading it changes nothing. Refused if the sign-in is decided or expired.
    pub async fn confirmation_prompt(&self, confirm: &str) -> Result<ConfirmationPrompt, Error> {
        let (ticket, confirm) = self.ticket_of_confirm(confirm).await?;
        let now = self.clock.now();
        let decision = self.shared.sign_ins.read_with(&ticket, now, |sign_in| {
            sign_in.may_confirm(confirm, now).map(|claim| ConfirmationPrompt {
                asked: sign_in.asked.clone(),
                who: claim.who.clone(),
                phone: claim.phone.clone(),
                opened_by_page: claim.opened_by_page,
                remaining: sign_in.expires_at.since(now),
                choices: sign_in.numbers.as_ref().map(NumberMatch::choices),
            })
        });
        Ok(decision.await?.flatten().ok_or(Refusal::SignInOver)?)
    }

    /// Records that the phone's page has shown the prompt long enough to be read; returns the prompt again.
    pub async fn mark_prompt_shown(&self, confirm: &str) -> Result<ConfirmationPrompt, Error> {
        let (ticket, digest) = self.ticket_of_confirm(confirm).await?;
        self.advance(&ticket, |sign_in| sign_in.shown(digest)).await?;
        self.confirmation_prompt(confirm).await
    }

    /// Confirms the sign-in from the phone. Must run to completion, whether or not the phone waits for it. Refused if the
    /// sign-in is decided or expired, the user may not sign in, or picked another number than the one on the screen.
    pub async fn confirm(&self, confirm: &str, picked: Option<MatchNumber>, reference: Reference) -> Result<(), Error> {
        // Read first: the sign-in that a wrong number ends does not know the phone any more.
        let prompt = self.confirmation_prompt(confirm).await?;
        let (ticket, confirm) = self.ticket_of_confirm(confirm).await?;
        if prompt.choices.is_some() && !self.pick_once(&ticket, picked).await? {
            return Err(Refusal::SignInOver.into());
        }
        let since = self.clock.now();
        let mut confirmed = self.advance(&ticket, |sign_in| sign_in.confirmed(confirm, picked, since)).await;
        if let Err(Error::Internal(_)) = confirmed {
            // Only the answer may be lost or late. A later request of the phone would find the sign-in decided.
            self.shared.wait_until_up().await;
            confirmed = self.advance(&ticket, |sign_in| sign_in.confirmed_again(confirm, picked, since)).await;
        }
        if let Err(Error::Internal(_)) = confirmed {
            self.reopen(&ticket, since).await;
        }
        let mut sign_in = confirmed?;
        if sign_in.ended == Some(EarlyEnd::WrongNumber) {
            self.record_phone_refusal(prompt, &Refusal::WrongNumber, reference).await?;
            return Err(Refusal::WrongNumber.into());
        }
        // The audit row is about the browser, and has the reference that the phone sees.
        sign_in.asked.visitor.reference = Some(reference);
        let begun = self.begin_confirmed_session(&sign_in).await;
        let SignInOrigin { source, visitor, .. } = &sign_in.asked;
        let attempt = Attempt::to_sign_in(sign_in.who(), LoginMethod::Qrcode, visitor);
        let begun = self.audit_outcome(Attempt { source: Some(*source), ..attempt }, begun).await;
        let now = self.clock.now();
        let settle = |sign_in: PendingSignIn| {
            Ok::<_, InvalidTransition>(match &begun {
                Ok(who) => sign_in.ready(who.clone(), now),
                Err(Error::Refused(refusal)) => sign_in.refused(early_end(refusal).unwrap_or(EarlyEnd::Refused)),
                Err(Error::Internal(_)) => sign_in.reopened(since),
            })
        };
        let mut settled = self.shared.sign_ins.update(&ticket, now, settle).await;
        if settled.is_err() {
            // Only the answer may be lost or late. A second run has no further effect.
            self.shared.wait_until_up().await;
            settled = self.shared.sign_ins.update(&ticket, now, settle).await;
        }
        if let (Ok(_), Ok(None | Some(Ok(PendingSignIn { stage: SignInStage::Over, .. })))) = (&begun, &settled) {
            let employee = sign_in.who().map(tracing::field::display);
            tracing::warn!(employee, %reference, "sign-in expired before its session began");
        }
        begun?;
        Ok(settled.map(drop)?)
    }

    /// Undoes a confirmation that may have been recorded although the shared store failed, so that the phone can confirm again
    /// at once. Best effort: if the store fails again, the phone can confirm after a few seconds.
    async fn reopen(&self, ticket: &Digest, since: Timestamp) {
        let reopened = |sign_in: PendingSignIn| Ok::<_, InvalidTransition>(sign_in.reopened(since));
        self.shared.wait_until_up().await;
        drop(self.shared.sign_ins.update(ticket, self.clock.now(), reopened).await);
    }

    async fn begin_confirmed_session(&self, sign_in: &PendingSignIn) -> Result<PersonPreview, Error> {
        let SignInStage::Confirmed { claim, .. } = &sign_in.stage else {
            return Err(Refusal::SignInOver.into());
        };
        let PhoneClaim { who, phone, .. } = &**claim;
        self.update_person(who).await?;
        let SignInOrigin { source, visitor, .. } = &sign_in.asked;
        let (employee, method, proof) = (&who.key, LoginMethod::Qrcode, SignInProof::of(who));
        let request = SignInRequest { employee, role: None, method, proof, source: Some(*source), visitor };
        let begun = self.begin_session(request, sign_in.token.0, Some(phone)).await?;
        if begun.is_new {
            self.count_step(SignInStep::QrConfirmed);
        }
        Ok(begun.shown())
    }

    /// Cancels the sign-in from the phone. Refused if the sign-in is decided or expired.
    pub async fn cancel(&self, confirm: &str, reference: Reference) -> Result<(), Error> {
        let prompt = self.confirmation_prompt(confirm).await?;
        let (ticket, confirm) = self.ticket_of_confirm(confirm).await?;
        let mut cancelled = self.advance(&ticket, |sign_in| sign_in.cancelled(confirm)).await;
        if let Err(Error::Internal(_)) = cancelled {
            // As with a confirmation; also, its row would never be written.
            self.shared.wait_until_up().await;
            cancelled = self.advance(&ticket, |sign_in| sign_in.cancelled_again(confirm)).await;
        }
        cancelled?;
        self.record_phone_refusal(prompt, &Refusal::Cancelled, reference).await
    }

    /// Writes the row of a sign-in that the phone ended.
    async fn record_phone_refusal(
        &self,
        ConfirmationPrompt { asked, who, mut phone, .. }: ConfirmationPrompt,
        refusal: &Refusal,
        reference: Reference,
    ) -> Result<(), Error> {
        phone.reference = Some(reference);
        let attempt = Attempt::to_sign_in(Some(&who.key), LoginMethod::Qrcode, &phone);
        self.record_refusal(Attempt { source: Some(asked.source), ..attempt }, refusal).await
    }
}
