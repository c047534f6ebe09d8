//! The simulated Feishu: its page, its tokens in all versions, its directory and its messages.

use deskpass_simulator::Kind;
use serde_json::{Value, json};

use crate::harness::{Response, Sim, encode};

const CALLBACK: &str = "http://localhost:8080/api/auth/oauth2/callback";
/// The example of RFC 7636.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

const TENANT: &str = "/open-apis/auth/v3/tenant_access_token/internal";
const V3: &str = "/oauth/v3/token";
const V2: &str = "/open-apis/authen/v2/oauth/token";
const V1: &str = "/open-apis/authen/v1/access_token";
const OIDC: &str = "/open-apis/authen/v1/oidc/access_token";
const USER_INFO: &str = "/open-apis/authen/v1/user_info";
const MESSAGES: &str = "/open-apis/im/v1/messages";

async fn feishu() -> Sim {
    Sim::start_as(Kind::Feishu).await
}

/// A link with these parameters replacing or extending the usual ones; an empty parameter is left out.
fn link(other: &[(&str, &str)]) -> String {
    let usual = [("client_id", "cli_deskpass"), ("response_type", "code"), ("redirect_uri", CALLBACK), ("state", "s")];
    let kept = usual.iter().filter(|(name, _)| other.iter().all(|(given, _)| given != name));
    let pairs = kept.chain(other).filter(|(_, value)| !value.is_empty()).copied();
    format!("/open-apis/authen/v1/authorize?{}", encode(pairs))
}

async fn code(sim: &Sim, other: &[(&str, &str)]) -> String {
    let at = sim.get(&link(other)).await.location();
    at.query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned()
}

fn exchange(code: &str, other: &Value) -> Value {
    let mut body = json!({
        "grant_type": "authorization_code",
        "client_id": "cli_deskpass",
        "client_secret": "a-secret",
        "code": code,
        "redirect_uri": CALLBACK,
    });
    body.as_object_mut().unwrap().extend(other.as_object().unwrap().clone());
    body
}

/// The status and the error code of a response.
fn outcome(response: &Response) -> (u16, i64) {
    (response.status, response.json()["code"].as_i64().unwrap())
}

async fn post(sim: &Sim, path: &str, body: &Value) -> Response {
    sim.send("POST", path, &body.to_string()).await
}

async fn tenant_token(sim: &Sim) -> Response {
    post(sim, TENANT, &json!({ "app_id": "cli_deskpass", "app_secret": "a-secret" })).await
}

/// Calls an API with a token of the app.
pub(crate) async fn call(sim: &Sim, method: &str, path: &str, body: &Value) -> Response {
    let token = tenant_token(sim).await.json()["tenant_access_token"].as_str().unwrap().to_owned();
    with_token(sim, method, path, &token, body).await
}

async fn with_token(sim: &Sim, method: &str, path: &str, token: &str, body: &Value) -> Response {
    let bearer = format!("Bearer {token}");
    let body = if method == "GET" { String::new() } else { body.to_string() };
    sim.try_send(method, path, &[("authorization", bearer.as_str())], &body).await.expect("an answer")
}

async fn switch(sim: &Sim, switches: Value) {
    let answer = sim.send("PUT", "/switches", &json!({ "feishu": switches }).to_string()).await;
    assert_eq!(answer.status, 200, "{answer:?}");
}

#[tokio::test]
async fn the_page_asks_who_and_sends_back_a_code_or_a_refusal() {
    let sim = feishu().await;
    let page = sim.get(&link(&[])).await;
    assert!(page.status == 200 && page.body.contains("Uma User") && page.body.contains("sim_user=deny"));
    let at = sim.get(&link(&[("sim_user", "user01")])).await.location();
    assert!(at.as_str().starts_with(&format!("{CALLBACK}?code=")) && at.as_str().ends_with("&state=s"), "{at}");
    let at = sim.get(&link(&[("sim_user", "deny")])).await.location();
    assert_eq!(at.as_str(), format!("{CALLBACK}?error=access_denied&state=s"));
    assert_eq!(sim.get(&link(&[("sim_user", "nobody")])).await.status, 404);
}

