//! The macro that declares refusals, one block each.

use std::borrow::Cow;
use std::fmt;

use crate::ErrorCode;

/// What is declared about a refusal.
#[derive(Debug)]
pub struct RefusalInfo {
    /// The error code.
    pub code: &'static ErrorCode,
    /// The name of the reason, for clients and for the audit log.
    pub reason: &'static str,
    /// The message for the client, in English and Chinese.
    pub texts: [Cow<'static, str>; 2],
    /// Whether the refusal is written to the audit log.
    pub audited: bool,
    /// What happened and what to do, for operators who read the audit log.
    pub explanation: Option<[&'static str; 2]>,
}

impl RefusalInfo {
    pub(crate) fn new(
        code: &'static ErrorCode,
        reason: &'static str,
        english: fmt::Arguments<'_>,
        chinese: fmt::Arguments<'_>,
    ) -> Self {
        // A text without parameters is not copied.
        let text = |text: fmt::Arguments<'_>| text.as_str().map_or_else(|| text.to_string().into(), Cow::Borrowed);
        Self { code, reason, texts: [text(english), text(chinese)], audited: false, explanation: None }
    }

    pub(crate) fn audited(self, what: &'static str, next: &'static str) -> Self {
        Self { audited: true, explanation: Some([what, next]), ..self }
    }
}

/// Declares an enum of refusals. Each block is a variant: documentation, name and parameters, then
///
/// - `code`: the number of its [`ErrorCode`], which has the HTTP status;
/// - `reason`: the name of the reason;
/// - `en` and `zh`: the message, with the parameters as in `format!`;
/// - `audit`, if the refusal is written to the audit log: what happened and what to do, for operators. `EMPLOYEE` stands for the
///   employee.
///
/// Instead of a block, `=> info;` computes the [`RefusalInfo`]. A refusal that is never stored for other nodes has
/// `#[serde(skip)]`. A stored one keeps its stored name: `#[serde(rename = "…")]` when the variant is renamed.
macro_rules! refusals {
    (
        $(#[$enum_attribute:meta])*
        pub enum $name:ident {$(
            $(#[$attribute:meta])*
            $variant:ident $(($($parameter:ident: $type:ty),+))?
            $({
                code($code:literal), reason($reason:literal),
                en($($en:tt)+),
                zh($($zh:tt)+),
                $(audit($what:literal, $next:literal),)?
            })?
            $(=> $info:expr;)?
        )+}
    ) => {
        $(#[$enum_attribute])*
        pub enum $name {$(
            $(#[$attribute])*
            $variant $(($($type),+))?,
        )+}

        impl $name {
            /// The explanations for operators, by reason.
            pub(crate) const EXPLANATIONS: &'static [(&'static str, [&'static str; 2])] =
                &[$($($(($reason, [$what, $next]),)?)?)+];

            /// What is declared about it.
            #[must_use]
            pub fn info(&self) -> $crate::RefusalInfo {
                match self {$(
                    Self::$variant $(($($parameter),+))? => {
                        $({
                            let code = const { $crate::ErrorCode::of($code) };
                            let info = $crate::RefusalInfo::new(
                                code, $reason, format_args!($($en)+), format_args!($($zh)+),
                            );
                            $(let info = info.audited($what, $next);)?
                            info
                        })?
                        $($info)?
                    }
                )+}
            }

            /// The name of the reason, for clients and for the audit log.
            #[must_use]
            pub fn reason(&self) -> &'static str {
                self.info().reason
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let [english, _] = self.info().texts;
                f.write_str(&english)
            }
        }

        impl std::error::Error for $name {}
    };
}

pub(crate) use refusals;
