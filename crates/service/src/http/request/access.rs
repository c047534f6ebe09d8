//! Who may call a route.

use deskpass_core::ServiceScope;

/// Who may call a route. The extractors of the handler enforce it; tests compare the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequiredAccess {
    /// Anyone.
    Anyone,
    /// Holders of a valid token, of a session or of a partial sign-in.
    PartialOrFull,
    /// Holders of a valid session token.
    TokenHolder,
    /// Signed-in users who still hold their active role.
    ActiveUser,
    /// Signed-in users whose role may read the accounts of others.
    Reader,
    /// Signed-in administrators.
    Admin,
    /// Signed-in administrators who send a fresh one-time password or an approval of their phone.
    HighRisk,
    /// Services with a valid key of this scope.
    Service(ServiceScope),
    /// Anyone, but only in development mode.
    Developer,
    /// Clients in an operator network.
    Operator,
}

impl RequiredAccess {
    pub(crate) fn needs_token(self) -> bool {
        !matches!(self, Self::Anyone | Self::Developer | Self::Operator)
    }
}