#[tokio::test]
async fn only_a_registered_address_gets_a_code() {
    let sim = feishu().await;
    for redirect_uri in [
        "",
        "http://localhost:8080/api/auth/oauth2/callback/",
        "http://localhost:8080/api/auth/oauth2/callback?sid=1",
        "http://evil.example/api/auth/oauth2/callback",
    ] {
        let page = sim.get(&link(&[("redirect_uri", redirect_uri), ("sim_user", "user01")])).await;
        assert!(page.status == 400 && page.body.contains("20029"), "{redirect_uri}: {page:?}");
    }
    for other in [[("client_id", "cli_other")], [("response_type", "token")], [("code_challenge", "x")]] {
        assert_eq!(sim.get(&link(&other)).await.status, 400, "{other:?}");
    }
}

#[tokio::test]
async fn flat_answers_of_the_newer_calls() {
    let sim = feishu().await;
    for path in [V3, V2] {
        let code = code(&sim, &[("sim_user", "user01")]).await;
        let answer = post(&sim, path, &exchange(&code, &json!({}))).await;
        assert_eq!(outcome(&answer), (200, 0), "{answer:?}");
        let said = answer.json();
        assert_eq!(
            (&said["token_type"], &said["expires_in"], said.get("data")),
            (&json!("Bearer"), &json!(7200), None)
        );
        let token = said["access_token"].as_str().unwrap();
        assert!(token.starts_with("eyJ") && token.len() > 1_024);
        let profile = with_token(&sim, "GET", USER_INFO, token, &Value::Null).await.json();
        let data = &profile["data"];
        assert_eq!((&data["user_id"], &data["open_id"]), (&json!("user01"), &json!("ou_user01")));
        assert_eq!((&data["tenant_key"], &data["name"]), (&json!("tenantdeskpass"), &json!("Uma User")));
    }
    // Only the newest one takes a form.
    let form = |code: &str| {
        let fields = exchange(code, &json!({}));
        let fields: Vec<_> = fields
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()))
            .collect();
        encode(fields.iter().map(|(name, value)| (name.as_str(), value.as_str())))
    };
    for (path, expected) in [(V3, (200, 0)), (V2, (400, 20_001))] {
        let body = form(&code(&sim, &[("sim_user", "user01")]).await);
        let kind = [("content-type", "application/x-www-form-urlencoded")];
        let answer = sim.try_send("POST", path, &kind, &body).await.unwrap();
        assert_eq!(outcome(&answer), expected, "{path}");
    }
}

#[tokio::test]
async fn nested_answers_of_the_older_calls() {
    let sim = feishu().await;
    for (path, has_profile) in [(V1, true), (OIDC, false)] {
        let code = code(&sim, &[("sim_user", "user01")]).await;
        let ask = json!({ "grant_type": "authorization_code", "code": code });
        assert_eq!(outcome(&post(&sim, path, &ask).await), (400, 99_991_661), "it needs the app's token");
        let said = call(&sim, "POST", path, &ask).await.json();
        let token = said["data"]["access_token"].as_str().unwrap();
        assert!(token.starts_with("u-") && said.get("access_token").is_none());
        assert_eq!(said["data"].get("open_id").is_some(), has_profile, "{said}");
        assert_eq!(outcome(&with_token(&sim, "GET", USER_INFO, token, &Value::Null).await), (200, 0));
    }
}

#[tokio::test]
async fn refused_exchanges_leave_the_code_usable_until_it_was_used() {
    let sim = feishu().await;
    let code =
        code(&sim, &[("sim_user", "user01"), ("code_challenge", CHALLENGE), ("code_challenge_method", "S256")]).await;
    let good = json!({ "code_verifier": VERIFIER });
    for (other, error) in [
        (json!({ "grant_type": "password" }), 20_036),
        (json!({ "client_id": "cli_other" }), 20_048),
        (json!({ "client_secret": "wrong" }), 20_002),
        (json!({ "client_secret": "" }), 20_001),
        (json!({ "code": "" }), 20_001),
        (json!({ "code": "made-up" }), 20_003),
        (json!({ "redirect_uri": "http://localhost/api/auth/oauth2/callback" }), 20_071),
        (json!({ "redirect_uri": "" }), 20_071),
        (json!({}), 20_049),
        (json!({ "code_verifier": CHALLENGE }), 20_049),
    ] {
        let answer = post(&sim, V3, &exchange(&code, &other)).await;
        assert_eq!(outcome(&answer), (400, error), "{other}");
        assert!(answer.json()["error"].is_string() && answer.json().get("access_token").is_none());
    }
    assert_eq!(outcome(&post(&sim, V3, &exchange(&code, &good)).await), (200, 0));
    assert_eq!(outcome(&post(&sim, V3, &exchange(&code, &good)).await), (400, 20_065));
    // A verifier without a challenge: only the newest version minds.
    for (path, expected) in [(V3, (400, 20_049)), (V2, (200, 0))] {
        let code = self::code(&sim, &[("sim_user", "user01")]).await;
        assert_eq!(outcome(&post(&sim, path, &exchange(&code, &good)).await), expected, "{path}");
    }
}

