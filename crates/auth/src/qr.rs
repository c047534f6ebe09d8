//! Sign-in with a QR code: a browser waits, and a phone scans the code and decides.

mod decision;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use deskpass_core::{
    Access, ClientInfo, Confirm, Digest, EarlyEnd, IdentifiedPerson, InvalidTransition, LoginMethod, LoginSource,
    MatchNumber, NumberMatch, OUTCOME_PERIOD, PendingSignIn, PersonPreview, PhoneClaim, ScanId, Secret, SignInOrigin,
    SignInStage, Ticket, TicketedToken, Timestamp,
};
use deskpass_store::{PointerKind, RecordWatch, SignInPointer, SignInStep};

pub use self::decision::ConfirmationPrompt;
use crate::audit::Attempt;
use crate::link_opener::LinkOpener;
use crate::people::refusal_of;
use crate::scan_outcome::early_end;
use crate::single_use::QR_LIFETIME;
use crate::{Auth, Error, Refusal};

/// A new QR sign-in.
#[derive(Debug)]
pub struct IssuedTicket {
    /// The secret of the waiting client.
    pub ticket: Secret<Ticket>,
    /// The public id in the QR code.
    pub scan_id: Secret<ScanId>,
    /// How long the sign-in is valid.
    pub lifetime: Duration,
    /// When it expires.
    pub expires_at: Timestamp,
    /// The number for the screen, if the client shows one: the phone must pick it.
    pub number: Option<MatchNumber>,
}

/// The status that a ticket's holder sees.
#[derive(Debug)]
pub enum TicketStatus {
    /// The code has not been scanned.
    Waiting,
    /// The code was scanned, and the decision is pending.
    Scanned(PersonPreview),
    /// The user confirmed; this is the token.
    Confirmed(PersonPreview, Secret<Access>),
    /// The sign-in has expired, or never existed.
    Expired,
    /// The sign-in ended before its time.
    Ended(EarlyEnd),
}

/// The client that polls with a ticket, as far as the request identifies it.
#[derive(Clone, Debug, Default)]
pub struct Poller {
    /// The digests of its cookies.
    pub cookies: Vec<Digest>,
    /// Whether it is a page of this service, according to the browser or the page itself.
    pub page: bool,
}

impl Poller {
    /// Whether the client may use the ticket. A ticket that is bound to a browser is valid only there, and a page accepts no
    /// other ticket: otherwise an attacker could send a link that signs people in as the attacker.
    fn may_use(&self, sign_in: &PendingSignIn) -> bool {
        match &sign_in.bound_to {
            Some(cookie) => self.cookies.contains(cookie),
            None => !self.page,
        }
    }
}

impl Auth {
    /// Begins a QR sign-in, bound to the browser's cookie if there is one. `client` is the name and the host of the OpenID Connect
    /// client that the user signs in for: the phone shows them. `with_number` is for clients that show a number on the screen.
    pub async fn issue_ticket(
        &self,
        source: LoginSource,
        client: Option<(String, String)>,
        visitor: ClientInfo,
        bound_to: Option<Digest>,
        with_number: bool,
    ) -> Result<IssuedTicket, Error> {
        let (now, TicketedToken { ticket, token }) = (self.clock.now(), TicketedToken::generate(&self.entropy)?);
        let scan_id = Secret::generate(&self.entropy)?;
        let address = visitor.address.decided;
        let asked = SignInOrigin { source, visitor, at: now, client };
        let numbers = if with_number { Some(NumberMatch::generate(&self.entropy)?) } else { None };
        let number = numbers.as_ref().map(NumberMatch::number);
        let sign_in = self.new_ticketed_sign_in(token, asked, bound_to, QR_LIFETIME);
        let (sign_in, expires_at) = (PendingSignIn { numbers, ..sign_in }, sign_in.expires_at);
        let digest = ticket.digest();
        let pointer = SignInPointer { to: digest, until: expires_at, kind: PointerKind::SignIn };
        let rate = self.policy.kept_requests.codes;
        // Nobody has the ticket or the id yet, so the order does not matter, and the calls to Redis
        // need not wait for each other.
        tokio::try_join!(
            self.shared.sign_ins.put_for(address, rate, digest, sign_in, now),
            self.shared.scan_ids.put_for(address, rate, scan_id.digest(), pointer, now),
        )?;
        self.count_step(SignInStep::QrShown);
        Ok(IssuedTicket { ticket, scan_id, lifetime: QR_LIFETIME, expires_at, number })
    }

