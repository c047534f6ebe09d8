//! The records that a user may read.

use deskpass_core::{ClientInfo, CorpId, Operation, PermissionScope, Resource};

use crate::{ActiveUser, Auth, Error, Refusal};

/// The employees whose records a user reads: one corporation, or one department of it. A list never mixes two corporations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessScope {
    /// The corporation.
    pub corp: String,
    /// The department's id, if the scope is limited to one department.
    pub department_id: Option<String>,
}

impl Auth {
    /// The scope in which the caller may read accounts of others. Refused, and logged, if the caller may read none.
    pub async fn account_read_scope(
        &self,
        caller: &ActiveUser,
        visitor: &ClientInfo,
    ) -> Result<PermissionScope, Error> {
        let role = caller.0.session().current_role;
        match self.policy.matrix.granted(role, Resource::Account, Operation::Read) {
            Some(scope @ (PermissionScope::Department | PermissionScope::All)) => Ok(scope),
            Some(PermissionScope::Own) | None => self.refuse_administration(caller, visitor).await,
        }
    }

    /// The employees that the caller reaches in this corporation, or else in the caller's own. Only callers of the home
    /// corporation with scope `All` reach other corporations.
    pub fn access_scope(
        &self,
        caller: &ActiveUser,
        scope: PermissionScope,
        corp: Option<&CorpId>,
    ) -> Result<AccessScope, Refusal> {
        let person = caller.0.person();
        let (own, home) = (person.key.corp(), self.policy.home_corp.as_str());
        let corp = corp.map_or(own, CorpId::as_str);
        let abroad = corp != own && (own != home || scope != PermissionScope::All);
        // A caller whose department is unknown has no colleagues.
        let without_department = scope == PermissionScope::Department && person.department_id().is_empty();
        if abroad || without_department || scope == PermissionScope::Own {
            return Err(Refusal::NotPermitted);
        }
        let department_id = (scope == PermissionScope::Department).then(|| person.department_id().to_owned());
        Ok(AccessScope { corp: corp.to_owned(), department_id })
    }
}
