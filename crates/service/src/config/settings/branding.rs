//! What the pages look like.

use std::path::PathBuf;

use deskpass_derive::Section;

use crate::config::value::{AccentColour, Label};

/// What the pages look like.
#[derive(Clone, Debug, Section)]
pub struct Branding {
    /// The name on the pages and in their titles, usually that of the company.
    #[setting(example = "Example Ltd")]
    pub name: Option<Label>,
    /// A logo instead of ours: an SVG or PNG file of at most 64 KiB, shown 26 pixels high.
    #[setting(example = "/etc/deskpass/logo.svg")]
    pub logo: Option<PathBuf>,
    /// The colour of buttons and links. Text in it must be readable on white; the shade for the dark pages is derived.
    #[setting(example = "#0d6b5c")]
    pub accent: Option<AccentColour>,
}
