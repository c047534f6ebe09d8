//! An attacker who can write to Redis restores earlier records: used codes stay used.

use std::time::Duration;

use serde_json::json;
use url::Url;

use crate::harness::{Client, StoreBackend, TestApp, fragment, location, target};

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

/// How long the lease of a request on a code lasts before another request may take it.
const TURN: Duration = Duration::from_secs(5);

/// The Redis records of a code after the platform has identified its user and before the response. `callback` sends the returning
/// request, with a browser of its own.
async fn in_the_middle(
    app: &TestApp,
    callback: impl AsyncFnOnce(Client) -> String + Send,
) -> (Vec<(String, Vec<u8>)>, String) {
    let (mut client, browser) = (app.client().await, app.client().await);
    let before = client.calls("user/get").await;
    client.set_fault(&json!({ "api": "user/get", "delay_ms": 700 })).await;
    let look = async {
        while client.calls("user/get").await == before {}
        app.cluster_store().store_records("code")
    };
    let (records, landed) = tokio::join!(look, callback(browser));
    assert_eq!(records.len(), 1, "this test looks at nothing");
    (records, landed)
}

/// The value of a parameter of an address.
fn parameter(address: &str, name: &str) -> String {
    let url = Url::parse(address).unwrap();
    url.query_pairs().find(|(key, _)| key == name).unwrap().1.into_owned()
}

with_redis! {
    /// The phone of an administrator scans a code. An attacker who has seen the address it returned to, uses the same IP address
    /// and user agent, and writes to Redis, must not scan a code of their own as that administrator.
    async fn a_code_that_was_used_to_scan_is_not_used_again(app) {
        let mut attacker = app.client().await;
        let shown = attacker.qrcode().await;
        let back = attacker.authorize(shown["qrcode_url"].as_str().unwrap(), "admin01").await;
        let path = target(&back);
        let (records, landed) = in_the_middle(&app, async |mut phone| {
            location(&phone.get(&path, &[("user-agent", "phone")]).await).to_owned()
        }).await;
        assert!(landed.contains("#confirm="), "{landed}");
        let own = attacker.qrcode().await;
        let other = parameter(&parameter(own["qrcode_url"].as_str().unwrap(), "redirect_uri"), "sid");
        let again = path.replace(&parameter(&back, "sid"), &other);
        assert_ne!(again, path);
        app.clock.advance(TURN);
        app.cluster_store().restore_records(&records);
        let landed = location(&attacker.get(&again, &[("user-agent", "phone")]).await).to_owned();
        assert_eq!(fragment(&landed, "error"), "invalid_code", "{landed}");
        assert_eq!(attacker.scan_status(own["ticket"].as_str().unwrap()).await["status"], "waiting");
    }

    async fn a_used_code_does_not_sign_in_again(app) {
        let mut client = app.client().await;
        let (link, cookies) = client.begin_oauth(&format!("http://{}/h5/", app.address)).await;
        let flow = app.cluster_store().store_records("flow");
        let back = client.authorize(&link, "user01").await;
        let (records, landed) = in_the_middle(&app, async |mut browser| {
            location(&browser.oauth_callback(&back, &cookies).await).to_owned()
        }).await;
        assert!(landed.contains("#ticket="), "{landed}");
        app.clock.advance(TURN);
        app.cluster_store().restore_records(&[records, flow].concat());
        let landed = location(&client.oauth_callback(&back, &cookies).await).to_owned();
        assert_eq!(fragment(&landed, "error"), "invalid_code", "{landed}");
        assert_eq!(app.query("SELECT count(*) FROM session"), ["1"]);
        // The platform named the user of the code, and so does the log.
        assert_eq!(app.query("SELECT employee_key FROM login_log WHERE reason = 'invalid_code'"), ["user01"]);
    }

    /// The browser started once and was signed in. The code of another user does not sign it in without a question.
    async fn a_browser_is_let_in_once_for_each_time_it_sets_out(app) {
        let mut client = app.client().await;
        let (link, cookies) = client.begin_oauth(&format!("http://{}/h5/", app.address)).await;
        let flow = app.cluster_store().store_records("flow");
        let (back, other) = (client.authorize(&link, "user01").await, client.authorize(&link, "agent01").await);
        assert!(location(&client.oauth_callback(&back, &cookies).await).contains("#ticket="));
        app.cluster_store().restore_records(&flow);
        let landed = location(&client.oauth_callback(&other, &cookies).await).to_owned();
        assert!(landed.contains("/continue/#continue="), "{landed}");
        assert_eq!(app.query("SELECT count(*) FROM session"), ["1"]);
    }

    async fn a_continued_sign_in_is_not_continued_again(app) {
        let mut client = app.client().await;
        let (link, _) = client.begin_oauth(&format!("http://{}/h5/", app.address)).await;
        let back = client.authorize(&link, "user01").await;
        let pending = fragment(location(&client.oauth_callback(&back, "").await), "continue");
        let (ask, held) = (json!({ "continue": pending }), app.cluster_store().store_records("pending"));
        client.post("/api/auth/oauth2/continue", &[], &ask).await.data();
        app.cluster_store().restore_records(&held);
        client.post("/api/auth/oauth2/continue", &[], &ask).await.refused(409, 1019);
        assert_eq!(app.query("SELECT count(*) FROM session"), ["1"]);
        // The record of a used code is deleted once a restored one would have expired. That of the statistics is kept for longer.
        let used = || {
            let soon = app.clock.now() + Duration::from_hours(1);
            app.query(&format!("SELECT count(*) FROM used_once WHERE until < {}", soon.millis()))
        };
        assert_eq!(used(), ["2"]);
        app.clock.advance(Duration::from_mins(9));
        app.auth().store.sweep(app.clock.now(), app.clock.now(), 100).await.unwrap();
        assert_eq!(used(), ["0"]);
    }

    /// The database fails for a moment, and the same request is repeated.
    async fn what_came_to_nothing_for_a_reason_that_passes_can_be_used_again(app) {
        let mut client = app.client().await;
        let break_off = |table: &str| app.query(&format!("ALTER TABLE {table} RENAME TO elsewhere"));
        let mend = |table: &str| app.query(&format!("ALTER TABLE elsewhere RENAME TO {table}"));
        let (link, cookies) = client.begin_oauth(&format!("http://{}/h5/", app.address)).await;
        let back = client.authorize(&link, "user01").await;
        break_off("session");
        let landed = location(&client.oauth_callback(&back, &cookies).await).to_owned();
        assert!(landed.contains("#error="), "{landed}");
        mend("session");
        let landed = location(&client.oauth_callback(&back, &cookies).await).to_owned();
        assert!(landed.contains("#ticket="), "{landed}");

        // A refusal that cannot be logged is not sent.
        let (link, cookies) = client.begin_oauth(&format!("http://{}/h5/", app.address)).await;
        let back = client.authorize(&link, "left01").await;
        break_off("login_log");
        let landed = location(&client.oauth_callback(&back, &cookies).await).to_owned();
        assert_ne!(fragment(&landed, "error"), "disabled", "{landed}");
        mend("login_log");
        let landed = location(&client.oauth_callback(&back, &cookies).await).to_owned();
        assert_eq!(fragment(&landed, "error"), "disabled", "{landed}");

        let back = client.authorize(&link, "user01").await;
        let pending = fragment(location(&client.oauth_callback(&back, "").await), "continue");
        let ask = json!({ "continue": pending });
        break_off("session");
        assert!(client.post("/api/auth/oauth2/continue", &[], &ask).await.status >= 500);
        mend("session");
        client.post("/api/auth/oauth2/continue", &[], &ask).await.data();
    }
}
