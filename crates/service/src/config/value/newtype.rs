//! Types that wrap a parsed text.

/// Declares a type that only parsing creates, so that it is valid wherever it is used. It dereferences to its content.
macro_rules! newtype {
    (
        $(#[$documentation:meta])*
        pub struct $name:ident($content:ty) as $target:ty {
            secret: $secret:literal,
            expected: $expected:expr,
            parse: $parse:expr,
        }
    ) => {
        $(#[$documentation])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name($content);

        impl std::ops::Deref for $name {
            type Target = $target;

            fn deref(&self) -> &$target {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&self.0, out)
            }
        }

        impl $crate::config::value::setting_value::SettingValue for $name {
            const SECRET: bool = $secret;

            fn parse(
                raw: &$crate::config::raw::RawSetting,
                _: &$crate::config::declaration::Declaration,
            ) -> Result<Self, String> {
                let parse: fn(&$crate::config::raw::RawSetting) -> Result<$content, String> = $parse;
                parse(raw).map(Self)
            }

            fn expected(declared: &$crate::config::declaration::Declaration) -> String {
                let expected: fn(&$crate::config::declaration::Declaration) -> String = $expected;
                expected(declared)
            }

            fn to_toml(&self) -> Option<toml::Value> {
                Some(self.to_string().into())
            }
        }
    };
}

pub(super) use newtype;
