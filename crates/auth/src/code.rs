//! The platform's codes: each counts once, for the browser that brought it first.
//!
//! Some browsers load the page twice, at once or one after the other, and break the first load off. All loads of one browser
//! share one exchange and its outcome; any other browser is refused. What failed for a passing reason can be tried again by
//! whoever comes later, and does not ask the platform twice about a code that it has used up already.

use std::time::Duration;

use deskpass_core::{Digest, Visitor};
use deskpass_store::Code;
use deskpass_wecom::{Error as PlatformError, Identity, Unreachable};
use tokio::time::timeout;

use crate::arrival::Arrival;
use crate::{Answer, Auth, Callback, Error, Refusal};

/// How long the same code from the same browser gets the same answer.
const LIFETIME: Duration = Duration::from_mins(1);
/// Longer than the platform may take: then whoever asked first is stuck.
const PATIENCE: Duration = Duration::from_secs(6);

/// How far a code has come.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Who the platform said it stands for.
    identity: Option<Identity>,
    /// What it was answered with.
    outcome: Option<Result<Answer, Error>>,
}

impl Progress {
    fn has_failed(&self) -> bool {
        matches!(self.outcome, Some(Err(Error::Internal(_))))
    }
}

impl Auth {
    /// Answers a browser that comes back from the platform. To be run to its end, whether or not the browser waits for it.
    ///
    /// # Errors
    /// When the code is no good, whoever it stands for may not sign in, or the platform or the store fails.
    pub async fn come_back(&self, callback: Callback) -> Result<Answer, Error> {
        let (now, code) = (self.clock.now(), Digest::of(&[callback.code.as_bytes()]));
        let fresh = Code { browser: browser(&callback), progress: Progress::default(), until: now + LIFETIME };
        let browser = fresh.browser;
        if self.shared.codes.put(code, fresh, now) {
            return self.exchange(code, &callback, None).await;
        }
        let seen = self.shared.codes.look(&code, now, |seen| (seen.browser, seen.progress.has_failed()));
        match seen {
            Some((first, _)) if first != browser => Err(Refusal::InvalidCode.into()),
            Some((_, true)) => self.try_again(code, &callback).await,
            _ => self.share(code).await,
        }
    }

    /// Takes up what failed before, unless somebody else does.
    async fn try_again(&self, code: Digest, callback: &Callback) -> Result<Answer, Error> {
        let taken_up = self.shared.codes.change(&code, self.clock.now(), |seen| {
            let progress = Progress { outcome: None, ..seen.progress.clone() };
            if seen.progress.has_failed() { Ok(Code { progress, ..seen }) } else { Err(()) }
        });
        match taken_up {
            Some(Ok(seen)) => self.exchange(code, callback, seen.progress.identity).await,
            _ => self.share(code).await,
        }
    }

    /// What a code is answered with by whoever is at it.
    async fn share(&self, code: Digest) -> Result<Answer, Error> {
        let stuck = || Error::from(PlatformError::Unreachable(Unreachable::TimedOut));
        let changes = self.shared.codes.watch(&code, self.clock.now()).ok_or(Refusal::InvalidCode)?;
        loop {
            let next = changes.next();
            let outcome = self.shared.codes.look(&code, self.clock.now(), |seen| seen.progress.outcome.clone());
            if let Some(outcome) = outcome.ok_or(Refusal::InvalidCode)? {
                return outcome;
            }
            timeout(PATIENCE, next).await.map_err(|_| stuck())?;
        }
    }

    async fn exchange(&self, code: Digest, callback: &Callback, known: Option<Identity>) -> Result<Answer, Error> {
        let mut identity = known;
        let outcome = self.receive(callback, &mut identity).await;
        let progress = Progress { identity, outcome: Some(outcome.clone()) };
        self.shared.codes.change(&code, self.clock.now(), |seen| Ok::<_, ()>(Code { progress, ..seen }));
        outcome
    }

    /// Finds out who comes, unless that is known, and what becomes of them.
    async fn receive(&self, callback: &Callback, identity: &mut Option<Identity>) -> Result<Answer, Error> {
        let Callback { code, scan_id, flow, visitor } = callback;
        if scan_id.as_ref().is_some_and(|scan_id| !self.is_waiting(scan_id)) {
            return Err(Refusal::Over.into());
        }
        let identity = match identity {
            Some(known) => known,
            None => identity.insert(self.identify(code).await?),
        };
        match (self.recognise(identity).await?, scan_id) {
            (Arrival::Known(who), Some(scan_id)) => Ok(Answer::Decide(self.scan(scan_id, who, visitor.clone()).await?)),
            (Arrival::Known(who), None) => self.let_in(who, *flow, visitor).await,
            (Arrival::Stranger(identity), scan_id) => self.prove(identity, *flow, scan_id.is_some()).await,
        }
    }
}

/// What tells browsers apart: the cookie of the one that began this, else where it is and what it calls itself.
fn browser(callback: &Callback) -> Digest {
    let Visitor { address, user_agent } = &callback.visitor;
    callback
        .flow
        .unwrap_or_else(|| Digest::of(&[address.decided.to_string().as_bytes(), user_agent.as_str().as_bytes()]))
}
