//! The macro that declares refusals, one block each.

use std::borrow::Cow;
use std::fmt;

use crate::ErrorCode;

/// What is declared about a refusal.
#[derive(Debug)]
pub struct RefusalInfo {
    /// The error code.
    pub code: &'static ErrorCode,
    /// The name of the reason, for clients.
    pub reason: &'static str,
    /// The name of the reason in the audit log, which tells apart what clients need not.
    pub logged: &'static str,
    /// The message for the client, in English and Chinese. `{platform}` stands for the name of the platform.
    pub texts: [Cow<'static, str>; 2],
    /// Whether the refusal is written to the audit log.
    pub audited: bool,
    /// What happened and what to do, for operators who read the audit log. `{platform}` stands for the name of the platform.
    pub explanation: Option<[&'static str; 2]>,
}

impl RefusalInfo {
    pub(crate) fn new(
        code: &'static ErrorCode,
        [reason, logged]: [&'static str; 2],
        english: fmt::Arguments<'_>,
        chinese: fmt::Arguments<'_>,
    ) -> Self {
        // A text without parameters is not copied.
        let text = |text: fmt::Arguments<'_>| text.as_str().map_or_else(|| text.to_string().into(), Cow::Borrowed);
        Self { code, reason, logged, texts: [text(english), text(chinese)], audited: false, explanation: None }
    }

    pub(crate) fn audited(self, what: &'static str, next: &'static str) -> Self {
        Self { audited: true, explanation: Some([what, next]), ..self }
    }
}

/// The name of a reason in the audit log: the last of its names.
pub(crate) const fn logged_name(names: &[&'static str]) -> &'static str {
    match names {
        [.., last] => last,
        [] => "",
    }
}

/// The explanation of a reason, if it has one.
pub(crate) const fn first_explanation(explanations: &[[&'static str; 2]]) -> Option<[&'static str; 2]> {
    match explanations {
        [explanation, ..] => Some(*explanation),
        [] => None,
    }
}

/// Declares an enum of refusals. Each block is a variant: documentation, name and parameters, then
///
/// - `code`: the number of its [`ErrorCode`], which has the HTTP status;
/// - `reason`: the name of the reason, and after it, if the audit log has another one, `logged`;
/// - `en` and `zh`: the message, with the parameters as in `format!`. `{{platform}}` stands for the name of the platform, which is
///   filled in when the message is rendered: no flow knows which platform it is;
/// - `audit`, if the refusal is written to the audit log: what happened and what to do, for operators. `EMPLOYEE` stands for the
///   employee, `{platform}` for the name of the platform. The same in Chinese is in `chinese.rs`.
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
                code($code:literal), reason($reason:literal), $(logged($logged:literal),)?
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
            /// The names of the reasons in the audit log, each with its explanation for operators if it is written there.
            const DECLARED: &'static [(&'static str, Option<[&'static str; 2]>)] = &[$($((
                $crate::refusal::logged_name(&[$reason $(, $logged)?]),
                $crate::refusal::first_explanation(&[$([$what, $next])?]),
            ),)?)+];

            /// The explanations for operators, by the name of the reason in the audit log.
            pub(crate) fn explanations() -> impl Iterator<Item = (&'static str, [&'static str; 2])> {
                Self::DECLARED.iter().filter_map(|(reason, explanation)| Some((*reason, (*explanation)?)))
            }

            /// What is declared about it.
            #[must_use]
            pub fn info(&self) -> $crate::RefusalInfo {
                match self {$(
                    Self::$variant $(($($parameter),+))? => {
                        $({
                            let code = const { $crate::ErrorCode::of($code) };
                            let names = [$reason, const { $crate::refusal::logged_name(&[$reason $(, $logged)?]) }];
                            let info = $crate::RefusalInfo::new(
                                code, names, format_args!($($en)+), format_args!($($zh)+),
                            );
                            $(let info = info.audited($what, $next);)?
                            info
                        })?
                        $($info)?
                    }
                )+}
            }

            /// The name of the reason, for clients.
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
