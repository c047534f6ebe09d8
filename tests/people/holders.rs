//! Identifiers that pass to another person: the new holder does not get the account of the former one.

use std::time::Duration;

use deskpass_auth::SyncOptions;
use deskpass_core::Role;
use deskpass_platform::PlatformKind;
use serde_json::{Value, json};

use super::{Desk, change, event_settings, synchronise};
use crate::harness::{
    Client, Device, Messenger, Operator, PASSWORD, Process, Receiver, Response, TestApp, binary, development, fragment,
    location, platform_kind, registration_at, until, with_settings,
};

/// How long after a look-up another one is due.
const LATER: Duration = Duration::from_hours(2);
const SECOND: Duration = Duration::from_secs(1);

/// The roles of `admin01`.
const ADMINISTRATOR: &[&str] = &["admin", "agent", "user"];

/// Everything that distinguishes people is another one.
fn another() -> Value {
    json!({ "another_person": true, "name": "Nora New", "email": "nora.new@example.com" })
}

/// Whether the platform has ids of people: then nobody signs in who holds another person's identifier.
fn has_ids() -> bool {
    platform_kind() != PlatformKind::Wecom
}

impl Desk {
    /// Signs in by a browser that goes to the platform; returns the word of the error, if there is one.
    async fn oauth_error(&mut self, who: &str) -> Option<String> {
        let page = format!("http://{}/h5/", self.app.address);
        let (link, cookies) = self.client.begin_oauth(&page).await;
        let back = self.client.authorize(&link, who).await;
        let landed = location(&self.client.oauth_callback(&back, &cookies).await).to_owned();
        landed.contains("#error=").then(|| fragment(&landed, "error"))
    }

    /// The rows of the log about who holds an identifier.
    fn holder_rows(&self, who: &str) -> Vec<String> {
        self.app.query(&format!(
            "SELECT event, detail FROM login_log WHERE employee_key = '{who}'
             AND event IN ('holder_unconfirmed', 'holder_confirmed') ORDER BY at"
        ))
    }

    /// Asserts that someone signs in, and has these roles.
    async fn signs_in_with(&mut self, who: &str, roles: &[&str]) -> String {
        let token = self.client.sign_in_by_phone(who).await;
        assert_eq!(self.roles(&token).await, roles, "{who}");
        token
    }

    /// Confirms whoever the platform shows, as an operator does; whether there was something to confirm.
    async fn operator_confirms(&self, who: &str) -> bool {
        let (auth, key) = (self.app.auth(), self.app.key(who));
        let shown = auth.unconfirmed_holder(key.clone()).await.unwrap();
        let digest = shown.map(|holder| holder.digest()).unwrap_or_default();
        auth.operator().confirm_holder(key, digest).await.unwrap()
    }

    /// Confirms the person whom the body names, as an administrator does.
    async fn confirm(&mut self, token: &str, path: &str, body: &Value, device: &Device) -> Response {
        let (bearer, code) = (format!("Bearer {token}"), device.next_code());
        self.client.post(path, &[("authorization", &bearer), ("x-otp-code", &code)], body).await
    }

    /// Has the phone of `who` scan a code; returns its secret.
    async fn held_scan(&mut self, who: &str) -> String {
        let qrcode = self.client.qrcode().await;
        self.client.scan_as(&qrcode, who).await
    }

    /// Returns from the platform in another browser, which is asked whether to continue; returns the page's secret.
    async fn held_continuation(&mut self, who: &str) -> Value {
        let page = format!("http://{}/h5/", self.app.address);
        let (link, _) = self.client.begin_oauth(&page).await;
        let back = self.client.authorize(&link, who).await;
        json!({ "continue": fragment(location(&self.client.oauth_callback(&back, "").await), "continue") })
    }

    /// The same where the platform tells another browser anything: with PKCE it does not.
    async fn maybe_held_continuation(&mut self, who: &str) -> Option<Value> {
        if Messenger::current().has_pkce() { None } else { Some(self.held_continuation(who).await) }
    }

