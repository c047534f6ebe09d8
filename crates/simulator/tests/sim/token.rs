//! Access tokens: how they are issued, how long they live, and the errors of calls without one.

use crate::harness::Sim;

const APIS: [(&str, &str); 8] = [
    ("GET", "auth/getuserinfo"),
    ("GET", "user/getuserinfo"),
    ("GET", "user/get"),
    ("GET", "department/get"),
    ("GET", "department/list"),
    ("GET", "agent/get"),
    ("POST", "linkedcorp/user/get"),
    ("POST", "message/send"),
];

#[tokio::test]
async fn the_same_token_lasts_two_hours() {
    let sim = Sim::start().await;
    let path = "/cgi-bin/gettoken?corpid=wwdeskpass&corpsecret=a-secret";
    let first = sim.get(path).await.json();
    assert_eq!((&first["errcode"], &first["errmsg"], &first["expires_in"]), (&0.into(), &"ok".into(), &7200.into()));
    sim.advance(7_199);
    let again = sim.get(path).await.json();
    assert_eq!((&again["access_token"], &again["expires_in"]), (&first["access_token"], &1.into()));
    sim.advance(1);
    let next = sim.get(path).await.json();
    assert_ne!(next["access_token"], first["access_token"]);
    assert_eq!(next["expires_in"], 7200);
}

#[tokio::test]
async fn wrong_credentials_get_no_token() {
    let sim = Sim::start().await;
    for (query, errcode) in [
        ("", 41002),
        ("?corpsecret=a-secret", 41002),
        ("?corpid=&corpsecret=a-secret", 41002),
        ("?corpid=wwdeskpass", 41004),
        ("?corpid=wwdeskpass&corpsecret=", 41004),
        ("?corpid=wwother&corpsecret=a-secret", 40013),
        ("?corpid=wwdeskpass&corpsecret=wrong", 40001),
        ("?corpid=wwdeskpass&corpsecret=a-secret%20", 40001),
    ] {
        let answer = sim.get(&format!("/cgi-bin/gettoken{query}")).await;
        assert_eq!(answer.errcode(), errcode, "{query}");
        assert_eq!(answer.json().get("access_token"), None);
    }
}

#[tokio::test]
async fn every_other_call_needs_a_valid_token() {
    let sim = Sim::start().await;
    let token = sim.token().await;
    for (method, api) in APIS {
        let path = format!("/cgi-bin/{api}");
        assert_eq!(sim.send(method, &path, "{}").await.errcode(), 41001, "{api}");
        assert_eq!(sim.send(method, &format!("{path}?access_token="), "{}").await.errcode(), 41001, "{api}");
        assert_eq!(sim.send(method, &format!("{path}?access_token=x"), "{}").await.errcode(), 40014, "{api}");
        let in_body = format!("{{\"access_token\":\"{token}\"}}");
        assert_eq!(sim.send(method, &path, &in_body).await.errcode(), 41001, "{api}");
    }
    sim.advance(7_200);
    for (method, api) in APIS {
        let path = format!("/cgi-bin/{api}?access_token={token}");
        assert_eq!(sim.send(method, &path, "{}").await.errcode(), 42001, "{api}");
    }
}

#[tokio::test]
async fn an_old_token_ends_by_its_own_time() {
    let sim = Sim::start().await;
    let old = sim.token().await;
    sim.advance(7_200);
    let new = sim.token().await;
    let list = |token: &str| format!("/cgi-bin/department/list?access_token={token}");
    assert_eq!(sim.get(&list(&old)).await.errcode(), 42001);
    assert_eq!(sim.get(&list(&new)).await.errcode(), 0);
}

#[tokio::test]
async fn the_platform_may_void_a_token_early() {
    let sim = Sim::start().await;
    let (old, code) = (sim.token().await, sim.code("user01").await);
    let voided = sim.send("POST", "/void-tokens", "").await;
    assert_eq!((voided.status, &voided.json()["voided"]), (200, &1.into()));
    let ask = |token: &str| format!("/cgi-bin/auth/getuserinfo?access_token={token}&code={code}");
    assert_eq!(sim.get(&ask(&old)).await.errcode(), 40014);
    let new = sim.token().await;
    assert_ne!(new, old);
    // A rejected token has not consumed the code.
    assert_eq!(sim.get(&ask(&new)).await.json()["userid"], "user01");
}

#[tokio::test]
async fn refusals_are_worded_like_the_platforms() {
    let sim = Sim::start().await;
    let said = sim.get("/cgi-bin/user/get?access_token=x").await.json();
    let errmsg = said["errmsg"].as_str().unwrap();
    let (wording, rest) = errmsg.split_once(", hint: [").unwrap();
    let (hint, rest) = rest.split_once("], from ip: ").unwrap();
    assert_eq!(wording, "invalid access_token");
    assert!(hint.len() == 24 && hint.bytes().all(|byte| byte.is_ascii_digit()), "{hint}");
    assert_eq!(rest, "127.0.0.1, more info at https://open.work.weixin.qq.com/devtool/query?e=40014");
    // The refusal contains the fields of a success, empty.
    assert_eq!((&said["department"], &said["order"]), (&serde_json::json!([]), &serde_json::json!([])));
}
