//! Checks of the configuration at the platform, for operators.

/// This service, as the platform sees it.
#[derive(Clone, Copy, Debug)]
pub struct Deployment<'a> {
    /// The public address of the service.
    pub public_url: &'a str,
    /// The address to which the platform sends browsers back.
    pub callback_url: &'a str,
}

/// A check of the configuration at the platform. Texts are in English and in Chinese, with the terms of the platform's console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What was checked, such as "trusted domain".
    pub name: [&'static str; 2],
    /// What was found.
    pub outcome: CheckOutcome,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckOutcome {
    /// It is as it should be.
    Good([String; 2]),
    /// It could not be checked, and why; the texts are empty if an earlier check says so.
    Skipped([String; 2]),
    /// It is wrong.
    Bad {
        /// What is wrong.
        what: [String; 2],
        /// What to do.
        fix: [String; 2],
    },
}
