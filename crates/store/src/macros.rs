//! Macros that the whole crate uses.

/// Declares a closed list whose variants have names, in records and responses.
macro_rules! named_enum {
    ($(#[$about:meta])* $vis:vis enum $list:ident { $($(#[$doc:meta])* $variant:ident = $name:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        $vis enum $list {
            $($(#[$doc])* $variant,)+
        }

        impl $list {
            const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// The name in records and responses.
            #[must_use]
            $vis const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|variant| variant.name() == name)
            }
        }
    };
}

/// Implements `Debug` for a type that holds secrets or much data: it shows the named fields alone.
macro_rules! debug_only {
    ($type:ident $(, $field:ident)*) => {
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($type))$(.field(stringify!($field), &self.$field))*.finish_non_exhaustive()
            }
        }
    };
}
