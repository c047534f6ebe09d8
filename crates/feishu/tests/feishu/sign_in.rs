//! Links, what browsers bring back, and the requests that carry a code.

use deskpass_platform::{
    CallbackReturn, CodeRedemption, EntryPoint, LinkLanguage, LinkRequest, RedirectRule, SignIn as _, Url,
};
use serde_json::json;

use crate::platform::{APP, CALLBACK, Platform, SECRET, USER_INFO, USER_TOKEN, member};

#[tokio::test]
async fn the_link_says_what_the_platform_wants_and_no_more() {
    let platform = Platform::start().await;
    let feishu = platform.client();
    let link = |entry, challenge| {
        let (redirect_uri, state, language) = (CALLBACK, "auth_login~p", LinkLanguage::Zh);
        feishu.link(&LinkRequest { entry, redirect_uri, state, challenge, language })
    };
    let expected = [
        ("client_id", APP),
        ("response_type", "code"),
        ("redirect_uri", CALLBACK),
        ("state", "auth_login~p"),
        ("code_challenge", "abc"),
        ("code_challenge_method", "S256"),
    ];
    for entry in [EntryPoint::Client, EntryPoint::Browser] {
        for (challenge, count) in [(None, 4), (Some("abc"), 6)] {
            let url = Url::parse(&link(entry, challenge).unwrap()).unwrap();
            let pairs: Vec<_> = url.query_pairs().into_owned().collect();
            let expected = expected[..count].iter().map(|(name, value)| ((*name).into(), (*value).into()));
            assert_eq!(pairs, expected.collect::<Vec<(String, String)>>());
            assert_eq!((url.path(), url.fragment()), ("/page", None));
        }
    }
    assert_eq!(link(EntryPoint::Script, None), None);
    assert_eq!(platform.total(), 0);
}

#[tokio::test]
async fn the_entry_point_depends_on_the_browser() {
    let feishu = Platform::start().await.client();
    let mobile = "Mozilla/5.0 (iPhone) AppleWebKit/605.1.15 Mobile/15E148 Safari/604.1";
    assert_eq!(feishu.entry_point(mobile), EntryPoint::Browser);
    for own in ["Lark/7.1.0 LarkLocale/zh_CN ChannelName/Feishu", "Feishu/7.1.0"] {
        assert_eq!(feishu.entry_point(&format!("{mobile} {own}")), EntryPoint::Client);
    }
    assert_eq!((feishu.redirect_rule(), feishu.supports_pkce()), (RedirectRule::Exact, true));
    assert_eq!(feishu.script(), None);
}

#[tokio::test]
async fn contradictory_returns_have_no_code() {
    let feishu = Platform::start().await.client();
    let code =
        |code: &str, state: Option<&str>| CallbackReturn::Code { code: code.into(), state: state.map(str::to_owned) };
    for (query, expected) in [
        ("code=abc&state=auth_login", code("abc", Some("auth_login"))),
        ("state=auth_login%7Ep&code=a%2Bb", code("a+b", Some("auth_login~p"))),
        ("code=abc&entry=script&entry=x", code("abc", None)),
        ("error=access_denied&state=auth_login", CallbackReturn::Declined),
        ("state=auth_login", CallbackReturn::Declined),
        ("code=&state=auth_login", CallbackReturn::Declined),
        ("", CallbackReturn::Declined),
        ("code=a&code=b", CallbackReturn::Invalid),
        ("code=a&code=a", CallbackReturn::Invalid),
        ("code=a&%63ode=b", CallbackReturn::Invalid),
        ("code=a&state=x&state=y", CallbackReturn::Invalid),
        ("code=a&error=access_denied", CallbackReturn::Invalid),
        ("error=a&error=b", CallbackReturn::Invalid),
    ] {
        assert_eq!(feishu.read_return(query), expected, "{query}");
    }
}

#[tokio::test]
async fn a_code_of_a_page_is_exchanged_with_its_address_and_verifier() {
    let platform = Platform::start().await;
    let feishu = platform.client();
    let redemption = |entry, verifier| CodeRedemption { code: "x-a_b.c~d+e=", entry, redirect_uri: CALLBACK, verifier };
    assert_eq!(feishu.redeem(redemption(EntryPoint::Client, Some("verify-me"))).await, Ok(member("user01")));
    assert_eq!(feishu.redeem(redemption(EntryPoint::Script, None)).await, Ok(member("user01")));
    let mut expected = json!({
        "grant_type": "authorization_code",
        "client_id": APP,
        "client_secret": SECRET,
        "code": "x-a_b.c~d+e=",
        "redirect_uri": CALLBACK,
        "code_verifier": "verify-me",
    });
    let calls = platform.calls(USER_TOKEN);
    assert_eq!(calls[0].json(), expected);
    assert_eq!((calls[0].method.as_str(), calls[0].header("authorization")), ("POST", None));
    // A code of a script was sent to no address.
    let fields = expected.as_object_mut().unwrap();
    fields.remove("redirect_uri");
    fields.remove("code_verifier");
    assert_eq!(calls[1].json(), expected);
    let profile = platform.calls(USER_INFO).pop().unwrap();
    assert_eq!((profile.method.as_str(), profile.query.len()), ("GET", 0));
    assert_eq!(profile.header("authorization"), Some("Bearer canary-user-token"));
    // Two calls for each sign-in, and none for a token of the application.
    assert_eq!(platform.total(), 4);
}
