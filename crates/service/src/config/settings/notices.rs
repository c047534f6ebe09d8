//! Messages to users through the platform.

use deskpass_derive::Section;
use jiff::tz::TimeZone;

use crate::config::value::ZoneName;

/// Messages to users through the platform.
#[derive(Clone, Debug, Section)]
pub struct Notices {
    /// The time zone of the times in messages, by its IANA name. Default: the zone of the server.
    #[setting(example = "Asia/Shanghai")]
    pub time_zone: Option<ZoneName>,
}

impl Notices {
    /// The time zone of the times in messages.
    #[must_use]
    pub fn zone(&self) -> TimeZone {
        self.time_zone.as_ref().map_or_else(TimeZone::system, ZoneName::zone)
    }
}
