//! The platform's codes: each counts once, for the browser that brought it first.
//!
//! Some browsers load the page twice, at once or one after the other, and break the first load off. All loads of one browser
//! share one exchange and its outcome; any other browser is refused. What failed for a passing reason, or was left by a node
//! that died, can be tried again by whoever comes later, and does not ask the platform twice about a code whose answer is
//! known. With records in Redis there is an exception: a node that died after it had used the code up, and before it was
//! answered, leaves it used. Nobody can tell that from a record that was put back, so the browser begins anew.

use std::time::Duration;

use deskpass_core::{Clock, Digest, EmployeeKey, LoginMethod, Timestamp, Visitor};
use deskpass_store::{Code, Shelf};
use deskpass_wecom::{Error as PlatformError, Identity, Unreachable};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::arrival::Arrival;
use crate::log::Attempt;
use crate::once::{SingleUse, Used};
use crate::qr::Phone;
use crate::{Answer, Auth, Callback, Error, Internal, Refusal};

/// How long the same code from the same browser gets the same answer.
pub(crate) const LIFETIME: Duration = Duration::from_mins(1);
/// How long whoever comes second waits for the first: a browser has its answer within five seconds.
const PATIENCE: Duration = Duration::from_millis(4_500);
/// Longer than an exchange takes: whoever has been at it for so long has died.
const TURN: Duration = Duration::from_secs(5);

/// How far a code has come.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(into = "Kept", from = "Kept")]
pub struct Progress {
    /// Since when somebody is at it.
    since: Option<Timestamp>,
    /// Who the platform said it stands for.
    identity: Option<Identity>,
    /// What it was answered with.
    outcome: Option<Result<Answer, Error>>,
}

impl Progress {
    fn begun(now: Timestamp) -> Self {
        Self { since: Some(now), ..Self::default() }
    }

    /// Whether somebody else may take it up: it failed for a reason that may pass, or nothing came of it.
    fn is_free(&self, now: Timestamp) -> bool {
        match &self.outcome {
            Some(outcome) => matches!(outcome, Err(Error::Internal(_))),
            None => self.since.is_some_and(|since| now >= since + TURN),
        }
    }
}

/// The same for other nodes, which need not know why something failed.
#[derive(Serialize, Deserialize)]
struct Kept {
    since: Option<Timestamp>,
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
            Err(Error::Internal(
                Internal::Store(_)
                | Internal::Entropy(_)
                | Internal::Sealing(_)
                | Internal::Hashing
                | Internal::Unopened,
            )) => Outcome::Failed { platform: false },
        });
        Self { since: progress.since, identity: progress.identity, outcome }
    }
}

impl From<Kept> for Progress {
    fn from(kept: Kept) -> Self {
        let outcome = kept.outcome.map(|outcome| match outcome {
            Outcome::Answered(answer) => Ok(answer),
            Outcome::Refused(refusal) => Err(refusal.into()),
            Outcome::Failed { platform } => Err(Internal::Elsewhere { platform }.into()),
        });
        Self { since: kept.since, identity: kept.identity, outcome }
    }
}

impl Auth {
    /// Answers a browser that comes back from the platform. To be run to its end, whether or not the browser waits for it.
    ///
    /// # Errors
    /// When the code is no good, whoever it stands for may not sign in, or the platform or the store fails.
    pub async fn come_back(&self, callback: Callback) -> Result<Answer, Error> {
        let (now, code) = (self.clock.now(), Digest::of(&[callback.code.as_bytes()]));
        let fresh = Code { browser: browser(&callback), progress: Progress::begun(now), until: now + LIFETIME };
        let browser = fresh.browser;
        if self.shared.codes.put(code, fresh, now).await? {
            return self.exchange(code, &callback, None).await;
        }
        let seen = self.shared.codes.look(&code, now, |seen| (seen.browser, seen.progress.is_free(now)));
        match seen.await? {
            Some((first, _)) if first != browser => {
                self.recorded(attempt(&callback, None), Err(Refusal::InvalidCode.into())).await
            }
            Some((_, true)) => self.try_again(code, &callback).await,
            _ => share(&self.shared.codes, code, &self.clock, PATIENCE).await,
        }
    }

    /// Takes up what failed before, or what nobody is at any more, unless somebody else does.
    async fn try_again(&self, code: Digest, callback: &Callback) -> Result<Answer, Error> {
        match take_up(&self.shared.codes, code, self.clock.now()).await? {
            Some(seen) => self.exchange(code, callback, seen.progress.identity).await,
            None => share(&self.shared.codes, code, &self.clock, PATIENCE).await,
        }
    }

    async fn exchange(&self, code: Digest, callback: &Callback, known: Option<Identity>) -> Result<Answer, Error> {
        let (used, who, outcome) = match self.admissible(code, callback, known).await {
            Ok((identity, used)) => {
                let (who, outcome) = self.receive(callback, &identity).await;
                (Some(used), who, outcome)
            }
            Err(error) => (None, self.noted(&code).await, Err(error)),
        };
        let outcome = self.recorded(attempt(callback, who.as_ref()), outcome).await;
        if let (Some(used), Err(Error::Internal(_))) = (used, &outcome) {
            // That may pass: the browser may come again.
            self.undo_use(used).await;
        }
        settle(&self.shared.codes, code, self.clock.now(), outcome).await
    }

