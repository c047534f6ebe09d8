//! Trusted certificates for connections to PostgreSQL and Redis.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

/// The certificates in a file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("tls.ca_file cannot be used: {0}")]
pub struct InvalidCaFile(String);

/// The certificate authorities of this machine, and those in the file `named`.
pub(crate) fn trusted_certificates(named: Option<&Path>) -> Result<Vec<CertificateDer<'static>>, InvalidCaFile> {
    let mut trusted = named.map(read).transpose()?.unwrap_or_default();
    let mut known = RootCertStore::empty();
    // Only usable certificates: an unusable one would make some clients refuse all of them.
    let native = rustls_native_certs::load_native_certs().certs;
    trusted.extend(native.into_iter().filter(|certificate| known.add(certificate.clone()).is_ok()));
    Ok(trusted)
}

fn read(file: &Path) -> Result<Vec<CertificateDer<'static>>, InvalidCaFile> {
    let unusable = |why: &dyn std::fmt::Display| InvalidCaFile(format!("{}: {why}", file.display()));
    let certificates = CertificateDer::pem_file_iter(file).map_err(|error| unusable(&error))?;
    let certificates = certificates.collect::<Result<Vec<_>, _>>().map_err(|error| unusable(&error))?;
    if certificates.is_empty() { Err(unusable(&"it contains no certificate")) } else { Ok(certificates) }
}

/// Certificates as PEM, for clients that require this form.
pub(crate) fn pem(certificates: &[CertificateDer<'_>]) -> Vec<u8> {
    let text = certificates.iter().map(|certificate| {
        format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(certificate))
    });
    text.collect::<String>().into_bytes()
}

/// Installs the process-wide cryptography provider, which some clients require.
pub(crate) fn install_crypto_provider() {
    // Fails only when a provider is installed already, and this is the only one.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
}
