//! Notices to agents through the platform: each is sent once, and no request waits for it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{
    Client, PASSWORD, Platform, Response, StoreBackend, TestApp, fragment, location, request, settings, target, until,
};

const OTHER: &str = "nine boats on a quiet river";
const SEND: &str = "message/send";
/// The pause before the first retry of a notice.
const LATER: Duration = Duration::from_mins(1);

/// The messages that the simulated platform received.
pub(crate) async fn inbox(platform: &mut Client) -> Vec<Value> {
    let answer = platform.get("/sim/inbox", &[]).await;
    serde_json::from_str::<Value>(&answer.body).unwrap()["messages"].as_array().unwrap().clone()
}

/// The time of a service as its notices show it.
fn in_shanghai(app: &TestApp) -> String {
    let at = jiff::Timestamp::from_millisecond(app.clock.now().millis()).unwrap() + jiff::SignedDuration::from_hours(8);
    at.strftime("%Y-%m-%d %H:%M:%S UTC+08:00").to_string()
}

/// Waits until every notice is delivered or given up.
pub(crate) async fn settled(app: &TestApp) {
    until("notices are settled", async || app.query("SELECT count(*) FROM notice") == ["0"]).await;
}

/// Waits until the platform has rejected this many messages, then lets it accept them again.
async fn turned_away(platform: &mut Client, messages: u64) {
    until("messages were rejected", async || platform.calls(SEND).await >= messages).await;
    clear(platform, "faults").await;
}

/// Waits until the nodes have postponed this many notices: an attempt that is under way when the clock is set looks abandoned to others.
async fn postponed(nodes: &[TestApp], notices: u64) {
    let name = "deskpass_notices_total{outcome=\"postponed\"}";
    until("notices are postponed", async || {
        let mut sum = 0;
        for node in nodes {
            sum += node.client().await.metric(name).await.unwrap_or(0);
        }
        sum >= notices
    })
    .await;
}

async fn clear(platform: &mut Client, what: &str) {
    assert_eq!(platform.send(&request("DELETE", &format!("/sim/{what}"), &[], b"")).await.status, 200);
}

async fn set_password(client: &mut Client, token: &str, body: &Value) -> Response {
    let headers = [("authorization", &*format!("Bearer {token}")), ("x-forwarded-for", "198.51.100.7")];
    client.post("/api/agents/password", &headers, body).await
}

/// Does everything that sends agent01 a notice, on a service in development mode; `after` receives how long each step took.
async fn do_everything(app: &TestApp, mut after: impl AsyncFnMut(&str, Duration)) {
    let mut client = app.client().await;
    let token = client.sign_in("agent01").await;
    let mut timed = async |what: &str, began: Instant| after(what, began.elapsed()).await;

    let began = Instant::now();
    set_password(&mut client, &token, &json!({ "new_password": PASSWORD })).await.data();
    timed("the password of your account was changed / 您的账号密码已修改", began).await;

    let began = Instant::now();
    let ask = json!({ "employee_id": "agent01", "password": PASSWORD });
    let half = client.post("/api/agents/login", &[("x-forwarded-for", "198.51.100.7")], &ask).await.data();
    timed("your password was used to sign in / 有人使用您的密码登录", began).await;

    let setup = client.post_as(half["token"].as_str().unwrap(), "/api/auth/otp-setup", &json!({})).await.data();
    let device = crate::harness::Device::scan(&setup, &app.clock);
    let began = Instant::now();
    let from =
        |token: &str| [("authorization", format!("Bearer {token}")), ("x-forwarded-for", "198.51.100.7".to_owned())];
    let headers = from(half["token"].as_str().unwrap());
    let headers = headers.each_ref().map(|(name, value)| (*name, &**value));
    client.post("/api/auth/otp-bind", &headers, &json!({ "code": device.code() })).await.data();
    timed("an authenticator was set up for your account / 您的账号绑定了身份验证器", began).await;

    let began = Instant::now();
    let headers = from(&token);
    let headers = headers.each_ref().map(|(name, value)| (*name, &**value));
    client.post("/api/auth/otp-unbind", &headers, &json!({ "code": device.next_code() })).await.data();
    timed("the authenticator of your account was removed / 您的账号解绑了身份验证器", began).await;

    let began = Instant::now();
    set_password(&mut client, &token, &json!({ "old_password": PASSWORD, "new_password": OTHER })).await.data();
    timed("the password of your account was changed / 您的账号密码已修改", began).await;
}