    /// Asserts that sign-ins that were held open begin no session any more, and that the platform must be asked again.
    async fn are_over(&mut self, scan: &str, continuation: Option<&Value>) {
        let over = self.client.decide("confirm", scan).await;
        assert_eq!(over.refused(409, 1019).reason(), "over");
        if let Some(continuation) = continuation {
            let over = self.client.post("/api/auth/oauth2/continue", &[], continuation).await;
            assert_eq!(over.refused(409, 1019).reason(), "over");
        }
    }

    /// Asserts what a person can do whom nobody has confirmed; returns the token, if there is one.
    async fn is_unconfirmed(&mut self, who: &str) -> Option<String> {
        if has_ids() {
            assert_eq!(self.scan_error(who).await, "holder_unconfirmed");
            assert_eq!(self.oauth_error(who).await.as_deref(), Some("holder_unconfirmed"));
            return None;
        }
        assert_eq!(self.oauth_error(who).await, None);
        let token = self.signs_in_with(who, &["user"]).await;
        let refused = self.client.switch(&token, "admin").await;
        assert_eq!(refused.refused(403, 1003).reason(), "holder_unconfirmed");
        Some(token)
    }
}

on_every_platform! {
    both stores:
    async fn an_identifier_that_passes_to_another_person_is_not_their_key_to_the_account() {
        let mut desk = Desk::without_events().await;
        desk.app.add("boss01", Role::Admin).await;
        let former = desk.signs_in_with("admin01", ADMINISTRATOR).await;
        desk.signs_in_with("admin01", ADMINISTRATOR).await;
        desk.change("admin01", &another()).await;
        let token = desk.is_unconfirmed("admin01").await;
        // What was open has ended, also for the clients of OpenID Connect.
        assert_eq!(desk.refusal(&former).await, "kicked");
        assert_eq!(desk.app.query("SELECT count(*) FROM user_role WHERE employee_key = 'admin01'"), ["3"], "they stay");
        let how = if has_ids() { "another person's id" } else { "another name" };
        let row = format!("holder_unconfirmed|sign_in; {how}: Ada Admin -> Nora New; 2 session(s) ended");
        assert_eq!(desk.holder_rows("admin01"), [row]);
        let told = desk.app.query("SELECT employee_key FROM notice WHERE subject = 'holder_unconfirmed' ORDER BY 1");
        assert!(told.is_empty() || told == ["boss01"], "{told:?}");
        // The message to administrators ends with the reference of the row.
        let row = "FROM login_log WHERE event = 'holder_unconfirmed'";
        assert_eq!(desk.app.query(&format!("SELECT count(*) {row} AND reference IS NOT NULL")), ["1"]);
        let strays = "SELECT count(*) FROM notice WHERE subject = 'holder_unconfirmed' AND substr(id, 25)";
        assert_eq!(desk.app.query(&format!("{strays} NOT IN (SELECT reference {row})")), ["0"]);

        assert!(desk.operator_confirms("admin01").await);
        if let Some(token) = token {
            assert_eq!(desk.roles(&token).await, ADMINISTRATOR, "live");
        }
        assert_eq!(desk.refusal(&former).await, "kicked");
        desk.signs_in_with("admin01", ADMINISTRATOR).await;
        assert_eq!(desk.holder_rows("admin01").len(), 2);
        assert!(!desk.operator_confirms("admin01").await);
    }

    async fn data_without_holders_learns_them_and_locks_nobody_out() {
        let mut desk = Desk::without_events().await;
        // Nodes of earlier versions leave the columns empty.
        let known = "SELECT count(*) FROM employee WHERE holder IS NOT NULL";
        assert_eq!(desk.app.query(known), ["0"]);
        desk.signs_in_with("admin01", ADMINISTRATOR).await;
        assert_eq!(desk.app.query(known), ["1"]);
        desk.signs_in_with("admin01", ADMINISTRATOR).await;
        desk.change("admin01", &another()).await;
        desk.is_unconfirmed("admin01").await;
    }
}

