//! Explains the state of a token, from its digest alone.

use deskpass_auth::{Auth, Error, Refusal, TokenError, TokenHolder, explain_reason};
use deskpass_core::{Digest, SecretKindName};
use deskpass_store::{ListedSession, PartialSessionLookup, ServiceKey, StoreError};
use jiff::tz::TimeZone;

use super::super::CommandResult;
use super::super::table::{plain, table};
use super::describe::{allowed_networks, employee_label, failure, role_names};
use super::oidc_token;
use super::token_kind::{describe_token_kind, space_before};
use crate::App;
use crate::config::Language;
use crate::timestamp::local_time;

pub(super) async fn explain(app: &App, kind: SecretKindName, digest: Digest, language: Language) -> CommandResult {
    match kind {
        SecretKindName::Access => session(app, digest, language).await,
        SecretKindName::Half => half(app, digest, language).await,
        SecretKindName::ServiceKey => service_key(app, digest, language).await,
        SecretKindName::OidcAccess
        | SecretKindName::RefreshToken
        | SecretKindName::ClientSecret
        | SecretKindName::SingleSignOn => {
            let state = oidc_token::explain(app, kind, digest, language).await?;
            Ok(format!("{}\n\n{state}", intact_notice(kind, language)))
        }
        SecretKindName::AuthorizationRequestId
        | SecretKindName::AuthorizationCode
        | SecretKindName::KnownBrowser
        | SecretKindName::Ticket
        | SecretKindName::ScanId
        | SecretKindName::Confirm
        | SecretKindName::Question
        | SecretKindName::Answer
        | SecretKindName::Browser
        | SecretKindName::Flow
        | SecretKindName::Pending
        | SecretKindName::BindProof => {
            let no_session =
                language.of(["It is not a session, so its state is not looked up.", "它不是会话，因此不查询其状态。"]);
            Ok(format!("{}\n\n{no_session}", intact_notice(kind, language)))
        }
    }
}

fn intact_notice(kind: SecretKindName, language: Language) -> String {
    let kind = describe_token_kind(kind, language);
    language.of([
        format!("This is {kind}.\nIt is complete: nothing is missing or mistyped."),
        format!("这是{}{kind}。\n内容完整，没有缺失或输错。", space_before(kind)),
    ])
}

fn valid(language: Language) -> String {
    language.of(["It is valid.", "它有效。"]).to_owned()
}

/// The reason why the token is not valid, and how to fix it.
fn verdict(refusal: &Refusal, language: Language) -> String {
    let info = refusal.info();
    let explanation = match explain_reason(info.logged) {
        Some(explanation) => [explanation.what, explanation.next].map(|text| language.of(text)).join("\n"),
        None => language.of(info.texts).into_owned(),
    };
    let reason = info.reason;
    language.of([format!("It is not valid ({reason}). {explanation}"), format!("它无效（{reason}）。{explanation}")])
}

async fn session(app: &App, digest: Digest, language: Language) -> CommandResult {
    let (auth, zone) = (&app.auth, app.settings.notices.zone());
    let failed = |error: StoreError| failure(error, language);
    let listed = auth.store.find_session(digest).await.map_err(failed)?;
    let verdict = match auth.authenticate_untouched(digest).await {
        Ok(holder) => live_verdict(auth, &holder, listed.as_ref(), language).await?,
        Err(Error::Refused(refusal)) => verdict(&refusal, language),
        Err(error) => return Err(failure(error, language)),
    };
    let known =
        listed.as_ref().map_or_else(String::new, |listed| format!("\n\n{}", table(&lines(listed, &zone, language))));
    Ok(format!("{}{known}\n\n{verdict}", intact_notice(SecretKindName::Access, language)))
}

fn lines(listed: &ListedSession, zone: &TimeZone, language: Language) -> Vec<[String; 2]> {
    let label = |english: &str, chinese: &str| language.of([english, chinese]).to_owned();
    let session = &listed.session;
    let (id, name, corp) = (&listed.employee_id, &listed.name, session.employee.corp());
    let (at, method, source) = (local_time(zone, session.created_at), session.method.name(), session.source.name());
    let from = listed.ip_address.as_deref();
    let [english, chinese] =
        from.map_or_else(Default::default, |address| [format!(" from {address}"), format!(" 来自 {address}")]);
    let began =
        [format!("{at}{english} by {method}, to {source}"), format!("{at}{chinese}，方式 {method}，入口 {source}")];
    let mut lines = vec![
        [
            label("owner", "所有者"),
            language.of([format!("{id} ({name}) of {corp}"), format!("{id}（{name}，{corp}）")]),
        ],
        [label("signed in", "登录"), language.of(began)],
        [label("active role", "当前角色"), session.current_role.name().to_owned()],
        [label("expires", "到期"), local_time(zone, session.expires_at)],
    ];
    lines.extend(listed.seen_at.map(|seen| {
        let seen = local_time(zone, seen);
        [label("last used", "最近使用"), language.of([format!("about {seen}"), format!("约 {seen}")])]
    }));
    lines
}

