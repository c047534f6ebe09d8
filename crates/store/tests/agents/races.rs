//! Of several concurrent requests for one thing, one succeeds; and what is revoked stays revoked.

use deskpass_core::{LeftReason, LoginMethod};
use deskpass_store::{
    AttemptKind, BeginOutcome, ChangeAuthor, DisableOutcome, LeftOutcome, NoticeSubject, PartialSessionLookup,
    PasswordPrecondition, Precondition, Store,
};
use tokio::task::JoinSet;

use crate::agents::fixture::{
    DAY, Fixture, agent01, at, binding, digest, entry, half, leaving, new_session, notice, on_every_store, password,
    pending, used,
};

/// The number of rounds of a race.
const ROUNDS: usize = 15;

/// How many of sixteen tasks, on all nodes, return `true`.
async fn winners<F>(fixture: &Fixture, task: impl Fn(usize, Store) -> F) -> usize
where
    F: Future<Output = bool> + Send + 'static,
{
    let mut tasks = JoinSet::new();
    for number in 0..16 {
        tasks.spawn(task(number, fixture.node(number)));
    }
    tasks.join_all().await.into_iter().filter(|won| *won).count()
}

on_every_store! {
    async fn one_gets_the_step_and_one_the_recovery_code(fixture: &Fixture) {
        fixture.bind("sealed", &[digest("code")]).await;
        let step = |_, node: Store| async move {
            node.use_totp_step(ChangeAuthor::NoSession, used("sealed", 11)).await.unwrap()
        };
        assert_eq!(winners(fixture, step).await, 1);
        let code = |_, node: Store| async move {
            node.use_recovery_code(ChangeAuthor::NoSession, agent01(), digest("code"), at(60)).await.unwrap()
        };
        assert_eq!(winners(fixture, code).await, 1);
    }
}

on_every_store! {
    async fn one_binds_the_device_and_one_sets_the_password(fixture: &Fixture) {
        assert!(fixture.store().begin_device(ChangeAuthor::NoSession, agent01(), pending("sealed", 100), at(0)).await.unwrap());
        let bind = |number, node: Store| async move {
            let mut binding = binding("sealed", &[digest(&format!("code {number}"))]);
            binding.notice.id = format!("binding {number}");
            node.bind_device(ChangeAuthor::NoSession, binding).await.unwrap()
        };
        assert_eq!(winners(fixture, bind).await, 1);
        assert_eq!(fixture.store().agent(agent01()).await.unwrap().unwrap().recovery_codes, 1);
        let set = |number, node: Store| async move {
            let new = password(&format!("hash {number}"), PasswordPrecondition::NoPassword, at(0));
            node.set_password(ChangeAuthor::NoSession, new).await.unwrap().is_some()
        };
        assert_eq!(winners(fixture, set).await, 1);
    }
}

on_every_store! {
    async fn one_completes_the_half(fixture: &Fixture) {
        fixture.set_password("hash").await;
        assert!(fixture.half("half", "hash").await);
        let complete = |number, node: Store| async move {
            let new_session = new_session(&format!("{number}"), LoginMethod::Password, None, Precondition::PartialSession(digest("half")));
            node.begin_session(new_session).await.unwrap() == BeginOutcome::Begun
        };
        assert_eq!(winners(fixture, complete).await, 1);
    }
}

on_every_store! {
    async fn a_half_is_signed_out_of_or_completed_and_never_both(fixture: &Fixture) {
        fixture.set_password("hash").await;
        for round in 0..ROUNDS {
            let (name, nodes) = (format!("half {round}"), (fixture.node(0), fixture.node(1)));
            assert!(fixture.half(&name, "hash").await);
            let new_session = new_session(&format!("{round}"), LoginMethod::Password, None, Precondition::PartialSession(digest(&name)));
            let completing = tokio::spawn(async move { nodes.0.begin_session(new_session).await.unwrap() });
            let ended = nodes.1.end_partial_session(digest(&name), at(DAY)).await.unwrap();
            let completed = completing.await.unwrap() == BeginOutcome::Begun;
            assert_ne!(ended, completed, "round {round}");
            assert_eq!(fixture.lives(&format!("{round}")).await, completed);
        }
    }
}

