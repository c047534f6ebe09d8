//! Sources of a socket's token: the header first, then a subprotocol, then the query where that is allowed.

use std::time::Duration;

use super::{AGENT, EMPLOYEE, ask, bearer};
use crate::harness::{Response, TestApp};
use crate::sign_in_proof::production;

/// The subprotocols that the response names, each in a header of its own.
fn agreed(answer: &Response) -> Vec<&str> {
    let named = answer.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("sec-websocket-protocol"));
    named.map(|(_, value)| value.as_str()).collect()
}

on_one_store! {
    async fn each_way_is_good_alone_and_one_subprotocol_is_agreed_on(app) {
        let mut client = app.client().await;
        let (token, other) = (client.sign_in("user01").await, client.sign_in("user01").await);
        let (auth, offer) = (bearer(&token), format!("bearer.{token}"));
        let (auth, offer, plain) = (("authorization", &*auth), ("sec-websocket-protocol", &*offer), ("sec-websocket-protocol", "deskpass.v1"));
        let both = [format!("{}, deskpass.v1", offer.1), format!("deskpass.v1,{}", offer.1), format!("chat, {}, {}", offer.1, offer.1)];
        let [before, after, twice] = both.each_ref().map(|both| ("sec-websocket-protocol", &**both));
        let query = format!("{EMPLOYEE}?token={token}");
        let wrong = format!("{EMPLOYEE}?token={other}");
        let shouted = bearer(&token).replace("Bearer", "BEARER ");
        for (path, fields, chosen) in [
            (EMPLOYEE, &[auth][..], &[][..]),
            (EMPLOYEE, &[("authorization", &shouted)], &[]),
            (EMPLOYEE, &[offer], &[offer.1]),
            (EMPLOYEE, &[before], &[plain.1]),
            (EMPLOYEE, &[after], &[plain.1]),
            (EMPLOYEE, &[twice], &[offer.1]),
            (EMPLOYEE, &[offer, plain], &[plain.1]),
            (EMPLOYEE, &[plain, offer], &[plain.1]),
            (EMPLOYEE, &[auth, plain], &[plain.1]),
            (EMPLOYEE, &[auth, offer], &[offer.1]),
            (EMPLOYEE, &[auth, offer, plain], &[plain.1]),
            (EMPLOYEE, &[auth, ("sec-websocket-protocol", "chat, graphql-ws")], &[]),
            (&query, &[], &[]),
            (&query, &[plain], &[plain.1]),
            (&query, &[auth, offer], &[offer.1]),
            // The query is ignored where a better source has a token.
            (&wrong, &[auth], &[]),
            (&wrong, &[offer], &[offer.1]),
            ("/api/ws/employee?token=x&token=y", &[auth], &[]),
        ] {
            let answer = ask(&app, path, fields).await;
            assert_eq!((answer.status, &*agreed(&answer)), (101, chosen), "{path} {fields:?} {answer:?}");
        }
    }

    /// With two different tokens, an attacker may have chosen one: both are refused, and no third source counts.
    async fn what_contradicts_itself_is_refused(app) {
        let mut client = app.client().await;
        let (token, other) = (client.sign_in("user01").await, client.sign_in("agent01").await);
        let (auth, basic, empty) = (bearer(&token), format!("Basic {token}"), "Bearer");
        let offers = [format!("bearer.{other}"), format!("bearer.{token}, bearer.{other}"), format!("bearer.{token}"), "bearer.".to_owned(), format!("Bearer.{token}")];
        let [theirs, two, ours, none, capital] = offers.each_ref().map(|offer| ("sec-websocket-protocol", &**offer));
        let (auth, basic, empty) = (("authorization", &*auth), ("authorization", &*basic), ("authorization", empty));
        let query = format!("{EMPLOYEE}?token={token}");
        let twice = format!("{EMPLOYEE}?token={token}&token={token}");
        for (path, fields, reason) in [
            (EMPLOYEE, &[auth, theirs][..], "malformed"),
            (EMPLOYEE, &[basic, ours], "missing"),
            (EMPLOYEE, &[empty, ours], "malformed"),
            (&query, &[basic], "missing"),
            (EMPLOYEE, &[two], "malformed"),
            (EMPLOYEE, &[ours, theirs], "malformed"),
            (EMPLOYEE, &[auth, two], "malformed"),
            (EMPLOYEE, &[auth, none], "malformed"),
            (&query, &[none], "malformed"),
            (EMPLOYEE, &[none], "malformed"),
            (EMPLOYEE, &[capital], "missing"),
            (&twice, &[], "missing"),
            (EMPLOYEE, &[], "missing"),
            (EMPLOYEE, &[("cookie", &format!("token={token}"))], "missing"),
            (EMPLOYEE, &[("sec-websocket-protocol", "bearer.\u{e9}")], "malformed"),
        ] {
            let answer = ask(&app, path, fields).await;
            assert_eq!(answer.refused(401, 1001).reason(), reason, "{path} {fields:?}");
            assert_eq!(agreed(&answer), [] as [&str; 0]);
        }
        let two = ask(&app, EMPLOYEE, &[auth, auth]).await;
        assert!(two.refused(400, 1002).json()["data"]["fields"]["authorization"].is_string());
        assert_eq!(app.auth().sockets.len(), 0);
    }
}

