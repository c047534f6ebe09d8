//! /api/admin/ip-rules: the networks from which roles may be active, and every decision that depends on them.

mod dry_run;

use std::collections::BTreeMap;

use deskpass_core::{Role, parse_network};
use fastrand::Rng;
use serde_json::{Value, json};

use crate::cluster::soon;
use crate::harness::{Client, Response, StoreBackend, TestApp, settings};

const PATH: &str = "/api/admin/ip-rules";
const DRY_RUN: &str = "/api/admin/ip-rules/dry-run";
const HOME: &str = "127.0.0.1";
const OFFICE: &str = "10.1.2.3";
const CAFE: &str = "203.0.113.9";

impl TestApp {
    /// Sets the list of a role, as the operator.
    pub(crate) async fn set_list(&self, role: &str, networks: &[&str]) {
        let networks = networks.iter().map(|network| parse_network(network).unwrap()).collect();
        self.auth().operator().set_ip_rules_of(Role::from_name(role).unwrap(), networks).await.unwrap();
    }
}

/// Allow lists in which only some roles have networks.
fn lists(some: &[(&str, &[&str])]) -> Value {
    let mut all = json!({ "admin": [], "agent": [], "user": [], "supervisor": [], "security": [] });
    for (role, networks) in some {
        all[role] = json!(networks);
    }
    all
}

/// Requests `/api/auth/me` with this token from this address.
async fn me(client: &mut Client, address: &str, token: &str) -> Response {
    client.ask_from(address, token, "GET", "/api/auth/me", &json!({})).await
}

fn rows(app: &TestApp, events: &str) -> Vec<String> {
    let columns = "event, employee_key, reason, detail";
    app.query(&format!("SELECT {columns} FROM login_log WHERE event IN ({events}) ORDER BY id"))
}