/// Asserts that what a completed call ended stays ended, whatever begins at the same time: a partial session is completed, and
/// another one begins.
async fn ends_what_begins(fixture: &Fixture, end: impl AsyncFn(&Store), restore: impl AsyncFn(&Store)) {
    for round in 0..ROUNDS {
        let hash = format!("hash {round}");
        fixture.set_password(&hash).await;
        let [waiting, starting, session] = ["waiting", "starting", "session"].map(|name| format!("{name} {round}"));
        assert!(fixture.half(&waiting, &hash).await);
        let new_session =
            new_session(&session, LoginMethod::Password, None, Precondition::PartialSession(digest(&waiting)));
        let (half, notice) = (half(&starting), notice(&starting, NoticeSubject::PasswordUsed));
        let (one, other) = (fixture.node(0), fixture.node(1));
        let completing = tokio::spawn(async move { one.begin_session(new_session).await.unwrap() });
        let beginning = tokio::spawn(async move {
            other.begin_partial_session(half, hash, AttemptKind::Password, notice).await.unwrap()
        });
        end(&fixture.node(round)).await;
        let _ = (completing.await.unwrap(), beginning.await.unwrap());
        assert!(!fixture.lives(&session).await, "round {round}");
        for name in [waiting, starting] {
            let found = fixture.store().partial_session(&digest(&name)).await.unwrap();
            assert!(!matches!(found, PartialSessionLookup::Found(_)), "round {round}: {name}");
        }
        restore(fixture.store()).await;
    }
}

async fn reset(store: &Store) {
    assert!(
        store
            .reset_password(ChangeAuthor::NoSession, agent01(), digest("code"), at(DAY), at(DAY), entry())
            .await
            .unwrap()
            .is_some()
    );
}

on_every_store! {
    async fn a_reset_password_ends_what_begins_with_it(fixture: &Fixture) {
        ends_what_begins(fixture, reset, async |_| ()).await;
    }
}

on_every_store! {
    async fn a_disabled_agent_has_nothing_that_begins(fixture: &Fixture) {
        let disable = async |store: &Store| {
            assert!(store.disable_agent(ChangeAuthor::NoSession, agent01(), at(DAY), entry()).await.unwrap().is_some());
        };
        let restore = async |store: &Store| {
            assert!(store.enable_agent(ChangeAuthor::NoSession, agent01(), entry()).await.unwrap());
            reset(store).await;
        };
        ends_what_begins(fixture, disable, restore).await;
    }
}

on_every_store! {
    async fn an_employee_who_left_has_nothing_that_begins(fixture: &Fixture) {
        let leave = async |store: &Store| {
            let left = store.mark_left(leaving(&agent01(), LeftReason::Left, 2_000)).await.unwrap();
            assert!(matches!(left, LeftOutcome::Ended(_)), "{left:?}");
        };
        let restore = async |store: &Store| {
            assert!(store.mark_returned(agent01(), at(2_000), entry()).await.unwrap());
            reset(store).await;
        };
        ends_what_begins(fixture, leave, restore).await;
    }
}

on_every_store! {
    async fn a_disabled_employee_has_nothing_that_begins(fixture: &Fixture) {
        let disable = async |store: &Store| {
            assert!(store.disable(ChangeAuthor::NoSession, agent01(), true, at(DAY), entry()).await.unwrap() != DisableOutcome::Unknown);
        };
        let restore = async |store: &Store| {
            assert!(store.enable(ChangeAuthor::NoSession, agent01(), entry()).await.unwrap());
            reset(store).await;
        };
        ends_what_begins(fixture, disable, restore).await;
    }
}