on_every_platform! {
    async fn look_ups_find_another_holder_and_learn_who_holds_an_identifier() {
        let mut desk = Desk::without_events().await;
        let token = desk.client.sign_in("admin01").await;
        synchronise(&desk.app, SyncOptions::default()).await;
        let known = "SELECT count(*) FROM employee WHERE holder IS NOT NULL AND employee_key = 'admin01'";
        assert_eq!(desk.app.query(known), ["1"]);
        desk.change("admin01", &another()).await;
        synchronise(&desk.app, SyncOptions { dry_run: true, ..SyncOptions::default() }).await;
        assert_eq!(desk.roles(&token).await, ADMINISTRATOR, "it changes nothing");
        synchronise(&desk.app, SyncOptions::default()).await;
        assert_eq!(desk.refusal(&token).await, "kicked");
        let by = desk.holder_rows("admin01");
        assert!(by.len() == 1 && by[0].starts_with("holder_unconfirmed|sync; "), "{by:?}");
        // The new name in the record does not hide it.
        synchronise(&desk.app, SyncOptions::default()).await;
        desk.is_unconfirmed("admin01").await;
    }

    async fn the_re_check_finds_another_holder() {
        let mut desk = Desk::without_events().await;
        let token = desk.client.sign_in_by_phone("admin01").await;
        desk.change("admin01", &another()).await;
        desk.app.clock.advance(LATER);
        until("the platform is asked", async || {
            Box::pin(desk.app.auth().recheck()).await.unwrap();
            desk.holder_rows("admin01").len() == 1
        })
        .await;
        assert_eq!(desk.refusal(&token).await, "kicked");
        desk.is_unconfirmed("admin01").await;
    }

    /// The role of the agent record is the former holder's as well, assigned or not.
    async fn the_role_of_an_agent_record_is_not_for_another_holder() {
        let mut desk = Desk::without_events().await;
        let key = desk.app.key("user01");
        desk.app.auth().operator().revoke(key.clone(), "user").await.unwrap();
        desk.app.auth().operator().add_agent(key, "agent").await.unwrap();
        let former = desk.signs_in_with("user01", &["agent"]).await;
        desk.change("user01", &another()).await;
        let limited = desk.limited("user01").await;
        assert_eq!(desk.refusal(&former).await, "kicked");
        assert!(desk.operator_confirms("user01").await);
        let token = desk.signs_in_with("user01", &["agent"]).await;
        if let Some(limited) = limited {
            assert_eq!(desk.roles(&limited).await, ["user"], "as it began");
        }
        // A session that a node of the previous version began meanwhile.
        let doubted = "UPDATE employee SET unconfirmed_at = 1 WHERE employee_key = 'user01' RETURNING employee_key";
        desk.app.query(doubted);
        desk.app.auth().store.forget_person(&desk.app.key("user01"));
        if has_ids() {
            assert_eq!(desk.refusal(&token).await, "kicked");
        } else {
            desk.client.me(&token).await.refused(403, 1003);
        }
    }

    async fn the_former_holders_password_opens_nothing_meanwhile() {
        let mut desk = Desk::without_events().await;
        let device = desk.app.agent_with_device("agent01").await;
        desk.client.sign_in_by_phone("agent01").await;
        let begun = desk.client.partial_sign_in("agent01").await;
        desk.change("agent01", &another()).await;
        if let Some(token) = desk.limited("agent01").await {
            // Nor may the new holder change what the former one proved themselves with.
            let body = json!({ "old_password": PASSWORD, "new_password": "five horses crossed a river" });
            desk.client.post_as(&token, "/api/agents/password", &body).await.refused(403, 1003);
            desk.client.post_as(&token, "/api/auth/otp-setup", &json!({})).await.refused(403, 1003);
        }
        let code = json!({ "code": device.next_code() });
        let refused = desk.client.post_as(&begun, "/api/auth/otp-verify", &code).await;
        assert_eq!(refused.refused(401, 1001).reason(), "kicked");
        let half = desk.client.partial_sign_in("agent01").await;
        let refused =
            desk.client.post_as(&half, "/api/auth/otp-verify", &json!({ "code": device.next_code() })).await;
        assert_eq!(refused.refused(403, 1003).reason(), "holder_unconfirmed");
    }

    async fn an_identifier_that_changes_keeps_who_holds_it() {
        let (mut desk, kind) = (Desk::start().await, platform_kind());
        if kind == PlatformKind::Dingtalk {
            // Identifiers do not change there.
            return;
        }
        desk.signs_in_with("supervisor01", &["supervisor", "user"]).await;
        desk.change("supervisor01", &json!({ "userid": "supervisor02" })).await;
        if kind == PlatformKind::Wecom {
            desk.send(&json!({ "change": "renamed", "userid": "supervisor01", "to": "supervisor02" })).await;
        }
        desk.handled().await;
        desk.signs_in_with("supervisor02", &["supervisor", "user"]).await;
        desk.change("supervisor02", &another()).await;
        if has_ids() {
            assert_eq!(desk.scan_error("supervisor02").await, "holder_unconfirmed");
        } else {
            desk.signs_in_with("supervisor02", &["user"]).await;
        }
    }
}

