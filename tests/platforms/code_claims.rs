//! A code of the platform belongs to the browser that brings it first, whatever the service answers.

use std::time::{Duration, Instant};

use serde_json::json;
use url::Url;

use super::come_back_as;
use crate::harness::{
    Client, FaultProxy, Messenger, Response, Servers, StoreBackend, TestApp, development, fragment, location, request,
};

const CALLBACK: &str = "/api/auth/oauth2/callback";
/// How many claims a network holds at most.
const SHARE: usize = 2_000;

/// The query with which the platform sent a browser back.
fn query(back: &str) -> String {
    Url::parse(back).unwrap().query().unwrap().to_owned()
}

/// The code that the platform sent a browser back with.
fn code(back: &str) -> String {
    let url = Url::parse(back).unwrap();
    let code = url.query_pairs().find(|(name, _)| name == "authCode" || name == "code");
    code.unwrap().1.into_owned()
}

fn with_state(back: &str, state: &str) -> String {
    let mut url = Url::parse(back).unwrap();
    let kept: Vec<_> = url.query_pairs().into_owned().filter(|(name, _)| name != "state").collect();
    url.query_pairs_mut().clear().extend_pairs(kept).append_pair("state", state);
    url.into()
}

/// Begins a sign-in and is identified as `who`; returns the address of the return, and the browser's cookies.
async fn identified(app: &TestApp, client: &mut Client, who: &str) -> (String, String) {
    let (link, cookies) = client.begin_oauth(&format!("http://{}/h5/", app.address)).await;
    (client.authorize(&link, who).await, cookies)
}

/// Loads the callback from another address than the browser of the test.
async fn elsewhere(client: &mut Client, back: &str) -> Response {
    let headers = [("x-forwarded-for", "203.0.113.66"), ("user-agent", "Mozilla/5.0 (elsewhere)")];
    client.get(&format!("{CALLBACK}?{}", query(back)), &headers).await
}

fn word(landed: &Response) -> String {
    fragment(location(landed), "error")
}

