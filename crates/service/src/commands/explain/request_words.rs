//! What requests attempt, and the titles of the pages that show refusals, in both languages.

use deskpass_core::LoginMethod;
use deskpass_store::AuditEvent;

use crate::config::Language;

/// What a refused request attempted; `None` where the name of the event says it.
pub(super) fn attempt(event: Option<AuditEvent>, method: &str, source: &str, language: Language) -> Option<String> {
    let text = match event? {
        AuditEvent::SignInRefused | AuditEvent::SignIn => return Some(sign_in(method, source, language)),
        AuditEvent::SwitchRoleRefused => ["to switch to another role", "切换到其他角色"],
        AuditEvent::OtpRefused => {
            ["to use or set up an authenticator, or to confirm a change", "使用或绑定身份验证器，或确认更改"]
        }
        AuditEvent::PasswordRefused => ["to set a password", "设置密码"],
        AuditEvent::OidcRefused => ["to sign in to a program (OpenID Connect)", "登录其他程序（OpenID Connect）"],
        AuditEvent::ApprovalRefused => ["to approve a change on the phone", "在手机上批准更改"],
        AuditEvent::CallerRefused => ["to verify a caller on the phone", "在手机上核实来电人"],
        AuditEvent::QuestionRefused => ["to open the link of a question to a phone", "打开发给手机的请求链接"],
        AuditEvent::AdministrationRefused => {
            ["to read or change something in the administration", "在管理后台查看或修改内容"]
        }
        _ => return None,
    };
    Some(language.of(text).to_owned())
}

/// The way of a sign-in, and the client that it was for.
fn sign_in(method: &str, source: &str, language: Language) -> String {
    let way = LoginMethod::from_name(method).map_or([method; 2], |method| match method {
        LoginMethod::Qrcode => ["QR code", "扫描二维码"],
        LoginMethod::Oauth2 => ["link to the platform (OAuth2)", "跳转{platform}（OAuth2）"],
        LoginMethod::Bind => ["binding of a user of a connected corporation", "互联企业人员绑定"],
        LoginMethod::Password => ["password", "密码"],
        LoginMethod::Dev => ["development route", "开发接口"],
    });
    let way = language.of(way);
    match (source, language) {
        ("", _) => way.to_owned(),
        (source, Language::En) => format!("{way}, to {source}"),
        (source, Language::Zh) => format!("{way}，入口 {source}"),
    }
}

/// The title of the page that shows this word of the callback.
pub(super) fn page_title(word: &str) -> [&'static str; 2] {
    match word {
        "denied" => ["You declined the sign-in", "您未同意登录"],
        "invalid_code" => ["This sign-in is no longer valid", "本次登录已失效"],
        "not_a_member" => ["This {platform} account is not from our company", "此{platform}账号不属于本企业"],
        "no_role" => ["You have no access yet", "您还没有访问权限"],
        "holder_unconfirmed" => ["An administrator must confirm you first", "需由管理员先确认您的身份"],
        "disabled" => ["Your account is disabled", "您的账号已停用"],
        "platform_unavailable" => ["{platform} cannot be reached", "暂时无法连接{platform}"],
        _ => ["Something went wrong on our side", "系统出了点问题"],
    }
}

#[cfg(test)]
mod tests {
    use super::page_title;

    /// The words of the pages.
    const WORDS: &str = include_str!("../../../../../web/lib/words.js");

    #[test]
    fn the_titles_are_those_of_the_pages() {
        for word in [
            "denied",
            "invalid_code",
            "not_a_member",
            "no_role",
            "disabled",
            "holder_unconfirmed",
            "platform_unavailable",
            "internal",
        ] {
            let [english, chinese] = page_title(word);
            let english = english.replace("{platform}", "{platform.en}");
            let chinese = chinese.replace("{platform}", "{platform.zh}");
            assert!(WORDS.contains(&format!("error_{word}: ['{english}', '{chinese}']")), "{word}");
        }
    }
}
