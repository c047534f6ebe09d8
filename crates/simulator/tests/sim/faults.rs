//! Fault injection.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::harness::Sim;

async fn put(sim: &Sim, fault: &Value) -> u16 {
    sim.send("PUT", "/faults", &fault.to_string()).await.status
}

const TOKEN: &str = "/cgi-bin/gettoken?corpid=wwdeskpass&corpsecret=a-secret";

#[tokio::test]
async fn a_fault_applies_once_and_only_to_its_call() {
    let sim = Sim::start().await;
    assert_eq!(put(&sim, &json!({ "api": "user/get", "errcode": 45009 })).await, 200);
    assert_eq!(sim.call("department/list", &[]).await.errcode(), 0);
    let said = sim.call("user/get", &[("userid", "user01")]).await;
    assert_eq!((said.errcode(), said.json().get("name")), (45009, None));
    let errmsg = said.json()["errmsg"].as_str().unwrap().to_owned();
    assert!(errmsg.starts_with("api freq out of limit, hint: [") && errmsg.ends_with("e=45009"), "{errmsg}");
    assert_eq!(sim.call("user/get", &[("userid", "user01")]).await.errcode(), 0);
}

#[tokio::test]
async fn a_fault_does_not_use_up_the_code() {
    let sim = Sim::start().await;
    let code = sim.code("user01").await;
    put(&sim, &json!({ "api": "auth/getuserinfo", "errcode": -1 })).await;
    assert_eq!(sim.call("auth/getuserinfo", &[("code", &code)]).await.errcode(), -1);
    assert_eq!(sim.call("auth/getuserinfo", &[("code", &code)]).await.errcode(), 0);
}

#[tokio::test]
async fn any_status_body_and_header_can_be_returned() {
    let sim = Sim::start().await;
    put(&sim, &json!({ "http_status": 502 })).await;
    let answer = sim.get(TOKEN).await;
    assert_eq!((answer.status, answer.header("content-type")), (502, Some("text/html; charset=utf-8")));
    put(&sim, &json!({ "body": "{\"errcode\":0,\"acc" })).await;
    let answer = sim.get(TOKEN).await;
    assert_eq!((answer.status, answer.body.as_str()), (200, "{\"errcode\":0,\"acc"));
    put(&sim, &json!({ "http_status": 500, "errcode": -1 })).await;
    let answer = sim.get(TOKEN).await;
    assert_eq!((answer.status, &answer.json()["errcode"]), (500, &json!(-1)));
    let headers = json!({ "location": "http://localhost:1/", "content-type": "text/plain" });
    put(&sim, &json!({ "http_status": 302, "headers": headers, "body": "" })).await;
    let answer = sim.get(TOKEN).await;
    assert_eq!((answer.status, answer.header("location")), (302, Some("http://localhost:1/")));
    assert_eq!(answer.header("content-type"), Some("text/plain"));
    assert_eq!(sim.get(TOKEN).await.errcode(), 0);
}

#[tokio::test]
async fn a_connection_can_be_dropped() {
    let sim = Sim::start().await;
    put(&sim, &json!({ "api": "gettoken", "drop": true })).await;
    assert!(sim.try_send("GET", TOKEN, &[], "").await.is_none());
    assert_eq!(sim.get(TOKEN).await.errcode(), 0);
}

#[tokio::test]
async fn a_response_can_be_delayed() {
    let sim = Sim::start().await;
    put(&sim, &json!({ "api": "gettoken", "delay_ms": 600_000 })).await;
    assert!(timeout(Duration::from_millis(60), sim.get(TOKEN)).await.is_err());
    put(&sim, &json!({ "api": "gettoken", "delay_ms": 60, "errcode": 40013 })).await;
    put(&sim, &json!({ "api": "gettoken", "delay_ms": 60 })).await;
    assert_eq!(sim.get(TOKEN).await.errcode(), 40013);
    assert_eq!(sim.get(TOKEN).await.errcode(), 0);
}

#[tokio::test]
async fn faults_queue_up_and_count_down() {
    let sim = Sim::start().await;
    put(&sim, &json!({ "api": "gettoken", "errcode": 1, "times": 2 })).await;
    put(&sim, &json!({ "errcode": 2 })).await;
    put(&sim, &json!({ "api": "gettoken", "errcode": 3, "times": 0 })).await;
    assert_eq!(sim.get("/faults").await.json()["faults"].as_array().unwrap().len(), 3);
    assert_eq!(sim.get(TOKEN).await.errcode(), 1);
    assert_eq!(sim.get("/faults").await.json()["faults"][0]["times"], 1);
    for errcode in [1, 2, 3, 3, 3] {
        assert_eq!(sim.get(TOKEN).await.errcode(), errcode);
    }
    assert_eq!(sim.get("/faults").await.json()["faults"][0]["api"], "gettoken");
    assert_eq!(sim.send("DELETE", "/faults", "").await.json(), json!({ "faults": [] }));
    assert_eq!(sim.get(TOKEN).await.errcode(), 0);
}

#[tokio::test]
async fn an_invalid_fault_is_explained() {
    let sim = Sim::start().await;
    for (fault, said) in [
        (r#"{"errcod":1}"#, "unknown field `errcod`"),
        (r#"{"errcode":"1"}"#, "invalid type: string"),
        (r#"{"errcode":1,"errcode":2}"#, "duplicate field"),
        (r#"{"api":"user/nothing","errcode":1}"#, "unknown api \"user/nothing\", expected one of gettoken"),
        (r#"{"http_status":100}"#, "http_status"),
        (r#"{"http_status":1000}"#, "http_status"),
        (r#"{"http_status":70000}"#, "invalid value"),
        (r#"{"delay_ms":-1}"#, "invalid value"),
        (r#"{"delay_ms":600001}"#, "delay_ms"),
        (r#"{"drop":"yes"}"#, "invalid type"),
        (r#"{"headers":{"a b":"c"}}"#, "headers"),
        (r#"{"headers":{"a":"b\r\nc: d"}}"#, "headers"),
        (r#"{"headers":{"Content-Length":"1"}}"#, "is set by the server"),
        (r#"{"times":3}"#, "the fault is empty"),
        ("{}", "the fault is empty"),
        ("[\"gettoken\", 1]", "JSON object"),
        ("", "JSON object"),
        ("{", "EOF"),
    ] {
        let answer = sim.send("PUT", "/faults", fault).await;
        let error = answer.json()["error"].as_str().unwrap_or_default().to_owned();
        assert!(answer.status == 400 && error.contains(said), "{fault}: {answer:?}");
    }
    assert_eq!(sim.get(TOKEN).await.errcode(), 0);
}

#[tokio::test]
async fn pending_faults_are_bounded() {
    let sim = Sim::start().await;
    for _ in 0..100 {
        assert_eq!(put(&sim, &json!({ "errcode": 1 })).await, 200);
    }
    assert_eq!(put(&sim, &json!({ "errcode": 1 })).await, 400);
}
