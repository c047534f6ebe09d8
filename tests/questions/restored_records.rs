//! An attacker who can write to Redis restores earlier records of questions: what was used or refused stays so.

use std::time::Duration;

use super::{
    Asked, CREATE_KEY, PAUSE, Subject, ask_caller, assert_invalid, assert_over, keys, open, rows, supervisor,
    verify_caller,
};
use crate::harness::{StoreBackend, TestApp, development};

const RESET_PASSWORD: &str = "/api/admin/agents/agent01/reset-password";

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

    async fn a_pause_outlives_the_loss_of_redis(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        let before = CREATE_KEY.approved(&mut client, &token, "admin01").await;
        let asked = Asked::of(&CREATE_KEY.ask(&mut client, &token).await);
        let secret = open(&mut client, "admin01").await;
        Subject::Approval.pick_wrong(&mut client, &secret, &asked).await.refused(403, 1003);
        app.cluster_store().forget_records("approval_pause");
        assert_eq!(CREATE_KEY.ask(&mut client, &token).await.refused(403, 1003).reason(), "approvals_paused");
        // What was approved before does not count, either.
        assert_invalid(&CREATE_KEY.send(&mut client, &token, &before).await);
        // Other sessions do not pause, and this one only for as long as it would have.
        let other = client.sign_in("admin01").await;
        CREATE_KEY.ask(&mut client, &other).await.data();
        app.clock.advance(PAUSE);
        CREATE_KEY.ask(&mut client, &token).await.data();
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

/// A person who refuses one asker takes back what they told another.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_verification_that_was_withdrawn_or_used_is_not_revived() {
    let test = async {
        let app = TestApp::with(development(&[("verification.before_resets", "true")])).await;
        let mut client = app.client().await;
        let (admin, device) = app.administrator().await;
        verify_caller(&mut client, &admin, "agent01").await;
        let records = app.cluster_store().store_records("verified");
        assert_eq!(records.len(), 1, "this test looks at nothing");
        let other = supervisor(&mut client).await;
        ask_caller(&mut client, &other, "agent01").await.data();
        let secret = open(&mut client, "agent01").await;
        // The record is hidden from the refusal, and restored after it.
        app.cluster_store().forget_records("verified");
        Subject::Caller.refuse(&mut client, &secret).await.data();
        app.cluster_store().restore_records(&records);
        let refused = client.post_with_otp(&admin, RESET_PASSWORD, Some(&device.next_code())).await;
        assert_eq!(refused.refused(403, 1003).reason(), "caller_not_verified");

        app.clock.advance(Duration::from_millis(1));
        verify_caller(&mut client, &admin, "agent01").await;
        let records = app.cluster_store().store_records("verified");
        client.post_with_otp(&admin, RESET_PASSWORD, Some(&device.next_code())).await.data();
        app.cluster_store().restore_records(&records);
        let again = client.post_with_otp(&admin, RESET_PASSWORD, Some(&device.next_code())).await;
        assert_eq!(again.refused(403, 1003).reason(), "caller_not_verified");
    };
    StoreBackend::ScaledOut.run(Box::pin(test)).await;
}
