//! The addresses of the platform: those of the settings, otherwise those of the public platform, or in development mode those of
//! the simulated one.

use deskpass_platform::{PlatformKind, SettingsError, Url};
use {deskpass_dingtalk as dingtalk_client, deskpass_feishu as feishu_client, deskpass_wecom as wecom_client};

use crate::config::{Platform, Settings, WebUrl};

/// The path of the simulated platform.
pub(crate) const SIMULATOR_BASE: &str = "/sim";

/// The setting with the address of the API.
const API_URL: &str = "platform.api_url";

/// An address of a platform.
pub(super) struct Address {
    /// Its setting.
    key: &'static str,
    /// The value of that setting, if it is set.
    given: fn(&Platform) -> Option<&WebUrl>,
    /// The address at the public platform.
    public: Url,
    used_by: AddressUser,
}

/// What uses an address.
#[derive(Clone, Copy)]
enum AddressUser {
    /// This service, for calls.
    Service,
    /// A browser, as a page.
    Browser,
    /// A page of this service, as a script.
    Page,
}

/// Chooses the address to use, from where an address is described.
type Choose<'a> = &'a mut dyn FnMut(Address) -> Result<Url, SettingsError>;

/// The addresses of WeCom.
pub(super) fn wecom(choose: Choose<'_>) -> Result<wecom_client::Hosts, SettingsError> {
    let wecom_client::Hosts { api, authorize, web_login } = wecom_client::Hosts::default();
    Ok(wecom_client::Hosts {
        api: choose(Address::api(api))?,
        authorize: choose(Address::authorize(authorize))?,
        web_login: choose(Address {
            key: "platform.web_login_url",
            given: |platform| platform.web_login_url.as_ref(),
            public: web_login,
            used_by: AddressUser::Browser,
        })?,
    })
}

/// The addresses of DingTalk.
pub(super) fn dingtalk(choose: Choose<'_>) -> Result<dingtalk_client::Hosts, SettingsError> {
    let dingtalk_client::Hosts { api, legacy_api, authorize, script } = dingtalk_client::Hosts::default();
    Ok(dingtalk_client::Hosts {
        api: choose(Address::api(api))?,
        legacy_api: choose(Address {
            key: "platform.legacy_api_url",
            given: |platform| platform.legacy_api_url.as_ref(),
            public: legacy_api,
            used_by: AddressUser::Service,
        })?,
        authorize: choose(Address::authorize(authorize))?,
        script: choose(Address {
            key: "platform.script_url",
            given: |platform| platform.script_url.as_ref(),
            public: script,
            used_by: AddressUser::Page,
        })?,
    })
}

/// The addresses of Feishu. Those of Lark follow from its API.
pub(super) fn feishu(choose: Choose<'_>) -> Result<feishu_client::Hosts, SettingsError> {
    let api = choose(Address::api(feishu_client::Hosts::default().api))?;
    let feishu_client::Hosts { api, authorize, token } = feishu_client::Hosts::for_api(api);
    Ok(feishu_client::Hosts {
        api,
        authorize: choose(Address::authorize(authorize))?,
        token: choose(Address {
            key: "platform.token_url",
            given: |platform| platform.token_url.as_ref(),
            public: token,
            used_by: AddressUser::Service,
        })?,
    })
}

/// Passes every address of a platform of this kind to `choose`.
fn visit(kind: PlatformKind, choose: Choose<'_>) -> Result<(), SettingsError> {
    match kind {
        PlatformKind::Wecom => wecom(choose).map(drop),
        PlatformKind::Dingtalk => dingtalk(choose).map(drop),
        PlatformKind::Feishu => feishu(choose).map(drop),
    }
}

/// The address that these settings use.
pub(super) fn in_use(settings: &Settings, address: &Address) -> Result<Url, SettingsError> {
    let text = match (address.given)(&settings.platform) {
        Some(given) => given.to_string(),
        None if settings.development.enabled => {
            let origin = match address.used_by {
                AddressUser::Service => settings.local_origin(),
                AddressUser::Browser | AddressUser::Page => settings.public_url.to_string(),
            };
            address.simulated(&format!("{origin}{SIMULATOR_BASE}"))
        }
        None => return Ok(address.public.clone()),
    };
    Url::parse(&text).map_err(|_| SettingsError::Address(address.key))
}

