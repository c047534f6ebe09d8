//! Checks whether the data is usable.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use deskpass_core::Timestamp;
use deskpass_store::{
    ChainKeys, DirectReadError, Location, OpenError, PlatformMismatch, Remedy, Store, read_latest_recorded_time,
};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::report::{Bilingual, Finding, bilingual};
use crate::app::installation::{OtherPlatform, find_mismatch};
use crate::app::storage::mode;
use crate::commands::{AdminCommand, StorageReport};
use crate::config::{Language, Settings};

/// The timeout for opening and for writing. A slower disk is too slow for users who wait for a page.
const STORE_TIMEOUT: Duration = Duration::from_secs(10);

/// Checks that the store opens and accepts writes.
pub(super) async fn check(settings: &Settings, now: Timestamp) -> Finding {
    if is_unused(&settings.data) {
        return unused(&settings.data);
    }
    if let Some(finding) = other_platform(settings).await {
        return finding;
    }
    let mode = mode(settings);
    let (location, entries) = (Location::Embedded(settings.data.clone()), settings.session.cache_entries);
    // Opening the store would migrate the data, which cannot be undone.
    if let Ok(Err(DirectReadError::Older { found, known })) =
        timeout(STORE_TIMEOUT, read_latest_recorded_time(&location, mode)).await
        && found > 0
    {
        return older(&settings.data, found, known);
    }
    let key = ChainKeys::new(&settings.sealing_keys());
    // Opening blocks on the disk, so it runs on its own thread.
    let opening =
        spawn_blocking(move || Handle::current().block_on(Store::open_with(location, mode, entries, now, Some(key))));
    match timeout(STORE_TIMEOUT, opening).await {
        Ok(Ok(Ok(store))) => writes(&store, &settings.data).await,
        Ok(Ok(Err(OpenError::InUse(_)))) => {
            Finding::ok("in use by a running deskpass; not checked", "正由运行中的 deskpass 使用，不再检查")
        }
        Ok(Ok(Err(error))) => Finding::bad(why(&error), fix(&error)),
        Ok(Err(_)) | Err(_) => slow(&settings.data),
    }
}

/// Asks the service that runs on this data; `None` if none does, or one of an earlier version.
pub(super) async fn ask_service(settings: &Settings) -> Option<StorageReport> {
    let (data, development) = (settings.data.clone(), settings.development.enabled);
    // The socket blocks.
    let asked = spawn_blocking(move || AdminCommand::Storage.send_to_service(&data, development, Language::En));
    serde_json::from_str(&asked.await.ok()?.ok()?.ok()?).ok()
}

/// What the service that runs on this data said about it.
pub(super) fn used_by_service(data: &Path, told: StorageReport) -> Finding {
    let Some(fault) = told.fault else {
        let message = "in use by a running deskpass, which can write to it";
        return Finding::ok(message, "正由运行中的 deskpass 使用，可以写入");
    };
    let shown = data.display();
    Finding::bad(
        bilingual(
            format!("the running deskpass cannot write to {shown}: {fault}"),
            format!("运行中的 deskpass 无法写入 {shown}：{fault}"),
        ),
        disk_fix(),
    )
}

fn disk_fix() -> Bilingual {
    bilingual("check the free space and the permissions of the disk", "请检查磁盘空间和权限")
}

/// Reports data that belongs to another platform than the settings. Also works next to a running service, and on PostgreSQL.
pub(super) async fn other_platform(settings: &Settings) -> Option<Finding> {
    // What makes the data unreadable is reported by the check that opens it.
    let OtherPlatform { place, why, .. } = timeout(STORE_TIMEOUT, find_mismatch(settings)).await.ok()?.ok()??;
    let fitting = why.fitting_setting();
    let chinese = match &why {
        PlatformMismatch::Kind { found, wanted } => format!(
            "数据属于 platform.kind = {found:?}，而配置为 platform.kind = {wanted:?}；其中的员工在另一平台上无法识别"
        ),
        PlatformMismatch::PersonId { found, wanted } => format!(
            "员工以 platform.user_id = {found:?} 标识，而配置为 platform.user_id = {wanted:?}；这样将无法识别任何人：\
             角色、坐席、密码和设备都属于原来的标识"
        ),
        PlatformMismatch::Application { found, wanted } => format!(
            "员工以应用 platform.client_id = {found:?} 的标识识别，而配置为 platform.client_id = {wanted:?}；同一人在该应用中\
             的标识不同，这样将无法识别任何人：角色、坐席、密码和设备都属于原来的标识"
        ),
    };
    Some(Finding::bad(
        bilingual(format!("{place} cannot be used: {why}"), format!("无法使用 {place}：{chinese}")),
        bilingual(
            format!("set {fitting}, or begin with new data: another directory with --data, or another store.url"),
            format!("请设置 {fitting}；如要使用新数据，请用 --data 指定其他目录，或更换 store.url"),
        ),
    ))
}

fn older(data: &Path, found: i64, known: i64) -> Finding {
    let data = data.display();
    Finding::ok(
        format!("{data} has version {found}, the latest is {known}; `deskpass migrate` or the next start upgrades it"),
        format!("{data} 版本为 {found}，最新为 {known}；运行 `deskpass migrate` 或下次启动时升级"),
    )
}

