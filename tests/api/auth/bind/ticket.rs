//! Binding with a ticket: the platform identified a person, who names an employee.

use deskpass_core::{BindProof, CorpId, EmployeeId, EmployeeKey, Role, Secret};
use serde_json::json;

use crate::harness::{Client, Platform, Response, StoreBackend, TestApp, cookies, fragment, location};

/// A production service with a platform and the development users.
async fn proving() -> (TestApp, Platform) {
    let (app, platform) = TestApp::production_with_platform(&[]).await;
    app.auth().seed_dev_users().await.unwrap();
    (app, platform)
}

fn partner(app: &TestApp) -> EmployeeKey {
    let corp = CorpId::parse("wwpartner").unwrap();
    app.auth().resolve_key(Some(&corp), &EmployeeId::parse("partner01").unwrap())
}

/// Has the platform identify the partner's person and returns the callback's response.
async fn arrive(app: &TestApp, platform: &Platform) -> Response {
    let mut client = app.client().await;
    let (link, flow) = client.begin_oauth("https://desk.example.com/h5/").await;
    let back = platform.client().await.authorize(&link, "wwpartner/partner01").await;
    client.oauth_callback(&back, &flow).await
}

/// A proof of the partner's person.
async fn proof(app: &TestApp, platform: &Platform) -> String {
    fragment(location(&arrive(app, platform).await), "bind_ticket")
}

async fn bind(client: &mut Client, employee: &str, proof: &str) -> Response {
    let ask = json!({ "employee_id": employee, "bind_ticket": proof });
    client.post("/api/auth/bind", &[("x-request-id", "same")], &ask).await
}

on_every_store! {
    async fn a_proof_and_an_approved_link_sign_in_as_the_employee_and_from_then_on_directly() {
        let (app, platform) = proving().await;
        let mut client = app.client().await;
        app.auth().operator().approve_link(partner(&app), app.key("admin01")).await.unwrap();
        let arrived = arrive(&app, &platform).await;
        assert!(location(&arrived).starts_with("https://desk.example.com/h5/#bind_ticket=dpb_"), "{arrived:?}");
        let set = arrived.header("set-cookie").unwrap();
        assert!(
            set.starts_with("__Host-deskpass_bind=dpb_")
                && set.ends_with("; Path=/; Max-Age=300; HttpOnly; SameSite=Lax; Secure"),
            "{set}"
        );
        assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
        // The proof comes in the cookie, as from a browser.
        let answer =
            client.post("/api/auth/bind", &[("cookie", &cookies(&arrived))], &json!({ "employee_id": "admin01" })).await;
        let login = answer.data();
        assert_eq!(
            (&login["employee_id"], &login["login_method"], &login["current_role"]),
            (&json!("admin01"), &json!("bind"), &json!("admin"))
        );
        assert!(answer.header("set-cookie").unwrap().contains("deskpass_bind=; Path=/; Max-Age=0"));
        assert_eq!(client.verify(login["token"].as_str().unwrap()).await["roles"], json!(["admin", "agent", "user"]));
        // At the next sign-in the platform's identification is enough.
        let landed = arrive(&app, &platform).await;
        assert!(location(&landed).starts_with("https://desk.example.com/h5/#ticket="), "{landed:?}");
        let log = app.query("SELECT employee_key, login_method FROM login_log WHERE event = 'sign_in' ORDER BY rowid");
        assert_eq!(log, ["admin01|bind", "admin01|oauth2"]);
        // The operator removes the link again.
        assert!(app.auth().operator().remove_link(partner(&app)).await.unwrap());
        assert!(location(&arrive(&app, &platform).await).contains("#bind_ticket="));
    }

    async fn every_other_proof_and_every_other_employee_gets_one_and_the_same_refusal() {
        let (app, platform) = proving().await;
        let mut client = app.client().await;
        app.auth().operator().approve_link(partner(&app), app.key("user01")).await.unwrap();
        app.auth().operator().disable(app.key("security01")).await.unwrap();
        let mut refusals = Vec::new();
        for employee in ["admin01", "nobody", "partner01", "norole01", "security01"] {
            let proof = proof(&app, &platform).await;
            refusals.push(bind(&mut client, employee, &proof).await);
        }
        // A person who may act as an employee does not learn that this employee is disabled.
        app.auth().operator().approve_link(partner(&app), app.key("security01")).await.unwrap();
        let shut_out = proof(&app, &platform).await;
        refusals.push(bind(&mut client, "security01", &shut_out).await);
        app.auth().operator().approve_link(partner(&app), app.key("user01")).await.unwrap();
        for proof in ["", "x", "dpb_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"] {
            refusals.push(bind(&mut client, "user01", proof).await);
        }
        let (late, used) = (proof(&app, &platform).await, proof(&app, &platform).await);
        bind(&mut client, "user01", &used).await.data();
        refusals.push(bind(&mut client, "user01", &used).await);
        app.clock.advance(std::time::Duration::from_mins(5));
        refusals.push(bind(&mut client, "user01", &late).await);
        // After a few attempts on other employees the proof is void.
        app.auth().operator().approve_link(partner(&app), app.key("user01")).await.unwrap();
        let tired = proof(&app, &platform).await;
        for _ in 0..5 {
            refusals.push(bind(&mut client, "admin01", &tired).await);
        }
        refusals.push(bind(&mut client, "user01", &tired).await);
        let bodies: std::collections::HashSet<_> =
            refusals.iter().map(|refusal| (refusal.status, refusal.body.clone())).collect();
        assert_eq!(bodies.len(), 1, "{bodies:?}");
        refusals[0].refused(403, 1003);
        assert_eq!(app.query("SELECT count(*) FROM session"), ["1"]);
    }

    async fn of_many_binds_with_one_proof_one_succeeds() {
        let (app, platform) = proving().await;
        app.auth().operator().approve_link(partner(&app), app.key("user01")).await.unwrap();
        for round in 1..=100 {
            app.clock.advance(std::time::Duration::from_mins(1));
            let proof = proof_of(&app, &platform).await;
            let mut clients = [app.client().await, app.client().await, app.client().await];
            let [one, two, three] = &mut clients;
            let (first, second, third) =
                tokio::join!(bind(one, "user01", &proof), bind(two, "user01", &proof), bind(three, "user01", &proof));
            let mut statuses = [first.status, second.status, third.status];
            statuses.sort_unstable();
            assert_eq!(statuses, [200, 403, 403]);
            let log = app.query("SELECT event, count(*) FROM login_log WHERE login_method = 'bind' GROUP BY event ORDER BY event");
            assert_eq!(log, [format!("sign_in|{round}"), format!("sign_in_refused|{}", 2 * round)]);
        }
    }
}

