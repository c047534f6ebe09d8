//! The client.

use std::fmt;
use std::sync::Arc;

use deskpass_core::Clock;
use deskpass_platform::client::{ApiCall, ApiResponse, Client, DepartmentNames, NoSharedCache};
use deskpass_platform::{Error, SettingsError, TokenCache};

use crate::inbound::EventReader;
use crate::protocol::WecomProtocol;
use crate::settings::{Hosts, WecomSettings};

/// The client of WeCom. Clones share the access token, the circuit breakers and the connections.
#[derive(Clone)]
pub struct Wecom(pub(crate) Arc<WecomInner>);

pub(crate) struct WecomInner {
    pub(crate) agent_id: Option<String>,
    pub(crate) hosts: Hosts,
    pub(crate) protocol: Arc<WecomProtocol>,
    pub(crate) client: Client,
    pub(crate) departments: DepartmentNames,
    /// Whether this service can read events, without which no answer to a question arrives.
    pub(crate) reads_events: bool,
    pub(crate) events: EventReader,
}

impl Wecom {
    /// Creates a client with these settings.
    pub fn new(settings: WecomSettings, clock: Clock) -> Result<Self, SettingsError> {
        Self::with_token_cache(settings, clock, Arc::new(NoSharedCache))
    }

    /// Creates a client that shares its access token with the other nodes that use this token cache.
    pub fn with_token_cache(
        settings: WecomSettings,
        clock: Clock,
        cache: Arc<dyn TokenCache>,
    ) -> Result<Self, SettingsError> {
        let client = settings.client_settings();
        settings.check(&client)?;
        let WecomSettings { corp_id, secret, agent_id, hosts, events, .. } = settings;
        let reads_events = events.is_some();
        let events = EventReader::new(events, &corp_id);
        let protocol = Arc::new(WecomProtocol { api: hosts.api.clone(), corp_id, secret });
        let departments = DepartmentNames::new(clock.clone());
        let client = Client::new(Arc::<WecomProtocol>::clone(&protocol), &client, clock, cache)?;
        Ok(Self(Arc::new(WecomInner { agent_id, hosts, protocol, client, departments, reads_events, events })))
    }

    pub(crate) fn corp_id(&self) -> &str {
        &self.0.protocol.corp_id
    }

    /// Makes the only call of an operation.
    pub(crate) async fn request(&self, call: &ApiCall) -> Result<ApiResponse, Error> {
        self.0.client.request(call, self.0.client.deadline()).await
    }
}

impl fmt::Debug for Wecom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wecom")
            .field("corp_id", &self.corp_id())
            .field("agent_id", &self.0.agent_id)
            .field("circuit", &self.0.client.circuit())
            .finish_non_exhaustive()
    }
}