on_every_store! {
    /// A device that the thief of a token bound would outlast the token.
    async fn no_device_is_bound_where_the_role_may_not_be_active(app) {
        app.set_list("agent", &["10.0.0.0/8"]).await;
        let mut client = app.client().await;
        let from = [("x-forwarded-for", OFFICE)];
        let login = client.post("/api/dev/login", &from, &json!({ "employee_id": "agent01", "role": "agent" })).await.data();
        let token = login["token"].as_str().unwrap().to_owned();
        for path in ["otp-setup", "otp-bind", "otp-verify", "otp-unbind"] {
            let (path, body) = (format!("/api/auth/{path}"), json!({ "code": "123456" }));
            client.ask_from(CAFE, &token, "POST", &path, &body).await.refused(403, 1017);
        }
        client.ask_from(CAFE, &token, "GET", "/api/auth/otp-status", &json!({})).await.data();
        client.ask_from(OFFICE, &token, "POST", "/api/auth/otp-setup", &json!({})).await.data();
        client.ask_from(CAFE, &token, "POST", "/api/auth/logout", &json!({})).await.data();
    }

    async fn lists_are_shown_tried_and_replaced(app) {
        let mut client = app.client().await;
        let (token, device) = app.administrator().await;
        assert_eq!(client.get_as(&token, PATH).await.data(), lists(&[]));
        let wanted = lists(&[("admin", &["127.0.0.1", "2001:db8::/32", "10.0.0.0/8", "::ffff:10.0.0.0/104"]), ("agent", &["::1"])]);
        let shown = lists(&[("admin", &["10.0.0.0/8", "127.0.0.1/32", "2001:db8::/32"]), ("agent", &["::1/128"])]);
        let tried = client.post_as(&token, DRY_RUN, &wanted).await.data();
        assert_eq!(tried["you"], json!({ "ip_address": HOME, "role": "admin", "shut_out": false }));
        assert_eq!(client.get_as(&token, PATH).await.data(), lists(&[]), "nothing changed");
        let done = client.admin_request(&token, &device.next_code(), "PUT", PATH, &wanted).await.data();
        assert_eq!(done, json!({ "success": true }));
        assert_eq!(client.get_as(&token, PATH).await.data(), shown);
        // Setting the same lists again is no change, and writes no row.
        client.admin_request(&token, &device.next_code(), "PUT", PATH, &shown).await.data();
        client.admin_request(&token, &device.next_code(), "PUT", PATH, &lists(&[])).await.data();
        assert_eq!(client.get_as(&token, PATH).await.data(), lists(&[]));
        assert_eq!(rows(&app, "'ip_rules_changed'"), [
            "ip_rules_changed||-|admin: 10.0.0.0/8, 127.0.0.1/32, 2001:db8::/32; agent: ::1/128",
            "ip_rules_changed||-|none",
        ]);
    }

    async fn a_role_that_is_forgotten_or_misspelt_keeps_its_list_and_bad_networks_are_named(app) {
        let mut client = app.client().await;
        let (token, device) = app.administrator().await;
        app.set_list("agent", &["10.0.0.0/8"]).await;
        let before = client.get_as(&token, PATH).await.data();
        let code = device.next_code();
        let mut misspelt = lists(&[]);
        let agent = misspelt.as_object_mut().unwrap().remove("agent").unwrap();
        misspelt["agents"] = agent;
        let mut several = lists(&[("admin", &["10.0.0.0/33", "127.0.0.1", "10.1.2.3/8"]), ("user", &["here"])]);
        several["security"] = json!("10.0.0.0/8");
        let many: Vec<_> = (0..201).map(|n| format!("10.0.{n}.0/24")).collect();
        let mut too_many = lists(&[]);
        too_many["agent"] = json!(many);
        for (body, fields) in [
            (json!({}), json!({ "admin": "is required", "agent": "is required", "user": "is required", "supervisor": "is required", "security": "is required" })),
            (misspelt, json!({ "agent": "is required" })),
            (several, json!({
                "admin": "\"10.0.0.0/33\" is not a network; \"10.1.2.3/8\" is ambiguous, it could mean 10.0.0.0/8 or 10.1.2.3/32",
                "user": "\"here\" is not a network",
                "security": "must be a list of at most 200 strings",
            })),
            (too_many, json!({ "agent": "must be a list of at most 200 strings" })),
        ] {
            for answer in [
                client.admin_request(&token, &code, "PUT", PATH, &body).await,
                client.post_as(&token, DRY_RUN, &body).await,
            ] {
                assert_eq!(answer.refused(400, 1002).json()["data"]["fields"], fields);
            }
        }
        // The error message does not repeat a long list of mistakes in full.
        let mut garbage = lists(&[]);
        garbage["user"] = json!(vec!["网".repeat(300); 50]);
        let answer = client.admin_request(&token, &code, "PUT", PATH, &garbage).await;
        let why = answer.refused(400, 1002).json()["data"]["fields"]["user"].as_str().unwrap().to_owned();
        assert!(why.chars().count() < 1_000 && why.ends_with("and more like these: 40"), "{why}");
        assert_eq!(client.get_as(&token, PATH).await.data(), before);
        // The largest valid list is accepted, and the mistakes before it used up no code.
        let networks: Vec<_> = (0..200).map(|n| format!("2001:db8:aaaa:bbbb:cccc:dddd:{n:x}:0/112")).collect();
        let mut largest = lists(&[]);
        for role in ["agent", "user", "supervisor", "security"] {
            largest[role] = json!(networks);
        }
        largest["admin"] = json!(networks[1..].iter().map(String::as_str).chain([HOME]).collect::<Vec<_>>());
        client.admin_request(&token, &code, "PUT", PATH, &largest).await.data();
    }

    async fn an_administrator_cannot_lock_themself_out_and_trying_costs_no_code(app) {
        let mut client = app.client().await;
        let (token, device) = app.administrator().await;
        let code = device.next_code();
        let out = lists(&[("admin", &["10.0.0.0/8"])]);
        let tried = client.post_as(&token, DRY_RUN, &out).await.data();
        assert_eq!(tried["you"], json!({ "ip_address": HOME, "role": "admin", "shut_out": true }));
        let refused = client.admin_request(&token, &code, "PUT", PATH, &out).await;
        assert_eq!(refused.refused(409, 1019).reason(), "would_shut_you_out");
        assert_eq!(client.get_as(&token, PATH).await.data(), lists(&[]));
        assert_eq!(rows(&app, "'administration_refused', 'otp_refused'"), ["administration_refused|admin01|would_shut_you_out|role admin"]);
        // A spoofed address decides nothing; the proxy's own entry does.
        let bearer = format!("Bearer {token}");
        let spoofed = [("authorization", &*bearer), ("x-otp-code", &*code), ("x-forwarded-for", "10.1.2.3, 203.0.113.9"), ("content-type", "application/json")];
        let body = out.to_string();
        client.send(&crate::harness::request("PUT", PATH, &spoofed, body.as_bytes())).await.refused(409, 1019);
        // From inside the network the change is permitted.
        let inside = [spoofed[0], spoofed[1], ("x-forwarded-for", OFFICE), spoofed[3]];
        client.send(&crate::harness::request("PUT", PATH, &inside, body.as_bytes())).await.data();
        client.get_as(&token, PATH).await.refused(403, 1017);
        // The operator restores the administrator's access.
        app.set_list("admin", &[]).await;
        assert_eq!(client.get_as(&token, PATH).await.data(), lists(&[]));
    }

    async fn high_risk_takes_a_code_and_looking_does_not(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        client.admin_request(&token, "123456", "PUT", PATH, &lists(&[])).await.refused(403, 1009);
        client.get_as(&token, PATH).await.data();
        client.post_as(&token, DRY_RUN, &lists(&[])).await.data();
        let (device, _) = client.bind_device(&token, &app.clock).await;
        client.ask_from(HOME, &token, "PUT", PATH, &lists(&[])).await.refused(403, 1007);
        client.admin_request(&token, &device.wrong_code(), "PUT", PATH, &lists(&[])).await.refused(401, 1008);
        client.switch(&token, "agent").await.data();
        for (method, path) in [("GET", PATH), ("PUT", PATH), ("POST", DRY_RUN)] {
            let answer = client.admin_request(&token, &device.next_code(), method, path, &lists(&[])).await;
            assert_eq!(answer.refused(403, 1003).reason(), "role_needed", "{method}");
        }
    }

    async fn lists_are_for_administrators_of_the_home_corporation(app) {
        let mut client = app.client().await;
        app.set_list("agent", &["10.0.0.0/8"]).await;
        let (abroad, device) = app.partner_administrator().await;
        let code = device.next_code();
        for (method, path) in [("GET", PATH), ("PUT", PATH), ("POST", DRY_RUN)] {
            let answer = client.admin_request(&abroad, &code, method, path, &lists(&[])).await;
            assert_eq!(answer.refused(403, 1003).reason(), "role_needed", "{method}");
            assert!(!answer.body.contains("10.0.0.0"));
        }
        assert_eq!(app.query("SELECT network FROM ip_rule"), ["10.0.0.0/8"]);
        client.post_as(&abroad, "/api/auth/otp-verify", &json!({ "code": code })).await.data();
    }

    async fn at_sign_in_the_highest_role_is_taken_that_may_be_active_there(app) {
        let mut client = app.client().await;
        app.set_list("admin", &["10.0.0.0/8", "2001:db8::/32"]).await;
        app.set_list("agent", &["192.0.2.0/24", "10.0.0.0/8"]).await;
        let admin = json!({ "employee_id": "admin01" });
        for (address, role) in [
            (OFFICE, "admin"), ("::ffff:10.1.2.3", "admin"), ("2001:db8::7", "admin"), ("192.0.2.9", "agent"), (CAFE, "user"),
            ("2001:db9::7", "user"),
        ] {
            let signed_in = client.sign_in_from(address, &admin).await.data();
            assert_eq!(signed_in["current_role"], role, "{address}");
            assert_eq!(signed_in["roles"], json!(["admin", "agent", "user"]), "they hold what they hold");
        }
        let asked = json!({ "employee_id": "admin01", "role": "admin" });
        assert_eq!(client.sign_in_from(CAFE, &asked).await.refused(403, 1017).reason(), "address_not_allowed");
        app.set_list("user", &["192.0.2.0/24"]).await;
        let refused = client.sign_in_from(CAFE, &admin).await;
        assert_eq!(refused.refused(403, 1017).reason(), "address_not_allowed");
        assert_eq!(rows(&app, "'sign_in_refused'"), ["sign_in_refused|admin01|address_not_allowed|role admin"; 2]);
        assert_eq!(client.sign_in_from("192.0.2.9", &admin).await.data()["current_role"], "agent");
    }

    async fn on_each_use_the_active_role_must_be_allowed_there(app) {
        let mut client = app.client().await;
        let (token, device) = app.administrator().await;
        app.set_list("admin", &["127.0.0.0/8", "10.0.0.0/8"]).await;
        for address in [HOME, OFFICE, "::ffff:10.1.2.3"] {
            me(&mut client, address, &token).await.data();
        }
        for address in [CAFE, "2001:db8::1", "::ffff:203.0.113.9"] {
            for (method, path, body) in [
                ("GET", "/api/auth/me", json!({})),
                ("POST", "/api/agents/password", json!({ "new_password": "four horses crossed a bridge" })),
                ("GET", PATH, json!({})),
                ("GET", "/api/admin/service-keys", json!({})),
                ("POST", DRY_RUN, lists(&[])),
            ] {
                let refused = client.ask_from(address, &token, method, path, &body).await;
                assert_eq!(refused.refused(403, 1017).reason(), "address_not_allowed", "{address} {path}");
            }
            let bearer = format!("Bearer {token}");
            let code = device.next_code();
            let headers = [("authorization", &*bearer), ("x-otp-code", &*code), ("x-forwarded-for", address)];
            let unlock = crate::harness::request("POST", "/api/admin/agents/agent01/unlock", &headers, b"");
            client.send(&unlock).await.refused(403, 1017);
        }
        // Switching to a role that may be active there works, and so does signing out.
        let switch = |role: &str| json!({ "role": role });
        let refused = client.ask_from(CAFE, &token, "POST", "/api/auth/switch-role", &switch("admin")).await;
        assert_eq!(refused.refused(403, 1017).reason(), "address_not_allowed");
        client.ask_from(CAFE, &token, "POST", "/api/auth/switch-role", &switch("agent")).await.data();
        me(&mut client, CAFE, &token).await.data();
        client.ask_from(CAFE, &token, "POST", "/api/auth/switch-role", &switch("admin")).await.refused(403, 1017);
        client.ask_from(OFFICE, &token, "POST", "/api/auth/switch-role", &switch("admin")).await.data();
        me(&mut client, CAFE, &token).await.refused(403, 1017);
        client.ask_from(CAFE, &token, "POST", "/api/auth/logout", &json!({})).await.data();
        assert_eq!(rows(&app, "'switch_role_refused'"), ["switch_role_refused|admin01|address_not_allowed|role admin"; 2]);
    }
}

