//! The part of the settings that a copy of the data needs.

use std::path::PathBuf;

use super::problem::{ConfigError, ConfigProblem};
use super::resolved::resolve;
use super::sources::Sources;
use super::value::PostgresUrl;

/// The target of a copy.
#[derive(Clone, Debug)]
pub struct Destination {
    /// The address of PostgreSQL.
    pub url: PostgresUrl,
    /// Certificates of an authority that is trusted in addition to the system's.
    pub ca_file: Option<PathBuf>,
    /// Whether the data is of development mode.
    pub development: bool,
}

/// Resolves the target of a copy. The service does not run on the target yet, so its other required settings may be missing.
/// The error has all problems of the settings that are present, or the missing target.
pub fn destination(sources: &Sources<'_>) -> Result<Destination, ConfigError> {
    let resolved = resolve(sources);
    let (store, development) = (resolved.settings.store.url, resolved.settings.development.enabled.value);
    let mut problems = resolved.problems;
    if !store.entry.is_set() && resolved.complete {
        let fix = "name it with --to, or set store.url (DESKPASS_STORE__URL or DESKPASS_STORE__URL_FILE)";
        problems.push(ConfigProblem::new("store.url", "it is not set, and a copy needs a PostgreSQL to go to", fix));
    }
    match (store.value, development) {
        (Some(url), Some(development)) if problems.is_empty() => {
            Ok(Destination { url, ca_file: resolved.settings.tls.ca_file.value, development })
        }
        _ => Err(ConfigError { problems }),
    }
}
