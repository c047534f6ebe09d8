//! Whose records somebody may read.

use deskpass_core::{ClientInfo, CorpId, Operation, PermissionScope, Resource};

use crate::{ActiveUser, Auth, Error, Refusal};

/// The people whose records somebody reads: of one corporation, or of one department in it. Two corporations never stand in one
/// list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessScope {
    /// The corporation.
    pub corp: String,
    /// The id of the department, where it is not all of them.
    pub department_id: Option<String>,
}

impl Auth {
    /// The scope in which somebody may read others' accounts.
    ///
    /// # Errors
    /// When they may not at all, which is written down.
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

    /// Whom somebody reaches who asks for this corporation, or else for their own. Only who sees everything at home sees other
    /// corporations, too.
    ///
    /// # Errors
    /// When they may not.
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
        // Somebody whose department is not known has no colleagues in it either.
        let nobody = scope == PermissionScope::Department && person.department_id.is_empty();
        if abroad || nobody || scope == PermissionScope::Own {
            return Err(Refusal::NotPermitted);
        }
        let department_id = (scope == PermissionScope::Department).then(|| person.department_id.clone());
        Ok(AccessScope { corp: corp.to_owned(), department_id })
    }
}