on_every_platform! {
    both stores:
    /// Whoever reads the address in a proxy's log opens it: the code is good at the platform, and no use.
    async fn a_code_that_was_refused_opens_nothing_elsewhere(app) {
        let (mut client, mut thief) = (app.client().await, app.client().await);
        let (_, other_flow) = client.begin_oauth(&format!("http://{}/h5/", app.address)).await;
        for way in ["state", "repeated state", "repeated code", "many codes", "HEAD", "POST", "prefetch"] {
            let (back, own) = identified(&app, &mut client, "admin01").await;
            let before = client.calls(Messenger::current().exchange).await;
            let cookie = [("cookie", &*own)];
            let path = format!("{CALLBACK}?{}", query(&back));
            match way {
                "state" => {
                    let refused = client.oauth_callback(&with_state(&back, "else"), &own).await;
                    assert_eq!(word(&refused), "invalid_code");
                }
                "repeated state" => {
                    let path = format!("{path}&state=auth_login");
                    assert_eq!(word(&client.get(&path, &cookie).await), "invalid_code");
                }
                "repeated code" => {
                    let path = format!("{CALLBACK}?code=first&{}", query(&back));
                    assert_eq!(word(&client.get(&path, &cookie).await), "invalid_code");
                }
                "many codes" => {
                    let path = format!("{CALLBACK}?code=first&code=second&{}", query(&back));
                    let refused = client.get(&path, &cookie).await;
                    assert!(refused.refused(400, 1002).json()["data"]["fields"]["code"].is_string(), "{refused:?}");
                }
                "prefetch" => {
                    let headers = [("cookie", &*own), ("sec-purpose", "prefetch")];
                    client.get(&path, &headers).await.refused(400, 1002);
                }
                method => {
                    let mut broken = app.client().await;
                    broken.start(&request(method, &path, &cookie, b"")).await;
                    assert!(broken.read_until("\r\n\r\n").await.starts_with("HTTP/1.1 405"), "{method}");
                }
            }
            assert_eq!(word(&elsewhere(&mut thief, &back).await), "invalid_code", "{way}");
            assert_eq!(word(&thief.oauth_callback(&back, &other_flow).await), "invalid_code", "{way}");
            let login = json!({ "employee_id": "admin01", "code": code(&back) });
            thief.post("/api/agents/login", &[], &login).await.refused(403, 1003);
            assert_eq!(client.calls(Messenger::current().exchange).await, before, "{way}");
            // The browser itself may try again.
            let landed = client.oauth_callback(&back, &own).await;
            assert!(location(&landed).contains("/h5/#ticket="), "{way}: {landed:?}");
        }
    }

    /// A code that came with an ended QR sign-in, at the sign-in of agents, from the very same browser; and the other way round.
    async fn a_code_is_for_the_door_that_saw_it_first(app) {
        let (mut client, mut agent) = (app.client().await, app.client().await);
        let refused = |answer: &Response| answer.refused(403, 1003).reason();
        let (back, _) = identified(&app, &mut client, "agent01").await;
        let login = json!({ "employee_id": "agent01", "code": code(&back) });
        let landed = client.get(&format!("{CALLBACK}?code={}&sid=ended", code(&back)), &[]).await;
        assert!(location(&landed).contains("#error="), "{landed:?}");
        assert_eq!(refused(&client.post("/api/agents/login", &[], &login).await), "invalid_code");

        let (back, own) = identified(&app, &mut client, "user01").await;
        let login = json!({ "employee_id": "agent01", "code": code(&back), "unknown": { "broken": [] }, "password": 7 });
        agent.post("/api/agents/login", &[("cookie", &own)], &login).await.refused(400, 1002);
        assert_eq!(word(&client.oauth_callback(&back, &own).await), "invalid_code");
        assert_eq!(client.calls(Messenger::current().exchange).await, 0);
        assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
    }

    /// A page that knows a code cannot have its visitor spend it.
    async fn a_page_of_another_site_claims_no_code(app) {
        let (mut client, mut visitor) = (app.client().await, app.client().await);
        let (back, own) = identified(&app, &mut client, "user01").await;
        for (mode, destination) in [("no-cors", "image"), ("cors", "empty")] {
            let page = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", mode), ("sec-fetch-dest", destination)];
            visitor.get(&format!("{CALLBACK}?{}", query(&back)), &page).await.refused(403, 1003);
        }
        let landed = client.oauth_callback(&back, &own).await;
        assert!(location(&landed).contains("/h5/#ticket="), "{landed:?}");
    }

    /// Two browsers and one code, at once: one of them gets an answer of the platform.
    async fn two_browsers_race_with_one_code(app) {
        let [mut client, mut thief] = [app.client().await, app.client().await];
        for _ in 0..5 {
            let before = client.calls(Messenger::current().exchange).await;
            let (back, own) = identified(&app, &mut client, "user01").await;
            let (first, second) = tokio::join!(client.oauth_callback(&back, &own), elsewhere(&mut thief, &back));
            let refused = [&first, &second].iter().filter(|landed| location(landed).contains("#error=invalid_code")).count();
            assert!(refused >= 1, "{first:?} {second:?}");
            assert!(client.calls(Messenger::current().exchange).await <= before + 1);
        }
    }
}

on_every_platform! {
    async fn a_code_that_was_limited_waits_for_its_browser() {
        let limits = [("limits.enabled", "true"), ("limits.sign_in", "1/min"), ("limits.agents_login", "1/min")];
        let app = TestApp::with(development(&limits)).await;
        let (mut client, mut thief) = (app.client().await, app.client().await);
        client.get(CALLBACK, &[]).await;
        let (back, own) = identified(&app, &mut client, "admin01").await;
        client.oauth_callback(&back, &own).await.refused(429, 1006);
        assert_eq!(word(&elsewhere(&mut thief, &back).await), "invalid_code");
        app.clock.advance(Duration::from_mins(1));
        assert!(location(&client.oauth_callback(&back, &own).await).contains("/h5/#ticket="));

        let (back, _) = identified(&app, &mut client, "agent01").await;
        let login = json!({ "employee_id": "agent01", "code": code(&back) });
        client.agent_login("nobody", "wrong").await.refused(401, 1011);
        client.post("/api/agents/login", &[], &login).await.refused(429, 1006);
        let from = [("x-forwarded-for", "203.0.113.67")];
        let stolen = thief.post("/api/agents/login", &from, &login).await;
        assert_eq!(stolen.refused(403, 1003).reason(), "invalid_code");
    }
}

