//! The platform's codes: each counts once, for the browser that brought it first.
//!
//! Some browsers load the page twice, at once or one after the other, and break the first load off. All loads of one browser
//! share one exchange and its outcome; any other browser is refused. What failed for a passing reason can be tried again by
//! whoever comes later, and does not ask the platform twice about a code that it has used up already.

use std::time::Duration;

use deskpass_core::{Clock, Digest, Visitor};
use deskpass_store::{Code, Shelf};
use deskpass_wecom::{Error as PlatformError, Identity, Unreachable};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::arrival::Arrival;
use crate::{Answer, Auth, Callback, Error, Internal, Refusal};

/// How long the same code from the same browser gets the same answer.
const LIFETIME: Duration = Duration::from_mins(1);
/// Longer than the platform may take: then whoever asked first is stuck.
const PATIENCE: Duration = Duration::from_secs(6);

/// How far a code has come.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(into = "Kept", from = "Kept")]
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

/// The same for other nodes, which need not know why something failed.
#[derive(Serialize, Deserialize)]
struct Kept {
    identity: Option<Identity>,
    outcome: Option<Outcome>,
}

#[derive(Serialize, Deserialize)]
enum Outcome {
    Answered(Answer),
    Refused(Refusal),
    Failed { platform: bool },
}

impl From<Progress> for Kept {
    fn from(progress: Progress) -> Self {
        let outcome = progress.outcome.map(|outcome| match outcome {
            Ok(answer) => Outcome::Answered(answer),
            Err(Error::Refused(refusal)) => Outcome::Refused(refusal),
            Err(Error::Internal(Internal::Platform(_))) => Outcome::Failed { platform: true },
            Err(Error::Internal(Internal::Elsewhere { platform })) => Outcome::Failed { platform },
            Err(Error::Internal(Internal::Store(_) | Internal::Entropy(_))) => Outcome::Failed { platform: false },
        });
        Self { identity: progress.identity, outcome }
    }
}

impl From<Kept> for Progress {
    fn from(kept: Kept) -> Self {
        let outcome = kept.outcome.map(|outcome| match outcome {
            Outcome::Answered(answer) => Ok(answer),
            Outcome::Refused(refusal) => Err(refusal.into()),
            Outcome::Failed { platform } => Err(Internal::Elsewhere { platform }.into()),
        });
        Self { identity: kept.identity, outcome }
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
        if self.shared.codes.put(code, fresh, now).await? {
            return self.exchange(code, &callback, None).await;
        }
        let seen = self.shared.codes.look(&code, now, |seen| (seen.browser, seen.progress.has_failed()));
        match seen.await? {
            Some((first, _)) if first != browser => Err(Refusal::InvalidCode.into()),
            Some((_, true)) => self.try_again(code, &callback).await,
            _ => share(&self.shared.codes, code, &self.clock, PATIENCE).await,
        }
    }

    /// Takes up what failed before, unless somebody else does.
    async fn try_again(&self, code: Digest, callback: &Callback) -> Result<Answer, Error> {
        let taken_up = self.shared.codes.change(&code, self.clock.now(), |seen| {
            let progress = Progress { outcome: None, ..seen.progress.clone() };
            if seen.progress.has_failed() { Ok(Code { progress, ..seen }) } else { Err(()) }
        });
        match taken_up.await? {
            Some(Ok(seen)) => self.exchange(code, callback, seen.progress.identity).await,
            _ => share(&self.shared.codes, code, &self.clock, PATIENCE).await,
        }
    }

    async fn exchange(&self, code: Digest, callback: &Callback, known: Option<Identity>) -> Result<Answer, Error> {
        let mut identity = known;
        let outcome = self.receive(callback, &mut identity).await;
        let progress = Progress { identity, outcome: Some(outcome.clone()) };
        let told = |seen| Ok::<_, ()>(Code { progress: progress.clone(), ..seen });
        if let Err(error) = self.shared.codes.change(&code, self.clock.now(), told).await {
            // Whoever else waits for it will stop waiting; this browser has its answer.
            tracing::warn!(%error, "what became of a code could not be noted");
        }
        outcome
    }

