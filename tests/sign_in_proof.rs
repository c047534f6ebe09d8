//! Proofs of an agent's identity: platform vouching, an administrator's code, and credentials bound with either.

use std::time::Duration;

use deskpass_core::{CorpId, EmployeeId, Role};
use serde_json::{Value, json};

use crate::harness::{
    Client, Device, PASSWORD, Platform, Response, StoreBackend, TestApp, cookies, fragment, location, target,
};

pub(crate) const OTHER: &str = "nine boats on a quiet river";

/// A production service with agents, where passwords always count unless `more` says otherwise.
pub(crate) async fn production(more: &[(&'static str, &str)]) -> (TestApp, Platform) {
    let given = [&[("limits.enabled", "false"), ("agents.password_fallback", "always")], more].concat();
    let (app, platform) = TestApp::production_with_platform(&given).await;
    app.auth().seed_dev_users().await.unwrap();
    (app, platform)
}

/// Lets clients on this machine name themselves: their sessions have no platform vouching.
pub(crate) const OPEN: [(&str, &str); 3] =
    [("bind.mode", "open"), ("bind.networks", "127.0.0.0/8"), ("trusted_proxies", "127.0.0.1")];

pub(crate) async fn by_name(client: &mut Client, who: &str) -> String {
    let bound = client.post("/api/auth/bind", &[], &json!({ "employee_id": who })).await.data();
    bound["token"].as_str().unwrap().to_owned()
}

pub(crate) async fn by_qr(client: &mut Client, platform: &Platform, who: &str) -> String {
    let qrcode = client.qrcode().await;
    let back = platform.client().await.authorize(qrcode["qrcode_url"].as_str().unwrap(), who).await;
    let confirm = fragment(location(&client.get(&target(&back), &[]).await), "confirm");
    client.decide("confirm", &confirm).await.data();
    let status = client.scan_status(qrcode["ticket"].as_str().unwrap()).await;
    status["token"].as_str().unwrap().to_owned()
}

pub(crate) async fn set_password(client: &mut Client, token: &str, body: &Value) -> Response {
    client.post_as(token, "/api/agents/password", body).await
}

pub(crate) async fn use_setup_code(client: &mut Client, who: &str, code: &str) -> Response {
    let ask = json!({ "employee_id": who, "setup_code": code, "new_password": PASSWORD });
    client.post("/api/agents/password/setup", &[], &ask).await
}

pub(crate) async fn show(client: &mut Client, token: &str, to: &str, code: &str) -> Response {
    client.post_as(token, &format!("/api/auth/otp-{to}"), &json!({ "code": code })).await
}

/// Gives an agent the usual password by an administrator's code.
pub(crate) async fn give_password(app: &TestApp, who: &str) {
    let reset = app.auth().operator().reset_password(app.key(who)).await.unwrap();
    use_setup_code(&mut app.client().await, who, &reset.code.text()).await.data();
}

/// Gives an agent the usual password, and a device that they bound in a session with platform vouching.
pub(crate) async fn equip(app: &TestApp, platform: &Platform, who: &str) -> Device {
    give_password(app, who).await;
    let mut client = app.client().await;
    let token = platform.sign_in(&mut client, who).await;
    let (device, _) = client.bind_device(&token, &app.clock).await;
    client.logout(&token).await.data();
    device
}

on_every_store! {
    async fn a_first_password_is_set_by_whom_the_platform_vouches_for() {
        let (app, platform) = production(&OPEN).await;
        let mut client = app.client().await;
        let first = json!({ "new_password": PASSWORD });
        let named = by_name(&mut client, "agent01").await;
        assert_eq!(set_password(&mut client, &named, &first).await.refused(403, 1003).reason(), "not_proven");
        let with_old = json!({ "old_password": OTHER, "new_password": PASSWORD });
        assert_eq!(set_password(&mut client, &named, &with_old).await.refused(403, 1003).reason(), "not_proven");

        let oauth = platform.sign_in(&mut client, "agent01").await;
        set_password(&mut client, &oauth, &first).await.data();
        assert_eq!(client.me(&named).await.refused(401, 1001).reason(), "kicked");
        let qr = by_qr(&mut client, &platform, "supervisor01").await;
        set_password(&mut client, &qr, &first).await.data();
        let code = platform.code(&mut client, "admin01").await;
        let login = client.post("/api/agents/login", &[], &json!({ "employee_id": "admin01", "code": code })).await.data();
        set_password(&mut client, login["token"].as_str().unwrap(), &first).await.data();
        for who in ["agent01", "supervisor01", "admin01"] {
            client.partial_sign_in(who).await;
        }
        // An agent with a password may change it without platform vouching, but not without the old password.
        let named = by_name(&mut client, "agent01").await;
        set_password(&mut client, &named, &json!({ "new_password": OTHER })).await.refused(400, 1015);
        set_password(&mut client, &named, &with_old).await.refused(403, 1016);
        set_password(&mut client, &named, &json!({ "old_password": PASSWORD, "new_password": OTHER })).await.data();
    }

    async fn a_setup_code_counts_once_for_a_day_for_its_agent_and_only_the_newest() {
        let (app, _platform) = production(&[]).await;
        let mut client = app.client().await;
        let code = async |who: &str| app.auth().operator().reset_password(app.key(who)).await.unwrap().code.text();
        let (older, newest) = (code("agent01").await, code("agent01").await);
        let others = code("supervisor01").await;
        for (who, code) in [("agent01", &older), ("agent01", &others), ("supervisor01", &newest), ("user01", &newest), ("nobody", &newest)] {
            let refused = use_setup_code(&mut client, who, code).await;
            assert_eq!(refused.refused(403, 1003).reason(), "setup_code", "{who}");
        }
        app.clock.advance(Duration::from_hours(24) - Duration::from_millis(1));
        use_setup_code(&mut client, "AGENT01", &newest.to_uppercase().replace('-', "")).await.data();
        use_setup_code(&mut client, "agent01", &newest).await.refused(403, 1003);
        client.partial_sign_in("agent01").await;
        app.clock.advance(Duration::from_millis(1));
        use_setup_code(&mut client, "supervisor01", &others).await.refused(403, 1003);

        // A weak password does not use up the code; a first password set otherwise does, and so does disabling the agent.
        let code = code("supervisor01").await;
        let weak = json!({ "employee_id": "supervisor01", "setup_code": code, "new_password": "brief" });
        client.post("/api/agents/password/setup", &[], &weak).await.refused(400, 1014);
        app.auth().operator().disable_agent(app.key("supervisor01")).await.unwrap();
        use_setup_code(&mut client, "supervisor01", &code).await.refused(403, 1003);
        app.auth().operator().enable_agent(app.key("supervisor01")).await.unwrap();
        use_setup_code(&mut client, "supervisor01", &code).await.data();
    }

    async fn of_two_who_bring_one_setup_code_at_once_one_sets_the_password() {
        let (app, _platform) = production(&[]).await;
        let mut clients = [app.client().await, app.client().await];
        for _ in 0..StoreBackend::current().rounds(25) {
            let code = app.auth().operator().reset_password(app.key("agent01")).await.unwrap().code.text();
            let [one, two] = &mut clients;
            let ask = |new| json!({ "employee_id": "agent01", "setup_code": code, "new_password": new });
            let (first, second) = (ask(PASSWORD), ask(OTHER));
            let path = "/api/agents/password/setup";
            let (here, there) = tokio::join!(one.post(path, &[], &first), two.post(path, &[], &second));
            let mut statuses = [here.status, there.status];
            statuses.sort_unstable();
            assert_eq!(statuses, [200, 403], "{here:?} {there:?}");
            let set = if here.status == 200 { PASSWORD } else { OTHER };
            one.agent_login("agent01", set).await.data();
        }
    }

    async fn only_the_agent_learns_that_there_is_no_password() {
        let (app, platform) = production(&OPEN).await;
        let mut client = app.client().await;
        let page = ("sec-fetch-site", "same-origin");
        let cookie = async |who: &str| {
            let mut client = app.client().await;
            let code = platform.code(&mut client, who).await;
            let ask = json!({ "employee_id": who, "code": code });
            let answer = client.post("/api/agents/login", &[page], &ask).await;
            answer.data();
            cookies(&answer)
        };
        let (known, others) = (cookie("agent01").await, cookie("supervisor01").await);
        assert!(known.starts_with("__Host-deskpass_known="), "{known}");
        let bearer = |token: String| format!("Bearer {token}");
        let named = bearer(by_name(&mut client, "agent01").await);
        let other = bearer(platform.sign_in(&mut client, "supervisor01").await);
        let proven = platform.sign_in(&mut client, "agent01").await;
        let over = platform.sign_in(&mut client, "agent01").await;
        client.logout(&over).await.data();
        let (proven, over) = (bearer(proven), bearer(over));
        let ask = json!({ "employee_id": "agent01", "password": PASSWORD });
        let mut login = async |header: Option<(&str, &str)>| {
            app.auth().operator().unlock_agent(app.key("agent01")).await.unwrap();
            let headers: Vec<_> = header.into_iter().chain([("x-request-id", "same")]).collect();
            client.post("/api/agents/login", &headers, &ask).await
        };
        let stranger = login(None).await;
        stranger.refused(401, 1011);
        for header in [("authorization", &*named), ("authorization", &*other), ("authorization", &*over), ("cookie", &*others), ("authorization", "Bearer x")] {
            let answer = login(Some(header)).await;
            assert_eq!((answer.status, &answer.body), (401, &stranger.body), "{header:?}");
        }
        login(Some(("authorization", &proven))).await.refused(403, 1012);
        login(Some(("cookie", &known))).await.refused(403, 1012);
    }

    async fn a_password_leads_to_the_top_only_with_a_device_that_the_platform_vouched_for() {
        let (app, platform) = production(&OPEN).await;
        let mut client = app.client().await;
        give_password(&app, "admin01").await;
        let unlock = "/api/admin/agents/agent01/unlock";
        // A session by password binds a device; a session by name alone binds none.
        let named = by_name(&mut client, "admin01").await;
        let refused = client.post_as(&named, "/api/auth/otp-setup", &json!({})).await;
        assert_eq!(refused.refused(403, 1003).reason(), "not_proven");
        let half = client.partial_sign_in("admin01").await;
        let (device, login) = client.bind_device(&half, &app.clock).await;
        assert_eq!((&login["roles"], &login["current_role"]), (&json!(["agent", "user"]), &json!("agent")));
        for code in [device.next_code(), device.recovery_codes[0].clone()] {
            let half = client.partial_sign_in("admin01").await;
            let login = show(&mut client, &half, "verify", &code).await.data();
            assert_eq!((&login["roles"], &login["current_role"]), (&json!(["agent", "user"]), &json!("agent")));
            let token = login["token"].as_str().unwrap();
            client.switch(token, "admin").await.refused(403, 1003);
            let refused = client.post_with_otp(token, unlock, Some(&device.next_code())).await;
            assert_eq!(refused.refused(403, 1003).reason(), "role_needed");
            // A device that such a session binds is not proven either.
            show(&mut client, token, "verify", &device.code()).await.data();
        }
        app.auth().operator().reset_device(app.key("admin01")).await.unwrap();
        let device = equip(&app, &platform, "admin01").await;
        for code in [device.next_code(), device.recovery_codes[0].clone()] {
            let half = client.partial_sign_in("admin01").await;
            let login = show(&mut client, &half, "verify", &code).await.data();
            assert_eq!((&login["roles"], &login["current_role"]), (&json!(["admin", "agent", "user"]), &json!("admin")));
            client.post_with_otp(login["token"].as_str().unwrap(), unlock, Some(&device.next_code())).await.data();
        }
        // With the password and a recovery code the device can be unbound, but the administrator role stays out of reach.
        let half = client.partial_sign_in("admin01").await;
        show(&mut client, &half, "unbind", &device.recovery_codes[1]).await.data();
        let (_, login) = client.bind_device(&half, &app.clock).await;
        assert_eq!(login["roles"], json!(["agent", "user"]));
    }

    /// An account with only the administrator role has no role left to act in. The sign-in is refused before a device is bound
    /// whose recovery codes would never be shown.
    async fn an_agent_who_cannot_sign_in_binds_no_device_on_the_way() {
        let (app, _platform) = production(&[]).await;
        let mut client = app.client().await;
        app.add("chief01", Role::Admin).await;
        app.auth().operator().add_agent(app.key("chief01"), "admin").await.unwrap();
        give_password(&app, "chief01").await;
        let half = client.partial_sign_in("chief01").await;
        let setup = client.post_as(&half, "/api/auth/otp-setup", &json!({})).await.data();
        let code = Device::scan(&setup, &app.clock).code();
        assert_eq!(show(&mut client, &half, "bind", &code).await.refused(403, 1003).reason(), "no_role");
        assert_eq!(client.get_as(&half, "/api/auth/otp-status").await.data()["bound"], false);
        app.auth().operator().grant(app.key("chief01"), "agent").await.unwrap();
        let bound = show(&mut client, &half, "bind", &code).await.data();
        assert_eq!(bound["recovery_codes"].as_array().unwrap().len(), 10);
    }
}

/// Signs a person of a connected corporation in, for the first time, as the employee they may act as.
async fn by_link(client: &mut Client, platform: &Platform, target: &str) -> String {
    let (link, cookies) = client.begin_oauth("https://desk.example.com/h5/").await;
    let back = platform.client().await.authorize(&link, "wwpartner/partner01").await;
    let landed = client.oauth_callback(&back, &cookies).await;
    let ticket = fragment(location(&landed), "bind_ticket");
    let bound = client.post("/api/auth/bind", &[], &json!({ "employee_id": target, "bind_ticket": ticket })).await;
    bound.data()["token"].as_str().unwrap().to_owned()
}

on_every_store! {
    /// A person who may act as an agent for a while does not become the agent.
    async fn a_link_gives_nothing_that_outlives_it() {
        let (app, platform) = production(&[]).await;
        let mut client = app.client().await;
        let partner = app.auth().resolve_key(Some(&CorpId::parse("wwpartner").unwrap()), &EmployeeId::parse("partner01").unwrap());
        app.auth().operator().approve_link(partner.clone(), app.key("admin01")).await.unwrap();
        let bound = by_link(&mut client, &platform, "admin01").await;
        let linked = platform.sign_in(&mut client, "wwpartner/partner01").await;
        for token in [&bound, &linked] {
            assert_eq!(client.verify(token).await["employee_id"], "admin01");
            let refused = set_password(&mut client, token, &json!({ "new_password": PASSWORD })).await;
            assert_eq!(refused.refused(403, 1003).reason(), "not_proven");
        }
        // Nor with a code from an administrator: the person does not become the agent it was issued for.
        let code = app.auth().operator().reset_device(app.key("admin01")).await.unwrap().code.text();
        for (token, ask) in [(&bound, json!({})), (&linked, json!({})), (&linked, json!({ "setup_code": code }))] {
            let refused = client.post_as(token, "/api/auth/otp-setup", &ask).await;
            assert_eq!(refused.refused(403, 1003).reason(), "not_proven");
        }
        assert_eq!(app.query("SELECT count(*) FROM agent WHERE otp_pending IS NOT NULL"), ["0"]);
    }

    async fn an_administrator_without_other_roles_acts_as_their_agent_record_says() {
        let (app, _platform) = production(&[]).await;
        let mut client = app.client().await;
        app.add("chief01", Role::Admin).await;
        app.auth().operator().add_agent(app.key("chief01"), "agent").await.unwrap();
        give_password(&app, "chief01").await;
        let half = client.partial_sign_in("chief01").await;
        let (device, login) = client.bind_device(&half, &app.clock).await;
        assert_eq!((&login["roles"], &login["current_role"]), (&json!(["agent"]), &json!("agent")));
        let half = client.partial_sign_in("chief01").await;
        let login = show(&mut client, &half, "verify", &device.next_code()).await.data();
        let token = login["token"].as_str().unwrap();
        assert_eq!(client.verify(token).await["roles"], json!(["agent"]));
        // A session ends when its default role is revoked.
        app.auth().operator().set_agent_role(app.key("chief01"), "supervisor").await.unwrap();
        assert_eq!(client.me(token).await.refused(401, 1001).reason(), "kicked");
    }

    /// A phone that was replaced during an outage of the platform is proven once its owner uses it in a vouched session.
    async fn a_device_is_proven_by_use_where_the_platform_vouches() {
        let (app, platform) = production(&[]).await;
        let mut client = app.client().await;
        give_password(&app, "admin01").await;
        let half = client.partial_sign_in("admin01").await;
        let (device, _) = client.bind_device(&half, &app.clock).await;
        let token = platform.sign_in(&mut client, "admin01").await;
        let proven = async |client: &mut Client| client.get_as(&token, "/api/auth/otp-status").await.data()["proven"].clone();
        assert_eq!(proven(&mut client).await, false);
        show(&mut client, &token, "verify", &device.recovery_codes[0]).await.data();
        assert_eq!(proven(&mut client).await, false, "recovery codes do not prove possession of the device");
        show(&mut client, &token, "verify", &device.next_code()).await.data();
        assert_eq!(proven(&mut client).await, true);
        let half = client.partial_sign_in("admin01").await;
        let login = show(&mut client, &half, "verify", &device.next_code()).await.data();
        assert_eq!(login["current_role"], "admin");
    }
}