    /// Who comes, should they be in time. What the platform says is noted at once: it says so once.
    async fn admissible(
        &self,
        code: Digest,
        callback: &Callback,
        known: Option<Identity>,
    ) -> Result<(Identity, Used), Error> {
        if let Some(scan_id) = &callback.scan_id
            && !self.is_waiting(scan_id).await?
        {
            return Err(Refusal::Over.into());
        }
        let identity = if let Some(identity) = known {
            identity
        } else {
            let identity = self.identify(&callback.code).await?;
            note(&self.shared.codes, code, self.clock.now(), &identity).await;
            identity
        };
        // The platform says so once, but the record that says so here may have been put back.
        let used = self.use_once(SingleUse::Code, &code).await?.ok_or(Refusal::InvalidCode)?;
        Ok((identity, used))
    }

    /// Who comes, and what becomes of them.
    async fn receive(
        &self,
        Callback { scan_id, flow, visitor, has_state, opened_by_page, .. }: &Callback,
        identity: &Identity,
    ) -> (Option<EmployeeKey>, Result<Answer, Error>) {
        match (self.recognise(identity).await, scan_id) {
            (Ok(Arrival::Known(who)), Some(scan_id)) => {
                let phone = Phone { visitor: visitor.clone(), opened_by_page: *opened_by_page };
                (Some(who.key.clone()), self.scan(scan_id, who, phone).await.map(Answer::Decide))
            }
            (Ok(Arrival::Known(who)), None) => {
                // Whoever comes back without the state did not come from the link that we gave out.
                let flow = flow.filter(|_| *has_state);
                (Some(who.key.clone()), self.let_in(who, flow, visitor).await)
            }
            (Ok(Arrival::Stranger(identity)), scan_id) => {
                (Some(identity.clone()), self.prove(identity, *flow, scan_id.is_some()).await)
            }
            (Err(error), _) => (self.named(identity).ok().map(|(key, _)| key), Err(error)),
        }
    }

    /// Whom a code stands for, where the platform has said so.
    async fn noted(&self, code: &Digest) -> Option<EmployeeKey> {
        let seen = self.shared.codes.look(code, self.clock.now(), |seen| seen.progress.identity.clone());
        self.named(&seen.await.ok()???).ok().map(|(key, _)| key)
    }

    /// Turns a browser away that comes back with something else than a code.
    ///
    /// # Errors
    /// Always: why, or that it could not be written down.
    pub async fn turn_away<T>(&self, why: Refusal, visitor: &Visitor) -> Result<T, Error> {
        let attempt = Attempt::to_sign_in(None, LoginMethod::Oauth2, visitor);
        self.recorded(attempt, Err(why.into())).await
    }
}

/// That somebody wants in, by a code of theirs.
fn attempt<'a>(callback: &'a Callback, who: Option<&'a EmployeeKey>) -> Attempt<'a> {
    let method = if callback.scan_id.is_some() { LoginMethod::Qrcode } else { LoginMethod::Oauth2 };
    Attempt::to_sign_in(who, method, &callback.visitor)
}

type Codes = Shelf<Code<Progress>>;

/// Takes a code up, unless somebody is at it.
async fn take_up(codes: &Codes, code: Digest, now: Timestamp) -> Result<Option<Code<Progress>>, Error> {
    let taken_up = codes.change(&code, now, |seen| {
        let progress = Progress { since: Some(now), outcome: None, ..seen.progress.clone() };
        if seen.progress.is_free(now) { Ok(Code { progress, ..seen }) } else { Err(()) }
    });
    Ok(taken_up.await?.and_then(Result::ok))
}

/// Notes who the platform says a code stands for.
async fn note(codes: &Codes, code: Digest, now: Timestamp, identity: &Identity) {
    let noted = |seen: Code<Progress>| {
        let progress = Progress { identity: Some(identity.clone()), ..seen.progress };
        Ok::<_, ()>(Code { progress, ..seen })
    };
    if let Err(error) = codes.change(&code, now, noted).await {
        // Should this node die, too, the code is used up and the browser begins anew.
        tracing::warn!(%error, "who a code stands for could not be noted");
    }
}

/// Notes what a code is answered with. Somebody who was thought dead may have answered it meanwhile: then that counts.
async fn settle(codes: &Codes, code: Digest, now: Timestamp, outcome: Result<Answer, Error>) -> Result<Answer, Error> {
    let told = |seen: Code<Progress>| match seen.progress.outcome {
        Some(Ok(answer)) => Err(answer),
        _ => Ok(Code { progress: Progress { outcome: Some(outcome.clone()), ..seen.progress }, ..seen }),
    };
    match codes.change(&code, now, told).await {
        Ok(Some(Err(answer))) => return Ok(answer),
        Ok(_) => {}
        // Whoever else waits for it will stop waiting; this browser has its answer.
        Err(error) => tracing::warn!(%error, "what became of a code could not be noted"),
    }
    outcome
}