    /// Finds out who comes, unless that is known, and what becomes of them.
    async fn receive(&self, callback: &Callback, identity: &mut Option<Identity>) -> Result<Answer, Error> {
        let Callback { code, scan_id, flow, visitor } = callback;
        if let Some(scan_id) = scan_id
            && !self.is_waiting(scan_id).await?
        {
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

/// What a code is answered with by whoever is at it, on this node or another one. Should that one have died, nobody waits for
/// it longer than it could have taken.
async fn share(
    codes: &Shelf<Code<Progress>>,
    code: Digest,
    clock: &Clock,
    patience: Duration,
) -> Result<Answer, Error> {
    let changes = codes.watch(&code, clock.now()).await?.ok_or(Refusal::InvalidCode)?;
    let answered = async {
        loop {
            let next = changes.next();
            let outcome = codes.look(&code, clock.now(), |seen| seen.progress.outcome.clone()).await?;
            if let Some(outcome) = outcome.ok_or(Refusal::InvalidCode)? {
                return outcome;
            }
            next.await;
        }
    };
    timeout(patience, answered).await.unwrap_or_else(|_| Err(PlatformError::Unreachable(Unreachable::TimedOut).into()))
}

/// What tells browsers apart: the cookie of the one that began this, else where it is and what it calls itself.
fn browser(callback: &Callback) -> Digest {
    let Visitor { address, user_agent } = &callback.visitor;
    callback
        .flow
        .unwrap_or_else(|| Digest::of(&[address.decided.to_string().as_bytes(), user_agent.as_str().as_bytes()]))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use deskpass_core::{Entropy, LoginSource, NoEntropy, Role, Secret, Timestamp};
    use deskpass_store::Shared;
    use tokio::time::interval;

    use super::*;
    use crate::Destination;

    fn begun(shared: &Shared<Progress>) -> impl Future<Output = (Digest, Clock)> {
        let (code, clock) = (Digest::of(&[b"code"]), Clock::wound(Timestamp::from_millis(0)));
        let until = clock.now() + LIFETIME;
        let fresh = Code { browser: Digest::of(&[b"browser"]), progress: Progress::default(), until };
        async move {
            assert!(shared.codes.put(code, fresh, clock.now()).await.unwrap());
            (code, clock)
        }
    }

    #[tokio::test]
    async fn nobody_waits_for_ever_for_a_node_that_died() {
        let shared = Shared::in_process();
        let (code, clock) = begun(&shared).await;
        // Waking whoever waits, as a lost connection does, does not make them wait anew.
        let woken = async {
            let mut ticks = interval(Duration::from_millis(5));
            loop {
                ticks.tick().await;
                shared.codes.change(&code, clock.now(), Ok::<_, ()>).await.unwrap();
            }
        };
        let shared = share(&shared.codes, code, &clock, Duration::from_millis(50));
        let answered = tokio::select! {
            answered = timeout(Duration::from_secs(5), shared) => answered.unwrap(),
            () = woken => unreachable!("it never ends"),
        };
        assert!(matches!(answered, Err(Error::Internal(Internal::Platform(PlatformError::Unreachable(_))))));
    }

    #[tokio::test]
    async fn whoever_waits_gets_what_the_first_one_got() {
        let shared = Shared::in_process();
        let (code, clock) = begun(&shared).await;
        let done = |seen| {
            let outcome = Some(Err(Refusal::NoRole.into()));
            Ok::<_, ()>(Code { progress: Progress { identity: None, outcome }, ..seen })
        };
        let (answered, _) =
            tokio::join!(share(&shared.codes, code, &clock, PATIENCE), shared.codes.change(&code, clock.now(), done));
        assert!(matches!(answered, Err(Error::Refused(Refusal::NoRole))));
    }

    /// What another node makes of an outcome.
    fn elsewhere(outcome: Result<Answer, Error>) -> Result<Answer, Error> {
        let identity = Some(Identity::Linked { corp_id: "ww".into(), userid: "a".into() });
        let progress = Progress { identity: identity.clone(), outcome: Some(outcome) };
        let text = serde_json::to_string(&progress).unwrap();
        let read: Progress = serde_json::from_str(&text).unwrap();
        assert_eq!(read.identity, identity);
        read.outcome.unwrap()
    }

    #[test]
    fn another_node_gives_the_same_answer() {
        fn secret<K: deskpass_core::Kind>() -> Secret<K> {
            Secret::generate(&Entropy::system()).unwrap()
        }
        let (asked, client) = (Destination::Asked("https://a/".into()), Destination::Client(LoginSource::ItAdmin));
        let answers = [
            Answer::Decide(secret()),
            Answer::SignedIn(secret(), asked.clone()),
            Answer::SignedIn(secret(), client),
            Answer::Continue(secret()),
            Answer::Bind { proof: secret(), to: asked, scanned: true },
        ];
        for answer in answers {
            let same = elsewhere(Ok(answer.clone())).unwrap();
            assert_eq!(serde_json::to_string(&same).unwrap(), serde_json::to_string(&answer).unwrap());
        }
    }

    #[test]
    fn another_node_refuses_alike_and_knows_what_may_pass() {
        for refusal in [
            Refusal::UnknownEmployee,
            Refusal::Disabled,
            Refusal::NoRole,
            Refusal::RoleNotHeld("x".into()),
            Refusal::RoleTakenAway(Role::Agent),
            Refusal::NoSuchRole("x".into()),
            Refusal::Denied,
            Refusal::InvalidCode,
            Refusal::NotAMember,
            Refusal::Over,
            Refusal::Exists,
        ] {
            assert!(matches!(elsewhere(Err(refusal.clone().into())), Err(Error::Refused(same)) if same == refusal));
        }
        let unreachable = Error::from(PlatformError::Unreachable(Unreachable::TimedOut));
        for (error, at_fault) in [(unreachable, true), (NoEntropy.into(), false)] {
            let told = elsewhere(Err(error));
            assert!(matches!(told, Err(Error::Internal(Internal::Elsewhere { platform })) if platform == at_fault));
            let again = elsewhere(told);
            let progress = Progress { identity: None, outcome: Some(again) };
            assert!(progress.has_failed(), "whoever comes later takes it up");
        }
    }

    #[test]
    fn what_a_version_before_or_after_wrote_is_read() {
        let read: Progress = serde_json::from_str("{\"invented\":{\"later\":1}}").unwrap();
        assert!(read.identity.is_none() && read.outcome.is_none());
    }
}
