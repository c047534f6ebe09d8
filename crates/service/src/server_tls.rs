//! TLS in the server, for sites without a proxy: the certificate and its private key, read again when the files change.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use std::{fs, io, thread};

use deskpass_core::{Digest, Timestamp, opaque_debug};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{Error, HandshakeKind, InconsistentKeys, ServerConfig, ServerConnection};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_rustls::StartHandshake;
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;
use x509_cert::Certificate;
use x509_cert::der::Decode as _;

use crate::config::Server;
use crate::timestamp::format_utc;

/// The connection of a client: without TLS, usually from a proxy, or with it. On the heap then, since it is large and most services
/// have none.
pub(crate) type ClientStream = Either<TcpStream, Box<TlsStream<TcpStream>>>;

/// The protocol inside TLS. A client that offers only others is refused during the handshake.
const HTTP: &[u8] = b"http/1.1";

/// How long before its end a certificate is reported.
const EXPIRY_WARNING: Duration = Duration::from_hours(14 * 24);

const MILLIS_PER_DAY: i64 = 24 * 60 * 60 * 1_000;

/// The certificate of the server with its key, and the files that both come from.
pub(crate) struct ServerTls {
    files: TlsFiles,
    config: Arc<ServerConfig>,
    pair: Arc<CurrentPair>,
    /// The content of the files when they were last read, whether it could be used or not.
    last_read: Mutex<Option<Digest>>,
    /// The day on which the end of the certificate was last logged.
    logged_on: AtomicI64,
    /// Limits the handshakes that compute at the same time: in a flood of them, the others wait and leave the threads to requests.
    handshakes: Semaphore,
    /// The same for clients whose first proposal of a key does not fit, which is rare. They keep their turns while they answer, so
    /// these are apart.
    retried_handshakes: Semaphore,
}

/// The handshakes with a second proposal of a key at the same time.
const MAX_RETRIED_HANDSHAKES: usize = 16;

opaque_debug!(ServerTls);

#[derive(Clone, PartialEq, Eq)]
struct TlsFiles {
    certificate: PathBuf,
    key: PathBuf,
}

/// The pair that new connections get.
#[derive(Debug)]
struct CurrentPair(RwLock<Arc<CertifiedKey>>);

impl CurrentPair {
    fn get(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ResolvesServerCert for CurrentPair {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.get())
    }
}

/// Why a certificate and its key cannot be used. The text names the setting, the file and what to do.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error(
        "{setting} {}: it cannot be read: {why}; see that it is there and that the service's user may read it",
        path.display()
    )]
    Unreadable {
        /// The setting that names the file.
        setting: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        why: io::Error,
    },
    /// The file has no certificate.
    #[error(
        "server.tls.certificate {}: it contains no certificate; expected one in PEM format, and after it those of \
         intermediate authorities",
        .0.display()
    )]
    NoCertificate(PathBuf),
    /// The file has no key.
    #[error(
        "server.tls.key {}: it contains no private key that can be used; expected one in PEM format without a password",
        .0.display()
    )]
    NoKey(PathBuf),
    /// Key and certificate do not belong together.
    #[error(
        "server.tls.key {}: it is not the key of the first certificate in {}; put the server's own certificate first, \
         and use the key with which it was requested",
        key.display(),
        certificate.display()
    )]
    Mismatch {
        /// The file with the key.
        key: PathBuf,
        /// The file with the certificate.
        certificate: PathBuf,
    },
    /// The library refuses the pair.
    #[error("server.tls.certificate {}: it cannot be used: {why}", path.display())]
    Unusable {
        /// The file with the certificate.
        path: PathBuf,
        /// The error of the library.
        why: Error,
    },
    /// The certificate has expired, and the one in use has not.
    #[error(
        "server.tls.certificate {}: it has expired at {end}, and the one in use is still valid; renew it",
        path.display()
    )]
    Expired {
        /// The file with the certificate.
        path: PathBuf,
        /// The end of the certificate.
        end: String,
    },
}

impl ServerTls {
    /// Reads the pair that the settings name; `None` if they name none.
    pub(crate) fn open(settings: &Server) -> Result<Option<Self>, TlsError> {
        let (Some(certificate), Some(key)) = (&settings.tls_certificate, &settings.tls_key) else { return Ok(None) };
        let files = TlsFiles { certificate: certificate.clone(), key: key.clone() };
        let (content, digest) = files.read()?;
        let pair = Arc::new(CurrentPair(RwLock::new(Arc::new(files.parse(&content)?))));
        let unusable = |why| TlsError::Unusable { path: certificate.clone(), why };
        let builder = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().map_err(unusable)?.with_no_client_auth();
        let resolver: Arc<CurrentPair> = Arc::clone(&pair);
        let mut config = builder.with_cert_resolver(resolver);
        config.alpn_protocols = vec![HTTP.to_vec()];
        let (last_read, logged_on) = (Mutex::new(Some(digest)), AtomicI64::new(0));
        let handshakes = Semaphore::new(thread::available_parallelism().map_or(2, NonZero::get).max(2));
        let retried_handshakes = Semaphore::new(MAX_RETRIED_HANDSHAKES);
        Ok(Some(Self { files, config: Arc::new(config), pair, last_read, logged_on, handshakes, retried_handshakes }))
    }

