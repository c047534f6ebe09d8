//! The sources of settings, which the caller passes in.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// All sources of settings except the defaults.
///
/// Neither this nor [`Override`] has `Debug`: both contain secrets in plain text.
pub struct Sources<'a> {
    /// The file given by `--config`; it must exist. Without it, `./deskpass.toml` is read if it exists.
    pub file: Option<PathBuf>,
    /// The process's environment, as `std::env::vars_os` returns it. `vars` would panic on a value that is not UTF-8,
    /// even on one of another program.
    pub environment: Vec<(OsString, OsString)>,
    /// The values from the command line, which is the strongest source.
    pub overrides: Vec<Override>,
    /// Reads a file as text: the settings file, and files with secrets.
    pub read: &'a dyn Fn(&Path) -> io::Result<String>,
}

/// A setting given on the command line.
pub struct Override {
    /// The key, such as `listen`.
    pub key: &'static str,
    /// The value, written as in the environment.
    pub value: String,
    /// The flag that set it, such as `--listen`.
    pub flag: &'static str,
}
