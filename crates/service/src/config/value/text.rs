//! Texts of a fixed form.

use super::newtype::newtype;
use crate::config::raw::{RawSetting, quoted};

newtype! {
    /// A name of letters, digits, underscores and hyphens.
    pub struct Identifier(String) as str {
        secret: false,
        expected: |declared| format!(r#"1 to 64 letters, digits, "_" or "-", such as "{}""#, declared.sample()),
        parse: |raw| identifier(raw.text()?),
    }
}

fn identifier(text: &str) -> Result<String, String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if (1..=64).contains(&text.len()) && text.bytes().all(fits) {
        Ok(text.to_owned())
    } else {
        Err(format!("{} is not an id", quoted(text)))
    }
}

newtype! {
    /// The platform's number of an application.
    pub struct AgentId(String) as str {
        secret: false,
        expected: |_| r#"the application's AgentId, a number such as "1000002""#.to_owned(),
        parse: agent_id,
    }
}

/// The platform's console shows a number, so the file may contain it without quotes.
fn agent_id(raw: &RawSetting) -> Result<String, String> {
    let written = raw.text_or_integer()?;
    if (1..=20).contains(&written.len()) && written.bytes().all(|byte| byte.is_ascii_digit()) {
        Ok(written)
    } else {
        Err(format!("{} is not an AgentId", quoted(&written)))
    }
}

newtype! {
    /// A name that is shown to people.
    pub struct Label(String) as str {
        secret: false,
        expected: |_| r#"a name of at most 40 characters such as "Example Ltd""#.to_owned(),
        parse: |raw| label(raw.text()?),
    }
}

fn label(text: &str) -> Result<String, String> {
    let shown = !text.trim().is_empty() && text.chars().count() <= 40 && !text.chars().any(char::is_control);
    if shown { Ok(text.trim().to_owned()) } else { Err(format!("{} is not such a name", quoted(text))) }
}

newtype! {
    /// The domain of e-mail addresses, in lower case.
    pub struct MailDomain(String) as str {
        secret: false,
        expected: |_| r#"a domain such as "example.com""#.to_owned(),
        parse: |raw| mail_domain(raw.text()?),
    }
}

fn mail_domain(text: &str) -> Result<String, String> {
    let label = |label: &str| {
        let plain = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        (1..=63).contains(&label.len()) && plain && !label.starts_with('-') && !label.ends_with('-')
    };
    let fits = text.len() <= 190 && text.contains('.') && text.split('.').all(label);
    if fits { Ok(text.to_ascii_lowercase()) } else { Err(format!("{} is not a domain", quoted(text))) }
}
