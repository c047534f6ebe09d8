//! Checks whether other users can read the secrets, whether a proxy or a host name is missing from the settings, and whether the
//! metrics are published.

use futures_util::future::join_all;

use super::public_request;
use super::report::{Bilingual, Finding, bilingual};
use crate::commands::AdminCommand;
use crate::config::{Language, Settings};
use crate::secret_files::{ExposedFile, exposed_files};

/// Checks whether other users can read the files with secrets.
pub(super) fn secret_files(settings: &Settings) -> Finding {
    let found = exposed_files(&settings.secret_files);
    if found.is_empty() {
        return Finding::ok("not readable by other users", "其他用户无法读取");
    }
    let names = found.iter().map(|file| file.path.display().to_string()).collect::<Vec<_>>().join(", ");
    let commands = found.iter().map(ExposedFile::fix).collect::<Vec<_>>().join("\n");
    Finding::Warning {
        why: bilingual(format!("other users can read {names}"), format!("其他用户可以读取 {names}")),
        fix: Bilingual::alike(commands),
    }
}

/// Checks whether the service that runs on this data received requests from an untrusted proxy. Returns `None` if no
/// service runs, or if nodes share a database: their logs and metrics report such proxies.
pub(super) fn proxies(settings: &Settings, language: Language) -> Option<Finding> {
    let message = ask_service(settings, &AdminCommand::UntrustedProxies, language)?;
    if message.is_empty() {
        return Some(Finding::ok("no requests from untrusted proxies", "没有来自未受信任代理的请求"));
    }
    Some(Finding::Warning {
        why: bilingual("an untrusted proxy forwards requests", "有未受信任的代理转发请求"),
        fix: bilingual(
            format!(
                "{message}\nadd each address that is your proxy to trusted_proxies; any other is a client that sends \
                 X-Forwarded-For itself"
            ),
            format!(
                "{message}\n若其中有您的代理，请将其地址加入 trusted_proxies；否则是客户端自行发送了 X-Forwarded-For"
            ),
        ),
    })
}

/// Checks whether the service that runs on this data answered under a host name that the settings do not list. Returns `None` if it
/// did not, or could not be asked.
pub(super) fn hosts(settings: &Settings, language: Language) -> Option<Finding> {
    let message = ask_service(settings, &AdminCommand::UnlistedHosts, language)?;
    (!message.is_empty()).then(|| Finding::Warning {
        why: bilingual(
            "requests name hosts that are not listed; a later version refuses them",
            "有请求使用了未登记的主机名，今后的版本将拒绝这些请求",
        ),
        fix: bilingual(
            format!(
                "{message}\nadd each name of this service to server.hosts, or have the proxy pass the client's Host on"
            ),
            format!("{message}\n请将属于本服务的主机名加入 server.hosts，或让代理传递客户端的 Host"),
        ),
    })
}

/// The answer of the service that runs on this data.
fn ask_service(settings: &Settings, command: &AdminCommand, language: Language) -> Option<String> {
    if settings.store.url.is_some() {
        return None;
    }
    command.send_to_service(&settings.data, settings.development.enabled, language).ok()?.ok()
}

/// Checks whether the metrics can be read under a name that users visit, as by any client. Returns `None` if they cannot.
pub(super) async fn metrics(settings: &Settings) -> Option<Finding> {
    if settings.development.enabled {
        return None;
    }
    let addresses = settings.public_origins().map(|origin| format!("{origin}/metrics"));
    let readable = join_all(addresses.map(readable)).await;
    let addresses = readable.into_iter().flatten().collect::<Vec<_>>().join(", ");
    (!addresses.is_empty()).then(|| Finding::Warning {
        why: bilingual(format!("everyone can read {addresses}"), format!("任何人都可以读取 {addresses}")),
        fix: bilingual(
            "have the proxy refuse /metrics, or send X-Forwarded-For and the client's Host",
            "请让代理拒绝 /metrics，或发送 X-Forwarded-For 并传递客户端的 Host",
        ),
    })
}

/// The address, if it answers with metrics of this service.
async fn readable(address: String) -> Option<String> {
    let response = public_request::get(&address).await.ok()?;
    let is_readable = response.status().is_success() && response.text().await.ok()?.contains("deskpass_");
    is_readable.then_some(address)
}
