//! Checks whether PostgreSQL and Redis are reachable, meet the requirements, and agree with this machine on the time.

use std::time::Duration;

use deskpass_core::Timestamp;
use deskpass_store::{PostgresStatus, RedisStatus, SchemaFit, StoreError, inspect_postgres, inspect_redis};
use tokio::time::timeout;

use super::report::{Bilingual, Check, Finding, Report, bilingual};
use crate::app::storage;
use crate::config::{SecretUrl, Settings};

/// The timeout for each of the two. Users who wait for a page do not wait longer.
const SERVER_TIMEOUT: Duration = Duration::from_secs(10);
/// Nodes use their own clocks. Beyond this difference one clock is wrong; beyond a larger one a node does not start.
const MAX_CLOCK_SKEW: Duration = Duration::from_secs(5);
const MIN_POSTGRES_VERSION: u32 = 130_000;
const MIN_REDIS_VERSION: (u32, u32) = (6, 2);

pub(super) async fn check(settings: &Settings, store: &SecretUrl, now: Timestamp, report: &mut Report) {
    let Some(at) = storage::postgres(settings) else { return };
    let answer = timeout(SERVER_TIMEOUT, inspect_postgres(&at)).await.ok();
    match report.record(Check::Postgres, postgres(store, answer)) {
        Some(status) => {
            report.record(Check::Tables, tables(&status));
            report.record(Check::PostgresClock, clock(status.now, now));
        }
        None => report.skip(&[Check::Tables, Check::PostgresClock]),
    }
    let (Some(shared), Some(at)) = (&settings.shared.url, storage::redis(settings)) else { return };
    let answer = timeout(SERVER_TIMEOUT, inspect_redis(&at)).await.ok();
    match report.record(Check::Redis, redis(shared, answer)) {
        Some(status) => {
            report.record(Check::Eviction, eviction(status.eviction.as_deref()));
            report.record(Check::RedisClock, clock(status.now, now));
        }
        None => report.skip(&[Check::Eviction, Check::RedisClock]),
    }
}

/// Checks that PostgreSQL is reachable, recent enough and writable. `None` as the answer is a timeout.
fn postgres(at: &SecretUrl, answer: Option<Result<PostgresStatus, StoreError>>) -> Finding<PostgresStatus> {
    let status = match reached(at, answer, "store.url") {
        Ok(status) => status,
        Err(finding) => return finding,
    };
    let version = format!("{}.{}", status.version / 10_000, status.version % 10_000);
    if status.version < MIN_POSTGRES_VERSION {
        return too_old("PostgreSQL", &version, "13");
    }
    if status.read_only {
        return Finding::bad(
            bilingual(format!("{at} is read-only"), format!("{at} 不可写入")),
            bilingual(
                "the server is a standby or set to read-only: name the primary in store.url, or list all hosts with \
                 target_session_attrs=read-write",
                "该服务器为只读或备库：请在 store.url 中指定主库，或列出全部主机并加上 target_session_attrs=read-write",
            ),
        );
    }
    let message = there(at, &version, wire(status.encrypted, "sslmode=require"));
    Finding::good(status, message)
}

/// Checks that Redis is reachable and recent enough.
fn redis(at: &SecretUrl, answer: Option<Result<RedisStatus, StoreError>>) -> Finding<RedisStatus> {
    let status = match reached(at, answer, "shared.url") {
        Ok(status) => status,
        Err(finding) => return finding,
    };
    let mut numbers = status.version.split('.').map(|number| number.parse().unwrap_or(0));
    if (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) < MIN_REDIS_VERSION {
        return too_old("Redis", &status.version, "6.2");
    }
    let (english, chinese) = wire(status.encrypted, "rediss");
    let english = format!("{english}; persistence is not needed");
    let message = there(at, &status.version, (english, format!("{chinese}；其中内容无需持久化")));
    Finding::good(status, message)
}

fn reached<T>(at: &SecretUrl, answer: Option<Result<T, StoreError>>, key: &str) -> Result<T, Finding<T>> {
    let (english, chinese) = match answer {
        Some(Ok(status)) => return Ok(status),
        Some(Err(error)) => (format!("{at} cannot be used: {error}"), format!("无法使用 {at}：{error}")),
        None => {
            let seconds = SERVER_TIMEOUT.as_secs();
            (format!("{at} did not respond within {seconds} s"), format!("{at} 在 {seconds} 秒内没有响应"))
        }
    };
    let fix = bilingual(
        format!(
            "make sure that it runs, and check host name, port, user, password and firewall; {key} sets its address, \
             tls.ca_file the authorities that its certificate is checked against"
        ),
        format!("请确认其正在运行，并检查主机名、端口、用户、密码和防火墙；地址见 {key}，证书的信任机构见 tls.ca_file"),
    );
    Err(Finding::bad(bilingual(english, chinese), fix))
}

