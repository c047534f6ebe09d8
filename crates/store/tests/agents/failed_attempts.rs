//! Attempts are counted before they are checked.

use std::time::Duration;

use deskpass_core::{EmployeeKey, FailedAttempts, Lockout};
use deskpass_store::{AgentSelection, AttemptKind, ChangeAuthor, NoticeSubject};
use proptest::prelude::*;
use tokio::task::JoinSet;

use crate::agents::fixture::{DAY, Fixture, agent01, at, binding, digest, entry, half, notice, on_every_store, used};

const TRIALS: [AttemptKind; 2] = [AttemptKind::Password, AttemptKind::Otp];

/// How many of this many concurrent attempts, on all nodes, may be checked.
async fn at_once(fixture: &Fixture, key: &EmployeeKey, number: usize) -> usize {
    let mut tasks = JoinSet::new();
    for number in 0..number {
        let (node, key) = (fixture.node(number), key.clone());
        tasks.spawn(async move { node.count_attempt(key, AttemptKind::Password, at(1_000)).await });
    }
    let answers = tasks.join_all().await;
    // An attempt that timed out in the queue may not be checked either.
    answers.iter().flatten().filter(|answer| answer.is_ok()).count()
}

on_every_store! {
    async fn of_many_that_come_at_once_five_are_looked_at(fixture: &Fixture) {
        assert_eq!(at_once(fixture, &agent01(), 200).await, 5);
        let answer = fixture.store().count_attempt(agent01(), AttemptKind::Password, at(1_000)).await.unwrap();
        assert_eq!(answer, Err(Lockout::For(Duration::from_mins(15))));
        // Again on open connections, where the attempts are really concurrent.
        for name in 0..20 {
            let name = EmployeeKey::from_parts("ww", &format!("name{name}"));
            assert_eq!(at_once(fixture, &name, 24).await, 5);
        }
    }
}

on_every_store! {
    async fn each_trial_and_each_name_is_counted_apart_and_a_right_guess_forgets(fixture: &Fixture) {
        let store = fixture.store();
        let browser = AttemptKind::KnownBrowser(digest("browser"));
        let stranger = EmployeeKey::from_parts("ww", "nobody");
        let all = [(agent01(), AttemptKind::Password), (agent01(), AttemptKind::Otp), (agent01(), browser), (stranger, browser)];
        for (key, trial) in &all {
            for _ in 0..5 {
                assert_eq!(store.count_attempt(key.clone(), *trial, at(0)).await.unwrap(), Ok(()), "{key:?} {trial:?}");
            }
            assert!(store.count_attempt(key.clone(), *trial, at(0)).await.unwrap().is_err(), "{key:?} {trial:?}");
        }
        store.clear_attempts(agent01(), browser).await.unwrap();
        assert_eq!(store.count_attempt(agent01(), browser, at(0)).await.unwrap(), Ok(()));
        for trial in TRIALS {
            assert!(store.count_attempt(agent01(), trial, at(0)).await.unwrap().is_err(), "{trial:?}");
        }
        assert_eq!(store.unlock_agent(ChangeAuthor::NoSession, agent01(), entry()).await.unwrap(), Some(true));
        assert_eq!(store.unlock_agent(ChangeAuthor::NoSession, agent01(), entry()).await.unwrap(), Some(false));
        for trial in TRIALS {
            assert_eq!(store.count_attempt(agent01(), trial, at(0)).await.unwrap(), Ok(()));
        }
        assert_eq!(store.unlock_agent(ChangeAuthor::NoSession, EmployeeKey::from_parts("ww", "nobody"), entry()).await.unwrap(), None);
    }
}

/// Uses up all attempts of a kind but one.
async fn four_wrong(fixture: &Fixture, trial: AttemptKind) {
    for _ in 0..4 {
        assert_eq!(fixture.store().count_attempt(agent01(), trial, at(0)).await.unwrap(), Ok(()), "{trial:?}");
    }
}

/// Whether exactly one attempt of a kind is left.
async fn one_is_left(fixture: &Fixture, trial: AttemptKind) -> bool {
    let guess = async || fixture.store().count_attempt(agent01(), trial, at(0)).await.unwrap().is_ok();
    guess().await && !guess().await
}