on_every_store! {
    /// Attempts are counted before they are checked, across all nodes.
    async fn of_many_wrong_binds_at_once_no_more_are_looked_at_than_may_be() {
        let (app, platform) = proving().await;
        let other = match StoreBackend::current() {
            StoreBackend::ScaledOut => Some(app.second_node().await),
            StoreBackend::Embedded => None,
        };
        let proof = Secret::<BindProof>::parse(&proof(&app, &platform).await).unwrap().digest();
        let mut tries = tokio::task::JoinSet::new();
        for number in 0..50 {
            let node = other.as_ref().filter(|_| number % 2 == 0).unwrap_or(&app);
            let (store, target, now) = (node.auth().store.clone(), app.key("admin01"), app.clock.now());
            tries.spawn(async move { store.proof_permits(proof, target, now).await.unwrap() });
        }
        assert!(tries.join_all().await.into_iter().all(|permitted| !permitted));
        assert_eq!(app.query("SELECT attempts FROM bind_proof"), ["5"]);
        app.auth().operator().approve_link(partner(&app), app.key("user01")).await.unwrap();
        let permitted = app.auth().store.proof_permits(proof, app.key("user01"), app.clock.now()).await.unwrap();
        assert!(!permitted, "it is worth nothing any more");
    }

    /// The platform's statements about people of connected corporations count like all others: the platform identifies them,
    /// and the link to another employee exists only here.
    async fn a_linked_person_who_left_their_corporation_is_not_signed_in() {
        let (app, platform) = proving().await;
        let mut client = app.client().await;
        app.auth().operator().approve_link(partner(&app), app.key("user01")).await.unwrap();
        let first = proof(&app, &platform).await;
        bind(&mut client, "user01", &first).await.data();
        assert!(location(&arrive(&app, &platform).await).contains("#ticket="));
        let disabled = json!({ "errcode": 0, "errmsg": "ok", "user_info": { "userid": "partner01", "name": "P", "status": 2 } });
        let faults = [
            json!({ "api": "linkedcorp/user/get", "errcode": 60111 }),
            json!({ "api": "linkedcorp/user/get", "body": disabled.to_string() }),
        ];
        for bound in [true, false] {
            for fault in &faults {
                if !bound {
                    app.auth().operator().approve_link(partner(&app), app.key("user01")).await.unwrap();
                }
                platform.client().await.set_fault(fault).await;
                let landed = arrive(&app, &platform).await;
                assert!(location(&landed).contains("error=disabled"), "{landed:?}");
            }
        }
        // A platform failure is no reason to refuse the sign-in, as for all employees.
        app.auth().operator().approve_link(partner(&app), app.key("user01")).await.unwrap();
        platform.client().await.set_fault(&json!({ "api": "linkedcorp/user/get", "http_status": 500, "body": "" })).await;
        assert!(location(&arrive(&app, &platform).await).contains("#bind_ticket="));
    }

    /// An employee whom the platform vouches for and who has no role gets the default role, by a proof as at any sign-in.
    async fn a_linked_employee_with_only_the_default_role_binds() {
        let (app, platform) = proving().await;
        let mut client = app.client().await;
        app.auth().operator().approve_link(partner(&app), app.key("norole01")).await.unwrap();
        let ticket = proof(&app, &platform).await;
        let login = bind(&mut client, "norole01", &ticket).await.data();
        assert_eq!((&login["roles"], &login["login_method"]), (&json!(["user"]), &json!("bind")));
        assert_eq!(app.query("SELECT count(*) FROM user_role WHERE employee_key = 'norole01'"), ["0"], "none was assigned");
        assert!(location(&arrive(&app, &platform).await).contains("#ticket="));
    }

    async fn without_a_default_role_a_linked_employee_without_a_role_is_refused() {
        let (app, platform) = TestApp::production_with_platform(&[("default_role", "none")]).await;
        app.auth().seed_dev_users().await.unwrap();
        app.auth().operator().approve_link(partner(&app), app.key("norole01")).await.unwrap();
        let ticket = proof(&app, &platform).await;
        let refused = bind(&mut app.client().await, "norole01", &ticket).await;
        assert_eq!(refused.refused(403, 1003).reason(), "no_role");
    }
}

