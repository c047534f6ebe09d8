//! The platform in pages and assets, which are written once for all platforms.
//!
//! `{platform.en}` and `{platform.zh}` stand for its name, `{platform.marks}` for a list in JSON of what tells its own app from other
//! browsers, `{platform.simulated}` and `{platform.links}` for `on` or `off`.

use std::borrow::Cow;

use bytes::Bytes;
use deskpass_platform::{Messenger, PlatformKind};
use serde_json::json;

/// What the pages know of the platform.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PagePlatform {
    pub(crate) kind: PlatformKind,
    /// What only the `User-Agent` of the platform's own app contains.
    pub(crate) marks: &'static [&'static str],
    /// The module that obtains a code by the platform's own script, if it has one.
    pub(crate) entry_module: Option<&'static str>,
    /// Whether the platform is simulated, so that pages offer a simulated phone.
    pub(crate) is_simulated: bool,
}

impl PagePlatform {
    /// What the pages know of a platform.
    pub(crate) fn of(platform: &dyn Messenger, is_simulated: bool) -> Self {
        let entry_module = platform.script().map(|script| script.module);
        Self { kind: platform.kind(), marks: platform.client_marks(), entry_module, is_simulated }
    }

    /// Whether its codes can identify people of connected corporations, whom administrators link to employees.
    const fn has_links(self) -> bool {
        matches!(self.kind, PlatformKind::Wecom)
    }

    /// Fills in the placeholders of a text.
    pub(super) fn fill_in(self, text: &str) -> Cow<'_, str> {
        if !text.contains("{platform.") {
            return Cow::Borrowed(text);
        }
        let [english, chinese] = self.kind.title();
        let switch = |is_on| if is_on { "on" } else { "off" };
        let named = text.replace("{platform.en}", english).replace("{platform.zh}", chinese);
        let named = named.replace("{platform.simulated}", switch(self.is_simulated));
        let named = named.replace("{platform.links}", switch(self.has_links()));
        Cow::Owned(named.replace("{platform.marks}", &json!(self.marks).to_string()))
    }

    /// Fills in the placeholders of an asset; `None` if it has none, such as a picture.
    pub(super) fn fill_in_asset(self, asset: &[u8]) -> Option<Bytes> {
        match self.fill_in(std::str::from_utf8(asset).ok()?) {
            Cow::Owned(text) => Some(text.into()),
            Cow::Borrowed(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_names_the_platform_and_its_marks() {
        for kind in PlatformKind::ALL {
            let [english, chinese] = kind.title();
            let platform =
                PagePlatform { kind, marks: &["One/", "two"], is_simulated: true, ..PagePlatform::default() };
            let text =
                "['{platform.en}', '{platform.zh}'] '{platform.marks}' {platform.simulated} {platform.links} {name}";
            let links = if kind == PlatformKind::Wecom { "on" } else { "off" };
            let filled = format!("['{english}', '{chinese}'] '[\"One/\",\"two\"]' on {links} {{name}}");
            assert_eq!(platform.fill_in(text), filled);
            assert_eq!(platform.fill_in_asset(text.as_bytes()), Some(filled.into()));
            for other in [&b"{name} of the platform"[..], b"\xff{platform.en}"] {
                assert_eq!(platform.fill_in_asset(other), None);
            }
        }
    }
}
