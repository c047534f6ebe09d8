//! Settings from environment variables, and from the files that they name.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::declaration::PREFIX;
use super::key::SettingKey;
use super::keys::KEYS;
use super::layers::Layers;
use super::nearest;
use super::origin::Origin;
use super::problem::ConfigProblem;
use super::raw::RawSetting;
use super::sources::Sources;

/// Sets every key that the environment names, and reports variables with the service's prefix that set no key.
pub(super) fn read(sources: &Sources<'_>, layers: &mut Layers) {
    let mut variables = own_variables(sources, layers);
    for key in KEYS.iter() {
        let direct = variables.remove(&key.variable());
        let file = key.file_variable().and_then(|name| Some((variables.remove(&name)?, name)));
        match (direct, file) {
            (None, None) => {}
            (Some(value), None) => {
                layers.set(key, RawSetting::Untyped(value), Origin::Variable(key.variable()));
            }
            (None, Some((path, name))) => set_from_file(key, path, name, sources, layers),
            (Some(_), Some((_, name))) => {
                layers.fail(
                    key,
                    Origin::Variable(key.variable()),
                    format!("{name} is set too"),
                    "unset one of the two",
                );
            }
        }
    }
    for (name, value) in variables {
        if !is_service_link(&name, &value) {
            layers.problems.push(nearest::unknown_variable(&name));
        }
    }
}

/// The service's variables by name, so that problems are reported in the same order in every run.
fn own_variables(sources: &Sources<'_>, layers: &mut Layers) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    for (name, value) in &sources.environment {
        let name = name.to_string_lossy();
        if !name.starts_with(PREFIX) {
            continue;
        }
        match value.to_str() {
            Some(value) => {
                variables.insert(name.into_owned(), value.to_owned());
            }
            None => layers.problems.push(ConfigProblem::new(
                format!("environment {name}"),
                "its value is not UTF-8",
                "set it to plain text",
            )),
        }
    }
    variables
}

fn set_from_file(key: &SettingKey, path: String, variable: String, sources: &Sources<'_>, layers: &mut Layers) {
    let path = PathBuf::from(path);
    let content = (sources.read)(&path);
    let origin = Origin::SecretFile { path, variable };
    match content {
        Ok(text) => layers.set(key, RawSetting::Untyped(without_newline(text)), origin),
        Err(error) => {
            let what = format!("the file cannot be read: {error}");
            layers.fail(key, origin, what, "check its path and permissions");
        }
    }
}

/// Editors and `echo` end a file with a newline that is not part of the secret.
fn without_newline(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    text
}

/// Kubernetes gives every pod variables about its services, such as `DESKPASS_PORT` with a URL for a service called
/// `deskpass`. The operator did not set them, so they must not prevent the service from starting.
fn is_service_link(name: &str, value: &str) -> bool {
    let marks = ["_SERVICE_HOST", "_SERVICE_PORT", "_PORT_"];
    let schemes = ["tcp://", "udp://", "sctp://"];
    !name.contains("__")
        && (marks.iter().any(|mark| name.contains(mark)) || schemes.iter().any(|scheme| value.starts_with(scheme)))
}
