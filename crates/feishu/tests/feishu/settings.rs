//! Valid and invalid settings of the client.

use deskpass_feishu::{EventSettings, Feishu, Hosts, UserIdKind};
use deskpass_platform::{Messenger as _, PlatformKind, SettingsError, Url};

use crate::platform::{APP, Platform, SECRET, TENANT, member, redeem};

#[test]
fn the_platforms_public_addresses_are_the_default() {
    let hosts = Hosts::default();
    assert_eq!(hosts.api.as_str(), "https://open.feishu.cn/");
    assert_eq!(hosts.authorize.as_str(), "https://accounts.feishu.cn/open-apis/authen/v1/authorize");
    assert_eq!(hosts.token.as_str(), "https://accounts.feishu.cn/oauth/v3/token");
    let lark = Hosts::lark();
    assert_eq!(lark.api.as_str(), "https://open.larksuite.com/");
    assert_eq!(lark.authorize.as_str(), "https://accounts.larksuite.com/open-apis/authen/v1/authorize");
    assert_eq!(lark.token.as_str(), "https://open.larksuite.com/open-apis/authen/v2/oauth/token");
}

#[test]
fn the_api_address_decides_between_feishu_and_lark() {
    let of = |api: &str| Hosts::for_api(Url::parse(api).unwrap());
    assert_eq!(of("https://open.feishu.cn"), Hosts::default());
    assert_eq!(of("https://open.larksuite.com"), Hosts::lark());
    assert_eq!(of("https://relay.example.com/x").token, Hosts::default().token);
    assert_eq!(of("https://relay.example.com/x").api.as_str(), "https://relay.example.com/x");
    assert_eq!(of("https://evillarksuite.com").authorize, Hosts::default().authorize);
    assert_eq!(UserIdKind::parse("open_id"), Some(UserIdKind::OpenId));
    assert_eq!((UserIdKind::parse("union_id"), UserIdKind::default()), (None, UserIdKind::UserId));
}

#[tokio::test]
async fn invalid_settings_are_refused_at_the_start() {
    let platform = Platform::start().await;
    for bad in ["", " ", "x ", "x\n", "密"] {
        for (field, name) in ["tenant key", "app id", "secret"].into_iter().enumerate() {
            let mut settings = platform.settings();
            match field {
                0 => settings.tenant_key = bad.into(),
                1 => settings.app_id = bad.into(),
                _ => settings.secret = bad.into(),
            }
            let error = Feishu::new(settings, platform.clock.clone()).unwrap_err();
            assert_eq!(error, SettingsError::Unprintable(name), "{bad:?}");
        }
    }
    for bad in ["ftp://a.example.com", "data:,x", "http://u@a.example.com", "http://a.example.com/?x"] {
        for (field, name) in ["API address", "authorize page", "token address"].into_iter().enumerate() {
            let mut settings = platform.settings();
            let url = Url::parse(bad).unwrap();
            match field {
                0 => settings.hosts.api = url,
                1 => settings.hosts.authorize = url,
                _ => settings.hosts.token = url,
            }
            let error = Feishu::new(settings, platform.clock.clone()).unwrap_err();
            assert_eq!(error, SettingsError::Address(name), "{bad}");
        }
    }
    let mut settings = platform.settings();
    settings.proxy = Url::parse("socks5://127.0.0.1:1").ok();
    assert_eq!(Feishu::new(settings, platform.clock.clone()).unwrap_err(), SettingsError::Proxy);
}

#[tokio::test]
async fn a_configured_proxy_is_used() {
    let platform = Platform::start().await;
    let mut settings = platform.settings();
    // Only the proxy can resolve these names.
    settings.hosts.api = Url::parse("http://platform.invalid/").unwrap();
    settings.hosts.token = Url::parse("http://accounts.invalid/oauth/v3/token").unwrap();
    settings.proxy = Url::parse(&format!("http://{}", platform.address)).ok();
    let feishu = Feishu::new(settings, platform.clock.clone()).unwrap();
    assert_eq!(redeem(&feishu, "code").await, Ok(member("user01")));
}

#[tokio::test]
async fn no_secret_is_shown() {
    let platform = Platform::start().await;
    let mut settings = platform.settings();
    settings.proxy = Url::parse("http://user:canary-proxy@127.0.0.1:1").ok();
    settings.events = Some(EventSettings { encrypt_key: "canary-key".into(), token: "canary-event".into() });
    let feishu = Feishu::new(settings.clone(), platform.clock.clone()).unwrap();
    let shown = format!("{settings:?} {settings:#?} {feishu:?} {feishu:#?}");
    assert!(shown.contains(TENANT) && shown.contains(APP), "{shown}");
    for secret in [SECRET, "canary"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    assert_eq!(feishu.kind(), PlatformKind::Feishu);
}
