//! The kinds of values: how each is parsed, and how it is explained.

use std::path::PathBuf;
use std::time::Duration;

use deskpass_core::Host;

use super::raw::{RawSetting, quoted};
use super::secret::{EncryptionKey, SecretText};
use super::value::Value;
use super::{duration, network, public_url, rate, shared_url, size, store_url, web_url};

const NETWORKS: &str = "networks such as \"10.0.0.0/8\" or \"2001:db8::7\" \
                        (a list in the file, separated by commas in the environment)";

const DAY: Duration = Duration::from_hours(24);

/// The kinds of values.
#[derive(Debug)]
pub(super) enum ValueKind {
    Address,
    Path,
    PublicUrl,
    Origins,
    /// Host names without a port.
    Hosts,
    WebUrl,
    Choice(&'static [&'static str]),
    Flag,
    /// With an example.
    Identifier(&'static str),
    AgentId,
    Networks,
    Secret,
    EncryptionKey,
    StoreUrl,
    SharedUrl,
    Rate,
    Count {
        min: usize,
        max: usize,
    },
    Duration {
        min: Duration,
        max: Duration,
    },
    Size {
        min: usize,
        max: usize,
    },
}

impl ValueKind {
    /// Whether values of this kind are masked, wholly or in part, and may be read from a separate file.
    pub(super) fn is_secret(&self) -> bool {
        matches!(self, Self::Secret | Self::EncryptionKey | Self::StoreUrl | Self::SharedUrl)
    }

