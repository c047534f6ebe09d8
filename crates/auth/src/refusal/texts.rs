//! Texts of refusals that need more than a format string.

use std::time::Duration;

use deskpass_core::{Role, Roles, Weakness};

use super::chinese::chinese_explanation;
use crate::{Refusal, TokenError};

/// The explanation of a reason in the audit log, each text in English and Chinese. `EMPLOYEE` stands for the employee, `{platform}`
/// for the name of the platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReasonExplanation {
    /// What happened.
    pub what: [&'static str; 2],
    /// What to do about it, if it is still so.
    pub next: [&'static str; 2],
}

/// Reasons of earlier versions: the log keeps them for as long as it keeps its rows.
const EARLIER: &[(&str, [&str; 2])] = &[(
    "disabled",
    [
        "The employee was disabled here, or had left at the platform; this earlier row does not say which.",
        "To enable: `deskpass employee enable EMPLOYEE`. Otherwise enable the member in the platform's console (通讯录).",
    ],
)];

/// The names of the reasons that this version writes to the audit log.
pub fn audited_reasons() -> impl Iterator<Item = &'static str> {
    Refusal::explanations().chain(TokenError::explanations()).map(|(reason, _)| reason)
}

/// Explains the name of a reason in the audit log.
#[must_use]
pub fn explain_reason(reason: &str) -> Option<ReasonExplanation> {
    let mut explanations = Refusal::explanations().chain(TokenError::explanations()).chain(EARLIER.iter().copied());
    let (_, [what, next]) = explanations.find(|(name, _)| *name == reason)?;
    // A test makes sure that no explanation lacks its Chinese.
    let [what_zh, next_zh] = chinese_explanation(reason).unwrap_or([what, next]);
    Some(ReasonExplanation { what: [what, what_zh], next: [next, next_zh] })
}

impl Refusal {
    /// What is wrong with the new password, in English and Chinese.
    #[must_use]
    pub const fn password_problem(&self) -> Option<[&'static str; 2]> {
        match self {
            Self::WeakPassword(weakness) => Some(describe_weakness(*weakness)),
            Self::SamePassword => Some(SAME_PASSWORD),
            _ => None,
        }
    }
}

pub(super) const SAME_PASSWORD: [&str; 2] = ["is your current password", "与当前密码相同"];

pub(super) const fn describe_weakness(weakness: Weakness) -> [&'static str; 2] {
    match weakness {
        Weakness::TooShort => ["is too short (at least 12 characters)", "太短（至少 12 个字符）"],
        Weakness::TooLong => ["is too long (at most 128 characters)", "太长（最多 128 个字符）"],
        Weakness::Common => ["is too common", "过于常见，容易被猜到"],
        Weakness::Personal => [
            "contains your name, your employee id, or the name of the company or service",
            "包含您的姓名、账号，或企业、系统的名称",
        ],
        Weakness::Monotonous => ["repeats the same few characters", "重复的字符过多"],
    }
}

/// A wait in whole seconds, rounded up, so that a retry is not too early.
#[must_use]
pub fn whole_seconds(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis().div_ceil(1_000)).unwrap_or(u64::MAX).max(1)
}

pub(super) fn whole_minutes(wait: Duration) -> u64 {
    whole_seconds(wait).div_ceil(60)
}

pub(super) fn english_seconds(wait: Duration) -> String {
    match whole_seconds(wait) {
        1 => "1 second".to_owned(),
        seconds => format!("{seconds} seconds"),
    }
}

pub(super) fn english_minutes(wait: Duration) -> String {
    match whole_minutes(wait) {
        1 => "a minute".to_owned(),
        minutes => format!("{minutes} minutes"),
    }
}

pub(super) fn role_names(roles: Roles) -> String {
    roles.iter().map(Role::name).collect::<Vec<_>>().join(", ")
}
