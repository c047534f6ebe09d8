//! The platform's redirect: a code comes back, and with it somebody.

use std::time::Duration;

use deskpass_core::{
    Asked, BindProof, Confirm, Digest, EmployeeKey, Flow, Identified, LoginMethod, LoginSource, Pending, Secret, Stage,
    Ticket, Visitor,
};
use deskpass_store::{Code, Flow as Begun, Held};
use tokio::time::timeout;

use crate::arrival::Arrival;
use crate::mint::{Admission, Proven};
use crate::{Auth, Error, Refusal};

/// How long a browser may be away at the platform.
const FLOW: Duration = Duration::from_mins(10);
/// How long the same code from the same browser gets the same answer.
const CODE: Duration = Duration::from_mins(1);
/// How long the page may take to trade its ticket.
const TICKET: Duration = Duration::from_mins(1);
/// How long somebody may think about whether to continue.
const PENDING: Duration = Duration::from_mins(3);
/// How long a proof of who somebody is counts.
const PROOF: Duration = Duration::from_mins(5);
/// Longer than the platform may take: then whoever asked first is stuck.
const PATIENCE: Duration = Duration::from_secs(6);

/// What a browser brings back from the platform.
#[derive(Clone, Debug)]
pub struct Callback {
    /// The code that stands for somebody.
    pub code: String,
    /// Which sign-in was scanned, when a phone scanned one.
    pub scan_id: Option<String>,
    /// The cookie of a browser that began this.
    pub flow: Option<Digest>,
    /// The browser.
    pub visitor: Visitor,
}

/// Where a browser goes in the end: where it wanted, or to the page of a client.
#[derive(Clone, Debug)]
pub enum Destination {
    /// The address it asked for when it began.
    Asked(String),
    /// A client's page.
    Client(LoginSource),
}

/// What becomes of somebody who came back from the platform.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Their phone scanned a code, and they decide with this.
    Decide(Secret<Confirm>),
    /// They are signed in; the page collects the token with this.
    SignedIn(Secret<Ticket>, Destination),
    /// They must say that it was they who began, with this.
    Continue(Secret<Pending>),
    /// They must say which employee they are, with this.
    Bind(Secret<BindProof>, Destination),
}

/// An answer that will not change by asking again.
pub type Settled = Result<Answer, Refusal>;

/// Somebody who must say that it was they who began.
#[derive(Debug)]
pub struct Waiting {
    /// As whom they would be signed in.
    pub who: Identified,
    /// How long there is to say so.
    pub remaining: Duration,
}

impl Auth {
    /// Notes that a browser sets out to the platform and wants to be at `redirect_uri` in the end; returns its cookie.
    ///
    /// # Errors
    /// When there is no randomness.
    pub fn set_out(&self, destination: Option<String>) -> Result<(Secret<Flow>, Duration), Error> {
        let (now, cookie) = (self.clock.now(), Secret::generate(&self.entropy)?);
        self.shared.flows.put(cookie.digest(), Begun { destination, until: now + FLOW }, now);
        Ok((cookie, FLOW))
    }

    /// Where the browser with this cookie wants to be.
    #[must_use]
    pub fn destination(&self, flow: Option<Digest>) -> Option<String> {
        self.shared.flows.look(&flow?, self.clock.now(), |begun| begun.destination.clone()).flatten()
    }

    /// Answers a browser that comes back. A code counts once: the browser that brought it first gets the same answer again
    /// for a while, since some load the page twice; any other one is refused. To be run to its end, whether or not the
    /// browser waits for it.
    ///
    /// # Errors
    /// When the code is no good, whoever it stands for may not sign in, or the platform or the store fails.
    pub async fn come_back(&self, callback: Callback) -> Result<Answer, Error> {
        let (code, browser) = (Digest::of(&[callback.code.as_bytes()]), browser(&callback));
        // The second round is for whoever waited for somebody that failed.
        for _ in 0..2 {
            let (now, claim) = (self.clock.now(), |until| Code { browser, answer: None, until });
            if self.shared.codes.put(code, claim(now + CODE), now) {
                return self.settle(code, &callback).await;
            }
            if let Some(settled) = self.settled(&code, browser).await? {
                return Ok(settled?);
            }
        }
        Err(Refusal::InvalidCode.into())
    }

    async fn settle(&self, code: Digest, callback: &Callback) -> Result<Answer, Error> {
        let settled = match self.exchange(callback).await {
            Ok(answer) => Ok(answer),
            Err(Error::Refused(refusal)) => Err(refusal),
            Err(internal) => {
                // The code may still be good: whoever asks again may try again.
                self.shared.codes.take(&code, self.clock.now());
                return Err(internal);
            }
        };
        let noted = |seen: Code<Settled>| Ok::<_, Error>(Code { answer: Some(settled.clone()), ..seen });
        self.shared.codes.change(&code, self.clock.now(), noted);
        Ok(settled?)
    }