/// A fresh proof, also for a person who is already bound.
async fn proof_of(app: &TestApp, platform: &Platform) -> String {
    app.auth().operator().approve_link(partner(app), app.key("user01")).await.unwrap();
    proof(app, platform).await
}

on_every_store! {
    async fn an_employee_entered_with_their_own_identity_needs_no_link() {
        let (app, platform) = proving().await;
        let ticket = proof(&app, &platform).await;
        app.auth().operator().add_employee(entered(&app)).await.unwrap();
        let mut client = app.client().await;
        let ask = json!({ "employee_id": "partner01", "corp_id": "wwpartner", "bind_ticket": ticket });
        let login = client.post("/api/auth/bind", &[], &ask).await.data();
        assert_eq!((&login["corp_id"], &login["roles"]), (&json!("wwpartner"), &json!(["user"])));
        assert!(location(&arrive(&app, &platform).await).contains("#ticket="));
    }

    async fn a_valid_proof_survives_a_restart_and_an_expired_proof_is_swept() {
        let (app, platform) = proving().await;
        app.auth().operator().approve_link(partner(&app), app.key("user01")).await.unwrap();
        let proof = proof(&app, &platform).await;
        app.auth().sweep().await.unwrap();
        let app = app.restart().await;
        bind(&mut app.client().await, "user01", &proof).await.data();
        app.clock.advance(std::time::Duration::from_mins(5));
        app.auth().sweep().await.unwrap();
        assert_eq!(app.query("SELECT count(*) FROM bind_proof"), ["0"]);
    }

    async fn with_bind_off_a_proof_opens_nothing_and_a_stranger_who_scans_leaves_the_code_waiting() {
        let (app, platform) = TestApp::production_with_platform(&[("bind.mode", "off")]).await;
        app.auth().seed_dev_users().await.unwrap();
        app.auth().operator().approve_link(partner(&app), app.key("user01")).await.unwrap();
        assert_eq!(fragment(location(&arrive(&app, &platform).await), "error"), "not_a_member");
        let app = app.restart_with(platform.settings(&[])).await;
        let proof = proof(&app, &platform).await;
        let app = app.restart_with(platform.settings(&[("bind.mode", "off")])).await;
        bind(&mut app.client().await, "user01", &proof).await.refused(403, 1003);
        let app = app.restart_with(platform.settings(&[])).await;
        let mut client = app.client().await;
        let code = client.qrcode().await;
        let back = platform.client().await.authorize(code["qrcode_url"].as_str().unwrap(), "wwpartner/partner01").await;
        let landed = client.oauth_callback(&back, "").await;
        assert!(location(&landed).starts_with("https://desk.example.com/h5/#bind_ticket="), "{landed:?}");
        assert_eq!(fragment(location(&landed), "scanned"), "1");
        assert_eq!(client.scan_status(code["ticket"].as_str().unwrap()).await["status"], "waiting");
    }
}

