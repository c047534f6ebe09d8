//! An approval counts once, for exactly what the phone showed, however often and wherever it is sent.

use deskpass_auth::SyncOptions;
use deskpass_core::{Role, RoleRule, RuleGroup};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{
    Asked, CREATE_KEY, NEXT_APPROVAL, Operation, Subject, assert_invalid, choices, keys, open, rows, two_nodes,
};
use crate::harness::{Client, Process, Response, Servers, StoreBackend};

/// How many requests use one approval at once.
const AT_ONCE: usize = 50;

/// The registration of an OpenID Connect client.
const REGISTRATION: &str = r#"{"name":"Desk","redirect_uris":["https://rp.example/callback"],"algorithm":"ES256"}"#;

/// The service keys that an administrator sees.
async fn listed_keys(client: &mut Client, token: &str) -> usize {
    client.get_as(token, CREATE_KEY.path).await.data()["items"].as_array().unwrap().len()
}

on_every_store! {
    async fn it_is_for_this_method_path_and_body_and_a_mistake_does_not_waste_it(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        let asked = CREATE_KEY;
        let approval = asked.approved(&mut client, &token, "admin01").await;
        for other in [
            Operation { path: "/api/admin/service-keys?", ..asked },
            Operation { path: "/api/admin/service-keys?for=desk", ..asked },
            Operation { body: r#"{"name":"desk","scopes":["messages"]}"#, ..asked },
            Operation { body: r#"{"name": "desk","scopes":["introspect"]}"#, ..asked },
            Operation { body: r#"{"scopes":["introspect"],"name":"desk"}"#, ..asked },
            Operation { path: "/api/admin/agents/agent01/unlock", ..asked },
        ] {
            assert_invalid(&other.send(&mut client, &token, &approval).await);
        }
        // What is wrong with a request is said before the approval is looked at.
        let broken = Operation { body: r#"{"name":"desk"}"#, ..asked };
        broken.send(&mut client, &token, &approval).await.refused(400, 1002);
        assert_eq!(keys(&app), 0);
        asked.send(&mut client, &token, &approval).await.data();
        assert_invalid(&asked.send(&mut client, &token, &approval).await);
        assert_eq!(keys(&app), 1);
    }

    async fn a_rule_for_an_unknown_group_uses_up_neither_the_approval_nor_the_code(app) {
        Box::pin(app.auth().synchronise(SyncOptions { dry_run: false, force: false }, &|_| {})).await.unwrap();
        let mut client = app.client().await;
        let (token, device) = app.administrator().await;
        let body = r#"{"rules":[{"role":"agent","department":"404"}]}"#;
        let replace = Operation { method: "PUT", path: "/api/admin/role-rules", body };
        let approval = replace.approved(&mut client, &token, "admin01").await;
        let code = device.next_code();
        let by_code = [("x-otp-code", &*code)];
        replace.send(&mut client, &token, &approval).await.refused(400, 1002);
        assert_eq!(Subject::Approval.status(&mut client, &token, &approval).await, "approved");
        replace.send_with(&mut client, &token, &by_code).await.refused(400, 1002);
        // A rule that is registered may stay, whether or not its group is known.
        let rule = RoleRule { role: Role::Agent, group: RuleGroup::Department("404".to_owned()) };
        app.auth().operator().set_role_rules(vec![rule]).await.unwrap();
        replace.send_with(&mut client, &token, &by_code).await.data();
        replace.send(&mut client, &token, &approval).await.data();
        // Now both are used.
        replace.send_with(&mut client, &token, &by_code).await.refused(401, 1008);
        assert_invalid(&replace.send(&mut client, &token, &approval).await);
    }

    async fn to_change_something_is_not_to_remove_it(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        let register = Operation { method: "POST", path: "/api/admin/oidc-clients", body: REGISTRATION };
        let approval = register.approved(&mut client, &token, "admin01").await;
        let made = register.send(&mut client, &token, &approval).await.data();
        let path = format!("{}/{}", register.path, made["client_id"].as_str().unwrap());
        let change = Operation { method: "PUT", path: &path, body: REGISTRATION };
        let approval = change.approved(&mut client, &token, "admin01").await;
        let remove = Operation { method: "DELETE", ..change };
        assert_invalid(&remove.send(&mut client, &token, &approval).await);
        change.send(&mut client, &token, &approval).await.data();
        client.get_as(&token, &path).await.data();
    }

    async fn with_a_one_time_password_beside_it_neither_counts_nor_is_used(app) {
        let mut client = app.client().await;
        let (token, device) = app.administrator().await;
        let approval = CREATE_KEY.approved(&mut client, &token, "admin01").await;
        let code = device.next_code();
        let both = [("x-otp-code", &*code), ("x-approval", &*approval)];
        assert_invalid(&CREATE_KEY.send_with(&mut client, &token, &both).await);
        let twice = [("x-approval", &*approval), ("x-approval", &*approval)];
        assert_invalid(&CREATE_KEY.send_with(&mut client, &token, &twice).await);
        for made_up in ["", "x", "dpu_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"] {
            assert_invalid(&CREATE_KEY.send(&mut client, &token, made_up).await);
        }
        assert_eq!(keys(&app), 0);
        CREATE_KEY.send_with(&mut client, &token, &both[..1]).await.data();
        CREATE_KEY.send_with(&mut client, &token, &both[1..]).await.data();
        assert_eq!(keys(&app), 2);
    }

    async fn of_fifty_requests_at_once_one_is_made(app) {
        let nodes = two_nodes(app).await;
        let (mut client, clock) = (nodes[0].client().await, nodes[0].clock.clone());
        let token = client.sign_in("admin01").await;
        for round in 1..=StoreBackend::current().rounds(10) {
            let approval = CREATE_KEY.approved(&mut client, &token, "admin01").await;
            let mut all = JoinSet::new();
            for at in 0..AT_ONCE {
                let mut other = nodes[at % nodes.len()].client().await;
                let (token, approval) = (token.clone(), approval.clone());
                all.spawn(async move { CREATE_KEY.send(&mut other, &token, &approval).await });
            }
            let (made, refused): (Vec<Response>, Vec<Response>) =
                all.join_all().await.into_iter().partition(|answer| answer.status == 200);
            // A busy database may turn some away; these have no effect either.
            refused.iter().filter(|answer| answer.status != 503).for_each(assert_invalid);
            assert_eq!((made.len(), keys(&nodes[0])), (1, round));
            // A person may be refused sixty times a minute.
            clock.advance(NEXT_APPROVAL);
        }
    }

    /// Two phones of the same person cannot try two numbers: the first answer counts, and leaves the only row.
    async fn of_a_right_and_a_wrong_number_at_once_one_counts(app) {
        let nodes = two_nodes(app).await;
        let (mut one, mut other) = (nodes[0].client().await, nodes[nodes.len() - 1].client().await);
        for round in 1..=StoreBackend::current().rounds(30) {
            // After a wrong number, the session of the round before may get no approvals.
            let token = one.sign_in("admin01").await;
            let asked = Asked::of(&CREATE_KEY.ask(&mut one, &token).await);
            let secret = open(&mut one, "admin01").await;
            let shown = Subject::Approval.question(&mut other, &secret).await.data();
            let wrong = choices(&shown).into_iter().find(|choice| *choice != asked.number).unwrap();
            let (right, wrong) = tokio::join!(
                Subject::Approval.pick(&mut one, &secret, asked.number),
                Subject::Approval.pick(&mut other, &secret, wrong)
            );
            let expected = match (right.status, wrong.status) {
                (200, 409) => "approved",
                (409, 403) => "refused",
                _ => panic!("{right:?} {wrong:?}"),
            };
            assert_eq!(Subject::Approval.status(&mut other, &token, &asked.id).await, expected);
            assert_eq!(rows(&nodes[0], Subject::Approval).len(), 2 * round, "asked and answered");
            nodes[0].clock.advance(NEXT_APPROVAL);
        }
    }

    /// A service that runs alone forgets its questions; one that does not keeps them. Neither makes an operation twice.
    async fn what_was_used_stays_used_after_kill_9() {
        let (directory, place) = (tempfile::tempdir().unwrap(), Servers::shared().cluster_store());
        let backend = StoreBackend::current();
        let start = || match backend {
            StoreBackend::Embedded => Process::serve(directory.path(), &[]),
            StoreBackend::ScaledOut => Process::node(&place, &[]),
        };
        let process = start();
        let mut client = Client::connect(&process.address).await;
        let token = client.sign_in("admin01").await;
        let used = CREATE_KEY.approved(&mut client, &token, "admin01").await;
        let unused = CREATE_KEY.approved(&mut client, &token, "admin01").await;
        CREATE_KEY.send(&mut client, &token, &used).await.data();
        process.kill();

        let process = start();
        let mut client = Client::connect(&process.address).await;
        assert_invalid(&CREATE_KEY.send(&mut client, &token, &used).await);
        let late = CREATE_KEY.send(&mut client, &token, &unused).await;
        match backend {
            StoreBackend::Embedded => assert_invalid(&late),
            StoreBackend::ScaledOut => drop(late.data()),
        }
        assert_invalid(&CREATE_KEY.send(&mut client, &token, &unused).await);
        let expected = if backend == StoreBackend::Embedded { 1 } else { 2 };
        assert_eq!(listed_keys(&mut client, &token).await, expected);
    }

    async fn it_is_asked_for_opened_answered_and_used_on_different_nodes(app) {
        let nodes = two_nodes(app).await;
        let (mut one, mut other) = (nodes[0].client().await, nodes[nodes.len() - 1].client().await);
        let token = one.sign_in("admin01").await;
        let asked = Asked::of(&CREATE_KEY.ask(&mut one, &token).await);
        // The simulated platform that has the message is part of the first node.
        let secret = open(&mut one, "admin01").await;
        let answered = Subject::Approval.pick(&mut other, &secret, asked.number).await.data();
        assert_eq!(answered, json!({ "status": "approved" }));
        assert_eq!(Subject::Approval.status(&mut one, &token, &asked.id).await, "approved");
        let made: Value = CREATE_KEY.send(&mut other, &token, &asked.id).await.data();
        assert_eq!(made["name"], "desk");
        assert_invalid(&CREATE_KEY.send(&mut one, &token, &asked.id).await);
    }
}
