//! What each kind of token is for.

use deskpass_core::SecretKindName;

use crate::config::Language;

/// The space between Chinese words and a text that begins with Latin letters.
pub(crate) fn space_before(text: &str) -> &'static str {
    if text.starts_with(|first: char| first.is_ascii()) { " " } else { "" }
}

/// The purpose of a kind of token.
pub(crate) fn describe_token_kind(kind: SecretKindName, language: Language) -> &'static str {
    language.of(match kind {
        SecretKindName::Access => ["an access token, the token of a session", "访问令牌，即会话的令牌"],
        SecretKindName::Half => [
            "a half-authenticated token, which completes a sign-in with a one-time password within 10 minutes",
            "半认证令牌，用于在 10 分钟内以一次性密码完成登录",
        ],
        SecretKindName::KnownBrowser => {
            ["the cookie of a browser in which an agent has signed in before", "坐席曾登录过的浏览器的 Cookie"]
        }
        SecretKindName::Ticket => [
            "a sign-in ticket, which collects the token of one sign-in within minutes",
            "登录票据，用于在几分钟内领取一次登录的令牌",
        ],
        SecretKindName::ScanId => [
            "a scan id, which a QR code contains to identify a sign-in to the phone",
            "扫码编号，二维码中用来向手机标识一次登录",
        ],
        SecretKindName::Confirm => [
            "a phone's secret, which confirms or cancels the sign-in that the phone scanned",
            "手机端密钥，用于确认或取消手机所扫描的登录",
        ],
        SecretKindName::Question => [
            "the id of a question to a phone, which approves a change or verifies a caller within minutes",
            "向手机发出的确认的编号，用于在几分钟内批准更改或核实来电人",
        ],
        SecretKindName::Answer => [
            "a phone's secret, which answers the question that its owner was asked",
            "手机端密钥，用于回答向其本人发出的确认",
        ],
        SecretKindName::Browser => {
            ["a browser's cookie, which ties tickets to that browser", "浏览器 Cookie，把票据绑定到该浏览器"]
        }
        SecretKindName::Flow => {
            ["a browser's cookie, which proves that it started a sign-in", "浏览器 Cookie，证明登录由该浏览器发起"]
        }
        SecretKindName::Pending => {
            ["a secret that completes a sign-in started in another browser", "用于完成在另一浏览器中发起的登录的密钥"]
        }
        SecretKindName::BindProof => [
            "a bind ticket, which proves that the platform identified a user of a connected corporation",
            "绑定票据，证明平台已识别某互联企业的用户",
        ],
        SecretKindName::ServiceKey => {
            ["a service key, with which another service calls this one", "服务密钥，供其他服务调用本系统"]
        }
        SecretKindName::AuthorizationRequestId
        | SecretKindName::AuthorizationCode
        | SecretKindName::OidcAccess
        | SecretKindName::RefreshToken
        | SecretKindName::ClientSecret
        | SecretKindName::SingleSignOn => describe_oidc_secret(kind),
    })
}

/// The same for the secrets of OpenID Connect.
fn describe_oidc_secret(kind: SecretKindName) -> [&'static str; 2] {
    match kind {
        SecretKindName::AuthorizationRequestId => [
            "the id of a request of an OpenID Connect client, which waits 10 minutes for the user to sign in",
            "OpenID Connect 客户端请求的编号，等待用户登录，10 分钟内有效",
        ],
        SecretKindName::AuthorizationCode => [
            "an authorization code, which an OpenID Connect client redeems once within a minute",
            "授权码，供 OpenID Connect 客户端在一分钟内兑换一次",
        ],
        SecretKindName::OidcAccess => [
            "an access token of an OpenID Connect client, which reads the user's claims for 15 minutes and opens no API",
            "OpenID Connect 客户端的访问令牌，15 分钟内可读取用户信息，不能用于本系统接口",
        ],
        SecretKindName::RefreshToken => [
            "a refresh token of an OpenID Connect client, which counts once and not longer than the session",
            "OpenID Connect 客户端的刷新令牌，只能使用一次，且不超过会话的有效期",
        ],
        SecretKindName::ClientSecret => ["the secret of an OpenID Connect client", "OpenID Connect 客户端的密钥"],
        // The single sign-on cookie.
        _ => ["a browser's single sign-on cookie, which opens no API", "浏览器的单点登录 Cookie，不能用于接口"],
    }
}