/// A person of the partner, entered here with their own identity.
fn entered(app: &TestApp) -> deskpass_core::Person {
    let (name, roles) = ("Petra Partner".to_owned(), deskpass_core::Roles::NONE.with(Role::User));
    deskpass_core::Person { name, roles, ..deskpass_core::Person::new(partner(app), "partner01") }
}

on_every_store! {
    /// Removing a link also stops a sign-in that is about to be confirmed.
    async fn a_link_that_is_taken_back_stops_sign_ins_under_way() {
        let (app, platform) = proving().await;
        let (mut client, mut phone) = (app.client().await, platform.client().await);
        app.auth().operator().approve_link(partner(&app), app.key("admin01")).await.unwrap();
        let ticket = proof(&app, &platform).await;
        bind(&mut client, "admin01", &ticket).await.data();
        let code = client.qrcode().await;
        let back = phone.authorize(code["qrcode_url"].as_str().unwrap(), "wwpartner/partner01").await;
        let confirm = fragment(location(&client.oauth_callback(&back, "").await), "confirm");
        let (link, _) = client.begin_oauth("https://desk.example.com/h5/").await;
        let back = phone.authorize(&link, "wwpartner/partner01").await;
        let pending = json!({ "continue": fragment(location(&client.oauth_callback(&back, "").await), "continue") });
        // Replacing a link removes the old one.
        app.auth().operator().approve_link(partner(&app), app.key("user01")).await.unwrap();
        client.decide("confirm", &confirm).await.refused(403, 1003);
        client.post("/api/auth/oauth2/continue", &[], &pending).await.refused(403, 1003);
        assert_eq!(client.scan_status(code["ticket"].as_str().unwrap()).await["status"], "expired");
        assert_eq!(app.query("SELECT login_method FROM session"), ["bind"]);
    }

    /// Binding as oneself does not count as using a link to another employee.
    async fn a_link_is_in_use_only_once_it_was_used() {
        let (app, platform) = proving().await;
        let mut client = app.client().await;
        app.auth().operator().add_employee(entered(&app)).await.unwrap();
        app.auth().operator().approve_link(partner(&app), app.key("admin01")).await.unwrap();
        // A person with a link is asked which employee to sign in as, although they are an employee here already.
        let ticket = proof(&app, &platform).await;
        let own = json!({ "employee_id": "partner01", "corp_id": "wwpartner", "bind_ticket": ticket });
        assert_eq!(client.post("/api/auth/bind", &[], &own).await.data()["corp_id"], "wwpartner");
        assert_eq!(app.query("SELECT bound_at FROM link"), ["-"]);
        let ticket = proof(&app, &platform).await;
        assert_eq!(bind(&mut client, "admin01", &ticket).await.data()["employee_id"], "admin01");
        assert!(location(&arrive(&app, &platform).await).contains("#ticket="));
        assert_eq!(app.query("SELECT employee_key FROM session ORDER BY rowid DESC LIMIT 1"), ["admin01"]);
    }
}