on_every_platform! {
    both stores:
    /// The phone's question, and the page that asks whether to continue, are answered when the identifier is another person's.
    async fn a_sign_in_that_is_held_open_begins_no_session_of_the_next_holder() {
        let mut desk = Desk::without_events().await;
        desk.signs_in_with("admin01", ADMINISTRATOR).await;
        let (scan, continuation) = (desk.held_scan("admin01").await, desk.maybe_held_continuation("admin01").await);
        desk.app.clock.advance(SECOND);
        desk.change("admin01", &another()).await;
        desk.is_unconfirmed("admin01").await;
        let name = "SELECT name FROM employee WHERE employee_key = 'admin01'";
        let known = desk.app.query(name);
        let own = if has_ids() { None } else { Some(desk.held_scan("admin01").await) };
        assert!(desk.operator_confirms("admin01").await);
        desk.are_over(&scan, continuation.as_ref()).await;
        assert_eq!(desk.app.query(name), known, "the former holder's name is not written");
        if let Some(own) = own {
            desk.client.decide("confirm", &own).await.data();
        }
    }
}

on_every_store! {
    async fn a_sign_in_that_is_held_open_is_not_taken_for_that_of_a_person_who_got_the_identifier() {
        let mut desk = Desk::start().await;
        desk.signs_in_with("supervisor01", &["supervisor", "user"]).await;
        let (scan, continuation) = (desk.held_scan("supervisor01").await, desk.held_continuation("supervisor01").await);
        desk.app.clock.advance(SECOND);
        for (from, to) in [("supervisor01", "supervisor02"), ("agent01", "supervisor01")] {
            desk.change(from, &json!({ "userid": to })).await;
            desk.send(&json!({ "change": "renamed", "userid": from, "to": to })).await;
            desk.handled().await;
        }
        let sessions = "SELECT count(*) FROM session WHERE employee_key = 'supervisor01'";
        let name = "SELECT name FROM employee WHERE employee_key = 'supervisor01'";
        assert_eq!(desk.app.query(name), ["Arno Agent"]);
        desk.are_over(&scan, Some(&continuation)).await;
        assert_eq!((desk.app.query(sessions), desk.app.query(name)), (vec!["0".to_owned()], vec!["Arno Agent".to_owned()]));
        // Asked again, the platform says who it is.
        desk.signs_in_with("supervisor01", &["agent", "user"]).await;
    }

    /// WeCom says who holds an identifier in a profile only, for which a sign-in does not wait long.
    async fn no_answer_about_the_holder_is_no_confirmation() {
        let mut desk = Desk::without_events().await;
        let (known, profile) = (desk.client.sign_in_by_phone("admin01").await, Messenger::current().profile);
        desk.app.clock.advance(LATER);
        until("nobody is due", async || {
            Box::pin(desk.app.auth().recheck()).await.unwrap();
            desk.app.query("SELECT count(*) FROM employee WHERE tried_at IS NOT NULL") == ["1"]
        })
        .await;
        desk.change("admin01", &another()).await;
        desk.client.set_fault(&json!({ "api": profile, "drop": true, "times": 1 })).await;
        // It goes on, and the re-check of the service may be quicker than the next line.
        let token = desk.client.sign_in_by_phone("admin01").await;
        until("the comparison is made up for", async || {
            Box::pin(desk.app.auth().recheck()).await.unwrap();
            desk.holder_rows("admin01").len() == 1
        })
        .await;
        assert_eq!(desk.refusal(&known).await, "kicked");
        assert!(!desk.client.verify(&token).await["roles"].to_string().contains("admin"));
        desk.is_unconfirmed("admin01").await;
        // While nobody has confirmed the person, no answer changes nothing either.
        desk.client.set_fault(&json!({ "api": profile, "drop": true, "times": 1 })).await;
        desk.signs_in_with("admin01", &["user"]).await;
    }
}

