//! An attacker who can write to Redis restores earlier records of questions: what was used or refused stays so.

use super::{Asked, CREATE_KEY, Subject, assert_invalid, assert_over, keys, open, rows};
use crate::harness::{StoreBackend, TestApp};

/// Runs tests whose services keep records in Redis.
macro_rules! with_redis {
    ($($(#[$about:meta])* async fn $name:ident($app:ident) $body:block)*) => {$(
        $(#[$about])*
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            StoreBackend::ScaledOut.run(Box::pin(async {
                let $app = TestApp::start().await;
                $body
            })).await;
        }
    )*};
}

with_redis! {
    async fn an_approval_that_was_used_is_not_used_again(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        let approval = CREATE_KEY.approved(&mut client, &token, "admin01").await;
        let records = app.cluster_store().store_records("question");
        assert_eq!(records.len(), 1, "this test looks at nothing");
        CREATE_KEY.send(&mut client, &token, &approval).await.data();
        app.cluster_store().restore_records(&records);
        assert_eq!(Subject::Approval.status(&mut client, &token, &approval).await, "approved", "it was not restored");
        assert_invalid(&CREATE_KEY.send(&mut client, &token, &approval).await);
        assert_eq!(keys(&app), 1);
    }

    /// Otherwise a phone that picked wrongly could guess again.
    async fn a_phone_that_picked_the_wrong_number_does_not_pick_again(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        let asked = Asked::of(&CREATE_KEY.ask(&mut client, &token).await);
        let secret = open(&mut client, "admin01").await;
        let records = app.cluster_store().store_records("question");
        Subject::Approval.pick_wrong(&mut client, &secret, &asked).await.refused(403, 1003);
        for _ in 0..2 {
            app.cluster_store().restore_records(&records);
            // What keeps the session from asking is forgotten, too.
            app.cluster_store().forget_records("approval_pause");
            assert_eq!(Subject::Approval.status(&mut client, &token, &asked.id).await, "pending", "it was not restored");
            assert_over(&Subject::Approval.pick(&mut client, &secret, asked.number).await);
            assert_invalid(&CREATE_KEY.send(&mut client, &token, &asked.id).await);
        }
        // Neither does a phone that opens the question once more.
        app.cluster_store().restore_records(&records);
        app.cluster_store().forget_records("approval_pause");
        let again = open(&mut client, "admin01").await;
        assert_over(&Subject::Approval.pick(&mut client, &again, asked.number).await);
        assert_invalid(&CREATE_KEY.send(&mut client, &token, &asked.id).await);
        assert_eq!(keys(&app), 0);
        let answers = rows(&app, Subject::Approval).into_iter().filter(|row| row.contains("asked from")).count();
        assert_eq!(answers, 1);
    }

    /// After a loss of Redis, the person asks again.
    async fn a_question_that_was_lost_is_over(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        let approval = CREATE_KEY.approved(&mut client, &token, "admin01").await;
        let asked = Asked::of(&CREATE_KEY.ask(&mut client, &token).await);
        let secret = open(&mut client, "admin01").await;
        app.cluster_store().forget_records("question");
        assert_eq!(Subject::Approval.status(&mut client, &token, &approval).await, "expired");
        assert_invalid(&CREATE_KEY.send(&mut client, &token, &approval).await);
        assert_over(&Subject::Approval.pick(&mut client, &secret, asked.number).await);
        let approval = CREATE_KEY.approved(&mut client, &token, "admin01").await;
        CREATE_KEY.send(&mut client, &token, &approval).await.data();
    }
}
