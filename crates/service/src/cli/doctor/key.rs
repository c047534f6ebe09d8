//! Checks whether the encryption key is the one that the data was written with.

use std::time::Duration;

use deskpass_store::{ChainKeys, KeyCheckState, KeyState, is_key_of_log, key_check_state, read_key_state};
use tokio::time::timeout;

use super::report::{Finding, bilingual};
use crate::app::storage::{location, mode};
use crate::config::Settings;

/// The timeout for the read. Other checks report a slow database.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Checks whether the log was written with the `encryption_key` of the settings; `None` if there is nothing to compare with.
pub(super) async fn check(settings: &Settings) -> Option<Finding> {
    let keys = ChainKeys::new(&settings.sealing_keys());
    let known = timeout(READ_TIMEOUT, is_key_of_log(&location(settings), mode(settings), keys.clone())).await;
    if known.ok()?.ok()?? {
        if let Some(finding) = key_check(settings).await {
            return Some(finding);
        }
        let state = timeout(READ_TIMEOUT, read_key_state(&location(settings), mode(settings), keys)).await;
        if let Some(finding) = state.ok()?.ok().as_ref().and_then(order) {
            return Some(finding);
        }
        let message = "encryption_key is the key that the data was written with";
        return Some(Finding::ok(message, "encryption_key 与写入数据时一致"));
    }
    Some(Finding::bad(
        bilingual(
            "encryption_key is not the key that the data was written with",
            "encryption_key 与写入数据时使用的不一致",
        ),
        bilingual(
            "restore that key in the settings; if it is lost: deskpass audit restart --key-is-lost",
            "请在配置中恢复原来的密钥；如已丢失：deskpass audit restart --key-is-lost",
        ),
    ))
}

/// Reports several keys: one that is to be replaced, or one that was replaced and is still listed.
fn order(state: &KeyState) -> Option<Finding> {
    let (why, fix) = if state.lists_old_key_first() {
        (
            bilingual("encryption_key lists first a key that was replaced", "encryption_key 的第一个密钥已被更换"),
            bilingual("put the current key first, and remove the old one", "请把当前密钥放在最前面，并删除旧密钥"),
        )
    } else if state.needs_rotation() {
        (
            bilingual(
                "encryption_key lists a new key first, and the data still uses an older one",
                "encryption_key 的第一个是新密钥，而数据仍在使用旧密钥",
            ),
            bilingual(
                "when every node has both keys: deskpass key rotate",
                "所有节点都有两个密钥后，运行：deskpass key rotate",
            ),
        )
    } else if state.configured.len() > 1 {
        (
            bilingual(
                "encryption_key lists more keys than the audit log needs",
                "encryption_key 中有审计日志已不需要的密钥",
            ),
            bilingual(
                "a new key that is not used yet belongs first, before `deskpass key rotate`; after it, remove the old \
                 key. `deskpass key status` shows which key protects what",
                "尚未使用的新密钥应放在最前面，再运行 `deskpass key rotate`；之后请删除旧密钥。`deskpass key status` 显示各密钥的用途",
            ),
        )
    } else {
        return None;
    };
    Some(Finding::Warning { why, fix })
}

/// Reports a key check that is missing or changed although the key is right: the service writes it at its next start.
async fn key_check(settings: &Settings) -> Option<Finding> {
    if settings.development.enabled {
        // There the commands do not write it, and the key is public.
        return None;
    }
    let keys = ChainKeys::new(&settings.sealing_keys());
    let found = timeout(READ_TIMEOUT, key_check_state(&location(settings), mode(settings), keys)).await;
    let why = match found.ok()?.ok()? {
        KeyCheckState::Matches => return None,
        KeyCheckState::Missing => bilingual(
            "encryption_key is right, but the database has no value to check it by (key_check)",
            "encryption_key 正确，但数据库中没有用于校验它的值（key_check）",
        ),
        KeyCheckState::Differs => bilingual(
            "encryption_key is right, but the value in the database to check it by (key_check) was changed",
            "encryption_key 正确，但数据库中用于校验它的值（key_check）被修改过",
        ),
    };
    let fix = bilingual(
        "the next start writes it; unless the audit log was just restarted or the service never started, find out who \
         can write to the database",
        "下次启动时会重新写入；如并非刚重置过审计日志，也并非从未启动过，请查明谁能写入数据库",
    );
    Some(Finding::Warning { why, fix })
}
