//! An approval belongs to the session that asked for it, and is worth nothing without it.

use deskpass_core::Role;

use super::{Asked, CREATE_KEY, Subject, ask_caller, assert_invalid, assert_over, keys, open, verify_caller};

on_every_store! {
    async fn no_other_session_uses_it_or_learns_of_it(app) {
        let mut client = app.client().await;
        app.add("admin02", Role::Admin).await;
        let token = client.sign_in("admin01").await;
        let others = [client.sign_in("admin01").await, client.sign_in("admin02").await];
        let approval = CREATE_KEY.approved(&mut client, &token, "admin01").await;
        for other in &others {
            assert_eq!(Subject::Approval.status(&mut client, other, &approval).await, "expired");
            assert_invalid(&CREATE_KEY.send(&mut client, other, &approval).await);
        }
        assert_eq!(keys(&app), 0);
        CREATE_KEY.send(&mut client, &token, &approval).await.data();
    }

    async fn it_is_over_with_its_session(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        let approval = CREATE_KEY.approved(&mut client, &token, "admin01").await;
        let open_one = Asked::of(&CREATE_KEY.ask(&mut client, &token).await);
        let secret = open(&mut client, "admin01").await;
        client.logout(&token).await.data();
        assert_eq!(CREATE_KEY.send(&mut client, &token, &approval).await.refused(401, 1001).reason(), "signed_out");
        assert_over(&Subject::Approval.question(&mut client, &secret).await);
        assert_over(&Subject::Approval.pick(&mut client, &secret, open_one.number).await);
        let again = client.sign_in("admin01").await;
        for id in [&approval, &open_one.id] {
            assert_invalid(&CREATE_KEY.send(&mut client, &again, id).await);
        }
        assert_eq!(keys(&app), 0);
    }

    async fn a_person_who_was_disabled_uses_none(app) {
        let mut client = app.client().await;
        app.add("admin02", Role::Admin).await;
        let token = client.sign_in("admin01").await;
        let approval = CREATE_KEY.approved(&mut client, &token, "admin01").await;
        let open_one = Asked::of(&CREATE_KEY.ask(&mut client, &token).await);
        let secret = open(&mut client, "admin01").await;
        let unopened = client.link_sent_to("admin01").await;
        app.auth().operator().disable(app.key("admin01")).await.unwrap();
        assert_eq!(CREATE_KEY.send(&mut client, &token, &approval).await.refused(401, 1001).reason(), "disabled");
        assert_over(&Subject::Approval.pick(&mut client, &secret, open_one.number).await);
        let landed = client.follow_link(&unopened, "admin01").await;
        assert!(landed.contains("/scan/#error=disabled"), "{landed}");
        app.auth().operator().enable(app.key("admin01")).await.unwrap();
        let again = client.sign_in("admin01").await;
        assert_invalid(&CREATE_KEY.send(&mut client, &again, &approval).await);
        assert_eq!(keys(&app), 0);
    }

    /// The administrator role is needed at the moment of use; a request that came too early wastes nothing.
    async fn it_counts_only_in_the_role_of_administrator(app) {
        let mut client = app.client().await;
        app.add("admin02", Role::Admin).await;
        let token = client.sign_in("admin01").await;
        let first = CREATE_KEY.approved(&mut client, &token, "admin01").await;
        let second = CREATE_KEY.approved(&mut client, &token, "admin01").await;
        client.switch(&token, "agent").await.data();
        assert_eq!(CREATE_KEY.send(&mut client, &token, &first).await.refused(403, 1003).reason(), "role_needed");
        client.switch(&token, "admin").await.data();
        CREATE_KEY.send(&mut client, &token, &first).await.data();
        app.auth().operator().revoke(app.key("admin01"), "admin").await.unwrap();
        let answer = CREATE_KEY.send(&mut client, &token, &second).await;
        assert_eq!(answer.refused(403, 1003).reason(), "role_taken_away");
        assert_eq!(keys(&app), 1);
    }

    /// A caller who was verified approves nothing, and an approval verifies nobody.
    async fn questions_of_one_kind_do_not_count_as_the_other(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        let verified = verify_caller(&mut client, &token, "user01").await;
        assert_invalid(&CREATE_KEY.send(&mut client, &token, &verified).await);
        assert_eq!(Subject::Approval.status(&mut client, &token, &verified).await, "expired");
        let approved = CREATE_KEY.approved(&mut client, &token, "admin01").await;
        assert_eq!(Subject::Caller.status(&mut client, &token, &approved).await, "expired");

        let asked = Asked::of(&ask_caller(&mut client, &token, "user01").await);
        let secret = open(&mut client, "user01").await;
        assert_over(&Subject::Approval.question(&mut client, &secret).await);
        assert_over(&Subject::Approval.pick(&mut client, &secret, asked.number).await);
        assert_eq!(Subject::Caller.status(&mut client, &token, &asked.id).await, "pending");
        assert_eq!(keys(&app), 0);
    }
}