#[tokio::test]
async fn codes_last_five_minutes_or_three() {
    let sim = feishu().await;
    for (entry, seconds) in [("", 300), ("script", 180)] {
        let who = [("sim_user", "user01"), ("sim_entry", entry)];
        let (early, late) = (code(&sim, &who).await, code(&sim, &who).await);
        sim.advance(seconds - 1);
        assert_eq!(outcome(&post(&sim, V3, &exchange(&early, &json!({}))).await), (200, 0));
        sim.advance(1);
        assert_eq!(outcome(&post(&sim, V3, &exchange(&late, &json!({}))).await), (400, 20_004));
    }
    let script = code(&sim, &[("sim_user", "user01"), ("sim_entry", "script")]).await;
    let answer = post(&sim, V3, &exchange(&script, &json!({ "redirect_uri": "" }))).await;
    assert_eq!(outcome(&answer), (200, 0), "a code of a script was sent to no address");
}

#[tokio::test]
async fn the_token_of_the_app_overlaps_with_the_next() {
    let sim = feishu().await;
    let first = tenant_token(&sim).await.json();
    assert_eq!((&first["code"], &first["expire"]), (&json!(0), &json!(7200)));
    sim.advance(5_399);
    assert_eq!(tenant_token(&sim).await.json()["tenant_access_token"], first["tenant_access_token"]);
    sim.advance(1);
    let second = tenant_token(&sim).await.json();
    assert_ne!(second["tenant_access_token"], first["tenant_access_token"]);
    let scopes = "/open-apis/contact/v3/scopes";
    let ask =
        async |token: &Value| outcome(&with_token(&sim, "GET", scopes, token.as_str().unwrap(), &Value::Null).await);
    assert_eq!(ask(&first["tenant_access_token"]).await, (200, 0));
    assert_eq!(ask(&second["tenant_access_token"]).await, (200, 0));
    sim.advance(1_800);
    assert_eq!(ask(&first["tenant_access_token"]).await, (400, 99_991_663));
    assert_eq!(ask(&json!("nonsense")).await, (400, 99_991_671));
    assert_eq!(outcome(&sim.get(scopes).await), (400, 99_991_661));
    for (body, error) in [
        (json!({}), 10_003),
        (json!({ "app_id": "cli_other", "app_secret": "a-secret" }), 10_003),
        (json!({ "app_id": "cli_deskpass", "app_secret": "wrong" }), 10_014),
    ] {
        assert_eq!(outcome(&post(&sim, TENANT, &body).await), (200, error), "this call refuses with a success");
    }
}

#[tokio::test]
async fn the_token_of_a_user_ends() {
    let sim = feishu().await;
    let code = code(&sim, &[("sim_user", "user01")]).await;
    let token = post(&sim, V3, &exchange(&code, &json!({}))).await.json()["access_token"].as_str().unwrap().to_owned();
    let info = async |token: &str| outcome(&with_token(&sim, "GET", USER_INFO, token, &Value::Null).await);
    assert_eq!((info(&token).await, info("eyJother").await), ((200, 0), (400, 99_991_668)));
    sim.advance(7_200);
    assert_eq!(info(&token).await, (400, 99_991_677));
}

