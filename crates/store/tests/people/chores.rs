//! One node at a time does a chore.

use deskpass_store::Chore;
use tokio::task::JoinSet;

use crate::agents::fixture::{Fixture, HOUR, at, on_every_store};

on_every_store! {
    async fn of_many_nodes_one_does_a_chore(fixture: &Fixture) {
        for (round, chore) in [Chore::Sweep, Chore::Recheck, Chore::Synchronise, Chore::Recheck].into_iter().enumerate() {
            let now = i64::try_from(round).unwrap() * HOUR + 1;
            let mut tasks = JoinSet::new();
            for number in 0..16 {
                let node = fixture.node(number);
                tasks.spawn(async move { node.claim_chore(chore, at(now), at(now + 60_000)).await.unwrap() });
            }
            assert_eq!(tasks.join_all().await.into_iter().filter(|claimed| *claimed).count(), 1, "{chore:?}");
            assert!(!fixture.store().claim_chore(chore, at(now + 59_999), at(now + 120_000)).await.unwrap());
        }
    }
}

on_every_store! {
    async fn a_chore_remembers_for_the_next_node(fixture: &Fixture) {
        let (here, there) = (fixture.node(0), fixture.node(1));
        assert_eq!(here.chore_state(Chore::Recheck).await.unwrap(), None);
        let (none, seven) = (None, Some("{\"looked_up\":7}".to_owned()));
        assert!(here.set_chore_state(Chore::Recheck, none.clone(), seven.clone()).await.unwrap());
        assert_eq!(there.chore_state(Chore::Recheck).await.unwrap().as_deref(), Some("{\"looked_up\":7}"));
        assert_eq!(there.chore_state(Chore::Synchronise).await.unwrap(), None);
        let other = Some("{}".to_owned());
        assert!(!there.set_chore_state(Chore::Recheck, none.clone(), other.clone()).await.unwrap(), "it was changed since");
        assert!(!there.set_chore_state(Chore::Recheck, other, None).await.unwrap());
        assert_eq!(here.chore_state(Chore::Recheck).await.unwrap(), seven);
        assert!(there.set_chore_state(Chore::Recheck, seven, none).await.unwrap());
        assert_eq!(here.chore_state(Chore::Recheck).await.unwrap(), None);
    }
}

on_every_store! {
    async fn of_concurrent_changes_of_what_a_chore_remembers_none_is_lost(fixture: &Fixture) {
        let mut tasks = JoinSet::new();
        for number in 0..8 {
            let node = fixture.node(number);
            tasks.spawn(async move {
                loop {
                    let known = node.chore_state(Chore::Synchronise).await.unwrap();
                    let count: usize = known.as_deref().unwrap_or("0").parse().unwrap();
                    if node.set_chore_state(Chore::Synchronise, known, Some((count + 1).to_string())).await.unwrap() {
                        break;
                    }
                }
            });
        }
        tasks.join_all().await;
        assert_eq!(fixture.store().chore_state(Chore::Synchronise).await.unwrap().as_deref(), Some("8"));
    }
}