on_every_store! {
    /// Where the platform allows any address of the domain, an attacker's link leads the browser to one that nobody answers.
    async fn a_code_at_any_address_is_claimed(app) {
        let (mut client, mut thief) = (app.client().await, app.client().await);
        for path in ["/h5/", "/no/such/page", "/api/auth/me", "/api/no-such-path", "/oidc/none"] {
            let (back, own) = identified(&app, &mut client, "admin01").await;
            client.get(&format!("{path}?{}", query(&back)), &[("cookie", &own)]).await;
            assert_eq!(word(&elsewhere(&mut thief, &back).await), "invalid_code", "{path}");
            // The page passes the code on.
            assert!(location(&client.oauth_callback(&back, &own).await).contains("/h5/#ticket="), "{path}");
        }
    }

    /// A page of ours passes a code on, and a program without a cookie jar that follows redirects hands one to either door.
    async fn a_program_that_follows_redirects_keeps_its_code(app) {
        let mut client = app.client().await;
        let (back, _) = identified(&app, &mut client, "user01").await;
        assert_eq!(client.get(&format!("/h5/?{}", query(&back)), &[]).await.status, 200);
        let landed = client.oauth_callback(&back, "").await;
        assert!(location(&landed).contains("/continue/#continue="), "{landed:?}");
        let (back, _) = identified(&app, &mut client, "agent01").await;
        client.get(&format!("/itagent/?{}", query(&back)), &[]).await;
        let login = json!({ "employee_id": "agent01", "code": code(&back) });
        assert_eq!(client.post("/api/agents/login", &[], &login).await.data()["current_role"], "agent");
    }

    /// Browsers without our cookie are told apart by address and name: others of the office have the same.
    async fn without_a_cookie_only_the_same_request_is_repeated(app) {
        let mut client = app.client().await;
        let (back, _) = identified(&app, &mut client, "user01").await;
        let refused = client.get(&format!("{CALLBACK}?{}&code=more", query(&back)), &[]).await;
        assert_eq!(word(&refused), "invalid_code");
        assert_eq!(word(&client.oauth_callback(&back, "").await), "invalid_code");
        let (back, _) = identified(&app, &mut client, "user01").await;
        let first = client.oauth_callback(&back, "").await;
        assert!(location(&first).contains("/continue/#continue="), "{first:?}");
        assert_eq!(location(&client.oauth_callback(&back, "").await), location(&first));
    }

    /// A flood of codes displaces the claims of its own network.
    async fn a_network_with_too_many_claims_loses_its_own_oldest(app) {
        let (mut client, mut flood) = (app.client().await, app.client().await);
        let (back, own) = identified(&app, &mut client, "admin01").await;
        let path = format!("{CALLBACK}?{}&state=else", query(&back));
        let office = [("cookie", &*own), ("x-forwarded-for", "192.0.2.9")];
        assert_eq!(word(&client.get(&path, &office).await), "invalid_code");
        for number in 0..=SHARE {
            let from = format!("2001:db8:77:{number:x}::1");
            let path = format!("/no/such/page?code=flood-{number}");
            flood.get(&path, &[("x-forwarded-for", &from)]).await;
        }
        assert_eq!(word(&elsewhere(&mut flood, &back).await), "invalid_code");
        assert_eq!(client.calls(Messenger::current().exchange).await, 0);
        for (number, calls) in [(1, 0), (SHARE, 0), (0, 1)] {
            let path = format!("{CALLBACK}?code=flood-{number}");
            let landed = flood.get(&path, &[("x-forwarded-for", "203.0.113.66")]).await;
            assert_eq!(word(&landed), "invalid_code");
            assert_eq!(client.calls(Messenger::current().exchange).await, calls, "{number}");
        }
    }
}

