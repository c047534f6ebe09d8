//! What the caller hands in.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// Everything settings may come from besides their defaults.
///
/// Neither this nor [`Override`] has `Debug`: both carry secrets in the clear.
pub struct Sources<'a> {
    /// The file named by `--config`; it must exist. Without one, `./deskpass.toml` is read if it is there.
    pub file: Option<PathBuf>,
    /// The process's environment, as `std::env::vars_os` gives it. `vars` would panic on a value
    /// that is not UTF-8, even on one that is no concern of ours.
    pub environment: Vec<(OsString, OsString)>,
    /// What the command line says; it beats every other source.
    pub overrides: Vec<Override>,
    /// Reads a file as text: the settings file, and files that hold secrets.
    pub read: &'a dyn Fn(&Path) -> io::Result<String>,
}

/// One setting given on the command line.
pub struct Override {
    /// The key, such as `listen`.
    pub key: &'static str,
    /// Its value, written as in the environment.
    pub value: String,
    /// The flag that set it, such as `--listen`.
    pub flag: &'static str,
}
