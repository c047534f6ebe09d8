//! The mode of the data.

/// The mode of the data. It is set when the data is created and never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// For trials: any user can sign in as any employee.
    Development,
    /// For production use.
    Production,
}

impl Mode {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Development => "development mode",
            Self::Production => "production",
        }
    }
}
