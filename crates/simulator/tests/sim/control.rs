//! Counters, switches, and unknown paths.

use deskpass_simulator::Domains;
use serde_json::json;

use crate::harness::{Sim, authorize};

#[tokio::test]
async fn calls_are_recorded_until_they_are_cleared() {
    let sim = Sim::start().await;
    assert_eq!(sim.get("/calls").await.json(), json!({ "calls": {}, "last": {} }));
    sim.call("user/get", &[("userid", "user01")]).await;
    sim.call("user/get", &[("userid", "nobody")]).await;
    sim.get("/cgi-bin/agent/get").await;
    // Requests of the phone are not calls of the service.
    sim.get(&authorize(&[("sim_user", "user01")])).await;
    let seen = sim.get("/calls").await.json();
    assert_eq!(seen["calls"], json!({ "gettoken": 2, "user/get": 2, "agent/get": 1 }));
    assert_eq!(seen["last"]["user/get"], json!({ "names": ["access_token", "userid"] }));
    assert_eq!(seen["last"]["gettoken"]["names"], json!(["corpid", "corpsecret"]));
    assert!(!seen.to_string().contains("a-secret"));
    assert_eq!(sim.send("DELETE", "/calls", "").await.json(), json!({ "calls": {}, "last": {} }));
    sim.token().await;
    assert_eq!(sim.get("/calls").await.json()["calls"], json!({ "gettoken": 1 }));
}

#[tokio::test]
async fn a_call_with_a_fault_is_recorded_too() {
    let sim = Sim::start().await;
    sim.send("PUT", "/faults", r#"{"drop":true}"#).await;
    assert!(sim.try_send("GET", "/cgi-bin/gettoken", &[], "").await.is_none());
    assert_eq!(sim.get("/calls").await.json()["calls"]["gettoken"], 1);
}

#[tokio::test]
async fn the_exact_parameters_of_an_exchange_can_be_seen() {
    let sim = Sim::start().await;
    let (token, code) = (sim.token().await, sim.code("user01").await);
    for api in ["auth/getuserinfo", "user/getuserinfo"] {
        sim.get(&format!("/cgi-bin/{api}?code={code}&access_token={token}&x=%20")).await;
        let last = sim.get("/calls").await.json()["last"][api].clone();
        assert_eq!(last["pairs"], json!([["code", code], ["access_token", token], ["x", " "]]));
        assert_eq!(last["names"], json!(["code", "access_token", "x"]));
    }
}

#[tokio::test]
async fn switches_are_shown_and_checked() {
    let sim = Sim::start().await;
    let off = sim.get("/switches").await.json();
    assert_eq!((&off["strict_state"], &off["trusted_ips"]), (&json!(false), &json!(null)));
    let on = sim.send("PUT", "/switches", r#"{"strict_state":true,"trusted_ips":["::1"]}"#).await.json();
    assert_eq!((&on["strict_state"], &on["trusted_ips"]), (&json!(true), &json!(["::1"])));
    for wrong in [r#"{"strict":true}"#, r#"{"strict_state":1}"#, r#"{"trusted_ips":["x"]}"#, "[]", "nothing"] {
        let answer = sim.send("PUT", "/switches", wrong).await;
        assert!(answer.status == 400 && answer.json()["error"].is_string(), "{wrong}");
    }
    assert_eq!(sim.get("/switches").await.json(), on);
    assert_eq!(sim.send("PUT", "/switches", "{}").await.json(), off);
}

#[tokio::test]
async fn other_paths_are_not_found() {
    let sim = Sim::start().await;
    for path in ["/nothing", "/cgi-bin", "/cgi-binx/gettoken", "x", "/inbox/", "/people/", "/events/x", "//"] {
        let answer = sim.get(path).await;
        assert_eq!((answer.status, &answer.json()["errcode"]), (404, &404.into()), "{path}");
    }
    let outside = "GET /simulated/cgi-bin/gettoken HTTP/1.1\r\nhost: sim\r\nconnection: close\r\n\r\n";
    assert_eq!(sim.raw(outside).await.unwrap().status, 404);
    // All paths also work at the root, as on the real hosts.
    let real = "GET /cgi-bin/gettoken HTTP/1.1\r\nhost: sim\r\nconnection: close\r\n\r\n";
    assert_eq!(sim.raw(real).await.unwrap().json()["errcode"], 41_002);
    let alone = Sim::with(Domains::Loopback, "").await;
    assert_eq!(alone.get("/sim/inbox").await.status, 404);
}

#[tokio::test]
async fn an_unknown_api_answers_with_an_error_code() {
    let sim = Sim::start().await;
    for api in ["", "gettoken/", "user/delete", "user/list_id", "unknown"] {
        assert_eq!(sim.get(&format!("/cgi-bin/{api}")).await.errcode(), 41001, "{api}");
        assert_eq!(sim.call(api, &[]).await.errcode(), 48002, "{api}");
        assert_eq!(sim.post(api, &json!({})).await.errcode(), 48002, "{api}");
    }
    assert_eq!(sim.get("/calls").await.json()["calls"]["unknown"], 15);
    // A fault cannot be queued for it by name.
    assert_eq!(sim.send("PUT", "/faults", r#"{"api":"unknown","errcode":1}"#).await.status, 400);
}

#[tokio::test]
async fn wrong_methods_get_the_allowed_methods() {
    let sim = Sim::start().await;
    for (method, path, allowed) in [
        ("POST", "/cgi-bin/gettoken", "GET"),
        ("GET", "/cgi-bin/message/send", "POST"),
        ("GET", "/cgi-bin/message/update_template_card", "POST"),
        ("GET", "/cgi-bin/user/convert_to_openid", "POST"),
        ("POST", "/connect/oauth2/authorize", "GET"),
        ("POST", "/wwlogin/sso/login", "GET"),
        ("POST", "", "GET"),
        ("POST", "/inbox", "GET, DELETE"),
        ("PATCH", "/faults", "GET, PUT, DELETE"),
        ("DELETE", "/switches", "GET, PUT"),
        ("PUT", "/calls", "GET, DELETE"),
        ("GET", "/void-tokens", "POST"),
        ("POST", "/events", "GET, PUT, DELETE"),
        ("GET", "/events/send", "POST"),
        ("PUT", "/events/retry", "POST"),
    ] {
        let answer = sim.send(method, path, "{}").await;
        assert_eq!((answer.status, answer.header("allow")), (405, Some(allowed)), "{method} {path}");
    }
    assert_eq!(sim.get("/calls").await.json()["calls"], json!({}));
}
