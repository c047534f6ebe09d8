//! The flows of `auth`, on the stores and the platform of this deployment.

use std::sync::Arc;

use deskpass_auth::{Auth, AuthObserver, CodeExchange, CredentialVault, Error, LiveSockets};
use deskpass_core::{Clock, Entropy};
use deskpass_platform::Messenger;
use deskpass_store::{ChainKeys, Invalidation, SharedState, Store};

use super::StartError;
use super::policy::policy;
use crate::config::Settings;

/// Opens the flows. Changes in the store reach the sockets of this node.
pub(super) async fn open(
    settings: &Settings,
    store: Store,
    shared: Arc<SharedState<CodeExchange>>,
    platform: Arc<dyn Messenger>,
    clock: Clock,
    observer: AuthObserver,
) -> Result<Auth, StartError> {
    let (policy, entropy) = (policy(settings)?, Entropy::system());
    let chain_keys = ChainKeys::new(&settings.sealing_keys());
    let credential_vault = Arc::new(open_vault(settings, &store, &chain_keys, entropy).await?);
    let sockets = Arc::<LiveSockets>::default();
    let (concerned, order, logouts_due) = (Arc::clone(&sockets), Arc::clone(&shared), store.logouts_due());
    store.listen(move |touched| {
        // The first client may have been registered, or many sessions may have ended.
        if matches!(touched, Invalidation::All) {
            logouts_due.notify_one();
        }
        concerned.mark_stale(touched, order.messages.newest());
    });
    Ok(Auth {
        logouts_due: store.logouts_due(),
        signing_keys: Arc::default(),
        store,
        shared,
        platform,
        clock,
        entropy,
        credential_vault,
        chain_keys,
        anonymous_refusals: Arc::default(),
        logged_references: Arc::default(),
        unsettled_answers: Arc::default(),
        notices_due: Arc::default(),
        events_due: Arc::default(),
        recheck_due: Arc::default(),
        sockets,
        observer,
        policy,
    })
}

/// Opens the vault with the keys of the settings, and with those that the data was made with before.
async fn open_vault(
    settings: &Settings,
    store: &Store,
    chain_keys: &ChainKeys,
    entropy: Entropy,
) -> Result<CredentialVault, StartError> {
    let known = store.known_keys(chain_keys.clone()).await.map_err(Error::from)?;
    CredentialVault::new(&settings.sealing_keys(), known, entropy).map_err(StartError::Threads)
}
