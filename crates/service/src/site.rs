//! The pages and their assets, prepared once: in each language, for one platform, plain and compressed.

mod brand;
mod files;
mod platform;
mod template;

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use deskpass_core::LoginSource;
use sha2::{Digest as _, Sha256};

pub(crate) use brand::{Brand, LogoError, LogoProblem};
pub(crate) use files::{NOT_FOUND_PAGE, OidcErrorPage};
pub(crate) use platform::PagePlatform;

use files::{Asset, OIDC_ERROR_PAGES, PAGES, assets, page_template};
use template::{PageValues, resolve};

use crate::config::Language;
pub(crate) use crate::static_file::StaticFile as File;
use crate::static_file::short_digest;

/// The name of the asset that obtains a code by the platform's own script. It is the platform's client that contains it.
pub(crate) const ENTRY_MODULE: &str = "platform-entry.js";

/// What the settings turn on or off in the pages, and the platform that they name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PageSwitches {
    /// Whether employees can reply to messages.
    pub(crate) replies: bool,
    /// Whether the origin also has pages of the operator.
    pub(crate) own_pages: bool,
    pub(crate) platform: PagePlatform,
}

impl PageSwitches {
    /// Whether scripts of others run on this origin: of the operator, or of the platform. They could ask open tabs for a session.
    const fn has_foreign_scripts(self) -> bool {
        self.own_pages || self.platform.entry_module.is_some()
    }
}

/// Pages and assets by their paths.
#[derive(Debug)]
pub(crate) struct Site {
    /// The version of all assets: the content of an address with it never changes.
    pub(crate) version: String,
    pub(crate) pages: Vec<(&'static str, [File; 2])>,
    pub(crate) assets: Vec<(&'static str, File)>,
}

impl Site {
    /// The files with a brand and switches; without either, all services of a process share them.
    pub(crate) fn with(brand: &Brand, switches: PageSwitches) -> Arc<Self> {
        let platform = switches.platform;
        let is_plain = brand.is_plain() && switches == PageSwitches { platform, ..PageSwitches::default() };
        if is_plain { Self::plain(platform) } else { Arc::new(Self::make(brand, switches)) }
    }

    /// The files without a brand and with everything off, prepared on first use.
    fn plain(platform: PagePlatform) -> Arc<Self> {
        static PREPARED: Mutex<Vec<(PagePlatform, Arc<Site>)>> = Mutex::new(Vec::new());
        let mut prepared = PREPARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, site)) = prepared.iter().find(|(known, _)| *known == platform) {
            return Arc::clone(site);
        }
        let site = Arc::new(Self::make(&Brand::default(), PageSwitches { platform, ..PageSwitches::default() }));
        prepared.push((platform, Arc::clone(&site)));
        site
    }

    fn make(brand: &Brand, switches: PageSwitches) -> Self {
        let platform = switches.platform;
        let embedded = assets().map(|asset| match platform.fill_in_asset(&asset.plain) {
            Some(filled) => Asset::new(asset.name, filled),
            None => asset,
        });
        let own = brand.assets.iter().map(|(name, bytes)| Asset::new(name, Bytes::copy_from_slice(bytes)));
        let module =
            platform.entry_module.map(|module| Asset::new(ENTRY_MODULE, Bytes::from_static(module.as_bytes())));
        let all: Vec<_> = embedded.chain(own).chain(module).collect();
        let version = version(all.iter().map(|asset| (asset.name, &*asset.plain)));
        let root = format!("/assets/{version}");
        let page = |path: &str, file: &str| {
            let embedded = page_template(file);
            let template = platform.fill_in(&embedded);
            [Language::En, Language::Zh].map(|language| {
                let values = PageValues { assets: &root, client: client(path), reason: reason(path), brand, switches };
                let text = resolve(&template, language, &values);
                File::new("text/html; charset=utf-8", text.into_bytes().into())
            })
        };
        Self {
            pages: PAGES.iter().map(|(path, file)| (*path, page(path, file))).collect(),
            assets: all.into_iter().map(Asset::prepare).collect(),
            version,
        }
    }

    /// The page at a path.
    pub(crate) fn page(&self, path: &str, language: Language) -> Option<&File> {
        let (_, [english, chinese]) = self.pages.iter().find(|(known, _)| *known == path)?;
        Some(language.of([english, chinese]))
    }

    /// An asset by its name.
    pub(crate) fn asset(&self, name: &str) -> Option<&File> {
        self.assets.iter().find(|(known, _)| *known == name).map(|(_, file)| file)
    }
}

/// The client that the page at a path belongs to; pages of no particular client are the help desk's.
fn client(path: &str) -> &'static str {
    let named = |client: &LoginSource| path.trim_matches('/') == client.name();
    LoginSource::ALL.into_iter().find(named).unwrap_or(LoginSource::H5).name()
}

