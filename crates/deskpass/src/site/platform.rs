//! The platform in pages and assets, which are written once for all platforms.
//!
//! `{platform.en}` and `{platform.zh}` stand for its name, `{platform.marks}` for a list in JSON of what tells its own app from other
//! browsers.

use std::borrow::Cow;

use bytes::Bytes;
use deskpass_platform::PlatformKind;
use serde_json::json;

/// What the pages know of the platform.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PagePlatform {
    pub(crate) kind: PlatformKind,
    /// What only the `User-Agent` of the platform's own app contains.
    pub(crate) marks: &'static [&'static str],
}

impl PagePlatform {
    /// Fills in the placeholders of a text.
    pub(super) fn fill_in(self, text: &str) -> Cow<'_, str> {
        if !text.contains("{platform.") {
            return Cow::Borrowed(text);
        }
        let [english, chinese] = self.kind.title();
        let named = text.replace("{platform.en}", english).replace("{platform.zh}", chinese);
        Cow::Owned(named.replace("{platform.marks}", &json!(self.marks).to_string()))
    }

    /// Fills in the placeholders of an asset; one without any, such as a picture, is not copied.
    pub(super) fn fill_in_asset(self, asset: &'static [u8]) -> Bytes {
        match std::str::from_utf8(asset).map(|text| self.fill_in(text)) {
            Ok(Cow::Owned(text)) => Bytes::from(text),
            Ok(Cow::Borrowed(_)) | Err(_) => Bytes::from_static(asset),
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
            let platform = PagePlatform { kind, marks: &["One/", "two"] };
            let text = "['{platform.en}', '{platform.zh}'] '{platform.marks}' {name}";
            let filled = format!("['{english}', '{chinese}'] '[\"One/\",\"two\"]' {{name}}");
            assert_eq!(platform.fill_in(text), filled);
            assert_eq!(platform.fill_in_asset(text.as_bytes()), filled);
            for other in [&b"{name} of the platform"[..], b"\xff{platform.en}"] {
                assert_eq!(platform.fill_in_asset(other), other);
            }
        }
    }
}
