//! Valid and invalid settings of the client.

use deskpass_dingtalk::{Dingtalk, EventSettings, Hosts};
use deskpass_platform::{Inbound as _, InboundError, InboundRequest, SettingsError, Url};

use crate::platform::{Platform, SECRET, by_page};

#[test]
fn the_platforms_public_addresses_are_the_default() {
    let hosts = Hosts::default();
    assert_eq!(hosts.api.as_str(), "https://api.dingtalk.com/");
    assert_eq!(hosts.legacy_api.as_str(), "https://oapi.dingtalk.com/");
    assert_eq!(hosts.authorize.as_str(), "https://login.dingtalk.com/oauth2/auth");
    assert!(hosts.script.as_str().ends_with("/dingtalk.open.js"));
}

#[tokio::test]
async fn invalid_settings_are_refused_at_the_start() {
    let platform = Platform::start().await;
    for bad in ["", " ", "x ", "x\n", "密"] {
        for (field, name) in ["corp id", "client id", "secret", "agent id"].into_iter().enumerate() {
            let mut settings = platform.settings();
            match field {
                0 => settings.corp_id = bad.into(),
                1 => settings.client_id = bad.into(),
                2 => settings.secret = bad.into(),
                _ => settings.agent_id = Some(bad.into()),
            }
            let error = Dingtalk::new(settings, platform.clock.clone()).unwrap_err();
            assert_eq!(error, SettingsError::Unprintable(name), "{bad:?}");
        }
    }
    // It becomes a part of a path.
    for corp_id in ["a/b", "..", "a?b", "a%2fb"] {
        let mut settings = platform.settings();
        settings.corp_id = corp_id.into();
        assert!(Dingtalk::new(settings, platform.clock.clone()).is_err(), "{corp_id}");
    }
}

#[tokio::test]
async fn addresses_are_http_or_https_and_have_no_other_parts() {
    let platform = Platform::start().await;
    for bad in ["ftp://a.example.com", "data:,x", "http://u@a.example.com", "http://a.example.com/?x"] {
        let names = ["API address", "older API address", "login page", "script address"];
        for (field, name) in names.into_iter().enumerate() {
            let mut settings = platform.settings();
            let url = Url::parse(bad).unwrap();
            match field {
                0 => settings.hosts.api = url,
                1 => settings.hosts.legacy_api = url,
                2 => settings.hosts.authorize = url,
                _ => settings.hosts.script = url,
            }
            let error = Dingtalk::new(settings, platform.clock.clone()).unwrap_err();
            assert_eq!(error, SettingsError::Address(name), "{bad}");
        }
    }
    let mut settings = platform.settings();
    settings.proxy = Url::parse("socks5://127.0.0.1:1").ok();
    assert_eq!(Dingtalk::new(settings, platform.clock.clone()).unwrap_err(), SettingsError::Proxy);
}

#[tokio::test]
async fn a_configured_proxy_is_used_for_both_hosts() {
    let platform = Platform::start().await;
    let mut settings = platform.settings();
    // Only the proxy can resolve these names.
    settings.hosts.api = Url::parse("http://api.invalid/").unwrap();
    settings.hosts.legacy_api = Url::parse("http://oapi.invalid/").unwrap();
    settings.proxy = Url::parse(&format!("http://{}", platform.address)).ok();
    assert!(by_page(&Dingtalk::new(settings, platform.clock.clone()).unwrap()).await.is_ok());
}

#[tokio::test]
async fn no_secret_is_shown() {
    let platform = Platform::start().await;
    let mut settings = platform.settings();
    settings.proxy = Url::parse("http://user:canary-proxy@127.0.0.1:1").ok();
    settings.events = Some(EventSettings { token: "canary-events".into(), aes_key: "canary-key".into() });
    let shown = format!("{settings:?} {settings:#?} {:?} {:#?}", platform.client(), platform.client());
    assert!(shown.contains("dingdesk") && !shown.contains(SECRET) && !shown.contains("canary"), "{shown}");
}

#[tokio::test]
async fn no_event_is_accepted_without_settings() {
    let platform = Platform::start().await;
    let header = |_: &str| None::<&str>;
    let at = platform.clock.now();
    let request = InboundRequest { is_get: false, query: "", header: &header, body: b"{}", at, random: [0; 16] };
    assert_eq!(platform.client().read_inbound(&request), Err(InboundError::NotConfigured));
}