on_every_store! {
    async fn a_right_code_forgets_the_guesses_before_it_with_what_it_does(fixture: &Fixture) {
        let store = fixture.store();
        let step = async |number| {
            store.use_totp_step(ChangeAuthor::NoSession, used("sealed", number)).await.unwrap()
        };
        four_wrong(fixture, AttemptKind::Otp).await;
        fixture.bind("sealed", &[digest("code")]).await;
        four_wrong(fixture, AttemptKind::Otp).await;
        assert!(!store.bind_device(ChangeAuthor::NoSession, binding("sealed", &[])).await.unwrap());
        assert!(!step(10).await);
        assert!(step(11).await);
        four_wrong(fixture, AttemptKind::Otp).await;
        assert!(!store.use_recovery_code(ChangeAuthor::NoSession, agent01(), digest("other"), at(60)).await.unwrap());
        assert!(store.use_recovery_code(ChangeAuthor::NoSession, agent01(), digest("code"), at(60)).await.unwrap());
        four_wrong(fixture, AttemptKind::Otp).await;
        assert!(!store.use_recovery_code(ChangeAuthor::NoSession, agent01(), digest("code"), at(60)).await.unwrap() && !step(11).await);
        assert!(one_is_left(fixture, AttemptKind::Otp).await, "what was not right forgets nothing");
    }
}

on_every_store! {
    async fn half_a_sign_in_forgets_the_guesses_of_its_own_trial(fixture: &Fixture) {
        let browser = AttemptKind::KnownBrowser(digest("browser"));
        fixture.set_password("hash").await;
        for trial in [AttemptKind::Password, AttemptKind::Otp, browser] {
            four_wrong(fixture, trial).await;
        }
        let begin = async |name: &str, hash: &str, trial| {
            let notice = notice(name, NoticeSubject::PasswordUsed);
            fixture.store().begin_partial_session(half(name), hash.to_owned(), trial, notice).await.unwrap()
        };
        assert!(!begin("none", "other hash", AttemptKind::Password).await);
        assert!(begin("half", "hash", browser).await);
        four_wrong(fixture, browser).await;
        for trial in [AttemptKind::Password, AttemptKind::Otp] {
            assert!(one_is_left(fixture, trial).await, "{trial:?}");
        }
    }
}

on_every_store! {
    async fn the_list_shows_who_is_shut_and_who_is_locked(fixture: &Fixture) {
        let store = fixture.store();
        for id in ["agent02", "agent03"] {
            fixture.employ(id).await;
            let key = EmployeeKey::from_parts("ww", id);
            assert!(store.add_agent(ChangeAuthor::NoSession, key.clone(), deskpass_core::Role::Agent, at(0), None).await.unwrap());
        }
        let (shut, locked) = (EmployeeKey::from_parts("ww", "agent02"), EmployeeKey::from_parts("ww", "agent03"));
        for number in 0..5 {
            store.count_attempt(shut.clone(), AttemptKind::Otp, at(number)).await.unwrap().unwrap();
        }
        for number in 0..100 {
            store.count_attempt(locked.clone(), AttemptKind::KnownBrowser(digest("a")), at(number * DAY)).await.unwrap().unwrap();
        }
        let shown = |listed: deskpass_store::ListedAgent| (listed.agent.key, listed.locked, listed.shut_until);
        let page = store.agents(AgentSelection::Agents, None, 10, at(10)).await.unwrap().agents.into_iter().map(shown).collect::<Vec<_>>();
        let until = at(4) + Duration::from_mins(15);
        assert_eq!(page, [(agent01(), false, None), (shut.clone(), false, Some(until)), (locked.clone(), true, None)]);
        let later = store.agents(AgentSelection::Agents, Some(agent01()), 1, until).await.unwrap();
        assert_eq!(later.next, Some(shut.clone()));
        assert_eq!(later.agents.into_iter().map(shown).collect::<Vec<_>>(), [(shut, false, None)]);
        let rest = store.agents(AgentSelection::Agents, Some(locked), 10, until).await.unwrap();
        assert!(rest.agents.is_empty() && rest.next.is_none());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn the_store_counts_like_the_domain_rule(steps in proptest::collection::vec((0..2_usize, 0..1_200_000_i64, 0..20), 1..150)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let fixture = Fixture::embedded().await;
            let (mut rules, mut now) = ([FailedAttempts::none(); 2], 0);
            for (which, span, luck) in steps {
                now += span;
                let rule = rules.get_mut(which).unwrap();
                let trial = TRIALS[which];
                let expected = rule.count_attempt(at(now)).map(|next| *rule = next);
                prop_assert_eq!(fixture.store().count_attempt(agent01(), trial, at(now)).await.unwrap(), expected);
                if luck == 0 {
                    fixture.store().clear_attempts(agent01(), trial).await.unwrap();
                    *rule = FailedAttempts::none();
                }
            }
            Ok(())
        })?;
    }
}
