//! What confirms a high-risk change.

use super::choice::choice;
use super::list::ListItem;
use crate::config::raw::quoted;

choice! {
    /// What confirms a high-risk change.
    pub enum ApprovalMethod {
        /// A one-time password.
        Otp = "otp",
        /// An approval on the phone of the person who makes the change.
        Phone = "phone",
    }
}

impl ListItem for ApprovalMethod {
    const EXPECTED: &'static str = r#"one or both of "otp", "phone""#;

    fn parse_item(text: &str) -> Result<Self, String> {
        let known = [Self::Otp, Self::Phone].into_iter().find(|method| method.to_string() == text);
        known.ok_or_else(|| format!("{} is not one of the choices", quoted(text)))
    }
}