#[tokio::test]
async fn strangers_permissions_and_ranges() {
    let sim = feishu().await;
    let profile = async |who: &str| {
        let code = code(&sim, &[("sim_user", who)]).await;
        let answer = post(&sim, V3, &exchange(&code, &json!({}))).await;
        let Some(token) = answer.json()["access_token"].as_str().map(str::to_owned) else { return answer.json() };
        with_token(&sim, "GET", USER_INFO, &token, &Value::Null).await.json()["data"].clone()
    };
    let stranger = profile("outsider01").await;
    assert!(stranger["tenant_key"] != "tenantdeskpass" && stranger.get("user_id").is_none(), "{stranger}");
    assert_eq!(profile("wwpartner/partner01").await["tenant_key"], "wwpartner");
    switch(&sim, json!({ "no_user_id": true })).await;
    assert_eq!(profile("user01").await.get("user_id"), None);
    let by_user_id = "/open-apis/contact/v3/users/user01?user_id_type=user_id";
    assert_eq!(outcome(&call(&sim, "GET", by_user_id, &Value::Null).await), (400, 99_991_672));
    switch(&sim, json!({ "limited_availability": true })).await;
    assert_eq!(profile("hidden01").await["code"], 20_010);
    assert_eq!(profile("user01").await["user_id"], "user01");
}

#[tokio::test]
async fn members_and_departments_are_read_and_listed() {
    let sim = feishu().await;
    let get = async |path: &str| call(&sim, "GET", &format!("/open-apis/contact/v3/{path}"), &Value::Null).await;
    let user = get("users/ou_user01").await.json()["data"]["user"].clone();
    assert_eq!((&user["user_id"], &user["department_ids"]), (&json!("user01"), &json!(["od-4"])));
    assert_eq!(get("users/left01?user_id_type=user_id").await.json()["data"]["user"]["status"]["is_resigned"], true);
    for (path, error) in [
        ("users/hidden01?user_id_type=user_id", 41_050),
        ("users/nobody?user_id_type=user_id", 41_012),
        ("users/user01?user_id_type=email", 40_001),
        ("departments/od-99", 40_004),
        ("departments/od-1", 40_004),
        ("users/find_by_department?department_id=od-99", 40_004),
        ("users/find_by_department?department_id=0&page_size=51", 40_011),
        ("users/find_by_department?department_id=0&page_token=x", 40_012),
    ] {
        assert_eq!(outcome(&get(path).await), (400, error), "{path}");
    }
    assert_eq!(get("departments/od-2").await.json()["data"]["department"]["parent_department_id"], "0");
    let first = get("departments/0/children?page_size=3").await.json()["data"].clone();
    assert_eq!((&first["has_more"], first["items"].as_array().unwrap().len()), (&json!(true), 3));
    let rest = format!("departments/0/children?page_size=3&page_token={}", first["page_token"].as_str().unwrap());
    let rest = get(&rest).await.json()["data"].clone();
    assert_eq!((&rest["has_more"], rest["items"].as_array().unwrap().len()), (&json!(false), 1));
    let all = get("departments/0/children?fetch_child=true").await.json();
    assert_eq!(all["data"]["items"].as_array().unwrap().len(), 6);
    let desk = get("users/find_by_department?department_id=od-3").await.json()["data"].clone();
    assert_eq!(desk["items"].as_array().unwrap().len(), 2);
    assert_eq!(get("users/find_by_department?department_id=od-7").await.json()["data"], json!({ "has_more": false }));
    assert_eq!(get("scopes").await.json()["data"]["department_ids"], json!(["od-2", "od-4", "od-5", "od-6"]));
}

