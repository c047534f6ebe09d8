//! Each notice to agents is delivered by one node.

use deskpass_core::Role;
use deskpass_store::{Notice, NoticeAbout, NoticeSubject};
use tokio::task::JoinSet;

use crate::agents::fixture::{Fixture, SKEW, agent01, at, notice, on_every_store};

fn ids(notices: &[Notice]) -> Vec<&str> {
    let mut ids: Vec<_> = notices.iter().map(|notice| &*notice.id).collect();
    ids.sort_unstable();
    ids
}

on_every_store! {
    async fn a_notice_is_due_until_it_was_delivered(fixture: &Fixture) {
        let store = fixture.store();
        fixture.set_password("hash").await;
        assert!(fixture.half("half", "hash").await);
        fixture.bind("sealed", &[]).await;
        // Due at once by the clock of every node: that of the node that wrote it may be ahead.
        assert!(store.claim_notices(at(-SKEW), at(60), 10).await.unwrap().is_empty());
        let due = store.claim_notices(at(1 - SKEW), at(60), 10).await.unwrap();
        assert_eq!(ids(&due), ["half", "hash is set", "sealed is bound"]);
        let used = due.iter().find(|notice| notice.id == "half").unwrap();
        assert_eq!((used.subject, &used.employee, &*used.address), (NoticeSubject::PasswordUsed, &agent01(), "192.0.2.1"));
        assert_eq!((used.at, used.tries), (at(1), 1));
        assert!(store.claim_notices(at(59), at(99), 10).await.unwrap().is_empty());
        store.delete_notice("half".to_owned()).await.unwrap();
        store.postpone_notice("hash is set".to_owned(), at(70)).await.unwrap();
        let again = store.claim_notices(at(60), at(90), 10).await.unwrap();
        assert_eq!((ids(&again), again[0].tries), (vec!["sealed is bound"], 2));
        assert_eq!(ids(&store.claim_notices(at(70), at(90), 10).await.unwrap()), ["hash is set"]);
    }
}

/// Everything that a notice can be about, with this text wherever there is one.
fn every_about(text: &str) -> [NoticeAbout; 8] {
    let text = || text.to_owned();
    [
        NoticeAbout::SignIn { who: text(), at: at(-5) },
        NoticeAbout::Role { role: Role::Security, until: at(7) },
        NoticeAbout::Approval { who: text() },
        NoticeAbout::Caller { asked: text(), asker: text(), wrong_number: true },
        NoticeAbout::Leavers(6),
        NoticeAbout::Renamed { from: text(), to: text() },
        NoticeAbout::Holder { employee: text(), former: text(), now: text() },
        NoticeAbout::PassedOn { id: text(), from: Some(text()) },
    ]
}

on_every_store! {
    async fn what_a_notice_is_about_is_read_as_it_was_written(fixture: &Fixture) {
        let texts = ["Ada Lovelace", "a\nb", "\"quoted\" \\", "{}", "王 小明", "1 2 wrong_number", " ", ""];
        let written: Vec<_> = texts.into_iter().flat_map(every_about).collect();
        let of = |(number, about): (usize, &NoticeAbout)| {
            let notice = notice(&format!("{number:03}"), NoticeSubject::CallerRefused);
            Notice { about: Some(about.clone()), ..notice }
        };
        fixture.store().queue_notices(written.iter().enumerate().map(of).collect()).await.unwrap();
        let mut claimed = fixture.node(1).claim_notices(at(1), at(60), 100).await.unwrap();
        claimed.sort_by_key(|notice| notice.id.clone());
        let read: Vec<_> = claimed.into_iter().filter_map(|notice| notice.about).collect();
        assert_eq!(read, written);
    }
}

on_every_store! {
    async fn of_many_nodes_that_deliver_one_has_each(fixture: &Fixture) {
        fixture.set_password("hash").await;
        for number in 0..40 {
            assert!(fixture.half(&number.to_string(), "hash").await);
        }
        let mut tasks = JoinSet::new();
        for number in 0..16 {
            let node = fixture.node(number);
            tasks.spawn(async move { node.claim_notices(at(1), at(60), 5).await.unwrap() });
        }
        let claimed = tasks.join_all().await.concat();
        let mut once = ids(&claimed);
        once.dedup();
        assert_eq!(once.len(), claimed.len());
        assert!(claimed.iter().all(|notice| notice.tries == 1));
        let rest = fixture.store().claim_notices(at(1), at(60), 100).await.unwrap();
        assert_eq!(claimed.len() + rest.len(), 41);
    }
}
