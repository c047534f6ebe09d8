//! Enums whose variants have a word in the settings.

/// Declares an enum together with its words, so that the two cannot diverge.
macro_rules! choice {
    (
        $(#[$outer:meta])*
        $vis:vis enum $name:ident {
            $($(#[$inner:meta])* $variant:ident = $word:literal,)+
        }
    ) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name {
            $($(#[$inner])* $variant,)+
        }

        impl $name {
            /// The words of the variants, in the same order.
            pub(super) const WORDS: &'static [&'static str] = &[$($word),+];
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str(match self {
                    $(Self::$variant => $word,)+
                })
            }
        }

        impl $crate::config::value::FromValue for $name {
            fn from_value(value: &$crate::config::value::Value) -> Option<Self> {
                match value {
                    $($crate::config::value::Value::Word($word) => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

pub(super) use choice;