on_every_store! {
    /// Within the rate of new claims, no network loses one; beyond it, its codes wait. Sign-ins that began here go on.
    async fn a_network_that_makes_too_many_claims_waits_and_loses_none() {
        // Two claims for each of these.
        let limits = [("limits.enabled", "true"), ("limits.sign_in", "2/min")];
        let app = TestApp::with(development(&limits)).await;
        let (mut client, mut flood) = (app.client().await, app.client().await);
        let claim = async |flood: &mut Client, number: u32, from: &str| {
            flood.get(&format!("/no/such/page?code=flood-{number}"), &[("x-forwarded-for", from)]).await
        };
        for number in 0..4 {
            claim(&mut flood, number, &format!("192.0.2.{number}")).await.refused(404, 1004);
        }
        let limited = claim(&mut flood, 4, "192.0.2.99").await;
        assert_eq!(limited.refused(429, 1006).header("retry-after"), Some("15"));
        // The same code again is no new claim; another network has its own; and nothing was lost.
        claim(&mut flood, 0, "192.0.2.0").await.refused(404, 1004);
        claim(&mut flood, 5, "192.0.3.1").await.refused(404, 1004);
        let thief = flood.get(&format!("{CALLBACK}?code=flood-0"), &[("x-forwarded-for", "203.0.113.66")]).await;
        assert_eq!(word(&thief), "invalid_code");
        assert_eq!(client.calls(Messenger::current().exchange).await, 0);
        let (back, own) = identified(&app, &mut client, "user01").await;
        let path = format!("{CALLBACK}?{}", query(&back));
        client.get(&path, &[("x-forwarded-for", "192.0.2.9")]).await.refused(429, 1006);
        let landed = client.get(&path, &[("x-forwarded-for", "192.0.2.9"), ("cookie", &own)]).await;
        assert!(location(&landed).contains("/h5/#ticket="), "{landed:?}");
        app.clock.advance(Duration::from_secs(15));
        claim(&mut flood, 4, "192.0.2.99").await.refused(404, 1004);
    }
}

/// A store that does not answer holds a request up once, and not for long, however many codes it brings.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claims_wait_for_the_store_together() {
    let mut place = Servers::shared().cluster_store();
    place.timeouts[1] = "30s";
    let [_, redis] = place.addresses();
    let proxy = FaultProxy::to(&redis).await;
    let app = TestApp::at(&place.through(None, Some(&proxy)), development(&[])).await;
    let mut client = app.client().await;
    client.get("/no/such/page?code=one", &[]).await.refused(404, 1004);
    proxy.cut();
    let begun = Instant::now();
    client.get("/no/such/page?code=two&code=three", &[]).await.refused(404, 1004);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

/// What one node refused, another does not accept; a claim ends after ten minutes, when the code has long ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_holds_at_every_node() {
    StoreBackend::ScaledOut
        .run(async {
            let here = TestApp::start().await;
            let there = here.second_node().await;
            let (mut client, mut thief) = (here.client().await, there.client().await);
            let (back, own) = identified(&here, &mut client, "admin01").await;
            let refused = client.oauth_callback(&with_state(&back, "else"), &own).await;
            assert_eq!(word(&refused), "invalid_code");
            here.clock.advance(Duration::from_millis(599_999));
            assert_eq!(word(&elsewhere(&mut thief, &back).await), "invalid_code");
            // The own browser is sent to the other node.
            let landed = thief.oauth_callback(&back, &own).await;
            assert!(location(&landed).contains('#'), "{landed:?}");
            let (landed, _) = come_back_as(&mut client, &format!("http://{}/h5/", here.address), "user01").await;
            assert!(location(&landed).contains("/h5/#ticket="), "{landed:?}");
        })
        .await;
}
