//! The name, the logo and the colour of the operator's company on the pages.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::config::{Branding, Colour};

/// The largest logo, in bytes: it is part of the first view.
const MAX_LOGO_BYTES: u64 = 64 * 1024;
/// The background of the pages in the dark colour scheme, as in `desk.css`.
const DARK_CARD: &str = "#19211f";
/// The first bytes of a PNG file.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

/// What differs from the built-in look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Brand {
    pub(super) name: Option<String>,
    /// Additional assets: the logo and the style sheet.
    pub(super) assets: Vec<(&'static str, Vec<u8>)>,
}

/// A logo that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}", path.display())]
pub struct LogoError {
    /// Its path.
    pub(crate) path: PathBuf,
    /// What is wrong with it.
    pub(crate) why: LogoProblem,
}

/// Why a logo cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LogoProblem {
    /// It cannot be read.
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// It is too large.
    #[error("it is larger than 64 KiB; make it smaller, since every first visit transfers it")]
    TooLarge,
    /// It is neither an SVG nor a PNG file.
    #[error("it is neither an SVG nor a PNG file, by its name and content")]
    Type,
}

impl Brand {
    /// Reads the brand that the settings describe.
    pub(crate) fn read(settings: &Branding) -> Result<Self, LogoError> {
        let mut assets = Vec::new();
        if let Some(path) = &settings.logo {
            assets.push(logo(path).map_err(|why| LogoError { path: path.clone(), why })?);
        }
        if let Some(accent) = &settings.accent {
            assets.push(("brand.css", style(**accent).into_bytes()));
        }
        Ok(Self { name: settings.name.as_deref().map(str::to_owned), assets })
    }

    /// Whether nothing differs.
    pub(super) fn is_plain(&self) -> bool {
        self.name.is_none() && self.assets.is_empty()
    }

    /// The asset with the logo.
    pub(super) fn logo(&self) -> &'static str {
        let is_logo = |(name, _): &&(&'static str, _)| name.starts_with("logo.");
        self.assets.iter().find(is_logo).map_or("mark.svg", |(name, _)| name)
    }

    /// Whether there is a style sheet of its own.
    pub(super) fn has_style(&self) -> bool {
        self.assets.iter().any(|(name, _)| *name == "brand.css")
    }
}

/// Reads a logo. It is shown as an image, in which browsers run no script.
fn logo(path: &Path) -> Result<(&'static str, Vec<u8>), LogoProblem> {
    if fs::metadata(path)?.len() > MAX_LOGO_BYTES {
        return Err(LogoProblem::TooLarge);
    }
    let content = fs::read(path)?;
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("png") if content.starts_with(PNG) => Ok(("logo.png", content)),
        Some("svg") if content.windows(4).any(|part| part == b"<svg") => Ok(("logo.svg", content)),
        _ => Err(LogoProblem::Type),
    }
}

/// The style sheet of an accent colour, which is readable on white; a lighter shade of it is readable on dark pages.
fn style(accent: Colour) -> String {
    let card = Colour::parse(DARK_CARD).unwrap_or(Colour::WHITE);
    let dark = accent.readable_on(card, Colour::WHITE);
    format!(
        ":root {{ --accent: {accent}; --tile-accent: {accent}; --on-accent: #fff; }}\n\
         @media (prefers-color-scheme: dark) {{ :root {{ --accent: {dark}; --on-accent: #08110f; }} }}\n"
    )
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn the_dark_shade_can_be_read_on_dark_pages_and_carries_dark_text() {
        for accent in ["#0d6b5c", "#000000", "#b00020", "#0b57d0", "#4a148c"] {
            let sheet = style(Colour::parse(accent).unwrap());
            let dark = sheet.rsplit_once("--accent: ").unwrap().1.split_once(';').unwrap().0;
            let dark = Colour::parse(dark).unwrap();
            assert!(dark.contrast(Colour::parse(DARK_CARD).unwrap()) >= 4.5, "{sheet}");
            assert!(dark.contrast(Colour::parse("#08110f").unwrap()) >= 4.5, "{sheet}");
        }
    }

    #[test]
    fn a_logo_is_what_its_name_says() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, content: &[u8]| {
            let path = directory.path().join(name);
            fs::write(&path, content).unwrap();
            path
        };
        assert_eq!(logo(&write("a.svg", b"<?xml?><svg/>")).unwrap().0, "logo.svg");
        assert_eq!(logo(&write("a.png", PNG)).unwrap().0, "logo.png");
        assert!(matches!(logo(&write("b.png", b"<svg/>")), Err(LogoProblem::Type)));
        assert!(matches!(logo(&write("b.html", b"<svg/>")), Err(LogoProblem::Type)));
        assert!(matches!(logo(&write("c.svg", &vec![b' '; 70_000])), Err(LogoProblem::TooLarge)));
        assert!(matches!(logo(&directory.path().join("none.svg")), Err(LogoProblem::Unreadable(_))));
    }
}
