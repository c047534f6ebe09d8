//! Programs whose settings are known: the addresses that they use, and what to enter in them.

use deskpass_core::oidc::{ClientKind, ClientRegistration, OidcScope, OidcScopes};
use url::Url;

/// The recipe of any other program.
pub(crate) const GENERIC: &str = "generic";

/// The names of all programs, for the command line.
pub(crate) const PROGRAMS: [&str; 6] = ["zammad", "glpi", "grafana", "gitlab", "rt", GENERIC];

/// How a program is registered, and what to enter in it. `{…}` stands for a value of the client.
pub(crate) struct Recipe {
    program: &'static str,
    /// The name that users see, unless another is given.
    title: &'static str,
    kind: ClientKind,
    /// The addresses below that of the program; empty where it has none.
    redirect: &'static str,
    post_logout: &'static str,
    backchannel: &'static str,
    /// Whether it uses refresh tokens.
    refreshes: bool,
    /// Whether it can use groups and roles.
    takes_groups: bool,
    /// What to enter, in English and Chinese.
    pub(super) steps: [&'static str; 2],
}

/// An error: the address of the program cannot be used.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("--url must be the address of the program, such as https://help.example.com, without a query or a fragment")]
pub(crate) struct InvalidProgramUrl;

impl Recipe {
    /// The recipe of a program; of any other one, that for all programs.
    pub(crate) fn find(program: &str) -> &'static Self {
        RECIPES.iter().find(|recipe| recipe.program == program).unwrap_or(&OTHER)
    }

    /// The registration of a program at this address.
    pub(crate) fn registration(&self, url: Option<&str>) -> Result<ClientRegistration, InvalidProgramUrl> {
        let base = url.map(program_url).transpose()?;
        let below = |path: &str| base.as_ref().filter(|_| !path.is_empty()).map(|base| format!("{base}{path}"));
        let all = OidcScopes::all();
        let scopes = if self.takes_groups { all } else { all.without(OidcScope::Groups) };
        Ok(ClientRegistration {
            name: self.title.to_owned(),
            kind: self.kind,
            redirect_uris: below(self.redirect).into_iter().collect(),
            post_logout_redirect_uris: below(self.post_logout).into_iter().collect(),
            backchannel_logout_uri: below(self.backchannel),
            scopes: if self.refreshes { scopes } else { scopes.without(OidcScope::OfflineAccess) },
            ..ClientRegistration::default()
        })
    }
}