on_every_store! {
    async fn each_event_sends_one_notice_in_both_languages_with_address_and_time(app) {
        let (mut platform, mut notified) = (app.client().await, 0);
        do_everything(&app, async |what, _| {
            notified += 1;
            until(what, async || inbox(&mut platform).await.len() >= notified).await;
            settled(&app).await;
            let messages = inbox(&mut platform).await;
            assert_eq!(messages.len(), notified, "{messages:?}");
            let (message, (english, chinese)) = (&messages[notified - 1], what.split_once(" / ").unwrap());
            assert_eq!((&message["touser"], &message["msgtype"]), (&json!(["agent01"]), &json!("text")));
            let text = message["text"]["content"].as_str().unwrap();
            let at = in_shanghai(&app);
            for line in [format!("{english} ({at}, 198.51.100.7)"), format!("{chinese}（{at}，198.51.100.7）")] {
                assert!(text.contains(&line), "no {line:?} in {text:?}");
            }
            assert!(!text.contains(PASSWORD) && !text.contains(OTHER), "{text}");
        })
        .await;
        assert_eq!((notified, platform.calls(SEND).await), (5, 5));
    }

    async fn failures_send_no_notice(app) {
        let mut client = app.client().await;
        let device = app.agent_with_device("agent01").await;
        settled(&app).await;
        let before = client.calls(SEND).await;
        client.agent_login("agent01", "wrong").await.refused(401, 1011);
        client.agent_login("nobody", PASSWORD).await.refused(401, 1011);
        let token = client.sign_in("agent01").await;
        let wrong = json!({ "code": device.wrong_code() });
        client.post_as(&token, "/api/auth/otp-unbind", &wrong).await.refused(401, 1008);
        set_password(&mut client, &token, &json!({ "old_password": OTHER, "new_password": OTHER })).await.refused(403, 1016);
        set_password(&mut client, &token, &json!({ "old_password": PASSWORD, "new_password": "brief" })).await.refused(400, 1014);
        assert_eq!(app.query("SELECT count(*) FROM notice"), ["0"]);
        assert_eq!(client.calls(SEND).await, before);
    }

    async fn a_platform_that_takes_no_messages_fails_nothing_and_delays_no_request() {
        for fault in [
            json!({ "api": SEND, "errcode": 81013, "times": 0 }),
            json!({ "api": SEND, "errcode": 60020, "times": 0 }),
            json!({ "api": SEND, "drop": true, "times": 0 }),
            json!({ "api": SEND, "http_status": 500, "times": 0 }),
            json!({ "api": SEND, "body": "<html>", "times": 0 }),
            json!({ "api": SEND, "delay_ms": 60_000, "times": 0 }),
            json!({ "drop": true, "times": 0 }),
        ] {
            let app = TestApp::start().await;
            let mut platform = app.client().await;
            platform.set_fault(&fault).await;
            do_everything(&app, async |what, took| assert!(took < Duration::from_secs(3), "{fault} {what}: {took:?}")).await;
            assert_eq!(inbox(&mut platform).await, Vec::<Value>::new(), "{fault}");
        }
    }

    async fn a_message_without_a_known_recipient_is_given_up(app) {
        let mut client = app.client().await;
        app.add("ghost01", deskpass_core::Role::Agent).await;
        app.auth().operator().add_agent(app.key("ghost01"), "agent").await.unwrap();
        client.first_password("ghost01").await;
        settled(&app).await;
        client.set_fault(&json!({ "api": SEND, "errcode": 81013 })).await;
        client.first_password("agent01").await;
        settled(&app).await;
        assert_eq!((client.calls(SEND).await, inbox(&mut client).await.len()), (2, 0));
    }

    /// A platform that is busy, limits the rate or blocks this address fails temporarily, not permanently: that is when passwords
    /// are used.
    async fn a_message_that_came_at_a_bad_moment_is_sent_again(app) {
        let mut client = app.client().await;
        // A busy platform is retried three times immediately.
        for (employee, errcode, calls) in [("agent01", -1, 3), ("admin01", 45009, 1), ("supervisor01", 60020, 1)] {
            clear(&mut client, "calls").await;
            clear(&mut client, "inbox").await;
            client.set_fault(&json!({ "api": SEND, "errcode": errcode, "times": 0 })).await;
            client.first_password(employee).await;
            turned_away(&mut client, calls).await;
            // The pause begins when the client has read the response, which the test cannot observe.
            until("it is sent again", async || {
                app.clock.advance(LATER);
                app.auth().notices_due.notify_one();
                inbox(&mut client).await.len() == 1
            })
            .await;
            settled(&app).await;
            assert_eq!(inbox(&mut client).await.len(), 1, "{errcode}");
        }
    }

    /// Nodes of a later version know the subject; until such a node takes the notice, all others are delivered.
    async fn a_notice_of_something_unknown_is_left_for_others(app) {
        let mut client = app.client().await;
        app.query("INSERT INTO notice (id, corp_id, employee_key, subject, ip_address, at, tries, due_at) \
            VALUES ('later', 'wwdeskpass', 'agent01', 'moon_landing', '192.0.2.1', 1800000000000, 0, 0)");
        client.first_password("agent01").await;
        until("the other one is delivered", async || app.query("SELECT id FROM notice") == ["later"]).await;
        assert_eq!(inbox(&mut client).await.len(), 1);
        assert_eq!(app.query("SELECT tries, due_at FROM notice"), ["0|0"]);
    }

    async fn after_a_day_it_is_no_use_telling(app) {
        let mut client = app.client().await;
        let day = Duration::from_hours(24);
        for (employee, wait, notified) in [("agent01", day, 1), ("admin01", day + Duration::from_millis(1), 0)] {
            clear(&mut client, "calls").await;
            clear(&mut client, "inbox").await;
            client.set_fault(&json!({ "api": SEND, "drop": true, "times": 0 })).await;
            client.first_password(employee).await;
            turned_away(&mut client, 1).await;
            app.clock.advance(wait);
            app.auth().notices_due.notify_one();
            settled(&app).await;
            assert_eq!(inbox(&mut client).await.len(), notified, "{wait:?}");
        }
    }
}

