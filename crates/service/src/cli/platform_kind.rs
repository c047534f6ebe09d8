//! The name of a platform on the command line.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use deskpass_platform::PlatformKind;

/// Parses the name of a platform.
pub(super) fn platform_kind() -> impl TypedValueParser<Value = PlatformKind> {
    let names = PossibleValuesParser::new(PlatformKind::ALL.map(PlatformKind::name));
    names.try_map(|name| PlatformKind::parse(&name).ok_or("there is no such platform"))
}
