//! A value as written in a source, before its type parses it.

/// A value in a source. It has no `Debug`, because it may be a secret.
pub(super) enum RawSetting {
    /// Text without a type, from the environment, a flag, a secret's file or a default. The setting's type determines its meaning.
    Untyped(String),
    /// A string in the file.
    Text(String),
    /// A whole number in the file.
    Integer(i64),
    /// `true` or `false` in the file.
    Boolean(bool),
    /// A list in the file.
    List(Vec<RawSetting>),
    /// Any other type in the file, by its name; no key accepts it.
    Other(&'static str),
}

impl RawSetting {
    /// Returns the text, or a message with the actual type.
    pub(super) fn text(&self) -> Result<&str, String> {
        match self {
            Self::Untyped(text) | Self::Text(text) => Ok(text),
            other => Err(other.type_mismatch()),
        }
    }

    /// Returns the text, also of a whole number that is written without quotes, or a message with the actual type.
    pub(super) fn text_or_integer(&self) -> Result<String, String> {
        match self {
            Self::Integer(number) => Ok(number.to_string()),
            other => other.text().map(str::to_owned),
        }
    }

    /// Returns the whole number, or a message with the actual type.
    pub(super) fn integer(&self) -> Result<i64, String> {
        match self {
            Self::Integer(number) => Ok(*number),
            Self::Untyped(text) => text.parse().map_err(|_| format!("{} is not a whole number", quoted(text))),
            other => Err(other.type_mismatch()),
        }
    }

    /// Returns the boolean, or a message with the actual type.
    pub(super) fn boolean(&self) -> Result<bool, String> {
        match self {
            Self::Boolean(flag) => Ok(*flag),
            Self::Untyped(text) => text.parse().map_err(|_| format!("{} is neither true nor false", quoted(text))),
            other => Err(other.type_mismatch()),
        }
    }

    /// Returns the list of texts, or a message with the actual type. Untyped text is split at commas.
    pub(super) fn texts(&self) -> Result<Vec<&str>, String> {
        match self {
            Self::Untyped(text) if text.trim().is_empty() => Ok(Vec::new()),
            Self::Untyped(text) => Ok(text.split(',').map(str::trim).collect()),
            Self::List(items) => items.iter().map(Self::text).collect(),
            other => Err(other.type_mismatch()),
        }
    }

    fn type_mismatch(&self) -> String {
        let found = match self {
            Self::Untyped(_) | Self::Text(_) => "a string",
            Self::Integer(_) => "a whole number",
            Self::Boolean(_) => "a boolean",
            Self::List(_) => "a list",
            Self::Other(name) => name,
        };
        format!("{found} does not fit here")
    }
}

/// Quotes untrusted text so that it fits on one line of a message.
pub(super) fn quoted(text: &str) -> String {
    const SHOWN: usize = 60;
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("{shown:?}")
}
