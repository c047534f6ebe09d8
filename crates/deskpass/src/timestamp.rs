//! Timestamps in RFC 3339, for responses and exports.

use std::borrow::Cow;

use deskpass_core::Timestamp;
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
