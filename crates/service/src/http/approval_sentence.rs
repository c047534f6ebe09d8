//! What a phone is asked to approve, in one sentence that names people, roles and programs instead of paths.
//!
//! The route table says which sentence an operation has. It is made when the phone reads the question, from the operation as it was
//! asked about and from what is true at that moment.

mod given;
mod people;
mod settings;
mod text;

use deskpass_auth::Error;

use given::Given;
pub(crate) use given::OperationParts;
use text::Text;

use crate::App;

/// The sentence of an operation of high risk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ApprovalSentence {
    SetRoles,
    GrantTemporarily,
    DisableOrEnable,
    ConfirmHolder,
    EndSession,
    EndSessions,
    AddAgent,
    Unlock,
    ResetAuthenticator,
    ResetPassword,
    ApproveLink,
    RemoveLink,
    ReplaceNetworks,
    ReplaceRoleRules,
    CreateServiceKey,
    RevokeServiceKey,
    AddClient,
    ChangeClient,
    RemoveClient,
    RotateSecret,
    DisableClient,
    EnableClient,
}

impl ApprovalSentence {
    /// The sentence about this operation, in English and Chinese.
    pub(crate) async fn about(self, app: &App, operation: OperationParts<'_>) -> Result<Text, Error> {
        let given = Given::new(app, operation);
        match self {
            Self::SetRoles => people::set_roles(&given).await,
            Self::GrantTemporarily => people::grant_temporarily(&given).await,
            Self::DisableOrEnable => people::disable_or_enable(&given).await,
            Self::ConfirmHolder => people::confirm_holder(&given).await,
            Self::EndSession => people::end_session(&given).await,
            Self::EndSessions => people::end_sessions(&given).await,
            Self::AddAgent => people::add_agent(&given).await,
            Self::Unlock => people::unlock(&given).await,
            Self::ResetAuthenticator => people::reset_authenticator(&given).await,
            Self::ResetPassword => people::reset_password(&given).await,
            Self::ApproveLink => people::approve_link(&given).await,
            Self::RemoveLink => Ok(people::remove_link(&given)),
            Self::ReplaceNetworks => Ok(settings::replace_networks(&given)),
            Self::ReplaceRoleRules => Ok(settings::replace_role_rules(&given)),
            Self::CreateServiceKey => Ok(settings::create_service_key(&given)),
            Self::RevokeServiceKey => settings::revoke_service_key(&given).await,
            Self::AddClient => Ok(settings::add_client(&given)),
            Self::ChangeClient => settings::change_client(&given).await,
            Self::RemoveClient => settings::remove_client(&given).await,
            Self::RotateSecret => settings::rotate_secret(&given).await,
            Self::DisableClient => settings::disable_client(&given).await,
            Self::EnableClient => settings::enable_client(&given).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::http::request::RequiredAccess;
    use crate::http::routes::routes;

    #[test]
    fn every_operation_that_a_phone_can_approve_has_a_sentence_of_its_own() {
        let mut known = Vec::new();
        for route in routes() {
            assert_eq!(route.sentence.is_some(), route.access == RequiredAccess::HighRisk, "{route:?}");
            known.extend(route.sentence.map(|sentence| format!("{sentence:?}")));
        }
        let count = known.len();
        known.sort();
        known.dedup();
        assert_eq!(known.len(), count, "two operations have one sentence");
    }
}
