//! What `deskpass doctor` checks about OpenID Connect.

use deskpass_core::oidc::{ClientRegistration, SigningAlgorithm};
use serde::{Deserialize, Serialize};

use super::super::CommandResult;
use super::super::text::describe_error;
use crate::App;

/// The clients, and whether the keys that sign for them can be used.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct OidcFacts {
    pub(crate) clients: Vec<ClientFacts>,
    /// The number of usable signing keys; `None` where only the running service could tell.
    pub(crate) keys: Option<usize>,
    /// Why the key of an algorithm cannot be used.
    pub(crate) key_problems: Vec<String>,
}

#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct ClientFacts {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) enabled: bool,
    pub(crate) backchannel_logout_uri: Option<String>,
}

impl ClientFacts {
    /// What is checked about a client.
    pub(crate) fn new(id: &str, registration: &ClientRegistration, enabled: bool) -> Self {
        let ClientRegistration { name, backchannel_logout_uri, .. } = registration;
        let (name, backchannel_logout_uri) = (name.clone(), backchannel_logout_uri.clone());
        Self { id: id.to_owned(), name, enabled, backchannel_logout_uri }
    }
}

pub(super) async fn read(app: &App) -> CommandResult {
    let clients = app.auth.operator().oidc_clients().await.map_err(describe_error)?;
    let rules = app.auth.store.access_rules().await.map_err(describe_error)?;
    let (mut facts, mut usable) = (OidcFacts::default(), 0);
    for algorithm in SigningAlgorithm::ALL {
        // The first key of an algorithm is made when it is needed, and not by a check.
        if !rules.oidc_keys.iter().any(|key| key.algorithm == algorithm) {
            continue;
        }
        match app.auth.signing_key(algorithm).await {
            Ok(_) => usable += 1,
            Err(error) => facts.key_problems.push(format!("{algorithm}: {error}")),
        }
    }
    facts.keys = Some(usable);
    facts.clients =
        clients.into_iter().map(|client| ClientFacts::new(&client.id, &client.registration, client.enabled)).collect();
    serde_json::to_string(&facts).map_err(|error| error.to_string())
}