async fn writes(store: &Store, data: &Path) -> Finding {
    let shown = data.display();
    // A probe with this machine's time would record that time, which may be wrong.
    match timeout(STORE_TIMEOUT, store.probe(Timestamp::from_millis(0))).await {
        Ok(Ok(())) => Finding::ok(format!("{shown} can be opened and written"), format!("{shown} 可以打开并写入")),
        Ok(Err(error)) => Finding::bad(
            bilingual(format!("{shown} cannot be written: {error}"), format!("{shown} 无法写入：{error}")),
            disk_fix(),
        ),
        Err(_) => slow(data),
    }
}

fn slow(data: &Path) -> Finding {
    let (data, seconds) = (data.display(), STORE_TIMEOUT.as_secs());
    Finding::bad(
        bilingual(format!("{data} did not respond within {seconds} s"), format!("{data} 在 {seconds} 秒内没有响应")),
        bilingual(
            "check the disk; do not keep the data on a network file system",
            "请检查磁盘；数据不宜放在网络文件系统上",
        ),
    )
}

/// Whether the directory has never been used. The check then leaves it empty: a different user than the service's may
/// run this command, and the service could not open files that this user created.
fn is_unused(data: &Path) -> bool {
    match fs::read_dir(data) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

fn unused(data: &Path) -> Finding {
    let shown = data.display();
    match probe_directory(data) {
        Ok(()) => Finding::ok(
            format!("{shown} has no data yet; the first start creates it"),
            format!("{shown} 中尚无数据，首次启动时创建"),
        ),
        Err(error) => Finding::bad(
            bilingual(format!("{shown} cannot be created: {error}"), format!("无法创建 {shown}：{error}")),
            directory_fix(),
        ),
    }
}

/// Creates and removes a directory where the data would be created.
fn probe_directory(data: &Path) -> io::Result<()> {
    let place = data.ancestors().find(|place| place.exists()).unwrap_or(Path::new("."));
    let trial = place.join(".deskpass-doctor");
    match fs::create_dir(&trial) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => fs::remove_dir(&trial),
    }
}

fn directory_fix() -> Bilingual {
    bilingual(
        "make the service's user the owner of the directory, or choose another with --data",
        "请将该目录的所有者改为运行服务的用户，或用 --data 指定其他目录",
    )
}

fn why(error: &OpenError) -> Bilingual {
    let (english, chinese) = match error {
        OpenError::InUse(path) => (format!("{} is in use", path.display()), format!("{} 正在使用", path.display())),
        OpenError::Directory { path, source } => {
            let path = path.display();
            (format!("{path} cannot be used: {source}"), format!("无法使用 {path}：{source}"))
        }
        OpenError::Database { path, error } => {
            let path = path.display();
            (format!("{path} cannot be opened: {error}"), format!("无法打开 {path}：{error}"))
        }
        OpenError::Lost(path) => {
            let path = path.display();
            (format!("{path} existed before and is now missing or empty"), format!("{path} 曾经存在，现已丢失或为空"))
        }
        OpenError::Mode { place, found, wanted, .. } => (
            format!("{place} was created in {found} and cannot be used in {wanted}"),
            format!("{place} 创建于{}，不能用于{}", mode_in_chinese(found), mode_in_chinese(wanted)),
        ),
        OpenError::Server { server, error } => {
            (format!("{server} cannot be used: {error}"), format!("无法使用 {server}：{error}"))
        }
        OpenError::Url(why) => (format!("store.url cannot be used: {why}"), format!("store.url 无法使用：{why}")),
        OpenError::Authority(why) => (
            format!("the trusted certificate authorities cannot be read: {why}"),
            format!("无法读取受信任的证书：{why}"),
        ),
        OpenError::Key(_) => (
            "encryption_key is not the key that the data was written with".to_owned(),
            "encryption_key 与写入数据时使用的不一致".to_owned(),
        ),
        OpenError::Newer { found, known } => (
            format!("the data has version {found}, and this deskpass supports versions up to {known}"),
            format!("数据版本为 {found}，本程序最高支持 {known}"),
        ),
    };
    bilingual(english, chinese)
}

/// The name of a mode, which the data records in English.
fn mode_in_chinese(name: &str) -> &str {
    if name.starts_with("development") { "开发模式" } else { "生产模式" }
}

fn fix(error: &OpenError) -> Bilingual {
    match error {
        OpenError::InUse(_) | OpenError::Directory { .. } => directory_fix(),
        OpenError::Database { error, .. } => match error.remedy() {
            Some(Remedy::Restore) | None => {
                bilingual("if the file is damaged, restore it from a backup", "如果文件已损坏，请从备份恢复")
            }
            Some(Remedy::CheckDisk) => {
                bilingual("check the free space and the permissions of the disk", "请检查磁盘空间和文件权限")
            }
        },
        OpenError::Lost(_) => bilingual(
            "restore it from a backup, or choose another directory with --data",
            "请从备份恢复，或用 --data 指定其他目录",
        ),
        OpenError::Mode { .. } => bilingual(
            "choose another directory with --data or another database with store.url, or switch the mode by adding or \
             omitting --dev",
            "请用 --data 指定其他目录或用 store.url 指定其他数据库，或切换模式（加上或去掉 --dev）",
        ),
        OpenError::Server { .. } | OpenError::Url(_) => bilingual(
            "check store.url, and that the server runs and accepts this user",
            "请检查 store.url，并确认数据库服务器正在运行且允许该用户登录",
        ),
        OpenError::Authority(_) => bilingual("check tls.ca_file", "请检查 tls.ca_file"),
        OpenError::Key(_) => bilingual("restore that key in the settings", "请在配置中恢复原来的密钥"),
        OpenError::Newer { .. } => bilingual("use the newer deskpass that wrote it", "请使用写入该数据的新版 deskpass"),
    }
}
