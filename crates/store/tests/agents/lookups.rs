//! Sessions that are looked up at the same time: each request gets its own result.

use deskpass_core::LoginMethod;
use deskpass_store::{EndReason, SessionLookup};
use futures_util::future::join_all;

use crate::agents::fixture::{DAY, Fixture, at, digest, entry, on_every_store};

/// The numbers of requests at once. Sessions of the numbers before are in the cache by then.
const CROWDS: [usize; 3] = [7, 30, 150];

/// Differs between tokens, of which the first of three has a session, the second was signed out, and the third is unknown.
fn method(number: usize) -> LoginMethod {
    if number.is_multiple_of(2) { LoginMethod::Oauth2 } else { LoginMethod::Password }
}

on_every_store! {
    async fn each_of_many_at_once_gets_its_own_result(fixture: &Fixture) {
        for number in (0..CROWDS[2]).filter(|number| number % 3 < 2) {
            fixture.session(&number.to_string(), method(number), None).await;
            if number % 3 == 1 {
                assert!(fixture.store().end_session(digest(&number.to_string()), at(DAY), entry()).await.unwrap());
            }
        }
        for crowd in CROWDS {
            // On PostgreSQL, another node than the one where the sessions began, and have been cached.
            let node = fixture.node(1);
            let found = join_all((0..crowd).map(|number| {
                let node = node.clone();
                async move { node.session(&digest(&number.to_string())).await.unwrap() }
            }));
            for (number, found) in found.await.into_iter().enumerate() {
                let is_right = match (number % 3, &found) {
                    (0, SessionLookup::Session(found)) => found.session.method == method(number),
                    (1, SessionLookup::Denied(EndReason::SignedOut)) | (2, SessionLookup::NotFound) => true,
                    _ => false,
                };
                assert!(is_right, "{number} of {crowd}: {found:?}");
            }
        }
    }
}
