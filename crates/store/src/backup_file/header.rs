//! The first two lines of a backup.

use std::io::{BufRead, Read as _};

use deskpass_core::Timestamp;
use serde::{Deserialize, Serialize};

use super::{BackupFileError, KeyDerivation};
use crate::database::Mode;

const MAGIC: &str = "deskpass-backup";
const FORMAT: &str = "1";
const MAX_LINE_BYTES: u64 = 4_096;
const MAX_VERSION_BYTES: usize = 64;
/// The kinds of database that data comes from.
const SOURCES: [&str; 2] = ["sqlite", "postgresql"];

/// What a backup says about itself, readable without a password.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct BackupHeader {
    /// The version of the program that wrote it.
    pub deskpass: String,
    /// The version of the tables.
    pub schema: i64,
    /// The mode of the data.
    pub mode: String,
    /// When it was made, by the clock of the machine that made it.
    pub created_at: Timestamp,
    /// The kind of database that the data comes from.
    pub source: String,
    /// How the key is derived from the password, if the backup is encrypted.
    pub encryption: Option<KeyDerivation>,
}

impl BackupHeader {
    /// The lines at the start of the file.
    pub(super) fn to_text(&self) -> Result<String, BackupFileError> {
        Ok(format!("{MAGIC} {FORMAT}\n{}\n", serde_json::to_string(self)?))
    }

    /// Reads the header; returns it with its text.
    pub(super) fn read(from: &mut impl BufRead) -> Result<(Self, String), BackupFileError> {
        let first = line(from)?;
        let format = first.strip_prefix(MAGIC).and_then(|rest| rest.strip_prefix(' '));
        let format = format.ok_or(BackupFileError::NotABackup)?.trim_end();
        if format != FORMAT {
            let is_number = format.len() < 10 && format.bytes().all(|byte| byte.is_ascii_digit());
            return Err(if is_number {
                BackupFileError::NewerFormat(format.to_owned())
            } else {
                BackupFileError::Damaged
            });
        }
        let second = line(from)?;
        let header: Self = serde_json::from_str(&second)?;
        if !header.has_known_words() {
            return Err(BackupFileError::Damaged);
        }
        Ok((header, format!("{first}{second}")))
    }

    /// Whether its texts are such as a backup has. They are shown and logged before the file is known to be genuine.
    fn has_known_words(&self) -> bool {
        let is_version_byte = |byte: u8| byte.is_ascii_alphanumeric() || b".+-".contains(&byte);
        let modes = [Mode::Development, Mode::Production].map(Mode::name);
        (1..=MAX_VERSION_BYTES).contains(&self.deskpass.len())
            && self.deskpass.bytes().all(is_version_byte)
            && modes.contains(&&*self.mode)
            && SOURCES.contains(&&*self.source)
    }
}

/// Reads a line with its end.
fn line(from: &mut impl BufRead) -> Result<String, BackupFileError> {
    let mut bytes = Vec::new();
    from.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut bytes)?;
    let is_whole = bytes.ends_with(b"\n");
    let text = String::from_utf8(bytes).map_err(|_| BackupFileError::NotABackup)?;
    if is_whole {
        return Ok(text);
    }
    // A file that ends within its header, or one of another kind.
    let is_cut = MAGIC.starts_with(&text) || text.starts_with(MAGIC) || text.starts_with('{');
    Err(if is_cut { BackupFileError::Incomplete } else { BackupFileError::NotABackup })
}
