//! The certificate authorities that authenticate the platform, and other services that are called over HTTPS.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;

use super::settings::SettingsError;

/// Uses the certificate authorities of this machine, including a corporation's own. Without encryption it uses none, so that a
/// machine without any authorities can still connect to a service on the same machine.
pub fn tls_config(encrypted: bool) -> Result<ClientConfig, SettingsError> {
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|_| SettingsError::Client)?;
    let builder = if encrypted {
        builder.with_platform_verifier().map_err(|_| SettingsError::NoCertificateAuthorities)?
    } else {
        builder.with_root_certificates(RootCertStore::empty())
    };
    Ok(builder.with_no_client_auth())
}
