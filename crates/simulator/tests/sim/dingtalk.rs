//! The simulated DingTalk.

use deskpass_simulator::Kind;
use serde_json::{Value, json};

use crate::harness::{Response, Sim, encode};

const CALLBACK: &str = "http://localhost:8080/api/auth/oauth2/callback";
const CORP_TOKEN: &str = "/v1.0/oauth2/dingdeskpass/token";
const USER_TOKEN: &str = "/v1.0/oauth2/userAccessToken";
const ME: &str = "/v1.0/contact/users/me";

async fn start() -> Sim {
    Sim::start_as(Kind::Dingtalk).await
}

async fn post(sim: &Sim, path: &str, body: &Value) -> Response {
    sim.send("POST", path, &body.to_string()).await
}

/// The word of a refusal of the newer API.
fn word(answer: &Response) -> (u16, String) {
    (answer.status, answer.json()["code"].as_str().unwrap().to_owned())
}

async fn token(sim: &Sim) -> String {
    let body =
        json!({ "client_id": "dingclientdeskpass", "client_secret": "a-secret", "grant_type": "client_credentials" });
    let answer = post(sim, CORP_TOKEN, &body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["access_token"].as_str().unwrap().to_owned()
}

/// Calls the older API with a valid token.
pub(crate) async fn call(sim: &Sim, api: &str, body: &Value) -> Response {
    let token = token(sim).await;
    post(sim, &format!("/topapi/{api}?access_token={token}"), body).await
}

/// A link to the login page with these parameters replacing the usual ones.
fn link(other: &[(&str, &str)]) -> String {
    let usual = [
        ("client_id", "dingclientdeskpass"),
        ("redirect_uri", CALLBACK),
        ("response_type", "code"),
        ("scope", "openid corpid"),
        ("prompt", "consent"),
        ("state", "auth_login~s~x"),
    ];
    let kept = usual.iter().filter(|(name, _)| other.iter().all(|(given, _)| given != name));
    format!("/oauth2/auth?{}", encode(kept.chain(other).copied()))
}

async fn page_code(sim: &Sim, other: &[(&str, &str)]) -> String {
    let at = sim.get(&link(other)).await.location();
    let pairs: Vec<(String, String)> = at.query_pairs().into_owned().collect();
    let [(first, code), (second, same), (third, state)] = pairs.as_slice() else { panic!("{at}") };
    assert_eq!([first, second, third], ["authCode", "code", "state"]);
    assert_eq!((code, state.as_str()), (same, "auth_login~s~x"));
    code.clone()
}

async fn script_code(sim: &Sim, user: &str) -> Response {
    sim.get(&format!("/request-auth-code?corpId=dingdeskpass&clientId=dingclientdeskpass&sim_user={user}")).await
}

fn exchange(code: &str) -> Value {
    json!({
        "clientId": "dingclientdeskpass", "clientSecret": "a-secret", "code": code, "grantType": "authorization_code",
    })
}

async fn user_token(sim: &Sim, user: &str) -> Value {
    let answer = post(sim, USER_TOKEN, &exchange(&page_code(sim, &[("sim_user", user)]).await)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

async fn me(sim: &Sim, token: &str) -> Response {
    sim.try_send("GET", ME, &[("x-acs-dingtalk-access-token", token)], "").await.unwrap()
}

#[tokio::test]
async fn three_calls_issue_the_same_token() {
    let sim = start().await;
    let first = token(&sim).await;
    sim.advance(7_000);
    let body = json!({ "appKey": "dingclientdeskpass", "appSecret": "a-secret" });
    let second = post(&sim, "/v1.0/oauth2/accessToken", &body).await.json();
    // A repeated call makes the token valid for a whole lifetime again.
    assert_eq!((second["accessToken"].as_str(), &second["expireIn"]), (Some(first.as_str()), &json!(7200)));
    let third = sim.get("/gettoken?appkey=dingclientdeskpass&appsecret=a-secret").await;
    assert_eq!((third.errcode(), &third.json()["access_token"]), (0, &json!(first)));
    sim.advance(7_199);
    let list = format!("/topapi/v2/department/listsub?access_token={first}");
    assert_eq!(post(&sim, &list, &json!({})).await.errcode(), 0);
    sim.advance(1);
    assert_eq!(post(&sim, &list, &json!({})).await.json()["sub_code"], "42001");
}

#[tokio::test]
async fn wrong_credentials_are_refused_in_the_shape_of_each_call() {
    let sim = start().await;
    let ask = |id: &str, secret: &str| json!({ "client_id": id, "client_secret": secret, "grant_type": "client_credentials" });
    let right = ask("dingclientdeskpass", "a-secret");
    let refused = post(&sim, "/v1.0/oauth2/dingother/token", &right).await;
    assert_eq!(word(&refused), (500, "unknownError".to_owned()));
    for wrong in [ask("other", "a-secret"), ask("dingclientdeskpass", "wrong"), json!({})] {
        assert_eq!(word(&post(&sim, CORP_TOKEN, &wrong).await), (400, "invalid.client".to_owned()));
    }
    let wrong = json!({ "appKey": "dingclientdeskpass", "appSecret": "wrong" });
    let refused = post(&sim, "/v1.0/oauth2/accessToken", &wrong).await;
    assert_eq!(word(&refused), (400, "invalidClientIdOrSecret".to_owned()));
    assert_eq!(sim.get("/gettoken?appkey=other&appsecret=a-secret").await.errcode(), 40096);
    assert_eq!(sim.get("/gettoken?appkey=dingclientdeskpass&appsecret=x").await.errcode(), 40089);
}

#[tokio::test]
async fn the_login_page_checks_the_link() {
    let sim = start().await;
    let page = sim.get_in("zh", &link(&[])).await;
    assert!(page.status == 200 && page.body.contains("模拟的钉钉") && page.body.contains("sim_user=user01"));
    for (other, status) in [
        (("client_id", "other"), 400),
        (("response_type", "token"), 400),
        (("scope", "corpid"), 400),
        (("scope", "openid contact"), 400),
        (("redirect_uri", "http://localhost:8080/callback"), 400),
        (("redirect_uri", "http://localhost:8080/api/auth/oauth2/callback?sid=1"), 400),
        (("sim_user", "nobody"), 404),
    ] {
        assert_eq!(sim.get(&link(&[other])).await.status, status, "{other:?}");
    }
    let denied = sim.get(&link(&[("sim_user", "deny")])).await.location();
    assert_eq!(denied.query(), Some("error=access_denied&state=auth_login%7Es%7Ex"));
}

#[tokio::test]
async fn a_code_of_the_page_becomes_a_user() {
    let sim = start().await;
    let code = page_code(&sim, &[("sim_user", "user01")]).await;
    let issued = post(&sim, USER_TOKEN, &exchange(&code)).await.json();
    assert_eq!((&issued["corpId"], &issued["expireIn"]), (&json!("dingdeskpass"), &json!(7200)));
    let again = post(&sim, USER_TOKEN, &exchange(&code)).await;
    assert_eq!(word(&again), (400, "invalidParameter.authCode.notFound".to_owned()));
    let mut wrong = exchange(&code);
    wrong["clientSecret"] = json!("wrong");
    assert_eq!(word(&post(&sim, USER_TOKEN, &wrong).await).1, "invalidClientIdOrSecret");

    let user = me(&sim, issued["accessToken"].as_str().unwrap()).await.json();
    assert_ne!(user["nick"], "Uma User");
    let found = call(&sim, "user/getbyunionid", &json!({ "unionid": user["unionId"] })).await.json();
    assert_eq!(found["result"], json!({ "userid": "user01", "contact_type": 0 }));
}

#[tokio::test]
async fn the_corporation_is_told_only_with_its_scope() {
    let sim = start().await;
    let code = page_code(&sim, &[("scope", "openid"), ("sim_user", "user01")]).await;
    let issued = post(&sim, USER_TOKEN, &exchange(&code)).await.json();
    assert!(issued["accessToken"].is_string() && issued.get("corpId").is_none(), "{issued}");
    assert_eq!(user_token(&sim, "wwpartner/partner01").await["corpId"], "dingpartner");
}

#[tokio::test]
async fn each_kind_of_person_is_known_differently() {
    let sim = start().await;
    for (id, contact_type) in [("admin01", 0), ("hidden01", 0), ("outsider01", 1)] {
        let found = call(&sim, "user/getbyunionid", &json!({ "unionid": format!("simUnion-{id}") })).await.json();
        assert_eq!(found["result"], json!({ "userid": id, "contact_type": contact_type }));
    }
    for id in ["left01", "wwpartner-partner01", "nobody"] {
        let body = json!({ "unionid": format!("simUnion-{id}") });
        assert_eq!(call(&sim, "user/getbyunionid", &body).await.errcode(), 60121, "{id}");
    }
    for (id, errcode) in [("user01", 0), ("hidden01", 60011), ("left01", 60121), ("outsider01", 60121), ("", 40003)] {
        assert_eq!(call(&sim, "v2/user/get", &json!({ "userid": id })).await.errcode(), errcode, "{id}");
    }
}

#[tokio::test]
async fn the_header_counts_at_the_newer_api_and_the_query_at_the_older_one() {
    let sim = start().await;
    let app = token(&sim).await;
    let user = user_token(&sim, "user01").await["accessToken"].as_str().unwrap().to_owned();
    assert_eq!(word(&sim.get(ME).await), (400, "AuthenticationFailed.MissingParameter".to_owned()));
    let by_query = sim.get(&format!("{ME}?access_token={user}")).await;
    assert_eq!(word(&by_query).1, "AuthenticationFailed.MissingParameter");
    assert_eq!(word(&me(&sim, &app).await).1, "InvalidAuthentication");
    sim.advance(7_200);
    assert_eq!(word(&me(&sim, &user).await).1, "accesstoken.expired");
    let headers = [("x-acs-dingtalk-access-token", app.as_str())];
    let by_header = sim.try_send("POST", "/topapi/v2/user/get", &headers, "{}").await.unwrap().json();
    assert_eq!((&by_header["errcode"], &by_header["sub_code"]), (&json!(88), &json!("40014")));
}

#[tokio::test]
async fn the_script_gets_codes_of_its_own_kind() {
    let sim = start().await;
    let script = sim.get("/dingtalk.open.js").await;
    assert!(script.header("content-type").unwrap().starts_with("text/javascript"));
    assert!(script.body.contains("window.dd") && script.body.contains("user01") && !script.body.contains("PEOPLE */"));
    let code = script_code(&sim, "user01").await.json()["code"].as_str().unwrap().to_owned();
    assert_eq!(word(&post(&sim, USER_TOKEN, &exchange(&code)).await).1, "invalidParameter.authCode.notFound");
    let page = page_code(&sim, &[("sim_user", "user01")]).await;
    assert_eq!(call(&sim, "v2/user/getuserinfo", &json!({ "code": page })).await.errcode(), 40078);
    let found = call(&sim, "v2/user/getuserinfo", &json!({ "code": code })).await.json();
    assert_eq!((&found["result"]["userid"], found["result"].get("corpId")), (&json!("user01"), None));
    assert_eq!(call(&sim, "v2/user/getuserinfo", &json!({ "code": code })).await.errcode(), 40078);
    let late = script_code(&sim, "user01").await.json()["code"].take();
    sim.advance(300);
    assert_eq!(call(&sim, "v2/user/getuserinfo", &json!({ "code": late })).await.errcode(), 40078);
    for id in ["outsider01", "hidden01", "left01", "nobody", "deny"] {
        assert_eq!(script_code(&sim, id).await.status, 403, "{id}");
    }
}

#[tokio::test]
async fn only_pages_of_trusted_domains_read_codes() {
    let sim = start().await;
    let path = "/request-auth-code?corpId=dingdeskpass&sim_user=user01";
    for (origin, allowed) in [("http://localhost:8080", true), ("https://evil.example", false), ("null", false)] {
        let answer = sim.try_send("GET", path, &[("origin", origin)], "").await.unwrap();
        let header = answer.header("access-control-allow-origin");
        assert_eq!(header, allowed.then_some(origin), "{origin}");
    }
    assert_eq!(sim.get("/request-auth-code?corpId=other&sim_user=user01").await.status, 403);
}

#[tokio::test]
async fn departments_and_members_are_listed() {
    let sim = start().await;
    let children = call(&sim, "v2/department/listsub", &json!({ "dept_id": 1 })).await.json()["result"].take();
    let ids: Vec<_> = children.as_array().unwrap().iter().map(|child| child["dept_id"].as_u64().unwrap()).collect();
    assert_eq!(ids, [2, 4, 5, 6]);
    let department = call(&sim, "v2/department/get", &json!({ "dept_id": "3" })).await.json()["result"].take();
    assert_eq!((&department["name"], &department["parent_id"]), (&json!("IT Service Desk"), &json!(2)));
    assert_eq!(call(&sim, "v2/department/get", &json!({ "dept_id": 77 })).await.errcode(), 60003);
    let ask = |cursor: u64| json!({ "dept_id": 3, "cursor": cursor, "size": 1 });
    let first = call(&sim, "v2/user/list", &ask(0)).await.json()["result"].take();
    assert_eq!((&first["has_more"], &first["next_cursor"]), (&json!(true), &json!(1)));
    let last = call(&sim, "v2/user/list", &ask(1)).await.json()["result"].take();
    assert_eq!((&last["has_more"], &last["list"][0]["userid"]), (&json!(false), &json!("supervisor01")));
    assert_eq!(call(&sim, "v2/user/list", &json!({ "dept_id": 3, "cursor": 0, "size": 101 })).await.errcode(), 40035);
}

async fn send_text(sim: &Sim, to: &str, text: &str) -> Value {
    let message = json!({ "msgtype": "text", "text": { "content": text } });
    let body = json!({ "agent_id": 1_000_002, "userid_list": to, "to_all_user": false, "msg": message });
    let answer = call(sim, "message/corpconversation/asyncsend_v2", &body).await;
    assert_eq!(answer.errcode(), 0, "{answer:?}");
    answer.json()["task_id"].take()
}

async fn result(sim: &Sim, task_id: &Value) -> Value {
    let body = json!({ "agent_id": 1_000_002, "task_id": task_id });
    call(sim, "message/corpconversation/getsendresult", &body).await.json()["send_result"].take()
}

#[tokio::test]
async fn a_success_does_not_prove_delivery() {
    let sim = start().await;
    let first = send_text(&sim, "user01,nobody,hidden01", "hello").await;
    let seen = result(&sim, &first).await;
    assert_eq!((&seen["unread_user_id_list"], &seen["forbidden_list"]), (&json!(["user01"]), &json!([])));
    assert_eq!(seen["invalid_user_id_list"], json!(["nobody", "hidden01"]));
    let second = send_text(&sim, "user01", "hello").await;
    assert_eq!(result(&sim, &second).await["forbidden_list"][0]["code"], 143_106);
    let messages = sim.get("/inbox").await.json()["messages"].take();
    assert_eq!(messages.as_array().unwrap().len(), 1);
    assert_eq!((&messages[0]["touser"], &messages[0]["text"]["content"]), (&json!(["user01"]), &json!("hello")));
    sim.advance(24 * 60 * 60);
    send_text(&sim, "user01", "hello").await;
    assert_eq!(sim.get("/inbox").await.json()["messages"].as_array().unwrap().len(), 2);
    assert!(result(&sim, &first).await.is_null(), "results are kept for a day");
}

#[tokio::test]
async fn a_member_gets_five_hundred_messages_a_day() {
    let sim = start().await;
    for number in 0..500 {
        send_text(&sim, "user01", &number.to_string()).await;
    }
    let over = send_text(&sim, "user01", "one more").await;
    assert_eq!(result(&sim, &over).await["forbidden_list"][0]["code"], 143_105);
    let other = send_text(&sim, "admin01", "one more").await;
    assert_eq!(result(&sim, &other).await["unread_user_id_list"], json!(["admin01"]));
}

#[tokio::test]
async fn invalid_messages_are_refused() {
    let sim = start().await;
    let text = |text: String| json!({ "msgtype": "text", "text": { "content": text } });
    let ask = |agent: Value, to: Value, message: Value| json!({ "agent_id": agent, "userid_list": to, "msg": message });
    for (body, errcode) in [
        (ask(json!("1000002"), json!("user01"), text("x".repeat(2_000))), 0),
        (ask(json!(7), json!("user01"), text("x".into())), 40056),
        (ask(json!(1_000_002), json!(""), text("x".into())), 40035),
        (ask(json!(1_000_002), json!("user01"), text("x".repeat(2_048))), 40035),
        (ask(json!(1_000_002), json!("user01"), text(String::new())), 40035),
        (ask(json!(1_000_002), json!("user01"), json!({ "msgtype": "text" })), 40035),
        (ask(json!(1_000_002), json!(vec!["u"; 101].join(",")), text("x".into())), 40035),
    ] {
        let answer = call(&sim, "message/corpconversation/asyncsend_v2", &body).await;
        assert_eq!(answer.errcode(), errcode, "{body}");
    }
}

#[tokio::test]
async fn limits_are_switched_on() {
    let sim = start().await;
    let user = user_token(&sim, "user01").await["accessToken"].as_str().unwrap().to_owned();
    let ask = json!({ "userid": "user01" });
    sim.send("PUT", "/switches", r#"{"trusted_ips":["192.0.2.1"]}"#).await;
    let refused = call(&sim, "v2/user/get", &ask).await;
    assert_eq!(refused.errcode(), 60020);
    assert!(refused.json()["errmsg"].as_str().unwrap().contains("127.0.0.1"));
    assert_eq!(word(&me(&sim, &user).await), (403, "Forbidden.AccessDenied.IpNotInWhiteList".to_owned()));
    sim.send("PUT", "/switches", r#"{"dingtalk_limit":"quota"}"#).await;
    assert_eq!(call(&sim, "v2/user/get", &ask).await.errcode(), 90020);
    assert_eq!(word(&me(&sim, &user).await), (403, "Forbidden.AccessDenied.ApiCountLimitForOrg".to_owned()));
    let app = token(&sim).await;
    sim.send("PUT", "/switches", r#"{"dingtalk_limit":"blocked"}"#).await;
    assert!(me(&sim, &user).await.body.starts_with("<!doctype html>"));
    let odd = post(&sim, &format!("/topapi/v2/user/get?access_token={app}"), &ask).await.json();
    assert_eq!((&odd["status"], &odd["punish"], odd.get("errcode")), (&json!(1111), &json!("deny"), None));
    assert_eq!(sim.send("PUT", "/switches", r#"{"dingtalk_limit":"other"}"#).await.status, 400);
}

#[tokio::test]
async fn faults_have_the_shape_of_their_api() {
    let sim = start().await;
    let fault = |api: &str, errcode: Value| json!({ "api": api, "errcode": errcode }).to_string();
    for (errcode, expected) in [
        (json!(60121), json!([60121, null])),
        (json!(40014), json!([88, "40014"])),
        (json!(88), json!([88, ""])),
        (json!("88/60011"), json!([88, "60011"])),
    ] {
        let app = token(&sim).await;
        sim.send("PUT", "/faults", &fault("topapi/v2/user/get", errcode)).await;
        let answer = post(&sim, &format!("/topapi/v2/user/get?access_token={app}"), &json!({})).await.json();
        assert_eq!(json!([answer["errcode"], answer["sub_code"]]), expected);
    }
    let denied = "Forbidden.AccessDenied.AccessTokenPermissionDenied";
    sim.send("PUT", "/faults", &fault("v1.0/contact/users/me", json!(denied))).await;
    let answer = sim.get(ME).await;
    assert_eq!(word(&answer), (403, denied.to_owned()));
    assert_eq!(answer.json()["accessdenieddetail"]["requiredScopes"], json!(["Contact.User.Read"]));
}

#[tokio::test]
async fn unknown_paths_and_calls() {
    let sim = start().await;
    assert_eq!(sim.get("/topapi/v3/nothing").await.errcode(), 22);
    assert_eq!(sim.get("/v1.0/nothing").await.status, 404);
    assert_eq!(sim.get("/cgi-bin/gettoken").await.status, 404);
    assert_eq!(sim.get(CORP_TOKEN).await.header("allow"), Some("POST"));
    user_token(&sim, "user01").await;
    let seen = sim.get("/calls").await.json();
    assert_eq!(seen["calls"], json!({ "v1.0/oauth2/userAccessToken": 1 }));
    let last = seen["last"]["v1.0/oauth2/userAccessToken"].to_string();
    assert!(last.contains("authorization_code") && !last.contains("a-secret"), "{last}");
    assert!(sim.get("").await.body.contains("oauth2/auth?client_id=dingclientdeskpass"));
}
