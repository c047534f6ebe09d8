//! The sign-in links contain each expected parameter once.

use deskpass_core::{Clock, Timestamp};
use deskpass_wecom::{Hosts, Lang, Timeouts, Url, Wecom, WecomSettings};
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
    };
    Wecom::new(settings, Clock::manual(Timestamp::from_millis(0))).unwrap()
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
    let link = client(Some("1000002")).in_client_link("https://desk.example.com/cb?sid=1&x=a b", "auth_login");
    assert_eq!(
        link,
        "https://open.weixin.qq.com/connect/oauth2/authorize?appid=wwdesk\
         &redirect_uri=https%3A%2F%2Fdesk.example.com%2Fcb%3Fsid%3D1%26x%3Da+b\
         &response_type=code&scope=snsapi_base&state=auth_login&agentid=1000002#wechat_redirect"
    );
    assert!(!client(None).in_client_link("https://desk.example.com/", "s").contains("agentid"));
}

#[test]
fn the_link_for_a_desktop_needs_an_agent_id() {
    let link = client(Some("1000002")).web_link("https://desk.example.com/cb", "auth_login", Lang::En).unwrap();
    assert_eq!(
        link,
        "https://login.work.weixin.qq.com/wwlogin/sso/login?login_type=CorpApp&appid=wwdesk&agentid=1000002\
         &redirect_uri=https%3A%2F%2Fdesk.example.com%2Fcb&state=auth_login&lang=en"
    );
    assert_eq!(client(None).web_link("https://desk.example.com/cb", "auth_login", Lang::Zh), None);
}

#[test]
fn every_parameter_round_trips_once() {
    let (with, without) = (client(Some("1000002")), client(None));
    proptest!(|(redirect in "\\PC{0,200}|.{0,200}|https://[a-z]{1,9}/[#&=?%+/a-z]{0,60}", state in ".{0,130}")| {
        let (url, found) = parsed(&with.in_client_link(&redirect, &state));
        let mut expected = pairs(&[
            ("appid", "wwdesk"), ("redirect_uri", &redirect), ("response_type", "code"), ("scope", "snsapi_base"),
            ("state", &state), ("agentid", "1000002"),
        ]);
        prop_assert_eq!(&found, &expected);
        prop_assert_eq!((url.host_str(), url.fragment()), (Some("open.weixin.qq.com"), Some("wechat_redirect")));
        expected.pop();
        prop_assert_eq!(parsed(&without.in_client_link(&redirect, &state)).1, expected);

        let (url, found) = parsed(&with.web_link(&redirect, &state, Lang::Zh).unwrap());
        let expected = pairs(&[
            ("login_type", "CorpApp"), ("appid", "wwdesk"), ("agentid", "1000002"), ("redirect_uri", &redirect),
            ("state", &state), ("lang", "zh"),
        ]);
        prop_assert_eq!(found, expected);
        prop_assert_eq!((url.host_str(), url.fragment()), (Some("login.work.weixin.qq.com"), None));
    });
}
