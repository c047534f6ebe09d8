//! A file that is served as it is, prepared once: plain and compressed, each with its tag.

use std::io::{Read as _, Write as _};

use bytes::Bytes;
use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use hyper::header::HeaderValue;
use sha2::{Digest as _, Sha256};

/// A file in the encodings that clients accept.
#[derive(Debug)]
pub(crate) struct StaticFile {
    /// The media type.
    pub(crate) kind: &'static str,
    pub(crate) plain: EncodedFile,
    /// `None` where compression gains nothing.
    pub(crate) gzip: Option<EncodedFile>,
}

/// A file in one encoding.
#[derive(Debug)]
pub(crate) struct EncodedFile {
    pub(crate) tag: HeaderValue,
    pub(crate) body: Bytes,
}

impl StaticFile {
    /// Prepares a file.
    pub(crate) fn new(kind: &'static str, plain: Bytes) -> Self {
        let gzip = compress(&plain).unwrap_or_default();
        Self::compressed(kind, plain, gzip.into())
    }

    /// Prepares a file that is compressed already; an empty `gzip` means that it cannot be.
    pub(crate) fn compressed(kind: &'static str, plain: Bytes, gzip: Bytes) -> Self {
        let name = short_digest(Sha256::digest(&plain));
        let is_worthwhile = !gzip.is_empty() && gzip.len() < plain.len();
        // Each encoding has a tag of its own, since caches store them separately.
        let gzip = is_worthwhile.then(|| EncodedFile { tag: tag(&format!("{name}-gzip")), body: gzip });
        Self { kind, plain: EncodedFile { tag: tag(&name), body: plain }, gzip }
    }
}

/// The first twelve digits of a digest.
pub(crate) fn short_digest(digest: impl AsRef<[u8]>) -> String {
    let first = digest.as_ref().first_chunk().map_or(0, |first| u64::from_be_bytes(*first));
    format!("{:012x}", first >> 16)
}

fn tag(name: &str) -> HeaderValue {
    HeaderValue::try_from(format!("\"{name}\"")).unwrap_or(HeaderValue::from_static("\"\""))
}

/// Decompresses a file that the build has compressed.
pub(crate) fn decompress(gzip: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    // The build has compressed it without an error.
    let _ = GzDecoder::new(gzip).read_to_end(&mut plain);
    plain.shrink_to_fit();
    plain
}

fn compress(plain: &[u8]) -> Option<Vec<u8>> {
    let mut packing = GzEncoder::new(Vec::new(), Compression::best());
    packing.write_all(plain).ok()?;
    packing.finish().ok()
}