on_one_store! {
    async fn what_a_client_makes_up_moves_no_decision(app) {
        let mut client = app.client().await;
        let token = client.sign_in("agent01").await;
        app.set_list("agent", &["198.51.100.0/24"]).await;
        for (forwarded, is_in) in [
            ("198.51.100.7", true),
            ("203.0.113.9, 198.51.100.7", true),
            ("198.51.100.7, 203.0.113.9", false),
            ("198.51.100.7, 198.51.100.8, 203.0.113.9", false),
            ("198.51.100.7,, 203.0.113.9", false),
            ("198.51.100.7, é, 203.0.113.9", false),
            ("198.51.100.7, 203.0.113.9, 10.0.0.1", false),
            ("unknown", false),
            ("", false),
        ] {
            let answer = me(&mut client, forwarded, &token).await;
            assert_eq!(answer.status, if is_in { 200 } else { 403 }, "{forwarded}: {answer:?}");
        }
        for header in ["x-real-ip", "forwarded", "x_forwarded_for", "true-client-ip", "x-client-ip"] {
            let bearer = format!("Bearer {token}");
            let answer = client.get("/api/auth/me", &[("authorization", &bearer), (header, "198.51.100.7")]).await;
            answer.refused(403, 1017);
        }
    }

    async fn an_untrusted_peer_is_where_it_is() {
        let app = TestApp::with(settings(&[("development.enabled", "true"), ("trusted_proxies", "10.0.0.0/8")])).await;
        let mut client = app.client().await;
        let token = client.sign_in("agent01").await;
        app.set_list("agent", &["198.51.100.0/24"]).await;
        me(&mut client, "198.51.100.7", &token).await.refused(403, 1003);
        let agent = json!({ "employee_id": "agent01", "role": "agent" });
        client.sign_in_from("198.51.100.7", &agent).await.refused(403, 1003);
        client.me(&token).await.refused(403, 1017);
        app.set_list("agent", &["127.0.0.1"]).await;
        client.me(&token).await.data();
    }
}

