//! Valid and invalid settings of the client.

use deskpass_wecom::{EventSettings, Hosts, SettingsError, Url, Wecom};

use crate::platform::{ExchangeCode as _, Platform, SECRET};

#[test]
fn the_platforms_public_addresses_are_the_default() {
    let hosts = Hosts::default();
    assert_eq!(hosts.api.as_str(), "https://qyapi.weixin.qq.com/");
    assert_eq!(hosts.authorize.as_str(), "https://open.weixin.qq.com/connect/oauth2/authorize");
    assert_eq!(hosts.web_login.as_str(), "https://login.work.weixin.qq.com/wwlogin/sso/login");
}

#[tokio::test]
async fn invalid_settings_are_refused_at_the_start() {
    let platform = Platform::start().await;
    for bad in ["", " ", "x ", "x\n", "密"] {
        for (field, name) in ["corp id", "secret", "agent id", "event token", "event key"].into_iter().enumerate() {
            let mut settings = platform.settings();
            let events = |token: &str, aes_key: &str| EventSettings { token: token.into(), aes_key: aes_key.into() };
            match field {
                0 => settings.corp_id = bad.into(),
                1 => settings.secret = bad.into(),
                2 => settings.agent_id = Some(bad.into()),
                3 => settings.events = Some(events(bad, "key")),
                _ => settings.events = Some(events("token", bad)),
            }
            let error = Wecom::new(settings, platform.clock.clone()).unwrap_err();
            assert_eq!(error, SettingsError::Unprintable(name), "{bad:?}");
        }
    }
}

#[tokio::test]
async fn addresses_are_http_or_https_and_have_no_other_parts() {
    let platform = Platform::start().await;
    for bad in [
        "ftp://a.example.com",
        "file:///etc",
        "data:,x",
        "http://u@a.example.com",
        "http://a.example.com/?x",
        "http://a.example.com/#x",
    ] {
        for (field, name) in ["API address", "authorize page", "web sign-in page"].into_iter().enumerate() {
            let mut settings = platform.settings();
            let url = Url::parse(bad).unwrap();
            match field {
                0 => settings.hosts.api = url,
                1 => settings.hosts.authorize = url,
                _ => settings.hosts.web_login = url,
            }
            let error = Wecom::new(settings, platform.clock.clone()).unwrap_err();
            assert_eq!(error, SettingsError::Address(name), "{bad}");
        }
    }
    let mut settings = platform.settings();
    settings.proxy = Url::parse("socks5://127.0.0.1:1").ok();
    assert_eq!(Wecom::new(settings, platform.clock.clone()).unwrap_err(), SettingsError::Proxy);
}

#[tokio::test]
async fn a_configured_proxy_is_used() {
    let platform = Platform::start().await;
    let mut settings = platform.settings();
    // Only the proxy can resolve this name.
    settings.hosts.api = Url::parse("http://platform.invalid/sim").unwrap();
    settings.proxy = Url::parse(&format!("http://{}", platform.address)).ok();
    let wecom = Wecom::new(settings, platform.clock.clone()).unwrap();
    assert!(wecom.exchange_code("code").await.is_ok());
}

#[tokio::test]
async fn clones_share_the_state() {
    let platform = Platform::start().await;
    let wecom = platform.client();
    wecom.exchange_code("code").await.unwrap();
    wecom.clone().exchange_code("code").await.unwrap();
    assert_eq!(platform.count("gettoken"), 1);
}

#[tokio::test]
async fn no_secret_is_shown() {
    let platform = Platform::start().await;
    let mut settings = platform.settings();
    settings.proxy = Url::parse("http://user:canary-proxy@127.0.0.1:1").ok();
    settings.events = Some(EventSettings { token: "canary-events".into(), aes_key: "canary-events".into() });
    let shown = format!("{settings:?} {settings:#?} {:?} {:#?}", platform.client(), platform.client());
    let shown = format!("{shown} {:?}", settings.events);
    assert!(shown.contains("wwdesk") && !shown.contains(SECRET) && !shown.contains("canary"), "{shown}");
}
