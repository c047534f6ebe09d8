//! The address to which the platform sends events, and what signs and encrypts them.

use deskpass_platform::envelope::Envelope;
use serde::Deserialize;
use url::Url;

use crate::kind::Kind;

/// The token that Feishu's console would show, if none is given.
const DEFAULT_TOKEN: &str = "simulated-verification-token";

/// An address with its keys, as entered in the platform's console.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReceiverSettings {
    url: String,
    token: Option<String>,
    aes_key: Option<String>,
    encrypt_key: Option<String>,
}

/// What receives events.
#[derive(Clone)]
pub(crate) struct Receiver {
    pub(crate) url: Url,
    pub(crate) keys: EventKeys,
}

deskpass_core::opaque_debug!(Receiver);

/// What authenticates events.
#[derive(Clone)]
pub(crate) enum EventKeys {
    /// WeCom and DingTalk.
    Envelope { token: String, envelope: Envelope },
    /// Feishu.
    EncryptKey { token: String, encrypt_key: String },
}

impl Receiver {
    /// An error names the setting that is missing or wrong.
    pub(crate) fn new(kind: Kind, settings: ReceiverSettings) -> Result<Self, String> {
        let url = Url::parse(&settings.url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let url = url.ok_or("url must be an address with http or https")?;
        let ReceiverSettings { token, aes_key, encrypt_key, .. } = settings;
        let keys = match (kind, token, aes_key, encrypt_key) {
            (Kind::Feishu, token, None, Some(encrypt_key)) if !encrypt_key.is_empty() => {
                EventKeys::EncryptKey { token: token.unwrap_or_else(|| DEFAULT_TOKEN.to_owned()), encrypt_key }
            }
            (Kind::Feishu, ..) => return Err("this platform needs encrypt_key, and token if it has one".to_owned()),
            (_, Some(token), Some(aes_key), None) => {
                let envelope = Envelope::new(token.clone(), &aes_key).map_err(|error| error.to_string())?;
                EventKeys::Envelope { token, envelope }
            }
            _ => return Err("this platform needs token and aes_key".to_owned()),
        };
        Ok(Self { url, keys })
    }
}
