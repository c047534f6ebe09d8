//! Codes that arrive without a sign that the sign-in began here cost the platform no call, or few.

use std::time::Duration;

use deskpass_platform::PlatformKind;
use url::Url;

use super::{come_back_as, land, link_without_cookie};
use crate::harness::{
    Client, Messenger, Response, StoreBackend, TestApp, development, fragment, location, on_platform,
};

const CALLBACK: &str = "/api/auth/oauth2/callback";
/// A flow cookie that the service did not give.
const INVENTED: &str = "deskpass_flow=dpf_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

fn state_of(link: &str) -> String {
    let url = Url::parse(link).unwrap();
    url.query_pairs().find(|(name, _)| name == "state").unwrap().1.into_owned()
}

async fn bring(client: &mut Client, query: &str, headers: &[(&str, &str)]) -> Response {
    client.get(&format!("{CALLBACK}?{query}"), headers).await
}

/// The word and the code of an error.
fn refused(landed: &Response) -> (String, String) {
    (fragment(location(landed), "error"), fragment(location(landed), "code"))
}

async fn exchanges(client: &mut Client) -> u64 {
    client.calls(Messenger::current().exchange).await
}

on_every_platform! {
    both stores:
    /// Where the platform returns our state, one that we did not write lately is refused before the platform is asked.
    async fn a_state_that_is_not_ours_costs_no_call(app) {
        if !Messenger::current().registers_addresses() {
            return;
        }
        let mut client = app.client().await;
        let page = format!("http://{}/h5/", app.address);
        let ours = state_of(&link_without_cookie(&mut client, &page).await);
        let tampered = ours.replace("auth_login~", "auth_login~p");
        let shorter = &ours[..ours.len() - 2];
        let states = ["", "auth_login", "auth_login~p", "auth_login~b~AAAAAAAAAAAAAAAAAAAAAA", shorter, &tampered];
        for (number, state) in states.iter().enumerate() {
            for headers in [&[][..], &[("cookie", INVENTED)]] {
                let state = if state.is_empty() { String::new() } else { format!("&state={state}") };
                let query = format!("code=invented-{number}-{}{state}", headers.len());
                assert_eq!(refused(&bring(&mut client, &query, headers).await).0, "invalid_code", "{query}");
            }
        }
        assert_eq!(exchanges(&mut client).await, 0);
        bring(&mut client, &format!("code=invented&state={ours}"), &[]).await;
        assert_eq!(exchanges(&mut client).await, 1);
        app.clock.advance(Duration::from_mins(10));
        bring(&mut client, &format!("code=late&state={ours}"), &[]).await;
        assert_eq!(exchanges(&mut client).await, 1);
    }

    /// A browser that lost our cookie at the platform is asked, as before. Feishu's challenge needs the cookie.
    async fn a_browser_that_lost_its_cookie_is_asked(app) {
        let mut client = app.client().await;
        let page = format!("http://{}/h5/", app.address);
        let link = if Messenger::current().has_pkce() {
            link_without_cookie(&mut client, &page).await
        } else {
            client.begin_oauth(&page).await.0
        };
        let back = client.authorize(&link, "user01").await;
        let landed = client.oauth_callback(&back, "").await;
        assert!(location(&landed).contains("/continue/#continue="), "{landed:?}");
    }
}

on_every_store! {
    /// Where the platform returns no sign of ours, other codes have a budget, of which one address has a part.
    async fn foreign_codes_have_a_budget_of_their_own() {
        let budget = [("limits.foreign_codes", "2/min"), ("limits.foreign_codes_total", "3/min")];
        let app = TestApp::with(development(&[&[("limits.enabled", "true")], &budget[..]].concat())).await;
        let mut client = app.client().await;
        let page = format!("http://{}/h5/", app.address);
        let limited = ("invalid_code".to_owned(), "1006".to_owned());
        let [one, two, three] = ["203.0.113.1", "203.0.113.2", "203.0.113.3"].map(|from| [("x-forwarded-for", from)]);
        let steps = [(one, 1, false), (one, 2, false), (one, 2, true), (two, 3, false), (two, 3, true), (three, 3, true)];
        for (number, (from, calls, is_limited)) in steps.into_iter().enumerate() {
            let query = format!("code=invented-{number}&state=auth_login");
            let landed = bring(&mut client, &query, &from).await;
            assert_eq!(refused(&landed) == limited, is_limited, "{number}: {landed:?}");
            assert_eq!(exchanges(&mut client).await, calls, "{number}");
        }
        let rows = app.query("SELECT count(*) FROM login_log WHERE event = 'sign_in_refused' AND reason = 'codes_limited'");
        assert_eq!(rows, ["3"]);
        // Sign-ins that began here share nothing with them.
        for _ in 0..5 {
            assert!(land(&mut client, &page, "user01").await.contains("/h5/#ticket="));
        }
        assert!(!client.sign_in_by_phone("user01").await.is_empty());
        // A browser without our cookie waits, and its code stays its own.
        let (link, _) = client.begin_oauth(&page).await;
        let back = client.authorize(&link, "user01").await;
        let landed = client.oauth_callback(&back, "").await;
        assert_eq!(refused(&landed), limited, "{landed:?}");
        app.clock.advance(Duration::from_mins(1));
        let landed = client.oauth_callback(&back, "").await;
        assert!(location(&landed).contains("/continue/#continue="), "{landed:?}");
    }
}

