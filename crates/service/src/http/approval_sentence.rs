//! What a phone is asked to approve, in one sentence that names people, roles and programs instead of paths.
//!
//! The route table says which sentence an operation has. It is made when the phone reads the question, from the operation as it was
//! asked about and from what is true at that moment.

mod given;
mod people;
mod settings;

use deskpass_auth::Error;
use deskpass_core::Role;

use given::Given;
pub(crate) use given::OperationParts;

use crate::App;

/// A text in English and Chinese.
type Text = [String; 2];

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

/// The title of a role, as the pages have it.
const fn role_title(role: Role) -> [&'static str; 2] {
    match role {
        Role::Admin => ["Administrator", "管理员"],
        Role::Agent => ["Agent", "坐席"],
        Role::User => ["Employee", "员工"],
        Role::Supervisor => ["Supervisor", "主管"],
        Role::Security => ["Security", "安全员"],
    }
}

/// The titles of roles by their names; a name that is no role stays as it is.
fn role_titles<'a>(names: impl IntoIterator<Item = &'a str>) -> Text {
    let titles = names.into_iter().map(|name| match Role::from_name(name) {
        Some(role) => role_title(role).map(str::to_owned),
        None => both(name),
    });
    joined(&titles.collect::<Vec<_>>())
}

/// Items as a list in a sentence.
fn joined(items: &[Text]) -> Text {
    let english: Vec<_> = items.iter().map(|[english, _]| english.as_str()).collect();
    let english = match english.as_slice() {
        [] => "none".to_owned(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    };
    let chinese: Vec<_> = items.iter().map(|[_, chinese]| chinese.as_str()).collect();
    [english, if chinese.is_empty() { "无".to_owned() } else { chinese.join("、") }]
}

/// A text that is the same in both languages.
fn both(text: &str) -> Text {
    [text.to_owned(), text.to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;
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

    #[test]
    fn roles_are_listed_as_people_write_lists() {
        assert_eq!(role_titles([]), ["none", "无"]);
        assert_eq!(role_titles(["user"]), ["Employee", "员工"]);
        assert_eq!(role_titles(["admin", "agent", "boss"]), ["Administrator, Agent and boss", "管理员、坐席、boss"]);
    }
}
