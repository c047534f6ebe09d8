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

        impl std::fmt::Display for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str(match self {
                    $(Self::$variant => $word,)+
                })
            }
        }

        impl $crate::config::value::setting_value::SettingValue for $name {
            fn parse(
                raw: &$crate::config::raw::RawSetting,
                _: &$crate::config::declaration::Declaration,
            ) -> Result<Self, String> {
                match raw.text()? {
                    $($word => Ok(Self::$variant),)+
                    other => Err(format!("{} is not one of the choices", $crate::config::raw::quoted(other))),
                }
            }

            fn expected(_: &$crate::config::declaration::Declaration) -> String {
                format!("one of {}", [$(concat!('"', $word, '"')),+].join(", "))
            }

            fn to_toml(&self) -> Option<toml::Value> {
                Some(self.to_string().into())
            }
        }
    };
}

pub(in crate::config) use choice;