    /// What a code that somebody brought before was answered with, waiting for it if need be; `None` when it was not.
    async fn settled(&self, code: &Digest, browser: Digest) -> Result<Option<Settled>, Error> {
        let Some(changes) = self.shared.codes.watch(code, self.clock.now()) else { return Ok(None) };
        loop {
            let next = changes.next();
            let seen = self.shared.codes.look(code, self.clock.now(), |seen| (seen.browser, seen.answer.clone()));
            match seen {
                None => return Ok(None),
                Some((first, _)) if first != browser => return Err(Refusal::InvalidCode.into()),
                Some((_, Some(settled))) => return Ok(Some(settled)),
                Some((_, None)) if timeout(PATIENCE, next).await.is_err() => return Err(Refusal::InvalidCode.into()),
                Some((_, None)) => {}
            }
        }
    }

    async fn exchange(&self, callback: &Callback) -> Result<Answer, Error> {
        let Callback { code, scan_id, flow, visitor } = callback;
        if scan_id.as_ref().is_some_and(|scan_id| !self.is_waiting(scan_id)) {
            return Err(Refusal::Over.into());
        }
        match (self.recognise(code).await?, scan_id) {
            (Arrival::Known(who), Some(scan_id)) => Ok(Answer::Decide(self.scan(scan_id, who, visitor.clone()).await?)),
            (Arrival::Known(who), None) => self.let_in(who, *flow, visitor).await,
            (Arrival::Stranger(identity), _) => self.prove(identity, *flow).await,
        }
    }

    /// Signs somebody in whose browser began this, once; asks anybody else.
    async fn let_in(&self, who: Identified, flow: Option<Digest>, visitor: &Visitor) -> Result<Answer, Error> {
        let now = self.clock.now();
        if let Some((flow, begun)) = flow.and_then(|flow| Some((flow, self.shared.flows.take(&flow, now)?))) {
            return self.hand_over(&who, begun.destination, Some(flow), visitor).await;
        }
        let pending = Secret::generate(&self.entropy)?;
        self.shared.pending.put(pending.digest(), Held { who, until: now + PENDING }, now);
        Ok(Answer::Continue(pending))
    }

    /// Begins a session and leaves its token for the page to collect.
    async fn hand_over(
        &self,
        who: &Identified,
        destination: Option<String>,
        bound_to: Option<Digest>,
        visitor: &Visitor,
    ) -> Result<Answer, Error> {
        self.welcome(who).await?;
        let (now, ticket) = (self.clock.now(), Secret::generate(&self.entropy)?);
        let source = destination.as_deref().and_then(client);
        let asked = Asked { source: source.unwrap_or(LoginSource::H5), visitor: visitor.clone(), at: now };
        let sign_in = self.sign_in_for(&ticket, asked, bound_to, TICKET, Stage::Waiting)?;
        let (employee, method, proven) = (&who.key, LoginMethod::Oauth2, Proven::Directly);
        let admission = Admission { employee, role: None, method, proven, source, visitor };
        let begun = self.mint(admission, sign_in.token.0).await?;
        self.shared.sign_ins.put(ticket.digest(), sign_in.ready(begun.shown(), now), now);
        let client = Destination::Client(LoginSource::of(begun.session.current_role));
        Ok(Answer::SignedIn(ticket, destination.map_or(client, Destination::Asked)))
    }

    async fn prove(&self, identity: EmployeeKey, flow: Option<Digest>) -> Result<Answer, Error> {
        let proof = Secret::<BindProof>::generate(&self.entropy)?;
        self.store.keep_proof(proof.digest(), identity, self.clock.now() + PROOF).await?;
        let destination = self.destination(flow);
        Ok(Answer::Bind(proof, destination.map_or(Destination::Client(LoginSource::H5), Destination::Asked)))
    }

    /// Who would be signed in by continuing. Asking changes nothing.
    ///
    /// # Errors
    /// When it is too late.
    pub fn pending(&self, pending: &str) -> Result<Waiting, Error> {
        let pending = Secret::<Pending>::parse(pending).map_err(|_| Refusal::Over)?;
        let now = self.clock.now();
        let waiting = |held: &Held| Waiting { who: held.who.clone(), remaining: held.until.since(now) };
        Ok(self.shared.pending.look(&pending.digest(), now, waiting).ok_or(Refusal::Over)?)
    }

    /// Somebody says that it was they who began: they are signed in, bound to a browser's cookie when there is one.
    ///
    /// # Errors
    /// When it is too late, or they may not sign in.
    pub async fn proceed(&self, pending: &str, bound_to: Option<Digest>, visitor: &Visitor) -> Result<Answer, Error> {
        let pending = Secret::<Pending>::parse(pending).map_err(|_| Refusal::Over)?;
        let held = self.shared.pending.take(&pending.digest(), self.clock.now()).ok_or(Refusal::Over)?;
        let answer = self.hand_over(&held.who, None, bound_to, visitor).await;
        if let Err(Error::Internal(_)) = &answer {
            // That may pass: they may say so again.
            self.shared.pending.put(pending.digest(), held, self.clock.now());
        }
        answer
    }
}

/// The client whose page an address is.
fn client(destination: &str) -> Option<LoginSource> {
    let path = destination.split_once("://")?.1.split_once('/')?.1;
    LoginSource::from_name(path.split(['/', '?', '#']).next()?)
}

/// What tells browsers apart: the cookie of the one that began this, else where it is and what it calls itself.
fn browser(callback: &Callback) -> Digest {
    let Visitor { address, user_agent } = &callback.visitor;
    callback
        .flow
        .unwrap_or_else(|| Digest::of(&[address.decided.to_string().as_bytes(), user_agent.as_str().as_bytes()]))
}