#[tokio::test]
async fn messages_are_delivered_once_for_each_uuid() {
    let sim = feishu().await;
    let path = format!("{MESSAGES}?receive_id_type=user_id");
    let text = |to: &str, uuid: &str| json!({ "receive_id": to, "msg_type": "text", "content": r#"{"text":"hello"}"#, "uuid": uuid });
    let first = call(&sim, "POST", &path, &text("user01", "u1")).await.json();
    assert_eq!(
        call(&sim, "POST", &path, &text("user01", "u1")).await.json()["data"]["message_id"],
        first["data"]["message_id"]
    );
    sim.advance(3_600);
    call(&sim, "POST", &path, &text("user01", "u1")).await;
    let inbox = sim.get("/inbox").await.json();
    let messages = inbox["messages"].as_array().unwrap();
    assert_eq!(
        (messages.len(), &messages[0]["text"]["content"], &messages[0]["touser"]),
        (2, &json!("hello"), &json!(["user01"]))
    );
    for (to, error) in [("nobody", 230_034), ("left01", 230_013)] {
        assert_eq!(outcome(&call(&sim, "POST", &path, &text(to, "u2")).await), (400, error), "{to}");
    }
    let long = "u".repeat(51);
    assert_eq!(outcome(&call(&sim, "POST", &path, &text("user01", &long)).await), (400, 230_001));
    assert_eq!(outcome(&call(&sim, "POST", MESSAGES, &text("user01", "u3")).await), (400, 230_001));
    let plain = json!({ "receive_id": "user01", "msg_type": "text", "content": { "text": "an object, not a text" } });
    assert_eq!(outcome(&call(&sim, "POST", &path, &plain).await), (400, 230_001));
    switch(&sim, json!({ "no_bot": true })).await;
    assert_eq!(outcome(&call(&sim, "POST", &path, &text("user01", "u4")).await), (400, 230_006));
}

#[tokio::test]
async fn only_shared_cards_can_be_changed() {
    let sim = feishu().await;
    let path = format!("{MESSAGES}?receive_id_type=open_id");
    let card = |shared: bool| json!({ "config": { "update_multi": shared }, "elements": [] }).to_string();
    let send = async |content: String| {
        let ask = json!({ "receive_id": "ou_user01", "msg_type": "interactive", "content": content });
        let said = call(&sim, "POST", &path, &ask).await.json();
        format!("{MESSAGES}/{}", said["data"]["message_id"].as_str().unwrap())
    };
    let (shared, own) = (send(card(true)).await, send(card(false)).await);
    let change = async |message: &str, content: String| {
        outcome(&call(&sim, "PATCH", message, &json!({ "content": content })).await)
    };
    assert_eq!(change(&shared, card(true)).await, (200, 0));
    assert_eq!(change(&own, card(true)).await, (400, 230_001));
    assert_eq!(change(&shared, card(false)).await, (400, 230_001));
    assert_eq!(change(&shared, "[]".to_owned()).await, (400, 230_099));
    assert_eq!(change(&format!("{MESSAGES}/om_other"), card(true)).await, (400, 99_992_354));
    sim.advance(14 * 86_400);
    assert_eq!(change(&shared, card(true)).await, (400, 230_031));
}

#[tokio::test]
async fn unknown_paths_limits_and_faults() {
    let sim = feishu().await;
    for (method, path) in
        [("GET", "/open-apis/nothing"), ("GET", TENANT), ("POST", USER_INFO), ("POST", "/oauth/v4/token")]
    {
        let answer = sim.send(method, path, "{}").await;
        assert_eq!((answer.status, answer.body.as_str()), (404, "404 page not found"), "{path}");
        assert!(answer.header("content-type").unwrap().starts_with("text/plain"));
        assert_eq!(answer.header("x-tt-logid").unwrap().len(), 32);
    }
    switch(&sim, json!({ "rate_limit": 12 })).await;
    let limited = tenant_token(&sim).await;
    assert_eq!(outcome(&limited), (429, 99_991_400));
    assert_eq!(limited.header("x-ogw-ratelimit-reset"), Some("12"));
    switch(&sim, json!({})).await;
    let fault = r#"{"api":"open-apis/contact/v3/users/:id","errcode":99991400}"#;
    assert_eq!(sim.send("PUT", "/faults", fault).await.status, 200);
    let answer = call(&sim, "GET", "/open-apis/contact/v3/users/ou_user01", &Value::Null).await;
    assert_eq!((outcome(&answer), answer.header("x-ogw-ratelimit-reset")), ((429, 99_991_400), Some("30")));
    assert_eq!(sim.send("PUT", "/faults", r#"{"api":"oauth/v3/token","errcode":"word"}"#).await.status, 400);
    sim.send("PUT", "/switches", r#"{"trusted_ips":["192.0.2.1"]}"#).await;
    let denied = call(&sim, "GET", "/open-apis/contact/v3/scopes", &Value::Null).await;
    assert_eq!(outcome(&denied), (400, 99_991_401));
    assert!(denied.json()["msg"].as_str().unwrap().contains("127.0.0.1"));
}
