//! Checks whether other users can read the secrets, and whether a proxy is missing from the settings.

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
    if settings.store.url.is_some() {
        return None;
    }
    let development = settings.development.enabled;
    let asked = AdminCommand::UntrustedProxies.send_to_service(&settings.data, development, language);
    let message = asked.ok()?.ok()?;
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
