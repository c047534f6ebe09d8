//! The sign-in links contain each expected parameter once, and what browsers bring back is read strictly.

use deskpass_core::{Clock, Timestamp};
use deskpass_platform::{CallbackReturn, EntryPoint, LinkLanguage, LinkRequest, RedirectRule, SignIn as _};
use deskpass_wecom::{Hosts, Timeouts, Url, Wecom, WecomSettings};
use proptest::prelude::*;

fn client(agent_id: Option<&str>) -> Wecom {
    let settings = WecomSettings {
        corp_id: "wwdesk".into(),
        secret: "secret".into(),
        agent_id: agent_id.map(Into::into),
        // No call is made here, so a machine without certificate authorities is sufficient.
        hosts: Hosts { api: Url::parse("http://127.0.0.1").unwrap(), ..Hosts::default() },
        proxy: None,
        timeouts: Timeouts::default(),
        events: None,
    };
    Wecom::new(settings, Clock::manual(Timestamp::from_millis(0))).unwrap()
}

fn in_client_link(wecom: &Wecom, redirect_uri: &str, state: &str) -> String {
    let (entry, language) = (EntryPoint::Client, LinkLanguage::Zh);
    wecom.link(&LinkRequest { entry, redirect_uri, state, challenge: None, language }).unwrap()
}

fn web_link(wecom: &Wecom, redirect_uri: &str, state: &str, language: LinkLanguage) -> Option<String> {
    wecom.link(&LinkRequest { entry: EntryPoint::Browser, redirect_uri, state, challenge: None, language })
}

fn parsed(link: &str) -> (Url, Vec<(String, String)>) {
    let url = Url::parse(link).unwrap();
    let pairs = url.query_pairs().into_owned().collect();
    (url, pairs)
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn the_link_for_the_platforms_own_browser_reads_as_documented() {
    let link = in_client_link(&client(Some("1000002")), "https://desk.example.com/cb?sid=1&x=a b", "auth_login");
    assert_eq!(
        link,
        "https://open.weixin.qq.com/connect/oauth2/authorize?appid=wwdesk\
         &redirect_uri=https%3A%2F%2Fdesk.example.com%2Fcb%3Fsid%3D1%26x%3Da+b\
         &response_type=code&scope=snsapi_base&state=auth_login&agentid=1000002#wechat_redirect"
    );
    assert!(!in_client_link(&client(None), "https://desk.example.com/", "s").contains("agentid"));
}

#[test]
fn the_link_for_a_desktop_needs_an_agent_id() {
    let to = "https://desk.example.com/cb";
    let link = web_link(&client(Some("1000002")), to, "auth_login", LinkLanguage::En).unwrap();
    assert_eq!(
        link,
        "https://login.work.weixin.qq.com/wwlogin/sso/login?login_type=CorpApp&appid=wwdesk&agentid=1000002\
         &redirect_uri=https%3A%2F%2Fdesk.example.com%2Fcb&state=auth_login&lang=en"
    );
    assert_eq!(web_link(&client(None), to, "auth_login", LinkLanguage::Zh), None);
}

#[test]
fn the_platforms_own_browser_begins_at_its_page() {
    let wecom = client(Some("1000002"));
    assert_eq!((wecom.redirect_rule(), wecom.supports_pkce(), wecom.script()), (RedirectRule::Domain, false, None));
    let own = "Mozilla/5.0 (Linux) AppleWebKit/537.36 MicroMessenger/7.0.1 wxwork/4.1.22 Language/zh";
    for own in [own, "Mozilla/5.0 (Windows NT 10.0) wxwork"] {
        assert_eq!(wecom.entry_point(own), EntryPoint::Client, "{own}");
    }
    for other in ["", "Mozilla/5.0 (X11) Firefox/140.0", "Mozilla/5.0 MicroMessenger/8.0.40"] {
        assert_eq!(wecom.entry_point(other), EntryPoint::Browser, "{other}");
    }
    let (redirect_uri, state, language) = ("https://desk.example.com/cb", "s", LinkLanguage::En);
    let scripted = LinkRequest { entry: EntryPoint::Script, redirect_uri, state, challenge: None, language };
    assert_eq!(wecom.link(&scripted), None);
}

#[test]
fn what_a_browser_brings_back_is_a_single_code() {
    let wecom = client(None);
    let code =
        |code: &str, state: Option<&str>| CallbackReturn::Code { code: code.into(), state: state.map(Into::into) };
    for (query, expected) in [
        ("code=a&state=auth_login", code("a", Some("auth_login"))),
        ("sid=1&state=auth_login&code=a%2Bb", code("a+b", Some("auth_login"))),
        ("code=a", code("a", None)),
        ("code=a&state=", code("a", Some(""))),
        ("code=a&errcode=0&appid=x", code("a", None)),
        ("", CallbackReturn::Declined),
        ("state=auth_login", CallbackReturn::Declined),
        ("code=&state=auth_login", CallbackReturn::Declined),
        ("code=a&errcode=-1&errmsg=no", CallbackReturn::Declined),
        ("errcode=50001", CallbackReturn::Declined),
        ("code=a&errcode=0&errcode=1", CallbackReturn::Declined),
        ("code=a&code=b", CallbackReturn::Invalid),
        ("code=a&code=a", CallbackReturn::Invalid),
        ("code=&code=a", CallbackReturn::Invalid),
        ("code=a&state=s&state=s", CallbackReturn::Invalid),
        ("errcode=1&state=s&state=t", CallbackReturn::Invalid),
    ] {
        assert_eq!(wecom.read_return(query), expected, "{query}");
    }
}

#[test]
fn every_parameter_round_trips_once() {
    let (with, without) = (client(Some("1000002")), client(None));
    proptest!(|(redirect in "\\PC{0,200}|.{0,200}|https://[a-z]{1,9}/[#&=?%+/a-z]{0,60}", state in ".{0,130}")| {
        let (url, found) = parsed(&in_client_link(&with, &redirect, &state));
        let mut expected = pairs(&[
            ("appid", "wwdesk"), ("redirect_uri", &redirect), ("response_type", "code"), ("scope", "snsapi_base"),
            ("state", &state), ("agentid", "1000002"),
        ]);
        prop_assert_eq!(&found, &expected);
        prop_assert_eq!((url.host_str(), url.fragment()), (Some("open.weixin.qq.com"), Some("wechat_redirect")));
        expected.pop();
        prop_assert_eq!(parsed(&in_client_link(&without, &redirect, &state)).1, expected);

        let (url, found) = parsed(&web_link(&with, &redirect, &state, LinkLanguage::Zh).unwrap());
        let expected = pairs(&[
            ("login_type", "CorpApp"), ("appid", "wwdesk"), ("agentid", "1000002"), ("redirect_uri", &redirect),
            ("state", &state), ("lang", "zh"),
        ]);
        prop_assert_eq!(found, expected);
        prop_assert_eq!((url.host_str(), url.fragment()), (Some("login.work.weixin.qq.com"), None));
    });
}
