//! The same service with other settings.

use std::sync::{Arc, OnceLock};

use deskpass_auth::Auth;
use deskpass_platform::Messenger;

use super::own_pages::OwnPages;
use super::policy::policy;
use super::reply_backend::ReplyBackend;
use super::token_cache::SharedTokenCache;
use super::{App, AppInner, StartError, metrics, platform};
use crate::client_limiter::ClientLimiter;
use crate::config::{Settings, SettingsDiff};
use crate::server_tls::ServerTls;
use crate::site::{Brand, LogoError, PagePlatform, PageSwitches, Site};

impl App {
    /// The same service with other settings: stores, sockets, counters and metrics are shared. Files that the settings name are
    /// read again. The settings that need a restart must be the same. Nothing of the running service changes, so after an error
    /// it goes on as before.
    pub(crate) fn reloaded(&self, settings: Settings) -> Result<Self, StartError> {
        let auth = Auth { platform: self.reloaded_client(&settings)?, policy: policy(&settings)?, ..self.auth.clone() };
        let (verify_file, own_pages) = (platform::verify_file(&settings)?, OwnPages::open(&settings)?);
        let tls = ServerTls::reopen(self.tls.as_ref(), &settings.server, self.auth.clock.now())?;
        let look = look(&settings, &*auth.platform)?;
        let site = if look == self.look { Arc::clone(&self.site) } else { Site::with(&look.0, look.1) };
        Ok(Self(Arc::new(AppInner {
            auth,
            trusted: settings.trusted_proxies.iter().copied().collect(),
            hosts: settings.hosts(),
            operators: settings.server.operator_networks.iter().copied().collect(),
            metrics: Arc::clone(&self.metrics),
            readiness: self.readiness.clone(),
            simulator: self.simulator.clone(),
            verify_file,
            reply_backend: self.reloaded_backend(&settings)?,
            own_pages,
            site,
            look,
            tls,
            reload_status: Arc::clone(&self.reload_status),
            untrusted_proxies: Arc::clone(&self.untrusted_proxies),
            unlisted_hosts: Arc::clone(&self.unlisted_hosts),
            sync_runs: Arc::clone(&self.sync_runs),
            failure_log: Arc::clone(&self.failure_log),
            event_stream_limiter: maximum_streams(&settings, &self.event_stream_limiter),
            held_refusal_limiter: maximum_held_refusals(&settings, &self.held_refusal_limiter),
            socket_limiter: maximum_sockets(&settings, &self.socket_limiter),
            body_limiter: self.body_limiter.clone(),
            draining: self.draining.clone(),
            successors: OnceLock::new(),
            node: self.node,
            cache_sync: self.cache_sync.clone(),
            settings,
        })))
    }

    /// The platform's client: the running one, with its access token and its circuit breakers, unless its settings changed.
    fn reloaded_client(&self, settings: &Settings) -> Result<Arc<dyn Messenger>, StartError> {
        let (_, diff) = self.settings.reload(settings.clone());
        // The client does not know the file.
        let concerns_client = |name: &&str| name.starts_with("platform.") && *name != "platform.verify_file";
        if !diff.reloaded.iter().any(concerns_client) {
            return Ok(Arc::clone(&self.auth.platform));
        }
        let (shared, clock) = (Arc::clone(&self.auth.shared), self.auth.clock.clone());
        let token_cache = SharedTokenCache::new(shared, clock.clone(), settings, self.node);
        let client = platform::messenger(settings, clock, Arc::new(token_cache))?;
        metrics::observe_platform(&self.metrics, &*client);
        Ok(client)
    }

    fn reloaded_backend(&self, settings: &Settings) -> Result<Option<Arc<ReplyBackend>>, StartError> {
        let (old, new) = (&self.settings.messages, &settings.messages);
        if old.reply_url == new.reply_url && old.reply_secret == new.reply_secret {
            return Ok(self.reply_backend.clone());
        }
        Ok(ReplyBackend::open(new).map_err(StartError::Replies)?.map(Arc::new))
    }

    /// Adds the settings whose files have other content than in the running service, under the same names.
    pub(crate) fn add_changed_files(&self, running: &Self, diff: &mut SettingsDiff) {
        let (old, new) = (&running.settings.branding, &self.settings.branding);
        let same_branding = old.name == new.name && old.accent == new.accent && old.logo == new.logo;
        let same_tls = match (&self.tls, &running.tls) {
            (Some(new), Some(old)) => Arc::ptr_eq(new, old),
            (new, old) => new.is_some() == old.is_some(),
        };
        let changes = [
            (same_branding && self.look.0 != running.look.0, "branding.logo"),
            (self.verify_file != running.verify_file, "platform.verify_file"),
            (!self.own_pages.has_content_of(&running.own_pages), "pages.directory"),
            (!same_tls, "server.tls.certificate"),
        ];
        for (_, name) in changes.into_iter().filter(|(changed, _)| *changed) {
            diff.add_reloaded(name);
        }
    }
}

/// What the settings and the platform change in the pages.
pub(super) fn look(settings: &Settings, platform: &dyn Messenger) -> Result<(Brand, PageSwitches), LogoError> {
    let (replies, own_pages) = (settings.messages.reply_url.is_some(), settings.pages.directory.is_some());
    let platform = PagePlatform::of(platform, settings.development.enabled);
    Ok((Brand::read(&settings.branding)?, PageSwitches { replies, own_pages, platform }))
}

/// Only a part of all connections, so that other clients can still connect; clients above the limit poll instead.
pub(super) fn maximum_streams(Settings { server, .. }: &Settings, counted: &ClientLimiter) -> ClientLimiter {
    counted.with_maximums(server.max_connections / 4, server.max_connections_per_address)
}

/// A sixteenth of all connections, for the same reason: with all streams and sockets, a trusted proxy has a sixteenth
/// left of the seven eighths that it may have. From one address as many, since a proxy has all of them. Refusals above
/// the limit are not held.
pub(super) fn maximum_held_refusals(Settings { server, .. }: &Settings, counted: &ClientLimiter) -> ClientLimiter {
    counted.with_maximums(server.max_connections / 16, server.max_connections / 16)
}

/// Half of all connections, for the same reason as the streams.
pub(super) fn maximum_sockets(Settings { server, sockets, .. }: &Settings, counted: &ClientLimiter) -> ClientLimiter {
    counted.with_maximums(server.max_connections / 2, sockets.max_per_address)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use tokio::sync::watch;

    use super::*;
    use crate::config::{Override, Sources, load};

    #[tokio::test]
    async fn a_slow_request_keeps_only_the_service_that_it_began_with() {
        let directory = tempfile::tempdir().unwrap();
        let overrides = [("data", directory.path().display().to_string()), ("development.enabled", "true".into())];
        let overrides = overrides.map(|(key, value)| Override { key, value, flag: "a test" }).into();
        let nothing = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
        let settings = load(&Sources { file: None, environment: Vec::new(), overrides, read: &nothing }).unwrap();
        let slow = App::open(settings.clone()).await.unwrap();
        let newest = watch::Sender::new(slow.clone());
        let mut replaced = Vec::new();
        for _ in 0..3 {
            let running = newest.borrow().clone();
            running.follow(newest.subscribe());
            newest.send_replace(running.reloaded(settings.clone()).unwrap());
            replaced.push(Arc::downgrade(&running.0));
        }
        assert!(Arc::ptr_eq(&slow.newest().0, &newest.borrow().0));
        assert_eq!(replaced.iter().map(|app| app.upgrade().is_some()).collect::<Vec<_>>(), [true, false, false]);
    }
}
