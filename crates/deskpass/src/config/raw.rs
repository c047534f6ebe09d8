//! A value as a source wrote it, before its kind has a say.

/// What stands in a source. It has no `Debug`, because it may be a secret.
pub(super) enum RawSetting {
    /// Text without a type: environment, flag, secret's file, default. The kind decides what it is.
    Untyped(String),
    /// A string in the file.
    Text(String),
    /// A whole number in the file.
    Integer(i64),
    /// `true` or `false` in the file.
    Boolean(bool),
    /// A list in the file.
    List(Vec<RawSetting>),
    /// Anything else in the file, by the name of its type; no key takes it.
    Other(&'static str),
}

impl RawSetting {
    /// It as text, or what it is instead.
    pub(super) fn text(&self) -> Result<&str, String> {
        match self {
            Self::Untyped(text) | Self::Text(text) => Ok(text),
            other => Err(other.type_mismatch()),
        }
    }

    /// It as a whole number, or what it is instead.
    pub(super) fn integer(&self) -> Result<i64, String> {
        match self {
            Self::Integer(number) => Ok(*number),
            Self::Untyped(text) => text.parse().map_err(|_| format!("{} is not a whole number", quoted(text))),
            other => Err(other.type_mismatch()),
        }
    }

    /// It as a yes or no, or what it is instead.
    pub(super) fn boolean(&self) -> Result<bool, String> {
        match self {
            Self::Boolean(flag) => Ok(*flag),
            Self::Untyped(text) => text.parse().map_err(|_| format!("{} is neither true nor false", quoted(text))),
            other => Err(other.type_mismatch()),
        }
    }

    /// It as a list of texts, or what it is instead. Untyped text is split at commas.
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

/// Text from outside, made fit for one line of a message.
pub(super) fn quoted(text: &str) -> String {
    const SHOWN: usize = 60;
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("{shown:?}")
}
