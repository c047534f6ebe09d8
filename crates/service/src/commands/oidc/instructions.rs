//! What to enter in a program that is a client of OpenID Connect.

use deskpass_core::oidc::ClientRegistration;
use url::form_urlencoded::byte_serialize;

use super::super::table::table;
use super::recipes::{Recipe, SNIPPETS};
use crate::config::Language;

/// The values of a client that its program needs.
pub(super) struct Instructions<'a> {
    pub(super) issuer: &'a str,
    pub(super) client_id: &'a str,
    /// The secret, where it is shown.
    pub(super) client_secret: Option<&'a str>,
    pub(super) registration: &'a ClientRegistration,
    /// A random value with which the program can encrypt what it keeps in browsers.
    pub(super) passphrase: &'a str,
}

impl Instructions<'_> {
    /// The text about a client that was just registered.
    pub(super) fn of_new_client(&self, recipe: &Recipe, language: Language) -> String {
        let Self { client_id, registration, .. } = self;
        let id = language.of([format!("client id: {client_id}"), format!("客户端标识：{client_id}")]);
        let credentials = match self.client_secret {
            Some(secret) => {
                language.of([format!("{id}\nclient secret: {secret}"), format!("{id}\n客户端密钥：{secret}")])
            }
            None => id,
        };
        let name = &registration.name;
        let note = language.of(match self.client_secret {
            Some(_) => [
                format!(
                    "They are for {name}. The secret is not shown again. Keep it with the other secrets of the program."
                ),
                format!("供 {name} 使用。密钥不会再次显示，请与该程序的其他密钥一同保管。"),
            ],
            None => [
                format!("It is for {name}, which has no secret: it authenticates with PKCE."),
                format!("供 {name} 使用。它没有密钥，以 PKCE 认证。"),
            ],
        });
        let (registered, steps) = (self.registered(language), self.fill(language.of(recipe.steps), language));
        let last = language.of([
            format!("To check it: deskpass doctor. To end it: deskpass oidc client remove {client_id} --yes"),
            format!("检查：deskpass doctor。移除：deskpass oidc client remove {client_id} --yes"),
        ]);
        format!("{credentials}\n\n{note}\n\n{registered}\n\n{steps}\n\n{last}")
    }

    /// The addresses that are registered.
    fn registered(&self, language: Language) -> String {
        let ClientRegistration { redirect_uris, post_logout_redirect_uris, backchannel_logout_uri, .. } =
            self.registration;
        let none = language.of(["none", "无"]);
        let row = |names: [&str; 2], addresses: String| {
            let addresses = if addresses.is_empty() { none.to_owned() } else { addresses };
            [language.of(names).to_owned(), addresses]
        };
        let rows = [
            row(["redirect URI", "回调地址"], redirect_uris.join(" ")),
            row(["post-logout URI", "退出后返回地址"], post_logout_redirect_uris.join(" ")),
            row(["back-channel URI", "退出通知地址"], backchannel_logout_uri.clone().unwrap_or_default()),
        ];
        let heading = language.of(["Registered:", "已登记："]);
        format!("{heading}\n\n  {}", table(&rows).replace('\n', "\n  "))
    }

    /// The addresses of the endpoints, for a program that asks for each.
    pub(super) fn endpoints(&self, language: Language) -> String {
        let issuer = self.issuer;
        let row = |english: &str, chinese: &str, value: String| [language.of([english, chinese]).to_owned(), value];
        let rows = [
            row("issuer", "Issuer（签发者）", issuer.to_owned()),
            row("discovery", "Discovery（元数据）", format!("{issuer}/.well-known/openid-configuration")),
            row("authorization endpoint", "授权端点", format!("{issuer}/oidc/authorize")),
            row("token endpoint", "令牌端点", format!("{issuer}/oidc/token")),
            row("userinfo endpoint", "用户信息端点", format!("{issuer}/oidc/userinfo")),
            row("keys (JWKS)", "公钥（JWKS）", format!("{issuer}/oidc/jwks")),
            row("sign-out endpoint", "退出端点", format!("{issuer}/oidc/logout")),
            row("client id", "客户端标识", self.client_id.to_owned()),
            row("scopes", "权限范围", self.registration.scopes.to_string()),
            row("signing algorithm", "签名算法", self.registration.algorithm.name().to_owned()),
        ];
        table(&rows)
    }

    /// Fills in the values.
    fn fill(&self, text: &str, language: Language) -> String {
        let whole = SNIPPETS.iter().fold(text.to_owned(), |text, (name, snippet)| text.replace(name, snippet));
        let endpoints = format!("  {}", self.endpoints(language).replace('\n', "\n  "));
        let first = |uris: &[String]| uris.first().cloned().unwrap_or_default();
        let redirect_uri = first(&self.registration.redirect_uris);
        let after_logout = first(&self.registration.post_logout_redirect_uris);
        let after_logout: String = byte_serialize(after_logout.as_bytes()).collect();
        let values = [
            ("{endpoints}", endpoints.as_str()),
            ("{issuer}", self.issuer),
            ("{client_id}", self.client_id),
            ("{client_secret}", self.client_secret.unwrap_or("")),
            ("{redirect_uri}", &redirect_uri),
            ("{encoded_post_logout_uri}", &after_logout),
            ("{passphrase}", self.passphrase),
        ];
        values.iter().fold(whole, |text, (name, value)| text.replace(name, value))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::super::recipes::PROGRAMS;
    use super::*;

    #[test]
    fn no_value_is_left_out() {
        for program in PROGRAMS {
            let recipe = Recipe::find(program);
            let registration = recipe.registration(Some("https://help.example.com")).unwrap();
            let has_secret = registration.has_secret();
            let instructions = Instructions {
                issuer: "https://desk.example.com",
                client_id: "c1",
                client_secret: has_secret.then_some("dpe_x"),
                registration: &registration,
                passphrase: "random",
            };
            for language in [Language::En, Language::Zh] {
                let text = instructions.of_new_client(recipe, language);
                let values = ["issuer", "client_id", "client_secret", "redirect_uri", "encoded_post_logout_uri"];
                let snippets = ["endpoints", "apache", "grafana", "gitlab", "rt_settings", "rt_overlay"];
                for name in values.into_iter().chain(["passphrase"]).chain(snippets) {
                    assert!(!text.contains(&format!("{{{name}}}")), "{program}: {name}\n{text}");
                }
                assert!(text.contains("https://desk.example.com") && text.contains("c1"), "{text}");
                assert_eq!(text.contains("dpe_x"), has_secret, "{text}");
            }
        }
    }
}
