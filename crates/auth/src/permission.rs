//! Permissions of the active role. Other roles of the user do not count until the user switches to them.

use deskpass_core::{Operation, PermissionScope, Resource, Roles};

use crate::{ActiveUser, Auth, Refusal};

impl Auth {
    /// The scope in which the caller may perform the operation, if at all.
    #[must_use]
    pub fn granted(&self, caller: &ActiveUser, resource: Resource, operation: Operation) -> Option<PermissionScope> {
        self.policy.matrix.granted(caller.0.session().current_role, resource, operation)
    }

    /// Requires that the caller may perform the operation in this scope.
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
    /// Requires that the active role is one of these.
    pub fn acts_as(&self, roles: Roles) -> Result<(), Refusal> {
        if roles.holds(self.0.session().current_role) { Ok(()) } else { Err(Refusal::RoleNeeded(roles)) }
    }
}