/// The address of the API that these settings use, for people.
pub(crate) fn api_url(settings: &Settings) -> Result<String, SettingsError> {
    let mut found = String::new();
    visit(settings.platform.kind, &mut |address| {
        let url = in_use(settings, &address)?;
        if address.key == API_URL {
            url.as_str().trim_end_matches('/').clone_into(&mut found);
        }
        Ok(url)
    })?;
    Ok(found)
}

/// The settings of a service that uses the platform simulated at this address: their keys and values.
pub(crate) fn simulated_addresses(
    kind: PlatformKind,
    base: &str,
) -> Result<Vec<(&'static str, String)>, SettingsError> {
    let mut found = Vec::new();
    visit(kind, &mut |address| {
        found.push((address.key, address.simulated(base)));
        Ok(address.public)
    })?;
    Ok(found)
}

impl Address {
    fn api(public: Url) -> Self {
        let given: fn(&Platform) -> Option<&WebUrl> = |platform| platform.api_url.as_ref();
        Self { key: API_URL, given, public, used_by: AddressUser::Service }
    }

    fn authorize(public: Url) -> Self {
        let given: fn(&Platform) -> Option<&WebUrl> = |platform| platform.authorize_url.as_ref();
        Self { key: "platform.authorize_url", given, public, used_by: AddressUser::Browser }
    }

    /// The address at the platform simulated at `base`, which has the paths of the public one. Of scripts it has only the file
    /// names: the directories belong to the host that distributes them.
    fn simulated(&self, base: &str) -> String {
        let path = self.public.path().trim_end_matches('/');
        match self.used_by {
            AddressUser::Service | AddressUser::Browser => format!("{base}{path}"),
            AddressUser::Page => format!("{base}/{}", path.rsplit('/').next().unwrap_or_default()),
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::config::{self, Override, Sources};

    /// Settings of this kind with these values.
    fn settings(kind: PlatformKind, given: &[(&'static str, &str)]) -> Settings {
        let set = |key, value: &str| Override { key, value: value.to_owned(), flag: "a test" };
        let kind = [set("platform.kind", kind.name())];
        let overrides = kind.into_iter().chain(given.iter().map(|&(key, value)| set(key, value))).collect();
        let nothing = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
        config::load(&Sources { file: None, environment: Vec::new(), overrides, read: &nothing }).unwrap()
    }

    /// The addresses of these settings, by their keys.
    fn addresses(settings: &Settings) -> Vec<(&'static str, String)> {
        let mut found = Vec::new();
        visit(settings.platform.kind, &mut |address| {
            let url = in_use(settings, &address)?;
            found.push((address.key, url.as_str().trim_end_matches('/').to_owned()));
            Ok(url)
        })
        .unwrap();
        found
    }

    #[test]
    fn development_uses_the_simulated_platform() {
        let development = [("development.enabled", "true"), ("public_url", "http://desk.test")];
        for kind in PlatformKind::ALL {
            let (calls, pages) = ("http://127.0.0.1:8080/sim", "http://desk.test/sim");
            let settings = settings(kind, &development);
            assert_eq!(api_url(&settings).unwrap(), calls, "{kind:?}");
            let (one, other) = (simulated_addresses(kind, calls).unwrap(), simulated_addresses(kind, pages).unwrap());
            for (at, (key, address)) in addresses(&settings).into_iter().enumerate() {
                let is_page =
                    matches!(key, "platform.authorize_url" | "platform.web_login_url" | "platform.script_url");
                let expected = if is_page { &other } else { &one };
                assert_eq!(expected.get(at), Some(&(key, address)), "{kind:?}");
            }
        }
    }

    #[test]
    fn production_uses_the_public_platform_or_what_is_set() {
        let secrets = [
            ("public_url", "https://desk.example.com"),
            ("encryption_key", "//////////////////////////////////////////8="),
            ("platform.corp_id", "own"),
            ("platform.secret", "correct-horse"),
        ];
        for kind in PlatformKind::ALL {
            let client_id = ("platform.client_id", "cli_own");
            let client_id = (kind != PlatformKind::Wecom).then_some(client_id);
            let mut given: Vec<_> = secrets.into_iter().chain(client_id).collect();
            let public = addresses(&settings(kind, &given));
            assert!(public.iter().all(|(_, address)| address.starts_with("https://")), "{public:?}");
            for (key, _) in &public {
                given.push((*key, "https://private.example.com/here"));
            }
            for (key, address) in addresses(&settings(kind, &given)) {
                assert_eq!(address, "https://private.example.com/here", "{key}");
            }
        }
    }
}