fn there(at: &SecretUrl, version: &str, (english, chinese): (String, String)) -> Bilingual {
    bilingual(
        format!("{at} responds (version {version}, {english})"),
        format!("{at} 可用（版本 {version}，{chinese}）"),
    )
}

fn wire(encrypted: bool, how: &str) -> (String, String) {
    if encrypted {
        ("encrypted".to_owned(), "已加密".to_owned())
    } else {
        (format!("not encrypted: use {how} in the address to encrypt"), format!("未加密：可在地址中使用 {how} 加密"))
    }
}

fn too_old<T>(name: &str, found: &str, wanted: &str) -> Finding<T> {
    Finding::bad(
        bilingual(format!("{name} {found} is too old"), format!("{name} {found} 版本过低")),
        bilingual(format!("use {wanted} or later"), format!("请使用 {wanted} 或更高版本")),
    )
}

fn tables(status: &PostgresStatus) -> Finding {
    let known = status.known;
    match status.tables {
        SchemaFit::Older(0) => Finding::ok("none yet; the first start creates them", "尚未创建，首次启动时创建"),
        SchemaFit::Same => Finding::ok(format!("up to date (version {known})"), format!("已是最新（版本 {known}）")),
        SchemaFit::Older(found) => Finding::ok(
            format!("version {found}, the latest is {known}; `deskpass migrate` or the next start upgrades them"),
            format!("版本 {found}，最新为 {known}；运行 `deskpass migrate` 或下次启动时升级"),
        ),
        SchemaFit::Compatible(found) => Finding::ok(
            format!("version {found} of a newer deskpass, which this deskpass (version {known}) can use"),
            format!("版本 {found}，由新版 deskpass 升级；本程序（版本 {known}）可以使用"),
        ),
        SchemaFit::Newer { found, .. } => Finding::bad(
            bilingual(
                format!("the tables have version {found}, and this deskpass supports versions up to {known}"),
                format!("表版本为 {found}，本程序最高支持 {known}"),
            ),
            bilingual("use the newer deskpass that wrote them", "请使用写入该数据的新版 deskpass"),
        ),
    }
}

/// Checks the eviction policy: a record that is evicted early may be the one that marks a code as used.
fn eviction(policy: Option<&str>) -> Finding {
    match policy {
        None => Finding::Skipped(bilingual(
            "the server does not report its maxmemory-policy; it should be noeviction",
            "服务器未返回 maxmemory-policy；应为 noeviction",
        )),
        Some("noeviction") => Finding::ok("no early eviction (noeviction)", "不会提前淘汰（noeviction）"),
        Some(policy) => Finding::bad(
            bilingual(
                format!("with maxmemory-policy {policy}, Redis evicts data that is still needed when memory is full"),
                format!("maxmemory-policy 为 {policy}，内存不足时会淘汰仍需要的数据"),
            ),
            bilingual(
                "set maxmemory-policy noeviction in its configuration",
                "请在其配置中设置 maxmemory-policy noeviction",
            ),
        ),
    }
}

fn clock(theirs: Timestamp, ours: Timestamp) -> Finding {
    let (ahead, behind) = (ours.since(theirs), theirs.since(ours));
    let apart = ahead.max(behind);
    if apart <= MAX_CLOCK_SKEW {
        return Finding::ok(format!("differs from this machine's by {apart:?}"), format!("与本机相差 {apart:?}"));
    }
    let (english, chinese) = if ahead > behind { ("ahead of", "快") } else { ("behind", "慢") };
    Finding::bad(
        bilingual(format!("this machine is {apart:?} {english} it"), format!("本机时间比其{chinese} {apart:?}")),
        bilingual(
            "synchronise both with NTP (timedatectl set-ntp true): nodes must agree on when a session ends",
            "请在两台机器上启用 NTP 校时（timedatectl set-ntp true）：各节点对会话何时到期的判断必须一致",
        ),
    )
}

#[cfg(test)]
mod tests;