/// What a code is answered with by whoever is at it, on this node or another one. Should that one have died, nobody waits for
/// it longer than it could have taken.
async fn share(codes: &Codes, code: Digest, clock: &Clock, patience: Duration) -> Result<Answer, Error> {
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
    use deskpass_core::{Entropy, LoginSource, NoEntropy, Role, Secret};
    use deskpass_store::Shared;
    use tokio::time::interval;

    use super::*;
    use crate::Destination;

    fn begun(shared: &Shared<Progress>) -> impl Future<Output = (Digest, Clock)> {
        let (code, clock) = (Digest::of(&[b"code"]), Clock::wound(Timestamp::from_millis(0)));
        let until = clock.now() + LIFETIME;
        let fresh = Code { browser: Digest::of(&[b"browser"]), progress: Progress::begun(clock.now()), until };
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
        let done = |seen: Code<Progress>| {
            let outcome = Some(Err(Refusal::NoRole.into()));
            Ok::<_, ()>(Code { progress: Progress { outcome, ..seen.progress }, ..seen })
        };
        let (answered, _) =
            tokio::join!(share(&shared.codes, code, &clock, PATIENCE), shared.codes.change(&code, clock.now(), done));
        assert!(matches!(answered, Err(Error::Refused(Refusal::NoRole))));
    }

    #[tokio::test]
    async fn what_a_node_that_died_left_is_taken_up_once() {
        let shared = Shared::in_process();
        let (code, clock) = begun(&shared).await;
        let identity = Identity::Member { userid: "a".into() };
        note(&shared.codes, code, clock.now(), &identity).await;
        clock.wind(Duration::from_millis(4_999));
        assert!(take_up(&shared.codes, code, clock.now()).await.unwrap().is_none(), "somebody is at it");
        clock.wind(Duration::from_millis(1));
        let taken_up = take_up(&shared.codes, code, clock.now()).await.unwrap().unwrap();
        assert_eq!(taken_up.progress.identity, Some(identity), "the platform need not be asked");
        assert!(take_up(&shared.codes, code, clock.now()).await.unwrap().is_none(), "somebody is at it again");
        clock.wind(TURN);
        assert!(take_up(&shared.codes, code, clock.now()).await.unwrap().is_some(), "that one died, too");
    }

    #[tokio::test]
    async fn an_answer_counts_though_its_node_was_thought_dead() {
        let shared = Shared::in_process();
        let (code, clock) = begun(&shared).await;
        let answer = Answer::Decide(Secret::generate(&Entropy::system()).unwrap());
        let (late, used_up) = (Ok(answer.clone()), Err(Refusal::InvalidCode.into()));
        for outcome in [used_up.clone(), late, used_up] {
            let refused = outcome.is_err();
            let told = settle(&shared.codes, code, clock.now(), outcome).await;
            let kept = shared.codes.look(&code, clock.now(), |seen| seen.progress.outcome.clone()).await.unwrap();
            assert_eq!(format!("{:?}", Some(&told)), format!("{:?}", kept.unwrap().as_ref()));
            assert!(told.is_ok() || refused);
        }
        let kept = share(&shared.codes, code, &clock, PATIENCE).await.unwrap();
        assert_eq!(serde_json::to_string(&kept).unwrap(), serde_json::to_string(&answer).unwrap());
    }

    /// What another node makes of an outcome.
    fn elsewhere(outcome: Result<Answer, Error>) -> Result<Answer, Error> {
        let identity = Some(Identity::Linked { corp_id: "ww".into(), userid: "a".into() });
        let since = Some(Timestamp::from_millis(7));
        let progress = Progress { since, identity: identity.clone(), outcome: Some(outcome) };
        let text = serde_json::to_string(&progress).unwrap();
        let read: Progress = serde_json::from_str(&text).unwrap();
        assert_eq!((read.since, &read.identity), (since, &identity));
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
            Refusal::NotAnAgent,
        ] {
            assert!(matches!(elsewhere(Err(refusal.clone().into())), Err(Error::Refused(same)) if same == refusal));
        }
        let unreachable = Error::from(PlatformError::Unreachable(Unreachable::TimedOut));
        for (error, at_fault) in [(unreachable, true), (NoEntropy.into(), false)] {
            let told = elsewhere(Err(error));
            assert!(matches!(told, Err(Error::Internal(Internal::Elsewhere { platform })) if platform == at_fault));
            let again = elsewhere(told);
            let progress = Progress { outcome: Some(again), ..Progress::default() };
            assert!(progress.is_free(Timestamp::from_millis(0)), "whoever comes later takes it up");
        }
    }

    #[test]
    fn what_a_version_before_or_after_wrote_is_read() {
        let read: Progress = serde_json::from_str("{\"invented\":{\"later\":1}}").unwrap();
        assert!(read.identity.is_none() && read.outcome.is_none());
    }
}
