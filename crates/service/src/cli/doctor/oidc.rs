//! Checks OpenID Connect: the issuer under its own name, the signing keys, and the clients' back-channel addresses.

use deskpass_core::Timestamp;
use deskpass_store::read_oidc_clients;
use reqwest::header::DATE;
use serde_json::Value;

use super::platform::compare;
use super::public_request;
use super::report::{Bilingual, Check, Finding, Report, bilingual};
use crate::app::storage::{location, mode};
use crate::commands::{AdminCommand, ClientFacts, OidcAdminCommand, OidcFacts};
use crate::config::{Language, OidcClient, Settings};

/// The path of the metadata that clients read first.
const DISCOVERY_PATH: &str = "/.well-known/openid-configuration";

/// Checks what clients need; one line says so if there are none.
pub(super) async fn check(settings: &Settings, now: Timestamp, report: &mut Report) {
    let facts = facts(settings).await;
    if facts.clients.is_empty() {
        report.record(Check::Oidc, Finding::ok("off: there is no client", "未启用：没有客户端"));
        return;
    }
    report.record(Check::OidcKeys, keys(&facts));
    report.record(Check::Oidc, issuer(settings, now, facts.clients.len()).await);
    for client in facts.clients.iter().filter(|client| client.enabled) {
        if let Some(address) = &client.backchannel_logout_uri {
            report.record(Check::Backchannel, backchannel(client, address).await);
        }
    }
}

/// The clients and keys, from the running service, else from the data and the settings. A check must not change data, and opening it
/// would: so whether keys can be used is not known then.
async fn facts(settings: &Settings) -> OidcFacts {
    if let Some(facts) = ask_service(settings) {
        return facts;
    }
    let stored = read_oidc_clients(&location(settings), mode(settings)).await.unwrap_or_default();
    let listed = settings.oidc.clients.iter();
    let listed = listed.map(|OidcClient { id, registration, .. }| ClientFacts::new(id, registration, true));
    let stored =
        stored.iter().map(|client| ClientFacts::new(&client.id, &client.registration, client.disabled_at.is_none()));
    OidcFacts { clients: listed.chain(stored).collect(), ..OidcFacts::default() }
}

/// What the service that runs on embedded data knows.
fn ask_service(settings: &Settings) -> Option<OidcFacts> {
    if settings.store.url.is_some() {
        return None;
    }
    let command = AdminCommand::Oidc(OidcAdminCommand::Facts);
    let answer = command.send_to_service(&settings.data, settings.development.enabled, Language::En).ok()?;
    serde_json::from_str(&answer.ok()?).ok()
}

fn keys(facts: &OidcFacts) -> Finding {
    if facts.key_problems.is_empty() {
        return match facts.keys {
            None => Finding::ok("not checked: only the running service can", "未检查：仅运行中的服务可检查"),
            Some(0) => Finding::ok("none yet; made at the first use", "尚无；首次使用时生成"),
            Some(keys) => Finding::ok(format!("{keys} can be used"), format!("{keys} 个可用")),
        };
    }
    let problems = facts.key_problems.join("; ");
    Finding::bad(
        bilingual(format!("cannot be used: {problems}"), format!("无法使用：{problems}")),
        bilingual(
            "restore the encryption_key that they were sealed with, or make new ones: deskpass oidc rotate-keys --now",
            "请恢复封存它们时使用的 encryption_key，或重新生成：deskpass oidc rotate-keys --now",
        ),
    )
}

/// Reads the metadata as clients do: by the public name, with its certificate.
async fn issuer(settings: &Settings, now: Timestamp, clients: usize) -> Finding {
    let address = format!("{}{DISCOVERY_PATH}", settings.public_url);
    let response = match public_request::get(&address).await {
        Ok(response) => response,
        Err(how) => return Finding::bad(no_response(&address, &how), issuer_fix()),
    };
    let status = response.status().as_u16();
    let date = response.headers().get(DATE).and_then(|date| date.to_str().ok()).map(str::to_owned);
    let text = response.text().await.unwrap_or_default();
    let metadata: Value = serde_json::from_str(&text).unwrap_or_default();
    let told = metadata.get("issuer").and_then(Value::as_str);
    if status != 200 || told != Some(&*settings.public_url) {
        return Finding::bad(
            bilingual(
                format!("{address} does not answer with this service's metadata (status {status})"),
                format!("{address} 返回的不是本服务的元数据（状态码 {status}）"),
            ),
            issuer_fix(),
        );
    }
    // Tokens are valid for minutes, so clients compare times.
    if matches!(compare(date.as_deref(), now), Finding::Bad { .. }) {
        return Finding::bad(
            bilingual(
                format!("the clock of {} differs from this machine's by more than a minute", settings.public_url),
                format!("{} 的时钟与本机相差超过一分钟", settings.public_url),
            ),
            bilingual(
                "synchronise all nodes with NTP (timedatectl set-ntp true)",
                "请在所有节点启用 NTP 校时（timedatectl set-ntp true）",
            ),
        );
    }
    Finding::ok(
        format!("{clients} client(s); metadata at {address}"),
        format!("{clients} 个客户端；元数据地址 {address}"),
    )
}

fn issuer_fix() -> Bilingual {
    bilingual(
        "start the service, and let every client's server reach it under this name, with a certificate that it trusts",
        "请启动服务，并确保每个客户端的服务器都能以该名称访问它，且信任其证书",
    )
}

fn no_response(address: &str, how: &str) -> Bilingual {
    bilingual(format!("no response from {address} ({how})"), format!("{address} 没有响应（{how}）"))
}

/// Checks that a client can be told of a sign-out. No logout token is sent, so the client may answer with any status.
async fn backchannel(client: &ClientFacts, address: &str) -> Finding {
    let (id, name) = (&client.id, &client.name);
    let fix = bilingual(
        format!(
            "correct the address of {name} ({id}), start the program, or let this machine reach it; until then it is not told \
             when a session ends"
        ),
        format!("请修正 {name}（{id}）的地址、启动该程序，或放行本机到它的连接；在此之前，会话结束时无法通知它"),
    );
    match public_request::get_of_program(address).await {
        Err(how) => Finding::bad(no_response(address, &how), fix),
        Ok(response) if response.status().is_redirection() => {
            let status = response.status().as_u16();
            Finding::bad(
                bilingual(
                    format!("{address} redirects (status {status}), which is not followed"),
                    format!("{address} 返回重定向（状态码 {status}），不会跟随"),
                ),
                fix,
            )
        }
        Ok(_) if address.starts_with("http://") => Finding::Warning {
            why: bilingual(format!("{address} is not encrypted"), format!("{address} 未加密")),
            fix: bilingual("use https, unless the program runs on this machine", "除非程序就在本机，否则请使用 https"),
        },
        Ok(_) => Finding::ok(format!("{name} is reachable at {address}"), format!("{name} 可以访问 {address}")),
    }
}