on_every_platform! {
    both stores:
    /// A cookie, or a state of ours, is no licence to have the platform asked about any number of codes.
    async fn a_begun_sign_in_brings_few_codes() {
        let budget = [("limits.foreign_codes", "1/min"), ("limits.foreign_codes_total", "10/min")];
        let app = TestApp::with(development(&[&[("limits.enabled", "true")], &budget[..]].concat())).await;
        let mut client = app.client().await;
        let page = format!("http://{}/h5/", app.address);
        let (link, cookies) = client.begin_oauth(&page).await;
        let mut signs = vec![(state_of(&link), cookies)];
        if Messenger::current().registers_addresses() && !Messenger::current().has_pkce() {
            signs.push((state_of(&link_without_cookie(&mut client, &page).await), String::new()));
        }
        let limited = ("invalid_code".to_owned(), "1006".to_owned());
        let mut calls = 0;
        for (sign, (state, cookies)) in signs.into_iter().enumerate() {
            // Three of the sign-in, and one of the budget of the others.
            for number in 0..6 {
                let query = format!("code=invented-{sign}-{number}&state={state}");
                let headers = [("cookie", &*cookies)];
                let landed = bring(&mut client, &query, &headers[..usize::from(!cookies.is_empty())]).await;
                calls += u64::from(number < 4);
                assert_eq!(refused(&landed) == limited, number >= 4, "{sign} {number}: {landed:?}");
                assert_eq!(exchanges(&mut client).await, calls, "{sign} {number}");
            }
            app.clock.advance(Duration::from_mins(1));
        }
        // Others go on.
        assert!(land(&mut client, &page, "user01").await.contains("/h5/#ticket="));
    }
}

on_every_store! {
    /// Many addresses of one network do not use up what all others have.
    async fn a_network_leaves_the_others_their_part_of_the_budget() {
        let budget = [("limits.foreign_codes", "2/min"), ("limits.foreign_codes_total", "6/min")];
        let app = TestApp::with(development(&[&[("limits.enabled", "true")], &budget[..]].concat())).await;
        let mut client = app.client().await;
        for (network, (near, calls)) in [("2001:db8:1", 4), ("2001:db8:2", 6)].into_iter().enumerate() {
            for number in 0..8 {
                let from = format!("{near}:{number:x}::1");
                let query = format!("code=invented-{network}-{number}&state=auth_login");
                let landed = bring(&mut client, &query, &[("x-forwarded-for", &from)]).await;
                assert_eq!(refused(&landed).0, "invalid_code", "{landed:?}");
            }
            assert_eq!(exchanges(&mut client).await, calls, "{near}");
        }
    }
}

on_every_platform! {
    both stores:
    /// Whoever begins one sign-in after the other and invents the codes: then the codes of the network take the budget of the others.
    async fn a_network_whose_codes_are_refused_brings_few_more() {
        let budget = [("limits.foreign_codes", "2/min"), ("limits.foreign_codes_total", "10/min")];
        let app = TestApp::with(development(&[&[("limits.enabled", "true")], &budget[..]].concat())).await;
        let mut client = app.client().await;
        let page = format!("http://{}/h5/", app.address);
        // Codes that the platform accepts do not count.
        for _ in 0..32 {
            assert!(land(&mut client, &page, "user01").await.contains("/h5/#ticket="));
        }
        app.clock.advance(Duration::from_mins(1));
        let before = exchanges(&mut client).await;
        for flow in 0..40 {
            let (link, cookies) = client.begin_oauth(&page).await;
            let state = state_of(&link);
            for number in 0..3 {
                let query = format!("code=invented-{flow}-{number}&state={state}");
                let landed = bring(&mut client, &query, &[("cookie", &cookies)]).await;
                assert_eq!(refused(&landed).0, "invalid_code", "{landed:?}");
            }
        }
        // Thirty that were refused, and two of the budget of the others.
        assert_eq!(exchanges(&mut client).await, before + 32);
        let (link, cookies) = client.begin_oauth(&page).await;
        let back = client.authorize(&link, "user01").await;
        let limited = client.oauth_callback(&back, &cookies).await;
        assert_eq!(refused(&limited), ("invalid_code".to_owned(), "1006".to_owned()), "{limited:?}");
        // Another network signs in as usual, and so does this one soon after.
        let (link, cookies) = client.begin_oauth(&page).await;
        let back = client.authorize(&link, "user01").await;
        let query = Url::parse(&back).unwrap().query().unwrap().to_owned();
        let elsewhere = [("cookie", &*cookies), ("x-forwarded-for", "198.51.100.7")];
        let landed = bring(&mut client, &query, &elsewhere).await;
        assert!(location(&landed).contains("/h5/#ticket="), "{landed:?}");
        app.clock.advance(Duration::from_secs(20));
        for _ in 0..5 {
            assert!(land(&mut client, &page, "user01").await.contains("/h5/#ticket="));
        }
    }
}