/// Why a request of an OpenID Connect client leads to the page at a path; other pages have no reason.
fn reason(path: &str) -> &str {
    path.strip_prefix(OIDC_ERROR_PAGES).unwrap_or_default()
}

fn version<'a>(assets: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> String {
    let mut all = Sha256::new();
    for (name, bytes) in assets {
        all.update(Sha256::digest(name));
        all.update(Sha256::digest(bytes));
    }
    short_digest(all.finalize())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::collections::HashSet;
    use std::io::Read as _;
    use std::sync::LazyLock;

    use deskpass_platform::PlatformKind;
    use flate2::read::GzDecoder;

    use super::*;

    static PLAIN: LazyLock<Arc<Site>> = LazyLock::new(|| Site::with(&Brand::default(), PageSwitches::default()));

    fn pages() -> impl Iterator<Item = (&'static str, Language, &'static str)> {
        let languages = [Language::En, Language::Zh];
        let both = PLAIN
            .pages
            .iter()
            .flat_map(move |(path, files)| languages.into_iter().zip(files).map(move |file| (*path, file)));
        both.map(|(path, (language, file))| (path, language, std::str::from_utf8(&file.plain.body).unwrap()))
    }

    #[test]
    fn both_languages_are_whole() {
        for (path, language, text) in pages() {
            for left in ["[[", "]]", "{{", "}}", "{platform"] {
                assert!(!text.contains(left), "{path} {language}: {left}");
            }
            let tag = language.of(["en", "zh-CN"]);
            assert!(text.contains(&format!("<html lang=\"{tag}\">")), "{path} {language}");
        }
    }

    #[test]
    fn pages_bring_their_script_and_style_from_here() {
        let root = format!("/assets/{}/", PLAIN.version);
        for (path, _, text) in pages() {
            for attribute in ["src=\"", "href=\""] {
                for link in text.split(attribute).skip(1).filter_map(|rest| rest.split('"').next()) {
                    let link = link.split('#').next().unwrap();
                    let ours = link.strip_prefix(&root).is_some_and(|name| PLAIN.asset(name).is_some());
                    let ours = ours || link.is_empty() || link.starts_with("data:image/");
                    // The test of the routes knows whether there is such a path.
                    let ours = ours || (link.starts_with('/') && !link.starts_with("//"));
                    assert!(ours, "{path}: {link}");
                }
            }
            assert!(!text.contains("<style") && !text.contains(" style=") && !text.contains("<script>"), "{path}");
        }
    }

    #[test]
    fn what_is_packed_is_what_is_plain() {
        let files = PLAIN.pages.iter().flat_map(|(_, files)| files).chain(PLAIN.assets.iter().map(|(_, file)| file));
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
        let plain = PLAIN.assets.iter().map(|(name, file)| (*name, &*file.plain.body));
        assert_eq!(version(plain), PLAIN.version);
    }

    /// The files of another platform have other addresses, or a browser would mix them up.
    #[test]
    fn every_file_names_the_platform() {
        let kind = PlatformKind::Dingtalk;
        let entry_module = "export const requestCode = async () => 'a code';";
        let platform =
            PagePlatform { kind, marks: &["OwnApp/"], entry_module: Some(entry_module), ..PagePlatform::default() };
        let switches = PageSwitches { platform, ..PageSwitches::default() };
        let site = Site::with(&Brand::default(), switches);
        assert_ne!(site.version, PLAIN.version);
        assert!(Arc::ptr_eq(&site, &Site::with(&Brand::default(), switches)), "it is prepared once");
        let text = |file: &File| std::str::from_utf8(&file.plain.body).unwrap().to_owned();
        for (name, file) in &site.assets {
            assert!(!text(file).contains("{platform."), "{name}");
        }
        let [english, chinese] = kind.title();
        for (language, words) in
            [(Language::En, format!("Continue with {english}<")), (Language::Zh, format!("使用{chinese}继续<"))]
        {
            assert!(text(site.page("/", language).unwrap()).contains(&words), "{words}");
        }
        // The platform's script could ask open tabs for a session.
        for (site, tabs) in [(&site, "apart"), (&*PLAIN, "shared")] {
            assert!(
                text(site.page("/h5/", Language::En).unwrap()).contains(&format!(" data-tabs=\"{tabs}\"")),
                "{tabs}"
            );
        }
        let words = text(site.asset("words.js").unwrap());
        assert!(words.contains(&format!("['{english} cannot be reached', '暂时无法连接{chinese}']")));
        assert!(text(site.asset("page.js").unwrap()).contains("JSON.parse('[\"OwnApp/\"]')"));
        assert_eq!(text(site.asset(ENTRY_MODULE).unwrap()), entry_module);
        assert!(PLAIN.asset(ENTRY_MODULE).is_none());
    }
}