/// For a token of a live session: whether its role is still held, and from which networks it may be active.
async fn live_verdict(
    auth: &Auth,
    holder: &TokenHolder,
    listed: Option<&ListedSession>,
    language: Language,
) -> CommandResult {
    let role = holder.session().current_role;
    if let Err(refusal) = holder.clone().into_active_user() {
        let (verdict, roles) = (verdict(&refusal, language), role_names(holder.roles, language));
        return Ok(language.of([
            format!("{verdict}\nRoles that it can switch to: {roles}"),
            format!("{verdict}\n可切换到的角色：{roles}"),
        ]));
    }
    let lists = &auth.store.access_rules().await.map_err(|error| failure(error, language))?.lists;
    let began = listed.and_then(|listed| listed.ip_address.as_deref()).and_then(|address| address.parse().ok());
    let barred = began.filter(|address| !lists.allow(role, *address));
    let barred = barred.map_or_else(String::new, |address| {
        let reason = Refusal::AddressNotAllowed(role).reason();
        language.of([
            format!("\nFrom {address}, where it began, it is not valid ({reason}): see `deskpass ip-rule list`."),
            format!("\n但从其登录地址 {address} 使用时无效（{reason}）：请查看 `deskpass ip-rule list`。"),
        ])
    });
    let (valid, networks) = (valid(language), allowed_networks(lists, role, language));
    Ok(language.of([
        format!("{valid} {role} may be active {networks}.{barred}"),
        format!("{valid}{role} 的地址限制：{networks}。{barred}"),
    ]))
}

async fn half(app: &App, digest: Digest, language: Language) -> CommandResult {
    let auth = &app.auth;
    let intact_notice = intact_notice(SecretKindName::Half, language);
    let found = auth.store.partial_session(&digest).await.map_err(|error| failure(error, language))?;
    let problem = |problem: TokenError| verdict(&Refusal::Token(problem), language);
    let label = |english: &str, chinese: &str| language.of([english, chinese]).to_owned();
    Ok(match found {
        PartialSessionLookup::Found(half) => {
            let lines = [
                [label("owner", "所有者"), employee_label(&half.employee, language)],
                [label("expires", "到期"), local_time(&app.settings.notices.zone(), half.expires_at)],
            ];
            let over = half.expires_at <= auth.clock.now();
            let message = if over { problem(TokenError::Expired) } else { valid(language) };
            format!("{intact_notice}\n\n{}\n\n{message}", table(&lines))
        }
        PartialSessionLookup::Denied(ended) => format!("{intact_notice}\n\n{}", problem(ended.into())),
        PartialSessionLookup::NotFound => format!("{intact_notice}\n\n{}", problem(TokenError::Unknown)),
    })
}

async fn service_key(app: &App, digest: Digest, language: Language) -> CommandResult {
    let (auth, zone) = (&app.auth, app.settings.notices.zone());
    let intact_notice = intact_notice(SecretKindName::ServiceKey, language);
    let found = auth.store.service_key_of(digest).await.map_err(|error| failure(error, language))?;
    let Some(ServiceKey { id, name, scopes, expires_at, revoked_at, .. }) = &found else {
        return Ok(format!("{intact_notice}\n\n{}", verdict(&Refusal::Token(TokenError::Unknown), language)));
    };
    let label = |english: &str, chinese: &str| language.of([english, chinese]).to_owned();
    let mut lines = vec![
        [label("id", "编号"), id.clone()],
        [label("name", "名称"), plain(name)],
        [label("scopes", "权限范围"), scopes.to_string()],
        [label("expires", "到期"), local_time(&zone, *expires_at)],
    ];
    lines.extend(revoked_at.map(|at| [label("revoked", "吊销"), local_time(&zone, at)]));
    let state = found.as_ref().map_or("", |key| key.state(auth.clock.now()));
    let message = match state {
        "active" => valid(language),
        state => language.of([
            format!("It is not valid ({state}). To create another: deskpass service-key create"),
            format!("它无效（{state}）。如需新建：deskpass service-key create"),
        ]),
    };
    Ok(format!("{intact_notice}\n\n{}\n\n{message}", table(&lines)))
}