on_every_store! {
    /// The sign-in of agents has no sign of its own: their clients obtain the codes.
    async fn codes_of_agents_share_the_budget_of_the_others() {
        let budget = [("limits.foreign_codes", "2/min"), ("limits.foreign_codes_total", "10/min")];
        let more = [("limits.enabled", "true"), ("agents.password_fallback", "always")];
        let app = TestApp::with(development(&[&more, &budget[..]].concat())).await;
        let mut client = app.client().await;
        let login = |code: &str| serde_json::json!({ "employee_id": "agent01", "code": code });
        for number in 0..4 {
            let answer = client.post("/api/agents/login", &[], &login(&format!("invented-{number}"))).await;
            let (status, code) = if number < 2 { (403, 1003) } else { (429, 1006) };
            answer.refused(status, code);
            assert_eq!(exchanges(&mut client).await, u64::min(number + 1, 2));
        }
        // The password counts as if the platform had not identified the code.
        let either = serde_json::json!({ "employee_id": "nobody", "code": "invented", "password": "wrong" });
        client.post("/api/agents/login", &[], &either).await.refused(401, 1011);
        // A browser that began here has codes of its own.
        let (link, cookies) = client.begin_oauth(&format!("http://{}/itagent/", app.address)).await;
        let back = client.authorize(&link, "agent01").await;
        let code = Url::parse(&back).unwrap().query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned();
        let signed_in = client.post("/api/agents/login", &[("cookie", &cookies)], &login(&code)).await;
        assert_eq!(signed_in.data()["current_role"], "agent");
    }

    async fn codes_at_the_callback_leave_agents_their_budget() {
        let budget = [("limits.foreign_codes", "off"), ("limits.foreign_codes_total", "2/min")];
        let app = TestApp::with(development(&[&[("limits.enabled", "true")], &budget[..]].concat())).await;
        let mut client = app.client().await;
        for number in 0..4 {
            let landed = bring(&mut client, &format!("code=invented-{number}&state=auth_login"), &[]).await;
            assert_eq!(refused(&landed).1 == "1006", number >= 2, "{landed:?}");
        }
        for number in 0..3 {
            let login = serde_json::json!({ "employee_id": "agent01", "code": format!("made-up-{number}") });
            let (status, code) = if number < 2 { (403, 1003) } else { (429, 1006) };
            client.post("/api/agents/login", &[], &login).await.refused(status, code);
        }
    }
}

/// While a node of version 0.2.0 is there, links are written as it reads them, and those that it wrote are accepted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn beside_an_older_node_sign_ins_go_on() {
    let test = on_platform(PlatformKind::Dingtalk, async {
        let app = TestApp::start().await;
        let (mut client, page) = (app.client().await, format!("http://{}/h5/", app.address));
        let bare = link_without_cookie(&mut client, &page).await;
        assert!(state_of(&bare).starts_with("auth_login~t~"), "{bare}");
        crate::harness::until("the older node is heard", async || {
            app.cluster_store().publish("carries 0123456789abcdef");
            let link = link_without_cookie(&mut client, &page).await;
            state_of(&link) == "auth_login"
        })
        .await;
        let link = link_without_cookie(&mut client, &page).await;
        let back = client.authorize(&link, "user01").await;
        let landed = client.oauth_callback(&back, "").await;
        assert!(location(&landed).contains("/continue/#continue="), "{landed:?}");
        let (link, _) = client.begin_oauth(&page).await;
        assert_eq!(state_of(&link).strip_prefix("auth_login~b~").map(str::len), Some(22), "{link}");
        let (landed, _) = come_back_as(&mut client, &page, "user01").await;
        assert!(location(&landed).contains("/h5/#ticket="), "{landed:?}");
    });
    Box::pin(StoreBackend::ScaledOut.run(test)).await;
}