    /// Reads the pair for a reload: the running one if nothing changed, so that clients can resume their TLS sessions.
    pub(crate) fn reopen(
        running: Option<&Arc<Self>>,
        settings: &Server,
        now: Timestamp,
    ) -> Result<Option<Arc<Self>>, TlsError> {
        let Some(new) = Self::open(settings)? else { return Ok(None) };
        if let Some(running) = running {
            running.require_not_worse(&new.pair.get(), &new.files, now)?;
        }
        let same = |old: &&Arc<Self>| old.files == new.files && old.pair.get().cert == new.pair.get().cert;
        Ok(Some(running.filter(same).cloned().unwrap_or_else(|| Arc::new(new))))
    }

    /// Performs the handshake after the first message of a client, when it is its turn.
    pub(crate) async fn handshake(&self, hello: StartHandshake<TcpStream>) -> io::Result<TlsStream<TcpStream>> {
        let mut is_retried = false;
        let note_retry = |connection: &mut ServerConnection| {
            is_retried = connection.handshake_kind() == Some(HandshakeKind::FullWithHelloRetryRequest);
        };
        // The expensive part, which agrees on a key and signs, is done before the service waits for the client again. The semaphores
        // are never closed.
        let turn = self.handshakes.acquire().await.ok();
        let finished = hello.into_stream_with(Arc::clone(&self.config), note_retry);
        drop(turn);
        // A client that has to propose another kind of key causes that part later, when its second message arrives.
        let _turn = if is_retried { self.retried_handshakes.acquire().await.ok() } else { None };
        finished.await
    }

    /// Reads the files again. Returns whether there is a new certificate. A pair that cannot be used is reported once, and the
    /// one in use stays.
    pub(crate) fn refresh(&self, now: Timestamp) -> Result<bool, TlsError> {
        let read = self.files.read();
        let mut last_read = self.last_read.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = read.as_ref().ok().map(|(_, digest)| *digest);
        if *last_read == seen {
            return Ok(false);
        }
        *last_read = seen;
        let (content, _) = read?;
        let new = Arc::new(self.files.parse(&content)?);
        self.require_not_worse(&new, &self.files, now)?;
        *self.pair.0.write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(true)
    }

    /// Requires that a certificate in use that is valid is not replaced by one that has expired, such as an old copy.
    fn require_not_worse(&self, new: &CertifiedKey, files: &TlsFiles, now: Timestamp) -> Result<(), TlsError> {
        let is_valid = self.expires_at().is_none_or(|end| end > now);
        if let Some(end) = new.cert.first().and_then(expiry)
            && end <= now
            && is_valid
        {
            return Err(TlsError::Expired { path: files.certificate.clone(), end: format_utc(end) });
        }
        Ok(())
    }

    /// When the certificate ends; `None` if it does not say so in a form that is understood.
    pub(crate) fn expires_at(&self) -> Option<Timestamp> {
        expiry(self.pair.get().cert.first()?)
    }

    /// The warning for the operator if the certificate has ended or ends soon.
    pub(crate) fn expiry_warning(&self, now: Timestamp) -> Option<String> {
        let (end, path) = (self.expires_at()?, self.files.certificate.display());
        if end <= now {
            return Some(format!("{path}: the certificate has expired at {}; renew it", format_utc(end)));
        }
        let left = end.since(now);
        let days = left.as_secs() / (24 * 60 * 60);
        (left < EXPIRY_WARNING).then(|| format!("{path}: the certificate expires in {days} days; renew it"))
    }

    /// Logs once a day that the certificate has ended or ends soon.
    pub(crate) fn log_expiry(&self, now: Timestamp) {
        let day = now.millis().div_euclid(MILLIS_PER_DAY);
        if let Some(warning) = self.expiry_warning(now)
            && self.logged_on.swap(day, Ordering::Relaxed) != day
        {
            tracing::warn!("{warning}");
        }
    }
}

/// The content of the two files.
struct PairContent {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl TlsFiles {
    fn read(&self) -> Result<(PairContent, Digest), TlsError> {
        let read = |setting, path: &Path| {
            fs::read(path).map_err(|why| TlsError::Unreadable { setting, path: path.to_owned(), why })
        };
        let certificate = read("server.tls.certificate", &self.certificate)?;
        let key = read("server.tls.key", &self.key)?;
        let digest = Digest::of(&[&certificate, &key]);
        Ok((PairContent { certificate, key }, digest))
    }

    fn parse(&self, content: &PairContent) -> Result<CertifiedKey, TlsError> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&content.certificate).collect();
        let chain = chain.ok().filter(|chain| !chain.is_empty());
        let chain = chain.ok_or_else(|| TlsError::NoCertificate(self.certificate.clone()))?;
        let no_key = || TlsError::NoKey(self.key.clone());
        let key = PrivateKeyDer::from_pem_slice(&content.key).map_err(|_| no_key())?;
        CertifiedKey::from_der(chain, key, &aws_lc_rs::default_provider()).map_err(|error| match error {
            Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                TlsError::Mismatch { key: self.key.clone(), certificate: self.certificate.clone() }
            }
            // The library has this error for keys alone.
            Error::General(_) => no_key(),
            why => TlsError::Unusable { path: self.certificate.clone(), why },
        })
    }
}

/// The end of a certificate.
fn expiry(certificate: &CertificateDer<'_>) -> Option<Timestamp> {
    let parsed = Certificate::from_der(certificate).ok()?;
    let end = parsed.tbs_certificate.validity.not_after.to_unix_duration();
    i64::try_from(end.as_millis()).ok().map(Timestamp::from_millis)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bytes_that_are_no_certificate_have_no_end(bytes in proptest::collection::vec(any::<u8>(), 0..256)) {
            prop_assert_eq!(expiry(&CertificateDer::from(bytes)), None);
        }
    }
}
