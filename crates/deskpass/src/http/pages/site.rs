//! The pages and their assets, prepared once: in each language, plain and compressed.

use std::io::Write as _;
use std::sync::LazyLock;

use bytes::Bytes;
use deskpass_core::LoginSource;
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::header::HeaderValue;
use sha2::{Digest as _, Sha256};

use super::files::{PAGES, assets, kind};
use super::template::resolve;
use crate::config::Language;

/// All files, prepared on first use.
pub(super) static SITE: LazyLock<Site> = LazyLock::new(Site::make);

/// Pages and assets by their paths.
#[derive(Debug)]
pub(super) struct Site {
    /// The version of all assets: the content of an address with it never changes.
    pub(super) version: String,
    pub(super) pages: Vec<(&'static str, [File; 2])>,
    pub(super) assets: Vec<(&'static str, File)>,
}

/// A file in the encodings that clients accept.
#[derive(Debug)]
pub(super) struct File {
    pub(super) kind: &'static str,
    pub(super) plain: EncodedFile,
    /// `None` where compression gains nothing.
    pub(super) gzip: Option<EncodedFile>,
}

/// A file in one encoding.
#[derive(Debug)]
pub(super) struct EncodedFile {
    pub(super) tag: HeaderValue,
    pub(super) body: Bytes,
}

impl Site {
    fn make() -> Self {
        let version = version(assets());
        let root = format!("/assets/{version}");
        let page = |path, template| {
            [Language::En, Language::Zh].map(|language| {
                let text = resolve(template, language, &root, client(path));
                File::new("text/html; charset=utf-8", text.into_bytes().into())
            })
        };
        Self {
            pages: PAGES.iter().map(|(path, template)| (*path, page(path, template))).collect(),
            assets: assets().map(|(name, bytes)| (name, File::new(kind(name), Bytes::from_static(bytes)))).collect(),
            version,
        }
    }

    /// The page at a path.
    pub(super) fn page(&self, path: &str, language: Language) -> Option<&File> {
        let (_, [english, chinese]) = self.pages.iter().find(|(known, _)| *known == path)?;
        Some(language.of([english, chinese]))
    }

    /// An asset by its name.
    pub(super) fn asset(&self, name: &str) -> Option<&File> {
        self.assets.iter().find(|(known, _)| *known == name).map(|(_, file)| file)
    }
}

impl File {
    fn new(kind: &'static str, plain: Bytes) -> Self {
        let name = short(Sha256::digest(&plain));
        let gzip = compress(&plain).filter(|packed| packed.len() < plain.len());
        // Each encoding has a tag of its own, since caches store them separately.
        let gzip = gzip.map(|body| EncodedFile { tag: tag(&format!("{name}-gzip")), body: body.into() });
        Self { kind, plain: EncodedFile { tag: tag(&name), body: plain }, gzip }
    }
}

/// The client that the page at a path belongs to; pages of no particular client are the help desk's.
fn client(path: &str) -> &'static str {
    let named = |client: &LoginSource| path.trim_matches('/') == client.name();
    LoginSource::ALL.into_iter().find(named).unwrap_or(LoginSource::H5).name()
}

fn version<'a>(assets: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> String {
    let mut all = Sha256::new();
    for (name, bytes) in assets {
        all.update(Sha256::digest(name));
        all.update(Sha256::digest(bytes));
    }
    short(all.finalize())
}

/// The first twelve digits of a digest.
fn short(digest: impl AsRef<[u8]>) -> String {
    let first = digest.as_ref().first_chunk().map_or(0, |first| u64::from_be_bytes(*first));
    format!("{:012x}", first >> 16)
}

fn tag(name: &str) -> HeaderValue {
    HeaderValue::try_from(format!("\"{name}\"")).unwrap_or(HeaderValue::from_static("\"\""))
}

fn compress(plain: &[u8]) -> Option<Vec<u8>> {
    let mut packing = GzEncoder::new(Vec::new(), Compression::best());
    packing.write_all(plain).ok()?;
    packing.finish().ok()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::collections::HashSet;
    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::*;
    use crate::http::routes::routes;

    fn pages() -> impl Iterator<Item = (&'static str, Language, &'static str)> {
        let languages = [Language::En, Language::Zh];
        let both = SITE
            .pages
            .iter()
            .flat_map(move |(path, files)| languages.into_iter().zip(files).map(move |file| (*path, file)));
        both.map(|(path, (language, file))| (path, language, std::str::from_utf8(&file.plain.body).unwrap()))
    }

    #[test]
    fn both_languages_are_whole() {
        for (path, language, text) in pages() {
            for left in ["[[", "]]", "{{", "}}"] {
                assert!(!text.contains(left), "{path} {language}: {left}");
            }
            let tag = language.of(["en", "zh-CN"]);
            assert!(text.contains(&format!("<html lang=\"{tag}\">")), "{path} {language}");
        }
    }

    #[test]
    fn pages_bring_their_script_and_style_from_here() {
        let root = format!("/assets/{}/", SITE.version);
        for (path, _, text) in pages() {
            for attribute in ["src=\"", "href=\""] {
                for link in text.split(attribute).skip(1).filter_map(|rest| rest.split('"').next()) {
                    let link = link.split('#').next().unwrap();
                    let ours = link.strip_prefix(&root).is_some_and(|name| SITE.asset(name).is_some());
                    let ours = ours || link.is_empty() || link.starts_with("data:image/");
                    let ours = ours || routes().iter().any(|route| route.path == link);
                    assert!(ours, "{path}: {link}");
                }
            }
            assert!(!text.contains("<style") && !text.contains(" style=") && !text.contains("<script>"), "{path}");
        }
    }

    #[test]
    fn what_is_packed_is_what_is_plain() {
        let files = SITE.pages.iter().flat_map(|(_, files)| files).chain(SITE.assets.iter().map(|(_, file)| file));
        for file in files {
            let gzip = file.gzip.as_ref().unwrap();
            let mut plain = Vec::new();
            GzDecoder::new(&*gzip.body).read_to_end(&mut plain).unwrap();
            assert_eq!(plain, file.plain.body);
            assert_ne!(gzip.tag, file.plain.tag);
        }
        let noise: Vec<_> = (0..64_u8).map(|n| n.wrapping_mul(167)).collect();
        assert!(File::new("", noise.into()).gzip.is_none(), "packing gains nothing here");
    }

    #[test]
    fn the_version_changes_with_every_asset() {
        let versions = [
            version([("a", &b"1"[..]), ("b", b"2")]),
            version([("a", &b"1"[..]), ("b", b"3")]),
            version([("a", &b"1"[..]), ("c", b"2")]),
            version([("a", &b"1b"[..]), ("", b"2")]),
        ];
        assert!(versions.iter().all(|version| version.len() == 12));
        assert_eq!(HashSet::from(versions).len(), 4);
        assert_eq!(version(assets()), SITE.version);
    }
}
