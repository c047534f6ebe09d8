//! The file with which a platform verifies that the domain is ours.

use std::fs;
use std::path::Path;

use deskpass_platform::PlatformKind;

use crate::app::StartError;
use crate::config::Settings;

/// The size limit of verification files, which are one line long.
const MAX_VERIFY_FILE_BYTES: u64 = 4096;

/// What is wrong with the platform's verification file.
#[derive(Debug, thiserror::Error)]
pub enum VerifyFileProblem {
    /// Its name is wrong.
    #[error("the file must keep the name that the platform gave it, WW_verify_….txt")]
    Name,
    /// It is too large.
    #[error("the file is too large for a verification file")]
    TooLarge,
    /// It cannot be read.
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] std::io::Error),
}

/// Whether the platform may ask for such a file.
pub(crate) fn has_verify_file(kind: PlatformKind) -> bool {
    kind == PlatformKind::Wecom
}

/// Reads the platform's verification file.
pub(crate) fn verify_file(settings: &Settings) -> Result<Option<(String, String)>, StartError> {
    let Some(path) = &settings.platform.verify_file else { return Ok(None) };
    read_verify_file(path).map(Some).map_err(|why| StartError::VerifyFile { path: path.clone(), why })
}

/// Reads and checks a verification file. It is served to everyone, so its name and size must be those of such a file.
fn read_verify_file(path: &Path) -> Result<(String, String), VerifyFileProblem> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let plain = |c: u8| c.is_ascii_alphanumeric() || c == b'_' || c == b'-';
    let stem = name.strip_prefix("WW_verify_").and_then(|rest| rest.strip_suffix(".txt"));
    if !stem.is_some_and(|stem| !stem.is_empty() && stem.bytes().all(plain)) {
        return Err(VerifyFileProblem::Name);
    }
    if fs::metadata(path)?.len() > MAX_VERIFY_FILE_BYTES {
        return Err(VerifyFileProblem::TooLarge);
    }
    Ok((name.to_owned(), fs::read_to_string(path)?))
}
