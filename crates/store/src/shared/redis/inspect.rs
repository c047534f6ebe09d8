//! Reads the status of the Redis server, for diagnosis.

use std::time::Duration;

use deskpass_core::Timestamp;
use redis::cmd;
use tokio::time::timeout;

use super::connection::{connection, server};
use super::server::RedisSettings;
use crate::{Result, StoreError, tls};

/// The timeout of the inspection. A diagnosis can wait longer than a sign-in.
const INSPECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The status of a Redis server.
#[derive(Clone, Debug)]
pub struct RedisStatus {
    /// The version, such as `7.2.4`.
    pub version: String,
    /// The eviction policy when memory is full (`maxmemory-policy`), where the server discloses it.
    pub eviction: Option<String>,
    /// Whether the connection is encrypted.
    pub encrypted: bool,
    /// The time by the server's clock.
    pub now: Timestamp,
}

/// Reads the status of the Redis server and changes nothing there.
pub async fn inspect_redis(at: &RedisSettings) -> Result<RedisStatus> {
    let failed = |error: redis::RedisError| StoreError::shared(error.to_string());
    tls::install_crypto_provider();
    let address = at.resolve()?;
    let asked = timeout(INSPECT_TIMEOUT, async {
        let mut transport = connection(&server(&address, 0).await?).await?;
        let about: String = cmd("INFO").arg("server").query_async(&mut transport).await?;
        // Managed servers often do not disclose their settings.
        let policy: Option<Vec<String>> =
            cmd("CONFIG").arg("GET").arg("maxmemory-policy").query_async(&mut transport).await.ok();
        let (seconds, micros): (i64, i64) = cmd("TIME").query_async(&mut transport).await?;
        let version = about.lines().find_map(|line| line.strip_prefix("redis_version:")).unwrap_or_default();
        Ok(RedisStatus {
            version: version.trim().to_owned(),
            eviction: policy.and_then(|pair| pair.into_iter().nth(1)),
            encrypted: at.url.starts_with("rediss"),
            now: Timestamp::from_millis(seconds * 1_000 + micros / 1_000),
        })
    });
    asked.await.map_err(|_| StoreError::shared("it did not respond in time"))?.map_err(failed)
}
