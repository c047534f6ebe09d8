//! The kind of the platform.

use deskpass_platform::PlatformKind;

use super::setting_value::SettingValue;
use crate::config::declaration::Declaration;
use crate::config::raw::{RawSetting, quoted};

impl SettingValue for PlatformKind {
    fn parse(raw: &RawSetting, _: &Declaration) -> Result<Self, String> {
        let name = raw.text()?;
        let named = Self::ALL.into_iter().find(|kind| kind.name() == name);
        named.ok_or_else(|| {
            let given = quoted(name);
            if name.eq_ignore_ascii_case("lark") {
                format!("{given} has no kind of its own: use \"feishu\" with platform.api_url = Lark's API address")
            } else {
                format!("{given} is not one of the choices")
            }
        })
    }

    fn expected(_: &Declaration) -> String {
        format!("one of {}", Self::ALL.map(|kind| format!("{:?}", kind.name())).join(", "))
    }

    fn to_toml(&self) -> Option<toml::Value> {
        Some(self.name().into())
    }
}
