//! The sentences about networks, rules, keys and programs.

use deskpass_auth::Error;
use deskpass_core::Role;

use super::given::{Given, plain};
use super::text::{Text, both, joined, role_title, role_titles};

/// The most rules, networks or addresses that a sentence lists; the page has all of them below.
const MAX_LISTED: usize = 3;

/// Items as a list, of which the last ones are only counted.
fn some(items: &[Text]) -> Text {
    let (shown, rest) = items.split_at(items.len().min(MAX_LISTED));
    let mut shown = shown.to_vec();
    if !rest.is_empty() {
        shown.push([format!("{} more", rest.len()), format!("另外 {} 项", rest.len())]);
    }
    joined(&shown)
}

fn listed(items: &[&str]) -> Text {
    some(&items.iter().map(|item| both(&plain(item))).collect::<Vec<_>>())
}

pub(super) fn replace_networks(given: &Given<'_>) -> Text {
    let mut lines = Vec::new();
    for role in Role::ALL {
        let networks = given.list(role.name());
        if !networks.is_empty() {
            let ([title, title_zh], [networks, networks_zh]) = (role_title(role), listed(&networks));
            lines.push([format!("{title} only from {networks}"), format!("{title_zh}仅限 {networks_zh}")]);
        }
    }
    if lines.is_empty() {
        return ["Let every role be used from any address".to_owned(), "允许所有角色在任意地址使用".to_owned()];
    }
    let [english, chinese]: [Vec<_>; 2] =
        [0, 1].map(|at| lines.iter().filter_map(|line| line.get(at)).cloned().collect());
    [
        format!("Limit where roles may be used: {}. All others from any address", english.join("; ")),
        format!("限制角色的使用地址：{}。其余角色不限", chinese.join("；")),
    ]
}

pub(super) fn replace_role_rules(given: &Given<'_>) -> Text {
    let rule = |place: usize| {
        let member = |name: &str| given.field(&format!("rules.{place}.{name}"));
        let [role, role_zh] = role_titles([member("role")?]);
        let (kind, kind_zh, id) = match (member("department"), member("tag")) {
            (Some(id), _) => ("department", "部门", id),
            (None, tag) => ("tag", "标签", tag.unwrap_or_default()),
        };
        let id = plain(id);
        Some([format!("{role} for {kind} {id}"), format!("{kind_zh} {id} 为{role_zh}")])
    };
    let rules: Vec<_> = (0..).map_while(rule).collect();
    if rules.is_empty() {
        return ["Remove all role rules".to_owned(), "移除所有角色规则".to_owned()];
    }
    let ([english, chinese], count) = (some(&rules), rules.len());
    [
        format!("Replace the role rules, and apply them to everyone. From now on {count}: {english}"),
        format!("修改角色规则并立即应用于所有人，共 {count} 条：{chinese}"),
    ]
}

pub(super) fn create_service_key(given: &Given<'_>) -> Text {
    let (name, [scopes, scopes_zh]) = (plain(given.field("name").unwrap_or_default()), listed(&given.list("scopes")));
    let days = given.field("expires_in_days").unwrap_or("365");
    [
        format!("Create the service key “{name}” for {scopes}, valid for {days} days"),
        format!("创建服务密钥“{name}”，用途：{scopes_zh}，有效期 {days} 天"),
    ]
}

pub(super) async fn revoke_service_key(given: &Given<'_>) -> Result<Text, Error> {
    let id = given.param("id");
    let found = given.app.auth.store.service_key(id.to_owned()).await?;
    let name = plain(&found.map_or_else(|| id.to_owned(), |key| key.name));
    Ok([format!("Revoke the service key “{name}”"), format!("吊销服务密钥“{name}”")])
}

/// Where the program's users go after their sign-in.
fn destinations(given: &Given<'_>) -> Text {
    listed(&given.list("redirect_uris"))
}

pub(super) fn add_client(given: &Given<'_>) -> Text {
    let (name, [to, to_zh]) = (plain(given.field("name").unwrap_or_default()), destinations(given));
    [
        format!("Connect the program “{name}”, which signs people in at {to}"),
        format!("接入应用“{name}”，登录后返回 {to_zh}"),
    ]
}

pub(super) async fn change_client(given: &Given<'_>) -> Result<Text, Error> {
    let (before, name) = (client_name(given).await?, plain(given.field("name").unwrap_or_default()));
    let [to, to_zh] = destinations(given);
    let [renamed, renamed_zh] = if before == name {
        both("")
    } else {
        [format!(", from now on “{name}”"), format!("（改名为“{name}”）")]
    };
    Ok([
        format!("Change the program “{before}”{renamed}, which signs people in at {to}"),
        format!("修改应用“{before}”{renamed_zh}，登录后返回 {to_zh}"),
    ])
}

pub(super) async fn remove_client(given: &Given<'_>) -> Result<Text, Error> {
    let name = client_name(given).await?;
    Ok([
        format!("Remove the program “{name}”, and sign its users out of it"),
        format!("移除应用“{name}”，并使其用户退出"),
    ])
}

pub(super) async fn rotate_secret(given: &Given<'_>) -> Result<Text, Error> {
    let name = client_name(given).await?;
    let [end, end_zh] = match given.field("now") {
        Some("true") => ["The old one ends now", "旧密钥立即失效"],
        _ => ["The old one ends in 7 days", "旧密钥 7 天后失效"],
    };
    Ok([format!("Give the program “{name}” a new secret. {end}"), format!("更换应用“{name}”的密钥，{end_zh}")])
}

pub(super) async fn disable_client(given: &Given<'_>) -> Result<Text, Error> {
    let name = client_name(given).await?;
    Ok([
        format!("Disable the program “{name}”, and sign its users out of it"),
        format!("停用应用“{name}”，并使其用户退出"),
    ])
}

pub(super) async fn enable_client(given: &Given<'_>) -> Result<Text, Error> {
    let name = client_name(given).await?;
    Ok([format!("Enable the program “{name}” again"), format!("重新启用应用“{name}”")])
}

/// The name of the program in the path; its identifier if it is unknown.
async fn client_name(given: &Given<'_>) -> Result<String, Error> {
    let id = given.param("id");
    let found = given.app.auth.oidc_client(id).await?;
    Ok(plain(found.as_ref().map_or(id, |client| &client.registration.name)))
}