/// Signs in with a QR code, with the computer at one address and the phone at another.
async fn by_code(client: &mut Client, who: &str, computer: &str, phone: &str) {
    let browser = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/126.0.0.0 Safari/537.36";
    let asked = client.get("/api/auth/qrcode", &[("x-forwarded-for", computer), ("user-agent", browser)]).await.data();
    let back = client.authorize(asked["qrcode_url"].as_str().unwrap(), who).await;
    let landed = client.get(&target(&back), &[("x-forwarded-for", phone)]).await;
    client.decide("confirm", &fragment(location(&landed), "confirm")).await.data();
}

on_every_store! {
    async fn a_qr_sign_in_from_a_new_network_sends_a_notice(app) {
        let mut client = app.client().await;
        let mut notified = async |who: &str, computer: &str, phone: &str| {
            let before = inbox(&mut client).await.len();
            by_code(&mut client, who, computer, phone).await;
            settled(&app).await;
            let messages = inbox(&mut client).await;
            messages.get(before).map(|message| message["text"]["content"].as_str().unwrap().to_owned())
        };
        // A first network causes a notice only if the phone is elsewhere; later networks are compared with it.
        let first = notified("user01", "203.0.113.9", "198.51.100.7").await.unwrap();
        assert!(first.contains("203.0.113.9"), "{first}");
        assert_eq!(notified("agent01", "198.51.100.7", "198.51.100.200").await, None);
        for (computer, phone, is_told) in [
            ("198.51.100.8", "203.0.113.1", false),
            ("198.51.101.8", "198.51.101.8", true),
            ("198.51.101.9", "203.0.113.1", false),
            ("2001:db8:1:2::3", "203.0.113.1", true),
            ("2001:db8:1:ffff::3", "203.0.113.1", false),
            ("2001:db8:2::3", "203.0.113.1", true),
        ] {
            let text = notified("agent01", computer, phone).await;
            assert_eq!(text.is_some(), is_told, "{computer}: {text:?}");
            let Some(text) = text else { continue };
            let at = in_shanghai(&app);
            for line in [format!("({at}, Chrome on Windows, {computer})"), format!("（{at}，Windows 上的 Chrome，{computer}）")] {
                assert!(text.contains(&line), "no {line:?} in {text:?}");
            }
            assert!(text.contains("That was not me") && text.contains("不是我本人"), "{text}");
        }
        // Half a year without a sign-in from a network makes it new again.
        app.clock.advance(Duration::from_hours(24 * 179));
        assert_eq!(notified("agent01", "198.51.101.77", "203.0.113.1").await, None);
        app.clock.advance(Duration::from_hours(24 * 2));
        assert_eq!(notified("agent01", "198.51.101.77", "203.0.113.1").await, None);
        assert!(notified("agent01", "2001:db8:2::3", "203.0.113.1").await.is_some());
    }
}

/// Production nodes and the platform they talk to.
async fn nodes() -> (Vec<TestApp>, Platform) {
    let given = [("limits.enabled", "false"), ("agents.password_fallback", "always")];
    let (one, platform) = TestApp::production_with_platform(&given).await;
    one.auth().seed_dev_users().await.unwrap();
    let mut nodes = vec![one];
    if StoreBackend::current() == StoreBackend::ScaledOut {
        nodes.push(nodes[0].second_node().await);
    }
    (nodes, platform)
}

/// Stops nodes from serving requests and from delivering notices by themselves.
async fn stop(nodes: &mut [TestApp]) {
    for node in nodes {
        node.stop().await;
    }
}

