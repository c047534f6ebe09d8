//! Timestamps as text: in RFC 3339 for programs, in a time zone for people.

use std::borrow::Cow;

use deskpass_core::Timestamp;
use jiff::tz::TimeZone;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// Formats a timestamp in RFC 3339.
pub(crate) fn rfc3339(moment: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(moment.millis()).unwrap_or_default().to_string()
}

/// A timestamp that is serialized in RFC 3339.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rfc3339(pub(crate) Timestamp);

impl Serialize for Rfc3339 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&rfc3339(self.0))
    }
}

impl JsonSchema for Rfc3339 {
    fn schema_name() -> Cow<'static, str> {
        "Rfc3339".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }

    fn inline_schema() -> bool {
        true
    }
}

/// Formats a timestamp in UTC, to the second.
pub(crate) fn format_utc(moment: Timestamp) -> String {
    jiff::Timestamp::from_second(moment.millis().div_euclid(1_000)).unwrap_or_default().to_string()
}

/// Formats a timestamp as its reader's clock shows it, to the second, with the offset of the zone.
pub(crate) fn local_time(zone: &TimeZone, moment: Timestamp) -> String {
    let moment = jiff::Timestamp::from_second(moment.millis().div_euclid(1_000)).unwrap_or_default();
    moment.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S UTC%:z").to_string()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_that_of_the_zone_with_its_offset() {
        let moment = Timestamp::from_millis(1_750_000_000_999);
        for (zone, shown) in [
            ("Asia/Shanghai", "2025-06-15 23:06:40 UTC+08:00"),
            ("UTC", "2025-06-15 15:06:40 UTC+00:00"),
            ("America/New_York", "2025-06-15 11:06:40 UTC-04:00"),
            ("Asia/Kolkata", "2025-06-15 20:36:40 UTC+05:30"),
        ] {
            assert_eq!(local_time(&TimeZone::get(zone).unwrap(), moment), shown);
        }
    }
}
