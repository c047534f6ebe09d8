//! The client for the platform.

use std::fmt;
use std::sync::Arc;

use deskpass_core::Clock;
use deskpass_platform::client::{Api, ApiCall, ApiResponse, Client, DepartmentNames, NoSharedCache, TokenCache};
use deskpass_platform::{Error, InvalidResponse, SettingsError, UserTokens};
use serde_json::Value;
use tokio::time::Instant;

use crate::inbound::EventReader;
use crate::protocol::DingtalkProtocol;
use crate::settings::{DingtalkSettings, Hosts};

/// The client for the platform. Clones share the access token, the circuit breakers and the connections.
#[derive(Clone)]
pub struct Dingtalk(pub(crate) Arc<DingtalkInner>);

pub(crate) struct DingtalkInner {
    pub(crate) corp_id: String,
    pub(crate) client_id: String,
    /// Exchanging a code of the login page takes the secret itself.
    pub(crate) secret: String,
    pub(crate) agent_id: Option<String>,
    pub(crate) hosts: Hosts,
    pub(crate) client: Client,
    pub(crate) departments: DepartmentNames,
    pub(crate) user_tokens: UserTokens,
    pub(crate) events: EventReader,
}

impl Dingtalk {
    /// Creates a client with these settings.
    pub fn new(settings: DingtalkSettings, clock: Clock) -> Result<Self, SettingsError> {
        Self::with_token_cache(settings, clock, Arc::new(NoSharedCache))
    }

    /// Creates a client that shares its access token with the other nodes that use this token cache.
    pub fn with_token_cache(
        settings: DingtalkSettings,
        clock: Clock,
        cache: Arc<dyn TokenCache>,
    ) -> Result<Self, SettingsError> {
        let client_settings = settings.client_settings()?;
        let DingtalkSettings { corp_id, client_id, secret, agent_id, hosts, events, .. } = settings;
        let protocol = DingtalkProtocol {
            corp_id: corp_id.clone(),
            client_id: client_id.clone(),
            secret: secret.clone(),
            api: hosts.api.clone(),
            legacy_api: hosts.legacy_api.clone(),
        };
        let client = Client::new(Arc::new(protocol), &client_settings, clock.clone(), cache)?;
        let events = EventReader::new(events, &client_id, &corp_id);
        let (departments, user_tokens) = (DepartmentNames::new(clock.clone()), UserTokens::new(clock));
        Ok(Self(Arc::new(DingtalkInner {
            corp_id,
            client_id,
            secret,
            agent_id,
            hosts,
            client,
            departments,
            user_tokens,
            events,
        })))
    }

    /// A call to the older API.
    pub(crate) fn legacy_call(&self, api: Api, body: Value) -> ApiCall {
        ApiCall::post(api, &self.0.hosts.legacy_api, api.name, body)
    }

    /// Makes a call to the older API, whose answers are in the field `result`.
    pub(crate) async fn result(&self, api: Api, body: Value, deadline: Instant) -> Result<ApiResponse, Error> {
        let response = self.0.client.request(&self.legacy_call(api, body), deadline).await?;
        Ok(response.object("result").ok_or(InvalidResponse::MissingField("result"))?)
    }
}

impl fmt::Debug for Dingtalk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dingtalk")
            .field("corp_id", &self.0.corp_id)
            .field("client_id", &self.0.client_id)
            .field("agent_id", &self.0.agent_id)
            .field("client", &self.0.client)
            .finish_non_exhaustive()
    }
}