impl Desk {
    /// Signs an agent in whom nobody has confirmed, where that is possible.
    async fn limited(&mut self, who: &str) -> Option<String> {
        if has_ids() {
            assert_eq!(self.scan_error(who).await, "holder_unconfirmed");
            return None;
        }
        Some(self.signs_in_with(who, &["user"]).await)
    }
}

on_every_store! {
    /// WeCom gives no id of a person to a corporation's application, so a name says the most.
    async fn only_another_name_and_address_and_a_role_by_hand_are_a_reason_to_ask() {
        let mut desk = Desk::without_events().await;
        for who in ["admin01", "user01", "agent01"] {
            desk.client.sign_in_by_phone(who).await;
        }
        for harmless in [json!({ "name": "Ada Married" }), json!({ "name": "Ada Admin", "email": "ada@example.com" })] {
            desk.change("admin01", &harmless).await;
            desk.signs_in_with("admin01", ADMINISTRATOR).await;
        }
        // Nothing to protect.
        desk.change("user01", &another()).await;
        desk.signs_in_with("user01", &["user"]).await;
        assert_eq!(desk.holder_rows("user01"), Vec::<String>::new());
        // An operator's own words are none of the platform's.
        let named = "UPDATE employee SET name = 'Someone' WHERE employee_key = 'admin01'";
        desk.app.query(&format!("{named} RETURNING employee_key"));
        desk.app.auth().store.forget_person(&desk.app.key("admin01"));
        desk.signs_in_with("admin01", ADMINISTRATOR).await;
        // The name today, the address tomorrow.
        desk.change("admin01", &json!({ "name": "Nora New", "email": "ada.admin@example.com" })).await;
        desk.signs_in_with("admin01", ADMINISTRATOR).await;
        desk.change("admin01", &json!({ "email": "nora.new@example.com" })).await;
        let limited = desk.signs_in_with("admin01", &["user"]).await;
        // The name of the former holder is no proof, and whoever signed in before may be yet another person.
        desk.change("admin01", &json!({ "name": "Ada Admin", "email": "ada.admin@example.com" })).await;
        desk.signs_in_with("admin01", &["user"]).await;
        assert_eq!(desk.refusal(&limited).await, "kicked");
        // No address is known.
        desk.change("agent01", &json!({ "name": "Nora New" })).await;
        desk.signs_in_with("agent01", &["user"]).await;
    }

    async fn an_administrator_confirms_the_person_on_their_page() {
        let mut desk = Desk::without_events().await;
        desk.client.sign_in_by_phone("supervisor01").await;
        let person = "/api/admin/employees/wwdeskpass/supervisor01";
        let confirm = format!("{person}/confirm");
        let token = desk.client.sign_in("admin01").await;
        let (device, _) = desk.client.bind_device(&token, &desk.app.clock).await;
        let details = desk.client.get_as(&token, person).await.data();
        assert_eq!((&details["unconfirmed"], &details["unconfirmed_holder"]), (&json!(false), &Value::Null));
        desk.change("supervisor01", &another()).await;
        let limited = desk.signs_in_with("supervisor01", &["user"]).await;
        let details = desk.client.get_as(&token, person).await.data();
        let holder = &details["unconfirmed_holder"];
        assert_eq!((&holder["former_name"], &holder["name"]), (&json!("Sven Supervisor"), &json!("Nora New")));
        assert_eq!((&details["unconfirmed"], &details["sign_in_roles"]), (&json!(true), &json!(["user"])));
        let shown = json!({ "digest": holder["digest"] });
        desk.client.post_as(&token, &confirm, &shown).await.refused(403, 1007);
        // Yet another person is not the one who was shown, whatever the name is.
        let third = json!({ "name": "Nora New", "email": "third@example.com" });
        desk.change("supervisor01", &third).await;
        desk.signs_in_with("supervisor01", &["user"]).await;
        let refused = desk.confirm(&token, &confirm, &shown, &device).await;
        assert_eq!(refused.refused(409, 1019).reason(), "holder_changed");
        assert_eq!(desk.client.get_as(&token, person).await.data()["unconfirmed"], true);
        let holder = desk.client.get_as(&token, person).await.data()["unconfirmed_holder"].clone();
        desk.confirm(&token, &confirm, &json!({}), &device).await.refused(400, 1002);
        desk.confirm(&token, &confirm, &json!({ "digest": holder["digest"] }), &device).await.data();
        assert_eq!(desk.roles(&limited).await, ["supervisor", "user"]);
        assert_eq!(desk.client.get_as(&token, person).await.data()["unconfirmed"], false);
    }
}