    /// The expected form of a value, with an example; it ends a sentence.
    pub(super) fn expected(&self) -> String {
        let fixed = match self {
            Self::Address => r#"an IP address and port such as "127.0.0.1:8080""#,
            Self::Path => r#"a path such as "./data""#,
            Self::PublicUrl => r#"an origin without path such as "https://desk.example.com""#,
            Self::Origins => {
                "origins such as \"https://desk.example.com\" (a list in the file, separated by commas in the environment)"
            }
            Self::Hosts => {
                "host names without a port such as \"desk.test\" (a list in the file, separated by commas in the environment)"
            }
            Self::WebUrl => r#"an http or https address such as "https://platform.example.com""#,
            Self::Flag => "true or false",
            Self::AgentId => r#"the application's AgentId, a number such as "1000002""#,
            Self::Networks => NETWORKS,
            Self::Secret => "a string on one line without blanks",
            Self::EncryptionKey => "32 random bytes in base64; make them with: openssl rand -base64 32",
            Self::StoreUrl => "an address such as \"postgres://USER:PASSWORD@db.example.com:5432/DATABASE\"",
            Self::SharedUrl => {
                "an address such as \"redis://USER:PASSWORD@redis.example.com:6379\", \
                 \"redis-sentinel://:PASSWORD@one:26379,two:26379/MASTER\" or \
                 \"redis-cluster://:PASSWORD@one:6379,two:6379\"; rediss encrypts"
            }
            Self::Rate => rate::EXPECTED,
            Self::Identifier(example) => {
                return format!(r#"1 to 64 letters, digits, "_" or "-", such as "{example}""#);
            }
            Self::Choice(words) => return format!("one of {}", alternatives(words)),
            Self::Count { min, max } => return format!("a whole number from {min} to {max}"),
            Self::Duration { min: least, max } => {
                let (min, max) = (duration::format(*least), duration::format(*max));
                let example = if *least < DAY { r#""30m" or "1m30s""# } else { r#""90d""# };
                return format!("a duration from {min} to {max} such as {example}");
            }
            Self::Size { min, max } => {
                let (min, max) = (size::format(*min), size::format(*max));
                return format!(r#"a size from {min} to {max} such as "64KiB" or 65536 (bytes)"#);
            }
        };
        fixed.to_owned()
    }

    /// Parses a value, or returns what is wrong with it. The message never repeats a secret.
    pub(super) fn parse(&self, raw: &RawSetting) -> Result<Value, String> {
        match self {
            Self::Address => address(raw.text()?),
            Self::Path => path(raw.text()?),
            Self::PublicUrl => public_url::parse(raw.text()?).map(Value::Text),
            Self::Origins => origins(&raw.texts()?),
            Self::Hosts => hosts(&raw.texts()?),
            Self::WebUrl => web_url::parse(raw.text()?).map(Value::Text),
            Self::Choice(words) => choice(raw.text()?, words),
            Self::Flag => raw.boolean().map(Value::Flag),
            Self::Identifier(_) => identifier(raw.text()?),
            Self::AgentId => agent_id(raw),
            Self::Networks => network::parse_all(&raw.texts()?).map(Value::Networks),
            Self::Secret => SecretText::parse(raw.text()?).map(Value::Secret),
            Self::EncryptionKey => EncryptionKey::parse(raw.text()?).map(Value::EncryptionKey),
            Self::StoreUrl => store_url::parse(raw.text()?).map(Value::Url),
            Self::SharedUrl => shared_url::parse(raw.text()?).map(Value::Url),
            Self::Rate => rate::parse(raw.text()?).map(Value::Rate),
            Self::Count { min, max } => count(raw.integer()?, *min, *max),
            Self::Duration { min, max } => duration_within(raw.text()?, *min, *max),
            Self::Size { min, max } => size_within(raw, *min, *max),
        }
    }
}

fn alternatives(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
    quoted.join(", ")
}

fn address(text: &str) -> Result<Value, String> {
    text.parse().map(Value::Address).map_err(|_| format!("{} is not an IP address with a port", quoted(text)))
}

fn path(text: &str) -> Result<Value, String> {
    if text.is_empty() || text.chars().any(char::is_control) {
        return Err(format!("{} is not a path", quoted(text)));
    }
    Ok(Value::Path(PathBuf::from(text)))
}

fn origins(texts: &[&str]) -> Result<Value, String> {
    texts.iter().map(|text| public_url::parse(text)).collect::<Result<_, _>>().map(Value::Texts)
}

fn hosts(texts: &[&str]) -> Result<Value, String> {
    // A text that already has a port does not parse with a second one.
    let host = |text: &&str| match Host::parse(&format!("{text}:1")) {
        Some(_) => Ok(text.to_ascii_lowercase()),
        None => Err(format!("{} is not a host name", quoted(text))),
    };
    texts.iter().map(host).collect::<Result<_, _>>().map(Value::Texts)
}

fn choice(text: &str, words: &[&'static str]) -> Result<Value, String> {
    match words.iter().find(|word| **word == text) {
        Some(word) => Ok(Value::Word(word)),
        None => Err(format!("{} is not one of the choices", quoted(text))),
    }
}

fn identifier(text: &str) -> Result<Value, String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if (1..=64).contains(&text.len()) && text.bytes().all(fits) {
        Ok(Value::Text(text.to_owned()))
    } else {
        Err(format!("{} is not an id", quoted(text)))
    }
}

/// The platform's console shows a number, so the file may contain it without quotes.
fn agent_id(raw: &RawSetting) -> Result<Value, String> {
    let written = text_or_number(raw)?;
    if (1..=20).contains(&written.len()) && written.bytes().all(|byte| byte.is_ascii_digit()) {
        Ok(Value::Text(written))
    } else {
        Err(format!("{} is not an AgentId", quoted(&written)))
    }
}

fn count(number: i64, min: usize, max: usize) -> Result<Value, String> {
    match usize::try_from(number) {
        Ok(count) if (min..=max).contains(&count) => Ok(Value::Count(count)),
        _ => Err(format!("{number} is out of range")),
    }
}

fn duration_within(text: &str, min: Duration, max: Duration) -> Result<Value, String> {
    match duration::parse(text) {
        Some(duration) if (min..=max).contains(&duration) => Ok(Value::Duration(duration)),
        Some(_) => Err(format!("{} is out of range", quoted(text))),
        None => Err(format!("{} is not a duration", quoted(text))),
    }
}

/// A plain number is a number of bytes, so the file may contain `65536` without quotes.
fn size_within(raw: &RawSetting, min: usize, max: usize) -> Result<Value, String> {
    let written = text_or_number(raw)?;
    match size::parse(&written) {
        Some(size) if (min..=max).contains(&size) => Ok(Value::Size(size)),
        Some(_) => Err(format!("{} is out of range", quoted(&written))),
        None => Err(format!("{} is not a size", quoted(&written))),
    }
}

fn text_or_number(raw: &RawSetting) -> Result<String, String> {
    match raw {
        RawSetting::Integer(number) => Ok(number.to_string()),
        other => other.text().map(str::to_owned),
    }
}