on_every_store! {
    async fn an_invalid_token_gets_the_reason_however_it_is_sent(app) {
        let mut client = app.client().await;
        let elsewhere = TestApp::start().await;
        let unknown = elsewhere.client().await.sign_in("user01").await;
        let expired = client.sign_in("user01").await;
        app.clock.advance(Duration::from_hours(8));
        let (signed_out, disabled) = (client.sign_in("user01").await, client.sign_in("agent01").await);
        client.logout(&signed_out).await.data();
        app.auth().operator().disable(app.key("agent01")).await.unwrap();
        let (service, _) = app.service_key("messages").await;
        for (token, reason) in [
            (&*expired, "expired"), (&signed_out, "signed_out"), (&disabled, "disabled"), (&unknown, "unknown"),
            ("nonsense", "malformed"), (&service, "malformed"), ("", "malformed"),
        ] {
            for path in [EMPLOYEE, AGENT] {
                let query = format!("{path}?token={token}");
                for (path, fields) in [
                    (path, [("authorization", &*bearer(token))]),
                    (path, [("sec-websocket-protocol", &*format!("deskpass.v1, bearer.{token}"))]),
                    (&query, [("sec-websocket-protocol", "deskpass.v1")]),
                ] {
                    let answer = ask(&app, path, &fields).await;
                    assert_eq!(answer.refused(401, 1001).reason(), reason, "{path} {fields:?}");
                }
            }
        }
    }

    async fn a_partial_session_opens_no_socket(app) {
        app.agent_with_device("agent01").await;
        let half = app.client().await.partial_sign_in("agent01").await;
        for path in [EMPLOYEE, AGENT] {
            for fields in [[("authorization", &*bearer(&half))], [("sec-websocket-protocol", &*format!("bearer.{half}"))]] {
                assert_eq!(ask(&app, path, &fields).await.refused(401, 1001).reason(), "half_authenticated");
            }
        }
    }
}

on_one_store! {
    async fn in_production_an_address_carries_no_token_unless_it_is_wanted() {
        for (more, opens) in [(&[][..], false), (&[("sockets.query_token", "true")], true)] {
            let (app, platform) = production(more).await;
            let token = platform.sign_in(&mut app.client().await, "user01").await;
            let answer = ask(&app, &format!("{EMPLOYEE}?token={token}"), &[]).await;
            if opens {
                assert_eq!(answer.status, 101, "{answer:?}");
            } else {
                assert_eq!(answer.refused(401, 1001).reason(), "missing");
            }
            let offered = ask(&app, EMPLOYEE, &[("sec-websocket-protocol", &format!("bearer.{token}"))]).await;
            assert_eq!(offered.status, 101, "{offered:?}");
        }
    }
}