    /// The status of a ticket's sign-in, with the token once it is ready.
    pub async fn poll_ticket(&self, ticket: &str, poller: &Poller) -> Result<TicketStatus, Error> {
        let Ok(ticket) = Secret::<Ticket>::parse(ticket) else { return Ok(TicketStatus::Expired) };
        let (now, digest) = (self.clock.now(), ticket.digest());
        let seen = self.shared.sign_ins.read_with(&digest, now, |sign_in| match &sign_in.stage {
            _ if !poller.may_use(sign_in) => TicketStatus::Expired,
            SignInStage::Waiting => TicketStatus::Waiting,
            SignInStage::Scanned(claim) if !self.may_reveal_scanner(claim) => TicketStatus::Waiting,
            SignInStage::Scanned(claim) | SignInStage::Confirmed { claim, .. } => {
                TicketStatus::Scanned(shown(&claim.who))
            }
            SignInStage::Ready { who, .. } => TicketStatus::Scanned(who.clone()),
            SignInStage::Over => sign_in.ended.map_or(TicketStatus::Expired, TicketStatus::Ended),
        });
        Ok(match seen.await? {
            Some(TicketStatus::Scanned(who)) => {
                self.deliver_token(&ticket, now).await?.unwrap_or(TicketStatus::Scanned(who))
            }
            Some(other) => other,
            None => TicketStatus::Expired,
        })
    }

    /// Whether the ticket's holder may learn who scanned the code before the confirmation. Loading the link identifies the user,
    /// and a foreign page can load it: so the user must have seen the prompt, and must not have come from another page. In
    /// development mode the scan is revealed at once.
    fn may_reveal_scanner(&self, claim: &PhoneClaim) -> bool {
        self.policy.reveal_scanner_at_once || (claim.shown && !claim.opened_by_page)
    }

    /// Delivers the token of a ticket if it is ready. Redelivery is possible for a limited time.
    async fn deliver_token(&self, ticket: &Secret<Ticket>, now: Timestamp) -> Result<Option<TicketStatus>, Error> {
        let digest = ticket.digest();
        // The update may run several times; the last run counts.
        let first = AtomicBool::new(false);
        let delivered = self.shared.sign_ins.update(&digest, now, |sign_in| match sign_in.stage {
            SignInStage::Ready { delivered_at, .. } => {
                first.store(delivered_at.is_none(), Ordering::Relaxed);
                let delivered = sign_in.delivered(now).map(|delivered| self.trim_delivered(delivered));
                delivered.map_err(|InvalidTransition| Some(TicketStatus::Expired))
            }
            _ => Err(None),
        });
        Ok(match delivered.await?.unwrap_or(Err(Some(TicketStatus::Expired))) {
            Ok(PendingSignIn {
                stage: SignInStage::Ready { who, by_phone, confirm, .. }, token: (_, sealed), ..
            }) => {
                if by_phone && first.into_inner() {
                    self.count_step(SignInStep::QrCollected);
                    self.keep_outcome(confirm, now).await;
                }
                Some(TicketStatus::Confirmed(who, Secret::unseal(sealed, ticket)))
            }
            Ok(_) => None,
            Err(none_or_over) => none_or_over,
        })
    }

    /// A watch on the sign-in of a ticket, and how long it can still last.
    pub async fn watch_ticket(&self, ticket: &str) -> Result<Option<(RecordWatch, Duration)>, Error> {
        let Ok(ticket) = Secret::<Ticket>::parse(ticket) else { return Ok(None) };
        let (now, digest) = (self.clock.now(), ticket.digest());
        let Some(changes) = self.shared.sign_ins.watch(&digest, now).await? else { return Ok(None) };
        let remaining = self.shared.sign_ins.read_with(&digest, now, |sign_in| sign_in.expires_at.since(now)).await?;
        Ok(remaining.map(|remaining| (changes, remaining)))
    }

    /// Requires that the scan id belongs to a sign-in that has not been scanned, or to a question that this phone can open.
    pub(crate) async fn require_scannable(&self, scan_id: &str, phone: &ClientInfo) -> Result<(), Error> {
        let SignInPointer { to, kind, .. } = self.scan_pointer(scan_id).await?.ok_or(Refusal::SignInOver)?;
        if kind == PointerKind::Question {
            return self.require_openable(&to, phone).await;
        }
        let waiting = |sign_in: &PendingSignIn| matches!(sign_in.stage, SignInStage::Waiting);
        let is_waiting = self.shared.sign_ins.read_with(&to, self.clock.now(), waiting).await? == Some(true);
        if is_waiting { Ok(()) } else { Err(Refusal::SignInOver.into()) }
    }

