//! The bodies of requests to the control API.

use serde::de::DeserializeOwned;

/// Reads a JSON object; an error says what is wrong with it.
pub(crate) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    // Without this check, a list would be read as the fields in order.
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err("the body must be a JSON object".to_owned());
    }
    serde_json::from_slice(body).map_err(|error| error.to_string())
}