on_every_store! {
    async fn every_way_in_goes_by_the_lists(app) {
        let mut client = app.client().await;
        app.set_list("user", &["10.0.0.0/8"]).await;
        let bind = |address| [("x-forwarded-for", address)];
        let user = json!({ "employee_id": "user01" });
        client.post("/api/auth/bind", &bind(CAFE), &user).await.refused(403, 1017);
        client.post("/api/auth/bind", &bind(OFFICE), &user).await.data();
        // The phone that scans is elsewhere; the address where the session will be used decides.
        for (address, status) in [(OFFICE, 200), (CAFE, 403)] {
            let qrcode = client.get("/api/auth/qrcode", &bind(address)).await.data();
            let confirm = client.scan_as(&qrcode, "user01").await;
            assert_eq!(client.decide("confirm", &confirm).await.status, status, "{address}");
        }
        let device = app.agent_with_device("agent01").await;
        app.set_list("agent", &["10.0.0.0/8"]).await;
        let half = client.partial_sign_in("agent01").await;
        let code = json!({ "code": device.next_code() });
        client.ask_from(CAFE, &half, "POST", "/api/auth/otp-verify", &code).await.refused(403, 1017);
        // The refusal used up no code.
        client.ask_from(OFFICE, &half, "POST", "/api/auth/otp-verify", &code).await.data();
    }

    /// For random lists, the dry run names exactly the sessions that are shut out afterwards.
    async fn a_dry_run_says_what_then_happens(app) {
        let mut client = app.client().await;
        let (token, device) = app.administrator().await;
        let addresses = [HOME, OFFICE, "10.200.0.1", "192.0.2.9", CAFE, "2001:db8::7", "2001:db8:1::7", "::ffff:192.0.2.10"];
        let people = [("admin01", "admin"), ("admin01", "agent"), ("admin01", "user"), ("agent01", "agent"), ("supervisor01", "supervisor"), ("security01", "security"), ("user01", "user")];
        let mut sessions = vec![("admin01", "admin", HOME, token.clone())];
        for (at, address) in addresses.into_iter().enumerate() {
            for (employee, role) in people.into_iter().skip(at % 3).step_by(2) {
                let body = json!({ "employee_id": employee, "role": role });
                let signed_in = client.sign_in_from(address, &body).await.data();
                sessions.push((employee, role, address, signed_in["token"].as_str().unwrap().to_owned()));
            }
        }
        let networks = ["10.0.0.0/8", "10.1.0.0/16", "192.0.2.0/28", "2001:db8::/48", "2001:db8::/32", "203.0.113.9", "0.0.0.0/0", "::/0"];
        let roles = ["admin", "agent", "user", "supervisor", "security"];
        let mut rng = Rng::with_seed(1);
        let mut seen = [0, 0];
        for _ in 0..12 {
            let mut wanted = lists(&[]);
            for role in roles {
                let mut list: Vec<_> = (0..rng.usize(..4)).filter_map(|_| rng.choice(networks)).collect();
                if role == "admin" && !list.is_empty() {
                    list.push(HOME);
                }
                wanted[role] = json!(list);
            }
            let tried = client.post_as(&token, DRY_RUN, &wanted).await.data();
            assert_eq!(tried["you"]["shut_out"], false);
            let mut expected = BTreeMap::<_, usize>::new();
            for of_role in tried["roles"].as_array().unwrap() {
                let named = of_role["shut_out"].as_array().unwrap();
                assert_eq!(of_role["sessions"], named.len(), "there are fewer than are named at most");
                for one in named {
                    assert_eq!(one["corp_id"], "wwdeskpass");
                    let key = [&of_role["role"], &one["employee_id"], &one["ip_address"]].map(|text| text.as_str().unwrap().to_owned());
                    *expected.entry(key).or_default() += 1;
                }
            }
            client.admin_request(&token, &device.next_code(), "PUT", PATH, &wanted).await.data();
            let mut found = BTreeMap::<_, usize>::new();
            for (employee, role, address, token) in &sessions {
                let answer = me(&mut client, address, token).await;
                seen[usize::from(answer.status == 403)] += 1;
                if answer.status == 403 {
                    assert_eq!(answer.refused(403, 1017).reason(), "address_not_allowed");
                    let address = address.trim_start_matches("::ffff:");
                    *found.entry([*role, *employee, address].map(str::to_owned)).or_default() += 1;
                } else {
                    answer.data();
                }
            }
            assert_eq!(found, expected, "{wanted}");
        }
        assert!(seen.iter().all(|count| *count > 40), "{seen:?}: this test looks at nothing");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_changed_on_one_node_count_on_the_other_within_a_second() {
    let test = async {
        let one = TestApp::start().await;
        let other = one.second_node().await;
        let mut there = other.client().await;
        let token = there.sign_in("agent01").await;
        let agent = json!({ "employee_id": "agent01", "role": "agent" });
        for _ in 0..10 {
            one.set_list("agent", &["10.0.0.0/8"]).await;
            soon("a list", async || me(&mut there, HOME, &token).await.status == 403).await;
            there.sign_in_from(HOME, &agent).await.refused(403, 1017);
            one.set_list("agent", &[]).await;
            soon("no list", async || me(&mut there, HOME, &token).await.status == 200).await;
            there.sign_in_from(HOME, &agent).await.data();
        }
    };
    StoreBackend::ScaledOut.run(Box::pin(test)).await;
}