/// The address of a program without a slash at its end.
fn program_url(text: &str) -> Result<String, InvalidProgramUrl> {
    let url = Url::parse(text).map_err(|_| InvalidProgramUrl)?;
    let plain = url.query().is_none() && url.fragment().is_none() && url.username().is_empty() && url.host().is_some();
    if !plain || !matches!(url.scheme(), "http" | "https") {
        return Err(InvalidProgramUrl);
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// What to enter in Apache for a program that takes the user's name from it.
const APACHE: &str = "  OIDCProviderMetadataURL {issuer}/.well-known/openid-configuration
  OIDCClientID {client_id}
  OIDCClientSecret {client_secret}
  OIDCRedirectURI {redirect_uri}
  OIDCPKCEMethod S256
  OIDCScope \"openid profile email groups\"
  OIDCRemoteUserClaim preferred_username
  OIDCCryptoPassphrase {passphrase}
  <Location />
    AuthType openid-connect
    Require valid-user
  </Location>";

static RECIPES: [Recipe; 5] = [
    Recipe {
        program: "zammad",
        title: "Zammad",
        kind: ClientKind::Public,
        redirect: "/auth/openid_connect/callback",
        post_logout: "/",
        backchannel: "/auth/openid_connect/backchannel_logout",
        refreshes: false,
        takes_groups: false,
        steps: [
            "In Zammad: Settings → Security → Third-party Applications → Authentication via OpenID Connect\n\n  \
             Identifier  {client_id}\n  Issuer      {issuer}\n  UID Field   sub\n  Scopes      openid email profile\n  \
             PKCE        yes\n\n\
             Zammad uses no secret. If accounts exist, \"Automatic account link on initial logon\" joins them by e-mail address: \
             switch it on only if every address in Zammad was entered by an administrator, and off again when everyone has \
             signed in once. Zammad takes no roles over: give agents their roles there. It is told at once when a session ends. \
             Both sides need a certificate that the other trusts.",
            "在 Zammad 中：设置 → 安全 → 第三方应用 → OpenID Connect 登录\n\n  \
             Identifier  {client_id}\n  Issuer      {issuer}\n  UID Field   sub\n  Scopes      openid email profile\n  \
             PKCE        yes\n\n\
             Zammad 不使用密钥。账号已存在时，\"Automatic account link on initial logon\" 按邮箱地址关联：只有当 Zammad 中的每个地址都由管理员\
             填写时才可开启，所有人登录一次之后请关闭。Zammad 不接收角色，请在其中为坐席分配角色。\
             会话结束时会立即通知它。双方的证书须互相信任。",
        ],
    },
    Recipe {
        program: "glpi",
        title: "GLPI",
        kind: ClientKind::Confidential,
        redirect: "/oidc-callback",
        post_logout: "/",
        backchannel: "/oidc-callback?logout=backchannel",
        refreshes: false,
        takes_groups: true,
        steps: [
            "In Apache in front of GLPI, with mod_auth_openidc:\n\n{apache}\n\n\
             In GLPI: Setup → Authentication → Others → Field storage of the login in the HTTP request: REMOTE_USER; choose \
             to add users automatically, and a rule that assigns them a profile. Without a profile users are signed in and \
             then refused. Apache is told at once when a session ends.\n\n\
             Paths that must stay open, for inventory agents and the API: docs/integrations/glpi.md",
            "在 GLPI 前的 Apache 中，使用 mod_auth_openidc：\n\n{apache}\n\n\
             在 GLPI 中：设置 → 认证 → 其他 → HTTP 请求中保存登录名的字段：REMOTE_USER；开启自动添加用户，并设置分配 profile 的规则。\
             没有 profile 的用户登录后会被拒绝。会话结束时会立即通知 Apache。\n\n\
             必须保持开放的路径（资产代理和 API）：docs/zh/integrations/glpi.md",
        ],
    },
    Recipe {
        program: "grafana",
        title: "Grafana",
        kind: ClientKind::Confidential,
        redirect: "/login/generic_oauth",
        post_logout: "/login",
        backchannel: "",
        refreshes: true,
        takes_groups: true,
        steps: [
            "In grafana.ini:\n\n{grafana}\n\n\
             Grafana is not told when a session ends. It finds out when it refreshes its token, after 15 minutes at most.",
            "在 grafana.ini 中：\n\n{grafana}\n\n会话结束时不会通知 Grafana；它在刷新令牌时得知，最多 15 分钟。",
        ],
    },
    Recipe {
        program: "gitlab",
        title: "GitLab",
        kind: ClientKind::Confidential,
        redirect: "/users/auth/openid_connect/callback",
        post_logout: "/users/sign_in",
        backchannel: "",
        refreshes: false,
        takes_groups: true,
        steps: [
            "In gitlab.rb, then `gitlab-ctl reconfigure`:\n\n{gitlab}\n\n\
             Keep uid_field at sub: names and addresses can pass to another person. GitLab is not told when a session ends; its \
             own session lasts as long as GitLab is set to.",
            "在 gitlab.rb 中，之后运行 `gitlab-ctl reconfigure`：\n\n{gitlab}\n\n\
             uid_field 请保持为 sub：名称和邮箱可能转给他人。会话结束时不会通知 GitLab；它自己的会话时长由 GitLab 设置决定。",
        ],
    },
    Recipe {
        program: "rt",
        title: "Request Tracker",
        kind: ClientKind::Confidential,
        redirect: "/oidc-callback",
        post_logout: "/",
        backchannel: "/oidc-callback?logout=backchannel",
        refreshes: false,
        takes_groups: true,
        steps: [
            "In Apache in front of Request Tracker, with mod_auth_openidc:\n\n{apache}\n\n\
             In RT_SiteConfig.pm:\n\n{rt_settings}\n\n\
             So that new accounts have a name and an address, in RT/Interface/Web_Local.pm below the local lib folder \
             (Debian: /usr/local/share/request-tracker5/lib):\n\n{rt_overlay}\n\n\
             Apache is told at once when a session ends.\n\n\
             Paths that must stay open, for the mail gateway and scripts: docs/integrations/request-tracker.md",
            "在 Request Tracker 前的 Apache 中，使用 mod_auth_openidc：\n\n{apache}\n\n\
             在 RT_SiteConfig.pm 中：\n\n{rt_settings}\n\n\
             为使新账号有姓名和邮箱，在本地 lib 目录（Debian：/usr/local/share/request-tracker5/lib）下的 \
             RT/Interface/Web_Local.pm 中：\n\n{rt_overlay}\n\n\
             会话结束时会立即通知 Apache。\n\n\
             必须保持开放的路径（邮件网关和脚本）：docs/zh/integrations/request-tracker.md",
        ],
    },
];

/// Any other program.
static OTHER: Recipe = Recipe {
    program: GENERIC,
    title: "",
    kind: ClientKind::Confidential,
    redirect: "",
    post_logout: "",
    backchannel: "",
    refreshes: true,
    takes_groups: true,
    steps: [
        "In the program:\n\n{endpoints}\n\n\
         PKCE (S256) is required: turn it on in the program. For a program that cannot do it, add the client with \
         --pkce optional; it must then send a nonce. Use sub to recognise users: names and addresses can pass to \
         another person.",
        "在程序中填写：\n\n{endpoints}\n\n\
         必须使用 PKCE（S256），请在程序中开启。程序不支持时，添加客户端时加上 --pkce optional，此时程序必须发送 nonce。请用 sub 识别用户：名称和邮箱可能转给他人。",
    ],
};

/// What to enter in Grafana.
const GRAFANA: &str = "  [auth.generic_oauth]
  enabled = true
  name = Deskpass
  client_id = {client_id}
  client_secret = {client_secret}
  scopes = openid profile email groups offline_access
  auth_url = {issuer}/oidc/authorize
  token_url = {issuer}/oidc/token
  api_url = {issuer}/oidc/userinfo
  signout_redirect_url = {issuer}/oidc/logout?client_id={client_id}
  use_pkce = true
  use_refresh_token = true
  login_attribute_path = preferred_username
  groups_attribute_path = groups
  role_attribute_path = contains(roles[*], 'admin') && 'Admin' || contains(roles[*], 'agent') && 'Editor' || 'Viewer'";

/// What to enter in GitLab.
const GITLAB: &str = "  gitlab_rails['omniauth_allow_single_sign_on'] = ['openid_connect']
  gitlab_rails['omniauth_providers'] = [{
    name: 'openid_connect',
    label: 'Deskpass',
    args: {
      name: 'openid_connect',
      scope: ['openid', 'profile', 'email', 'groups'],
      response_type: 'code',
      issuer: '{issuer}',
      discovery: true,
      pkce: true,
      client_auth_method: 'basic',
      uid_field: 'sub',
      client_options: {
        identifier: '{client_id}',
        secret: '{client_secret}',
        redirect_uri: '{redirect_uri}'
      }
    }
  }]";

/// What to enter in Request Tracker. Without the fallback its menu has no sign-out.
const RT_SETTINGS: &str = "  Set($WebRemoteUserAuth, 1);
  Set($WebRemoteUserContinuous, 1);
  Set($WebRemoteUserAutocreate, 1);
  Set($UserAutocreateDefaultsOnLogin, { Privileged => 0 });
  Set($WebFallbackToRTLogin, 1);
  Set($LogoutURL, '/oidc-callback?logout={encoded_post_logout_uri}');";

/// A module that gives new accounts in Request Tracker a name and an address.
const RT_OVERLAY: &str = "  package RT::Interface::Web;
  use strict;
  use warnings;
  no warnings 'redefine';

  sub WebRemoteUserAutocreateInfo {
      my %info = (RealName => RequestENV('OIDC_CLAIM_name'), EmailAddress => RequestENV('OIDC_CLAIM_email'));
      $_ = Encode::decode('UTF-8', $_ // '') for values %info;
      return { map { length $info{$_} ? ($_ => $info{$_}) : () } keys %info };
  }

  1;";

/// Texts that stand for their names in `steps`.
pub(super) const SNIPPETS: [(&str, &str); 5] = [
    ("{apache}", APACHE),
    ("{grafana}", GRAFANA),
    ("{gitlab}", GITLAB),
    ("{rt_settings}", RT_SETTINGS),
    ("{rt_overlay}", RT_OVERLAY),
];

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn every_program_has_a_recipe_that_can_be_registered() {
        for program in PROGRAMS {
            let recipe = Recipe::find(program);
            assert_eq!(recipe.program, program);
            let mut registration = recipe.registration(Some("https://help.example.com/desk/")).unwrap();
            if program == GENERIC {
                assert!(registration.redirect_uris.is_empty());
                registration.name = "Wiki".to_owned();
                registration.redirect_uris = vec!["https://wiki.example.com/cb".to_owned()];
            } else {
                assert!(registration.redirect_uris.iter().all(|uri| uri.starts_with("https://help.example.com/desk/")));
            }
            registration.check(true).unwrap();
            assert_eq!(registration.scopes.contains(OidcScope::Groups), program != "zammad");
        }
        assert_eq!(Recipe::find("wiki").program, GENERIC);
    }

    #[test]
    fn the_address_of_a_program_is_plain() {
        for wrong in
            ["help.example.com", "ftp://help", "https://help.example.com/?a=b", "https://a@b.example/", "https://x/#y"]
        {
            assert!(Recipe::find("zammad").registration(Some(wrong)).is_err(), "{wrong}");
        }
    }
}
