//! Links, what browsers bring back, and the requests that carry a code.

use deskpass_platform::{CallbackReturn, EntryPoint, Error, LinkLanguage, LinkRequest, RedirectRule, SignIn as _};
use serde_json::json;

use crate::platform::{
    BY_UNION_ID, CLIENT, CORP, ME, Platform, SECRET, TOKEN, USER_INFO, USER_TOKEN, by_page, by_script, redeem,
};

fn request(entry: EntryPoint) -> LinkRequest<'static> {
    LinkRequest {
        entry,
        redirect_uri: "https://desk.example.com/api/auth/oauth2/callback",
        state: "auth_login~s~a+b c",
        challenge: None,
        language: LinkLanguage::En,
    }
}

#[tokio::test]
async fn the_link_reads_as_documented() {
    let platform = Platform::start().await;
    let dingtalk = platform.client();
    assert_eq!(dingtalk.redirect_rule(), RedirectRule::Exact);
    let expected = format!(
        "http://{}/oauth2/auth?client_id=dingclient\
         &redirect_uri=https%3A%2F%2Fdesk.example.com%2Fapi%2Fauth%2Foauth2%2Fcallback&response_type=code\
         &scope=openid%20corpid&prompt=consent&state=auth_login%7Es%7Ea%2Bb%20c",
        platform.address
    );
    for entry in [EntryPoint::Browser, EntryPoint::Client] {
        assert_eq!(dingtalk.link(&request(entry)), Some(expected.clone()));
    }
    assert_eq!(dingtalk.link(&request(EntryPoint::Script)), None);
}

#[tokio::test]
async fn the_platforms_own_browser_uses_the_script() {
    let platform = Platform::start().await;
    let dingtalk = platform.client();
    let agent = "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 AliApp(DingTalk/7.6.0) Mobile";
    assert_eq!(dingtalk.entry_point(agent), EntryPoint::Script);
    assert_eq!(dingtalk.entry_point("Mozilla/5.0 Firefox/140.0"), EntryPoint::Browser);
    let script = dingtalk.script().unwrap();
    assert_eq!(script.script_url, format!("http://{}/dingtalk.open.js", platform.address));
    assert_eq!(script.parameters, json!({ "corpId": CORP, "clientId": CLIENT }));
    assert!(script.module.contains("export async function requestCode("));
    // The page and the module wait for the same time.
    let limit = "\nconst SCRIPT_TIMEOUT_MS = 60000;\n";
    assert!(script.module.contains(limit) && include_str!("../../../../web/phone/open.js").contains(limit));
}

#[tokio::test]
async fn a_browser_brings_back_one_code_or_none() {
    let dingtalk = Platform::start().await.client();
    let code = |code: &str, state: Option<&str>| CallbackReturn::Code {
        code: code.to_owned(),
        state: state.map(str::to_owned),
    };
    for (query, expected) in [
        ("authCode=abc&state=s", code("abc", Some("s"))),
        ("code=abc&state=s", code("abc", Some("s"))),
        ("code=abc&authCode=abc&state=a%7Eb", code("abc", Some("a~b"))),
        ("code=abc&entry=script", code("abc", None)),
        ("state=s", CallbackReturn::Declined),
        ("", CallbackReturn::Declined),
        ("authCode=&code=", CallbackReturn::Declined),
        ("error=access_denied&state=s", CallbackReturn::Declined),
        ("authCode=abc&code=abd", CallbackReturn::Invalid),
        ("authCode=abc&code=", CallbackReturn::Invalid),
        ("code=abc&code=abc", CallbackReturn::Invalid),
        ("authCode=abc&authCode=abc", CallbackReturn::Invalid),
        ("code=abc&state=a&state=a", CallbackReturn::Invalid),
        ("error=a&error=b", CallbackReturn::Invalid),
        ("code=abc&error=a", CallbackReturn::Invalid),
    ] {
        assert_eq!(dingtalk.read_return(query), expected, "{query}");
    }
}

#[tokio::test]
async fn malformed_codes_are_not_sent() {
    let platform = Platform::start().await;
    let dingtalk = platform.client();
    let long = "x".repeat(513);
    for code in
        ["", " ", "a b", "a\n", "代码", "<script>", "'or'1", "a\"", "a&b", "a%00", "a/b", "..", "a..b", "../etc", &long]
    {
        for entry in [EntryPoint::Browser, EntryPoint::Client, EntryPoint::Script] {
            assert_eq!(redeem(&dingtalk, entry, code).await, Err(Error::BadCode), "{code:?}");
        }
    }
    assert_eq!(platform.total(), 0);
    for code in ["0af3", "a-B_c.d~e+f=", &"x".repeat(512)] {
        assert!(redeem(&dingtalk, EntryPoint::Script, code).await.is_ok(), "{code}");
    }
}

#[tokio::test]
async fn a_sign_in_through_the_page_makes_three_calls() {
    let platform = Platform::start().await;
    by_page(&platform.client()).await.unwrap();
    let body = json!({
        "clientId": CLIENT, "clientSecret": SECRET, "code": "code", "grantType": "authorization_code",
    });
    let exchange = platform.calls(USER_TOKEN).pop().unwrap();
    assert_eq!((exchange.method.as_str(), exchange.json()), ("POST", body));
    assert!(exchange.query.is_empty());
    let me = platform.calls(ME).pop().unwrap();
    assert_eq!((me.method.as_str(), me.body.as_str(), me.query.len()), ("GET", "", 0));
    assert_eq!(me.header("x-acs-dingtalk-access-token"), Some("canary-user-token"));
    let found = platform.calls(BY_UNION_ID).pop().unwrap();
    assert_eq!(found.query, [("access_token".into(), "canary-token-1".into())]);
    assert_eq!(found.json(), json!({ "unionid": "union01" }));
    assert_eq!((platform.count(TOKEN), platform.total()), (1, 4));
}

#[tokio::test]
async fn a_sign_in_through_the_script_makes_one_call() {
    let platform = Platform::start().await;
    by_script(&platform.client()).await.unwrap();
    let exchange = platform.calls(USER_INFO).pop().unwrap();
    assert_eq!(exchange.query, [("access_token".into(), "canary-token-1".into())]);
    assert_eq!(exchange.json(), json!({ "code": "code" }));
    assert_eq!((platform.count(TOKEN), platform.total()), (1, 2));
}