    /// The scan id of a phone, if its sign-in has not been scanned, or its question can be opened: before the phone goes to the
    /// platform. Refused otherwise.
    pub async fn require_unscanned<'a>(
        &self,
        scan_id: Option<&'a Secret<ScanId>>,
        phone: &ClientInfo,
    ) -> Result<&'a Secret<ScanId>, Error> {
        let checked = match scan_id {
            Some(scan_id) => self.require_scannable(scan_id.expose(), phone).await.map(|()| scan_id),
            None => Err(Refusal::SignInOver.into()),
        };
        if checked.is_ok() {
            return checked;
        }
        let refused = self.refused_scan_event(scan_id.map(Secret::expose)).await;
        let attempt = Attempt { refused, ..Attempt::to_sign_in(None, LoginMethod::Qrcode, phone) };
        self.audit_outcome(attempt, checked).await
    }

    /// What a scan id points to.
    pub(crate) async fn scan_pointer(&self, scan_id: &str) -> Result<Option<SignInPointer>, Error> {
        let Ok(scan_id) = Secret::<ScanId>::parse(scan_id) else { return Ok(None) };
        Ok(self.shared.scan_ids.read_with(&scan_id.digest(), self.clock.now(), |pointer| *pointer).await?)
    }

    /// The ticket of a scan id; `None` if it is of a question.
    async fn ticket_of_scan(&self, scan_id: &str) -> Result<Option<Digest>, Error> {
        let pointer = self.scan_pointer(scan_id).await?;
        Ok(pointer.filter(|pointer| pointer.kind == PointerKind::SignIn).map(|pointer| pointer.to))
    }

    /// Ends the sign-in of a code if the person who scanned it may not sign in, so that the waiting browser can say so. Nobody
    /// presses anything before, so the refusal is revealed only if the browser reports that no other page opened the link: that
    /// page would learn whether its reader belongs to the company.
    pub(crate) async fn turn_away(&self, scan_id: &str, refusal: &Refusal, opener: LinkOpener) -> Result<(), Error> {
        let may_reveal = self.policy.reveal_scanner_at_once || opener == LinkOpener::NoOtherPage;
        let Some(why) = early_end(refusal).filter(|_| may_reveal) else { return Ok(()) };
        let Some(ticket) = self.ticket_of_scan(scan_id).await? else { return Ok(()) };
        // If another phone was first, the sign-in is that phone's.
        drop(self.shared.sign_ins.update(&ticket, self.clock.now(), |sign_in| sign_in.turned_away(why)).await?);
        Ok(())
    }

    /// Claims a scanned sign-in for a phone. Only that phone may decide, with the returned secret. Each step in the shared store
    /// is tried twice: if only its answer was lost or late, a later request would find the code scanned.
    pub(crate) async fn claim_scan(
        &self,
        scan_id: &str,
        who: IdentifiedPerson,
        phone: ClientInfo,
        opener: LinkOpener,
    ) -> Result<Secret<Confirm>, Error> {
        let to = self.ticket_of_scan(scan_id).await?.ok_or(Refusal::SignInOver)?;
        if let Some(refusal) = self.store.person(&who.key).await?.and_then(|person| refusal_of(&person)) {
            return Err(refusal.into());
        }
        let (now, confirm) = (self.clock.now(), Secret::generate(&self.entropy)?);
        let opened_by_page = opener == LinkOpener::OtherPage;
        let claim = PhoneClaim { confirm: confirm.digest(), who, phone, opened_by_page, shown: false };
        let scan = |sign_in: PendingSignIn| match &sign_in.stage {
            // The first attempt had run: nobody else has this secret.
            SignInStage::Scanned(by) if by.confirm == claim.confirm => Ok(sign_in),
            _ => sign_in.scanned(claim.clone()),
        };
        let mut scanned = self.advance(&to, scan).await;
        if let Err(Error::Internal(_)) = scanned {
            self.shared.wait_until_up().await;
            scanned = self.advance(&to, scan).await;
        }
        let scanned = scanned?;
        self.count_step(SignInStep::QrScanned);
        let until = scanned.expires_at + OUTCOME_PERIOD;
        let pointer = SignInPointer { to, until, kind: PointerKind::SignIn };
        if self.shared.claims.put(confirm.digest(), pointer, now).await.is_err() {
            self.shared.wait_until_up().await;
            self.shared.claims.put(confirm.digest(), pointer, now).await?;
        }
        self.forget_scan_id(scan_id).await;
        Ok(confirm)
    }

    /// Takes a step of a sign-in. Refused if it does not fit the stage, or the sign-in has expired.
    async fn advance(
        &self,
        ticket: &Digest,
        step: impl Fn(PendingSignIn) -> Result<PendingSignIn, InvalidTransition>,
    ) -> Result<PendingSignIn, Error> {
        let stepped = self.shared.sign_ins.update(ticket, self.clock.now(), step).await?;
        stepped.ok_or(Refusal::SignInOver)?.map_err(|InvalidTransition| Refusal::SignInOver.into())
    }
}

fn shown(who: &IdentifiedPerson) -> PersonPreview {
    PersonPreview { employee_id: who.employee_id.clone(), name: who.display_name().to_owned() }
}
