//! Lists of values.

use std::fmt::{Debug, Display};

use deskpass_core::{Host, InvalidNetwork, parse_network};
use ipnet::IpNet;

use super::newtype::newtype;
use super::setting_value::SettingValue;
use crate::config::declaration::Declaration;
use crate::config::raw::{RawSetting, quoted};

/// A type of the items of a list.
pub(super) trait ListItem: Clone + Debug + Display {
    /// The expected items, with an example.
    const EXPECTED: &'static str;

    /// Parses an item, or returns what is wrong with it.
    fn parse_item(text: &str) -> Result<Self, String>;
}

impl<T: ListItem> SettingValue for Vec<T> {
    fn parse(raw: &RawSetting, _: &Declaration) -> Result<Self, String> {
        raw.texts()?.into_iter().map(T::parse_item).collect()
    }

    fn expected(_: &Declaration) -> String {
        format!("{} (a list in the file, separated by commas in the environment)", T::EXPECTED)
    }

    fn to_toml(&self) -> Option<toml::Value> {
        Some(self.iter().map(ToString::to_string).collect::<Vec<_>>().into())
    }
}

impl ListItem for IpNet {
    const EXPECTED: &'static str = r#"networks such as "10.0.0.0/8" or "2001:db8::7""#;

    fn parse_item(text: &str) -> Result<Self, String> {
        parse_network(text).map_err(|problem| match problem {
            InvalidNetwork::Unreadable => format!("{} {problem}", quoted(text)),
            InvalidNetwork::Ambiguous { .. } => format!("{text} {problem}"),
        })
    }
}

newtype! {
    /// A host name without a port, in lower case.
    pub struct HostName(String) as str {
        secret: false,
        expected: |_| r#"a host name without a port such as "desk.test""#.to_owned(),
        parse: |raw| host(raw.text()?),
    }
}

impl ListItem for HostName {
    const EXPECTED: &'static str = r#"host names without a port such as "desk.test""#;

    fn parse_item(text: &str) -> Result<Self, String> {
        host(text).map(Self)
    }
}

fn host(text: &str) -> Result<String, String> {
    // A text that already has a port does not parse with a second one.
    match Host::parse(&format!("{text}:1")) {
        Some(_) => Ok(text.to_ascii_lowercase()),
        None => Err(format!("{} is not a host name", quoted(text))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_which_item_is_no_network() {
        let parse = |items: [&str; 2]| items.into_iter().map(IpNet::parse_item).collect::<Result<Vec<_>, _>>();
        assert_eq!(parse(["10.0.0.0/8", "::1"]).map(|networks| networks.len()), Ok(2));
        let complaint = |item| parse(["10.0.0.0/8", item]).err().unwrap_or_default();
        assert_eq!(complaint("10.0.0.0/33"), "\"10.0.0.0/33\" is not a network");
        let expected = "10.1.2.3/8 is ambiguous, it could mean 10.0.0.0/8 or 10.1.2.3/32";
        assert_eq!(complaint("10.1.2.3/8"), expected);
    }
}