/// Has a node deliver the notices that are due; returns how many it claimed.
async fn deliver(node: &TestApp) -> usize {
    // The platform drops messages that it has already received.
    node.auth().deliver_notices(|notice| format!("{}: {}", notice.subject.name(), notice.id)).await.unwrap()
}

on_every_store! {
    async fn after_an_outage_a_notice_is_sent_once_by_one_node() {
        let (mut nodes, platform) = nodes().await;
        let mut client = nodes[0].client().await;
        let token = platform.sign_in(&mut client, "agent01").await;
        let address = platform.stop().await;
        set_password(&mut client, &token, &json!({ "new_password": PASSWORD })).await.data();
        until("a notice was tried", async || nodes[0].query("SELECT tries FROM notice") == ["1"]).await;
        drop(client);
        stop(&mut nodes).await;
        let (one, other) = (&nodes[0], nodes.last().unwrap());
        // Each pause is twice as long as the previous one.
        for (tries, pause) in [("2", LATER), ("3", 2 * LATER)] {
            one.clock.advance(pause.saturating_sub(Duration::from_millis(1)));
            assert_eq!(deliver(one).await, 0, "too early");
            one.clock.advance(Duration::from_millis(1));
            assert_eq!((deliver(other).await, deliver(one).await), (1, 0));
            assert_eq!(one.query("SELECT tries FROM notice"), [tries]);
        }
        let platform = Platform::restart_at(&address).await;
        one.clock.advance(4 * LATER);
        let (here, there) = tokio::join!(deliver(one), deliver(other));
        assert_eq!(here + there, 1, "sent by one of them");
        one.clock.advance(8 * LATER);
        assert_eq!((deliver(one).await, deliver(other).await), (0, 0));
        assert_eq!(inbox(&mut platform.client().await).await.len(), 1);
    }

    /// No other node claims a notice while the node that holds it may still be trying, and each try may take three and a half
    /// seconds.
    async fn no_node_claims_more_notices_than_it_can_try_before_others_may() {
        let (mut nodes, platform) = nodes().await;
        let (mut client, mut control) = (nodes[0].client().await, platform.client().await);
        let token = platform.sign_in(&mut client, "agent01").await;
        control.set_fault(&json!({ "api": SEND, "drop": true, "times": 0 })).await;
        set_password(&mut client, &token, &json!({ "new_password": PASSWORD })).await.data();
        for _ in 0..30 {
            client.partial_sign_in("agent01").await;
        }
        turned_away(&mut control, 31).await;
        drop(client);
        stop(&mut nodes).await;
        nodes[0].clock.advance(LATER);
        let mut notified = 0;
        while notified < 31 {
            let count = deliver(&nodes[0]).await;
            let longest = Duration::from_millis(3_500) * u32::try_from(count).unwrap();
            assert!(count > 0 && longest < LATER, "{count} at once");
            notified += count;
        }
        assert_eq!(inbox(&mut control).await.len(), 31);
    }

    async fn many_notices_go_out_once_each_from_two_nodes() {
        let (nodes, platform) = nodes().await;
        let (mut client, mut control) = (nodes[0].client().await, platform.client().await);
        let token = platform.sign_in(&mut client, "agent01").await;
        control.set_fault(&json!({ "api": SEND, "drop": true, "times": 0 })).await;
        set_password(&mut client, &token, &json!({ "new_password": PASSWORD })).await.data();
        let passwords = [PASSWORD, OTHER];
        for round in 0..20 {
            let change = json!({ "old_password": passwords[round % 2], "new_password": passwords[(round + 1) % 2] });
            set_password(&mut client, &token, &change).await.data();
        }
        turned_away(&mut control, 21).await;
        postponed(&nodes, 21).await;
        nodes[0].clock.advance(LATER);
        for node in &nodes {
            node.auth().notices_due.notify_one();
        }
        settled(&nodes[0]).await;
        assert_eq!((inbox(&mut control).await.len(), control.calls(SEND).await), (21, 42));
    }

    async fn without_an_agent_id_no_notice_is_sent_and_nothing_fails() {
        let platform = Platform::start("desk.example.com").await;
        let pairs = platform.pairs();
        let given = pairs.iter().filter(|(key, _)| *key != "platform.agent_id").map(|(key, value)| (*key, &**value));
        let given: Vec<_> = given.chain([("limits.enabled", "false")]).collect();
        let app = TestApp::with(settings(&given)).await;
        app.auth().seed_dev_users().await.unwrap();
        let mut client = app.client().await;
        let token = platform.sign_in(&mut client, "agent01").await;
        set_password(&mut client, &token, &json!({ "new_password": PASSWORD })).await.data();
        client.bind_device(&token, &app.clock).await;
        settled(&app).await;
        assert_eq!(platform.client().await.calls(SEND).await, 0);
    }
}
