//! Closed sets of names.

/// Defines a closed enum whose variants have names, the same in records, requests and responses.
macro_rules! named_enum {
    ($(#[$doc:meta])* $set:ident { $($(#[$said:meta])* $word:ident $(= $number:literal)? => $name:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $set {
            $($(#[$said])* #[serde(rename = $name)] $word $(= $number)?,)+
        }

        impl $set {
            /// All variants, in order.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$word),+];

            /// The names of all variants.
            pub const NAMES: [&'static str; Self::ALL.len()] = [$($name),+];

            /// The name, as clients see it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$word => $name,)+
                }
            }

            /// The variant with exactly this name; case and blanks matter.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|word| word.name() == name)
            }
        }

        impl std::fmt::Display for $set {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

pub(crate) use named_enum;
