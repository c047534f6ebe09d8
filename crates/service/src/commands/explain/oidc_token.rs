//! Explains the state of what OpenID Connect clients and their browsers hold, from its digest alone.

use deskpass_auth::Error;
use deskpass_core::{Digest, SecretKindName, Timestamp};
use deskpass_store::{GrantRecord, OidcClient, StoreError};

use super::super::CommandResult;
use super::super::table::{plain, table};
use super::describe::{employee_label, failure, role_names};
use crate::App;
use crate::config::Language;
use crate::timestamp::local_time;

/// A label in the operator's language.
fn label(language: Language, english: &str, chinese: &str) -> String {
    language.of([english, chinese]).to_owned()
}

pub(super) async fn explain(app: &App, kind: SecretKindName, digest: Digest, language: Language) -> CommandResult {
    let failed = |error: StoreError| failure(error, language);
    let store = &app.auth.store;
    match kind {
        SecretKindName::OidcAccess => match store.oidc_access(&digest).await.map_err(failed)? {
            Some(record) => grant(app, &record.grant, record.expires_at, None, language).await,
            None => Ok(unknown(language)),
        },
        SecretKindName::RefreshToken => match store.grant_of_refresh(digest).await.map_err(failed)? {
            Some(record) => {
                let used = store.refresh_used_at(digest).await.map_err(failed)?;
                grant(app, &record, record.expires_at, used, language).await
            }
            None => Ok(unknown(language)),
        },
        SecretKindName::SingleSignOn => {
            let session = store.browser_session(digest, app.auth.clock.now()).await.map_err(failed)?;
            Ok(match session {
                Some(session) if is_live(app, session, language).await? => valid(language),
                Some(_) => not_valid(language, ["its session has ended", "其会话已结束"]),
                None => unknown(language),
            })
        }
        _ => client_secret(app, digest, language).await,
    }
}

fn unknown(language: Language) -> String {
    not_valid(
        language,
        ["it is unknown: it has expired, or is of another service", "无此记录：已过期，或属于另一个服务"],
    )
}

fn valid(language: Language) -> String {
    label(language, "It is valid.", "它有效。")
}

fn not_valid(language: Language, why: [&str; 2]) -> String {
    let why = language.of(why);
    language.of([format!("It is not valid: {why}."), format!("它无效：{why}。")])
}

/// Whether a session is live, without prolonging anything.
async fn is_live(app: &App, session: Digest, language: Language) -> Result<bool, String> {
    match app.auth.authenticate_untouched(session).await {
        Ok(_) => Ok(true),
        Err(Error::Refused(_)) => Ok(false),
        Err(error) => Err(failure(error, language)),
    }
}

/// A token of a grant, which expires at this time; `used` is when a refresh token was used.
async fn grant(
    app: &App,
    grant: &GrantRecord,
    expires_at: Timestamp,
    used: Option<Timestamp>,
    language: Language,
) -> CommandResult {
    let (auth, zone, now) = (&app.auth, app.settings.notices.zone(), app.auth.clock.now());
    let client = auth.oidc_client(&grant.client_id).await.map_err(|error| failure(error, language))?;
    let name = client.as_ref().map_or("", |client| client.registration.name.as_str());
    let mut lines = vec![
        [label(language, "owner", "所有者"), employee_label(&grant.employee, language)],
        [label(language, "client", "客户端"), plain(format!("{name} ({})", grant.client_id).trim_start())],
        [label(language, "scopes", "权限范围"), grant.scopes.to_string()],
        [label(language, "roles told", "已告知的角色"), role_names(grant.roles, language)],
        [label(language, "began", "开始"), local_time(&zone, grant.created_at)],
        [label(language, "expires", "到期"), local_time(&zone, expires_at)],
    ];
    lines.extend(used.map(|at| [label(language, "used", "已使用"), local_time(&zone, at)]));
    lines.extend(grant.ended_at.map(|at| [label(language, "ended", "已结束"), local_time(&zone, at)]));
    let verdict = if grant.ended_at.is_some() {
        not_valid(language, ["what the client got was ended", "该客户端所得的授权已结束"])
    } else if expires_at <= now {
        not_valid(language, ["it has expired", "已过期"])
    } else if used.is_some() {
        not_valid(language, ["it was used, and counts only once", "已使用过，只能使用一次"])
    } else if client.is_none_or(|client| !client.enabled) {
        not_valid(language, ["the client is disabled or was removed", "客户端已停用或已移除"])
    } else if is_live(app, grant.session, language).await? {
        valid(language)
    } else {
        not_valid(language, ["the session has ended, or the employee is disabled", "会话已结束，或员工已停用"])
    };
    Ok(format!("{}\n\n{verdict}", table(&lines)))
}

/// Which client a secret belongs to.
async fn client_secret(app: &App, digest: Digest, language: Language) -> CommandResult {
    let (auth, now) = (&app.auth, app.auth.clock.now());
    let rules = auth.store.access_rules().await.map_err(|error: StoreError| failure(error, language))?;
    let is_old = |client: &OidcClient| client.old_secret.is_some_and(|(old, until)| old == digest && now < until);
    let found = rules.oidc_clients().find(|client| client.secret == Some(digest) || is_old(client));
    let in_file = auth.policy.oidc.clients.iter().find(|(_, client)| client.secrets.contains(&digest));
    let (id, name, disabled) = match (found, in_file) {
        (Some(client), _) => (&client.id, &client.registration.name, client.disabled_at.is_some()),
        (None, Some((id, client))) => (id, &client.registration.name, false),
        (None, None) => return Ok(unknown(language)),
    };
    let lines = [[label(language, "client", "客户端"), plain(name)], [label(language, "id", "编号"), id.clone()]];
    let verdict = if disabled {
        not_valid(language, ["the client is disabled", "客户端已停用"])
    } else if found.is_some_and(|client| client.secret != Some(digest)) {
        let text = [
            "It is valid, but was replaced: enter the new one in the program.",
            "它有效，但已被更换：请在程序中填写新密钥。",
        ];
        language.of(text).to_owned()
    } else {
        valid(language)
    };
    Ok(format!("{}\n\n{verdict}", table(&lines)))
}
