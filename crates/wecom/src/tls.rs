//! Whom to believe to be the platform.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;

use crate::{Settings, SettingsError};

/// Trusts whom this machine trusts, so that a corporation's own authorities count. Where nothing is encrypted nobody is
/// trusted, and a machine without any authorities can still talk to a simulated platform.
pub(crate) fn tls_config(settings: &Settings) -> Result<ClientConfig, SettingsError> {
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|_| SettingsError::Client)?;
    let encrypted = std::iter::once(&settings.hosts.api).chain(&settings.proxy).any(|url| url.scheme() == "https");
    let builder = if encrypted {
        builder.with_platform_verifier().map_err(|_| SettingsError::NoCertificateAuthorities)?
    } else {
        builder.with_root_certificates(RootCertStore::empty())
    };
    Ok(builder.with_no_client_auth())
}
