//! Whose records somebody may read.

use deskpass_core::{CorpId, Operation, Resource, Scope, Visitor};
use deskpass_store::Event;

use crate::log::Attempt;
use crate::{Auth, Caller, Error, Holder, Refusal};

/// The people whose records somebody reads: of one corporation, or of one department in it. Two corporations never stand in one
/// list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
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
    pub async fn reads_accounts(&self, caller: &Caller, visitor: &Visitor) -> Result<Scope, Error> {
        let role = caller.0.session().current_role;
        match self.policy.matrix.granted(role, Resource::Account, Operation::Read) {
            Some(scope @ (Scope::Department | Scope::All)) => Ok(scope),
            Some(Scope::Own) | None => self.may_not_administrate(caller, visitor).await,
        }
    }

    /// Somebody signed in who wants to administrate, where they are. That they may not act there, or not in that role any more, is
    /// written down.
    ///
    /// # Errors
    /// When that is so, or the store fails.
    pub async fn at_the_door(&self, holder: Holder, visitor: &Visitor) -> Result<Caller, Error> {
        let session = holder.session().clone();
        let caller = holder.into_caller().map_err(Error::from);
        self.recorded(Attempt::within(&session, Event::AdministrationRefused, visitor), caller).await
    }

    /// Turns somebody away who may not administrate.
    ///
    /// # Errors
    /// Always: that they may not, or that it could not be written down.
    pub async fn may_not_administrate<T>(&self, caller: &Caller, visitor: &Visitor) -> Result<T, Error> {
        let attempt = Attempt::within(caller.0.session(), Event::AdministrationRefused, visitor);
        self.recorded(attempt, Err(Refusal::NotPermitted.into())).await
    }

    /// Turns somebody away who does not administrate the home corporation: what concerns everybody is not for others.
    ///
    /// # Errors
    /// When they do not, which is written down.
    pub async fn expect_at_home(&self, caller: &Caller, visitor: &Visitor) -> Result<(), Error> {
        if caller.0.session().employee.corp() == self.policy.home.as_str() {
            return Ok(());
        }
        self.may_not_administrate(caller, visitor).await
    }

    /// Whom somebody reaches who asks for this corporation, or else for their own. Only who sees everything at home sees other
    /// corporations, too.
    ///
    /// # Errors
    /// When they may not.
    pub fn reach(&self, caller: &Caller, scope: Scope, corp: Option<&CorpId>) -> Result<Reach, Refusal> {
        let person = caller.0.person();
        let (own, home) = (person.key.corp(), self.policy.home.as_str());
        let corp = corp.map_or(own, CorpId::as_str);
        let abroad = corp != own && (own != home || scope != Scope::All);
        // Somebody whose department is not known has no colleagues in it either.
        let nobody = scope == Scope::Department && person.department_id.is_empty();
        if abroad || nobody || scope == Scope::Own {
            return Err(Refusal::NotPermitted);
        }
        let department_id = (scope == Scope::Department).then(|| person.department_id.clone());
        Ok(Reach { corp: corp.to_owned(), department_id })
    }
}
