//! What the active role permits. The other roles that somebody holds do not count until they switch.

use deskpass_core::{Operation, PermissionScope, Resource, Roles};

use crate::{ActiveUser, Auth, Refusal};

impl Auth {
    /// How far the caller may do this, if at all.
    #[must_use]
    pub fn granted(&self, caller: &ActiveUser, resource: Resource, operation: Operation) -> Option<PermissionScope> {
        self.policy.matrix.granted(caller.0.session().current_role, resource, operation)
    }

    /// Whether the caller may do this as far as `scope` reaches.
    ///
    /// # Errors
    /// A refusal when they may not.
    pub fn permits(
        &self,
        caller: &ActiveUser,
        resource: Resource,
        operation: Operation,
        scope: PermissionScope,
    ) -> Result<(), Refusal> {
        let granted = self.granted(caller, resource, operation);
        if granted.is_some_and(|granted| granted >= scope) { Ok(()) } else { Err(Refusal::NotGranted) }
    }
}

impl ActiveUser {
    /// Whether the active role is one of these.
    ///
    /// # Errors
    /// A refusal when it is not.
    pub fn acts_as(&self, roles: Roles) -> Result<(), Refusal> {
        if roles.holds(self.0.session().current_role) { Ok(()) } else { Err(Refusal::RoleNeeded(roles)) }
    }
}
