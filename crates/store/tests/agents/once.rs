//! Values that may be used once.

use deskpass_core::Digest;
use deskpass_store::Store;

use crate::agents::fixture::{DAY, Fixture, at, digest, on_every_store};

async fn uses(store: &Store, what: &str, attempt: Digest) -> bool {
    store.use_once(digest(what), attempt, at(DAY)).await.unwrap()
}

async fn undo(store: &Store, what: &str, attempt: Digest) {
    store.undo_use(digest(what), attempt, at(DAY)).await.unwrap();
}

on_every_store! {
    async fn what_was_used_is_undone_by_the_attempt_that_used_it_and_by_no_other(fixture: &Fixture) {
        let ([one, other], [first, second, third]) = ([fixture.node(0), fixture.node(1)], ["1", "2", "3"].map(digest));
        assert!(uses(&one, "code", first).await);
        assert!(uses(&one, "code", first).await, "the outcome may be unknown, so the work is repeated");
        assert!(!uses(&other, "code", second).await);
        undo(&other, "code", second).await;
        assert!(!uses(&other, "code", second).await, "it was not theirs to undo");
        undo(&one, "code", first).await;
        assert!(uses(&other, "code", second).await);
        undo(&one, "code", first).await;
        assert!(!uses(&one, "code", third).await, "it belongs to another owner now");
        assert!(uses(&one, "another code", third).await);
    }
}

on_every_store! {
    async fn an_attempt_that_was_undone_before_it_came_counts_for_nothing(fixture: &Fixture) {
        let ([one, other], [late, next, third]) = ([fixture.node(0), fixture.node(1)], ["1", "2", "3"].map(digest));
        undo(&one, "code", late).await;
        assert!(!uses(&one, "code", late).await);
        assert!(uses(&other, "code", next).await);
        assert!(!uses(&one, "code", late).await && !uses(&one, "code", third).await);
    }
}