on_every_platform! {
    async fn programs_get_nothing_of_the_former_holder() {
        let mut desk = Desk::without_events().await;
        let receiver = Receiver::start().await;
        let client = desk.app.oidc_client(registration_at(&receiver)).await;
        desk.client.sign_in_by_phone("admin01").await;
        let (mut browser, tokens) = desk.app.oidc_sign_in(&client, "admin01").await;
        assert!(client.is_live(&mut browser.http, &tokens).await);
        let mail = "SELECT email FROM employee WHERE employee_key = 'admin01'";
        let former = desk.app.query(mail);
        desk.change("admin01", &another()).await;
        let token = desk.is_unconfirmed("admin01").await;
        assert!(client.is_over(&mut browser.http, &tokens).await, "tokens of the former holder");
        receiver.told(1).await;
        assert_eq!(desk.app.query(mail), former, "the address stays that of the person whom programs know");
        // The former holder's browser.
        let none = browser.silently(&client.authorization().with("prompt", "none")).await;
        assert_eq!(none.error(), "login_required");
        if let Some(token) = token {
            // The new holder's.
            let mut browser = desk.app.oidc_browser().await;
            let id = browser.begin(&client.authorization()).await;
            browser.token = Some(token);
            assert_eq!(browser.proceed(&id).await.refused(403, 1003).reason(), "holder_unconfirmed");
            assert_eq!(browser.deny(&id).await.error(), "access_denied");
        }
        assert!(desk.operator_confirms("admin01").await);
        let (mut browser, tokens) = desk.app.oidc_sign_in(&client, "admin01").await;
        assert!(client.is_live(&mut browser.http, &tokens).await);
    }
}

/// A node that another one has told nothing yet knows of it through the journal.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_node_knows_of_an_unconfirmed_holder() {
    let scaled_out = crate::harness::StoreBackend::ScaledOut;
    Box::pin(scaled_out.run(async {
        let app = TestApp::with(development(&event_settings())).await;
        let (other, mut client) = (app.second_node().await, app.client().await);
        let mut elsewhere = other.client().await;
        let token = client.sign_in_by_phone("admin01").await;
        assert!(elsewhere.verify(&token).await["roles"].to_string().contains("admin"));
        change(&mut client, "admin01", &another()).await;
        client.sign_in_by_phone("admin01").await;
        until("the other node knows", async || !elsewhere.is_valid(&token).await).await;
    }))
    .await;
}

/// A service in a process of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_sees_why_and_confirms() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = binary();
    command.args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"]).arg(directory.path().join("data"));
    with_settings(&mut command, event_settings());
    let process = Process::spawn(command);
    let (operator, mut client) = (Operator::In(directory.path()), Client::connect(&process.address).await);
    client.sign_in_by_phone("admin01").await;
    change(&mut client, "admin01", &another()).await;
    let token = client.sign_in_by_phone("admin01").await;
    client.switch(&token, "admin").await.refused(403, 1003);
    let shown = operator.succeed(&["explain", "login", "admin01"]);
    assert!(shown.contains("deskpass employee confirm admin01"), "{shown}");
    let done = operator.succeed(&["employee", "confirm", "admin01"]);
    assert!(done.contains("Ada Admin -> Nora New"), "{done}");
    client.switch(&token, "admin").await.data();
    assert!(operator.succeed(&["employee", "confirm", "admin01"]).contains("needs no confirmation"));
}
