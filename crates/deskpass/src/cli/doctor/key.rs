//! Checks whether the encryption key is the one that the data was written with.

use std::time::Duration;

use deskpass_store::{ChainKey, is_key_of_log};
use tokio::time::timeout;

use super::report::{Finding, bilingual};
use crate::app::storage::{location, mode};
use crate::config::Settings;

/// The timeout for the read. Other checks report a slow database.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Checks whether the log was written with the `encryption_key` of the settings; `None` if there is nothing to compare with.
pub(super) async fn check(settings: &Settings) -> Option<Finding> {
    let key = ChainKey::new(&settings.sealing_key());
    let known = timeout(READ_TIMEOUT, is_key_of_log(&location(settings), mode(settings), key)).await;
    if known.ok()?.ok()?? {
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
