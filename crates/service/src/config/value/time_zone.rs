//! Time zones of the IANA database.

use std::fmt;

use jiff::tz::{self, TimeZone};

use super::setting_value::SettingValue;
use crate::config::declaration::Declaration;
use crate::config::raw::{RawSetting, quoted};

/// The number of names that are suggested for an unknown one.
const SUGGESTIONS: usize = 3;

/// A time zone by its name in the IANA database.
#[derive(Clone, PartialEq, Eq)]
pub struct ZoneName {
    name: String,
    zone: TimeZone,
}

impl ZoneName {
    /// The time zone.
    #[must_use]
    pub fn zone(&self) -> TimeZone {
        self.zone.clone()
    }

    fn read(text: &str) -> Result<Self, String> {
        match tz::db().get(text) {
            Ok(zone) => {
                // The database knows names in any case; the right spelling is shown.
                let name = zone.iana_name().unwrap_or(text).to_owned();
                Ok(Self { name, zone })
            }
            Err(_) => Err(format!("{} is not a time zone; near it are {}", quoted(text), near(text).join(", "))),
        }
    }
}

/// The known names that are most similar to the given one.
fn near(given: &str) -> Vec<String> {
    let given = given.to_lowercase().replace([' ', '-'], "_");
    let likeness = |name: &str| {
        let name = name.to_lowercase();
        let city = name.rsplit('/').next().unwrap_or(&name);
        let last = given.rsplit('/').next().unwrap_or(&given);
        let alike = strsim::normalized_damerau_levenshtein;
        alike(&given, &name).max(alike(last, city) * 0.9)
    };
    let mut names: Vec<_> = tz::db().available().map(|name| name.as_str().to_owned()).collect();
    names.sort_by(|one, other| likeness(other).total_cmp(&likeness(one)).then_with(|| one.cmp(other)));
    names.truncate(SUGGESTIONS);
    names
}

impl SettingValue for ZoneName {
    fn parse(raw: &RawSetting, _: &Declaration) -> Result<Self, String> {
        Self::read(raw.text()?)
    }

    fn expected(_: &Declaration) -> String {
        r#"an IANA time zone such as "Asia/Shanghai""#.to_owned()
    }

    fn to_toml(&self) -> Option<toml::Value> {
        Some(self.name.as_str().into())
    }
}

impl fmt::Debug for ZoneName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.name)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_found_by_its_name_and_a_near_one_is_suggested() {
        for (text, name) in [("Asia/Shanghai", "Asia/Shanghai"), ("europe/berlin", "Europe/Berlin"), ("UTC", "UTC")] {
            assert_eq!(ZoneName::read(text).unwrap().name, name);
        }
        for (text, meant) in [
            ("Asia/Shangai", "Asia/Shanghai"),
            ("Shanghai", "Asia/Shanghai"),
            ("Europe/Berlim", "Europe/Berlin"),
            ("Hong Kong", "Asia/Hong_Kong"),
        ] {
            let problem = ZoneName::read(text).unwrap_err();
            assert!(problem.contains(meant), "{text}: {problem}");
        }
        for text in ["", "+08:00", "CST-8", "../../etc/passwd", "Asia/Shanghai\n"] {
            assert!(ZoneName::read(text).is_err(), "{text:?}");
        }
    }
}
