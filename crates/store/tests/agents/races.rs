//! Of several who come at once, one gets what there is one of; and what is taken away stays away.

use deskpass_core::LoginMethod;
use deskpass_store::{Before, Beginning, By, Grounds, HalfFound, ShutOut, Store, Subject, Trial};
use tokio::task::JoinSet;

use crate::desk::{
    DAY, Desk, agent01, at, binding, birth, digest, entry, half, notice, on_every_store, password, pending, used,
};

/// How often a race is run.
const ROUNDS: usize = 15;

/// How many of sixteen tasks, on all nodes, end in `true`.
async fn winners<F>(desk: &Desk, task: impl Fn(usize, Store) -> F) -> usize
where
    F: Future<Output = bool> + Send + 'static,
{
    let mut tasks = JoinSet::new();
    for number in 0..16 {
        tasks.spawn(task(number, desk.node(number)));
    }
    tasks.join_all().await.into_iter().filter(|won| *won).count()
}

on_every_store! {
    async fn one_gets_the_step_and_one_the_recovery_code(desk: &Desk) {
        desk.bind("sealed", &[digest("code")]).await;
        let step = |_, node: Store| async move {
            node.use_step(By::NoSession, used("sealed", 11)).await.unwrap()
        };
        assert_eq!(winners(desk, step).await, 1);
        let code = |_, node: Store| async move {
            node.use_recovery_code(By::NoSession, agent01(), digest("code"), at(60)).await.unwrap()
        };
        assert_eq!(winners(desk, code).await, 1);
    }
}

on_every_store! {
    async fn one_binds_the_device_and_one_sets_the_password(desk: &Desk) {
        assert!(desk.store().begin_device(By::NoSession, agent01(), pending("sealed", 100)).await.unwrap());
        let bind = |number, node: Store| async move {
            let mut binding = binding("sealed", &[digest(&format!("code {number}"))]);
            binding.notice.id = format!("binding {number}");
            node.bind_device(By::NoSession, binding).await.unwrap()
        };
        assert_eq!(winners(desk, bind).await, 1);
        assert_eq!(desk.store().agent(agent01()).await.unwrap().unwrap().recovery_codes, 1);
        let set = |number, node: Store| async move {
            let new = password(&format!("hash {number}"), Before::Nothing, at(0));
            node.set_password(By::NoSession, new).await.unwrap().is_some()
        };
        assert_eq!(winners(desk, set).await, 1);
    }
}

on_every_store! {
    async fn one_completes_the_half(desk: &Desk) {
        desk.set_password("hash").await;
        assert!(desk.half("half", "hash").await);
        let complete = |number, node: Store| async move {
            let birth = birth(&format!("{number}"), LoginMethod::Password, None, Grounds::Half(digest("half")));
            node.begin_session(birth).await.unwrap() == Beginning::Begun
        };
        assert_eq!(winners(desk, complete).await, 1);
    }
}

on_every_store! {
    async fn a_half_is_signed_out_of_or_completed_and_never_both(desk: &Desk) {
        desk.set_password("hash").await;
        for round in 0..ROUNDS {
            let (name, nodes) = (format!("half {round}"), (desk.node(0), desk.node(1)));
            assert!(desk.half(&name, "hash").await);
            let birth = birth(&format!("{round}"), LoginMethod::Password, None, Grounds::Half(digest(&name)));
            let completing = tokio::spawn(async move { nodes.0.begin_session(birth).await.unwrap() });
            let ended = nodes.1.end_half(digest(&name), at(DAY)).await.unwrap();
            let completed = completing.await.unwrap() == Beginning::Begun;
            assert_ne!(ended, completed, "round {round}");
            assert_eq!(desk.lives(&format!("{round}")).await, completed);
        }
    }
}

/// Whoever ends something and is told that it is done has done it, whatever begins at the same time: a half is completed, and
/// another one begins.
async fn ends_what_begins(desk: &Desk, end: impl AsyncFn(&Store), restore: impl AsyncFn(&Store)) {
    for round in 0..ROUNDS {
        let hash = format!("hash {round}");
        desk.set_password(&hash).await;
        let [waiting, starting, session] = ["waiting", "starting", "session"].map(|name| format!("{name} {round}"));
        assert!(desk.half(&waiting, &hash).await);
        let birth = birth(&session, LoginMethod::Password, None, Grounds::Half(digest(&waiting)));
        let (half, notice) = (half(&starting), notice(&starting, Subject::PasswordUsed));
        let (one, other) = (desk.node(0), desk.node(1));
        let completing = tokio::spawn(async move { one.begin_session(birth).await.unwrap() });
        let beginning =
            tokio::spawn(async move { other.begin_half(half, hash, Trial::Password, notice).await.unwrap() });
        end(&desk.node(round)).await;
        let _ = (completing.await.unwrap(), beginning.await.unwrap());
        assert!(!desk.lives(&session).await, "round {round}");
        for name in [waiting, starting] {
            let found = desk.store().half(&digest(&name)).await.unwrap();
            assert!(!matches!(found, HalfFound::Half(_)), "round {round}: {name}");
        }
        restore(desk.store()).await;
    }
}

async fn reset(store: &Store) {
    assert!(
        store
            .reset_password(By::NoSession, agent01(), digest("code"), at(DAY), at(DAY), entry())
            .await
            .unwrap()
            .is_some()
    );
}

on_every_store! {
    async fn a_reset_password_ends_what_begins_with_it(desk: &Desk) {
        ends_what_begins(desk, reset, async |_| ()).await;
    }
}

on_every_store! {
    async fn a_disabled_agent_has_nothing_that_begins(desk: &Desk) {
        let disable = async |store: &Store| {
            assert!(store.disable_agent(By::NoSession, agent01(), at(DAY), entry()).await.unwrap().is_some());
        };
        let restore = async |store: &Store| {
            assert!(store.enable_agent(By::NoSession, agent01(), entry()).await.unwrap());
            reset(store).await;
        };
        ends_what_begins(desk, disable, restore).await;
    }
}

on_every_store! {
    async fn a_disabled_employee_has_nothing_that_begins(desk: &Desk) {
        let disable = async |store: &Store| {
            assert!(store.disable(By::NoSession, agent01(), true, at(DAY), entry()).await.unwrap() != ShutOut::Unknown);
        };
        let restore = async |store: &Store| {
            assert!(store.enable(By::NoSession, agent01(), entry()).await.unwrap());
            reset(store).await;
        };
        ends_what_begins(desk, disable, restore).await;
    }
}
