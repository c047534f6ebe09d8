//! The client for Feishu.

use std::fmt;
use std::sync::Arc;

use deskpass_core::Clock;
use deskpass_platform::client::{Api, ApiCall, Client, DepartmentNames, NoSharedCache};
use deskpass_platform::{SettingsError, TokenCache, UserTokens};

use crate::inbound::EventReader;
use crate::protocol::FeishuProtocol;
use crate::{FeishuSettings, api};

/// The client for Feishu. Clones share the access token, the circuit breakers and the connections.
#[derive(Clone)]
pub struct Feishu(pub(crate) Arc<FeishuInner>);

pub(crate) struct FeishuInner {
    pub(crate) settings: Arc<FeishuSettings>,
    pub(crate) client: Client,
    pub(crate) departments: DepartmentNames,
    pub(crate) user_tokens: UserTokens,
    pub(crate) events: EventReader,
}

impl Feishu {
    /// Creates a client with these settings.
    pub fn new(settings: FeishuSettings, clock: Clock) -> Result<Self, SettingsError> {
        Self::with_token_cache(settings, clock, Arc::new(NoSharedCache))
    }

    /// Creates a client that shares its access token with the other nodes that use this token cache.
    pub fn with_token_cache(
        settings: FeishuSettings,
        clock: Clock,
        cache: Arc<dyn TokenCache>,
    ) -> Result<Self, SettingsError> {
        let shared = settings.check()?;
        let FeishuSettings { app_id, tenant_key, user_id, events, .. } = &settings;
        let events = EventReader::new(events.clone(), app_id, tenant_key, *user_id);
        let settings = Arc::new(settings);
        let protocol = Arc::new(FeishuProtocol(Arc::clone(&settings)));
        let client = Client::new(protocol, &shared, clock.clone(), cache)?;
        let (departments, user_tokens) = (DepartmentNames::new(clock.clone()), UserTokens::new(clock));
        Ok(Self(Arc::new(FeishuInner { settings, client, departments, user_tokens, events })))
    }

    /// A GET to an API that speaks of members and departments, with the kinds of their identifiers.
    pub(crate) fn contact_call(&self, api: Api, id: &str) -> ApiCall {
        let FeishuSettings { hosts, user_id, .. } = &*self.0.settings;
        ApiCall::get(api, &hosts.api, &api::path(api, id))
            .query("user_id_type", user_id.name())
            .query("department_id_type", "open_department_id")
    }
}

impl fmt::Debug for Feishu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feishu")
            .field("tenant_key", &self.0.settings.tenant_key)
            .field("app_id", &self.0.settings.app_id)
            .field("client", &self.0.client)
            .finish_non_exhaustive()
    }
}
