//! The refusal behind a row of the audit log, so that its answer can be shown again.

use std::time::Duration;

use deskpass_core::Role;

use crate::{Refusal, TokenError};

/// The refusal that the audit log names by this reason; `None` for reasons of other versions. `role` is the role in the details of
/// the row. A wait is not in the log, so it is zero here.
#[must_use]
pub fn logged_refusal(reason: &str, role: Option<Role>) -> Option<Refusal> {
    Some(match reason {
        "unknown_employee" => Refusal::UnknownEmployee,
        // Rows of earlier versions have one word for both kinds of disabled employees.
        "disabled_here" | "disabled" => Refusal::Disabled,
        "left_platform" => Refusal::LeftPlatform,
        "holder_unconfirmed" => Refusal::HolderUnconfirmed,
        "no_role" => Refusal::NoRole,
        "role_not_held" => Refusal::RoleNotHeld(role.map_or("…", Role::name).to_owned()),
        "role_taken_away" => Refusal::RoleTakenAway(role?),
        "denied" => Refusal::Denied,
        "cancelled" => Refusal::Cancelled,
        "invalid_code" => Refusal::InvalidCode,
        "codes_limited" => Refusal::CodesLimited,
        "not_a_member" => Refusal::NotAMember,
        "somebody_else" => Refusal::CodeOfAnotherPerson,
        "over" => Refusal::SignInOver,
        "not_asked" => Refusal::NotAsked,
        "phone_needed" => Refusal::PhoneNeeded,
        "wrong_number" => Refusal::WrongNumber,
        "approval_invalid" => Refusal::ApprovalInvalid,
        "caller_not_verified" => Refusal::CallerNotVerified,
        "cannot_ask" => Refusal::CannotAsk,
        "approvals_paused" => Refusal::ApprovalsPaused(Duration::ZERO),
        "oidc_request_gone" => Refusal::OidcRequestGone,
        "client_not_allowed" => Refusal::ClientNotAllowed(String::new()),
        "otp_wrong" => Refusal::OtpWrong,
        "device_not_allowed" => Refusal::DeviceNotAllowed,
        "setup_over" => Refusal::DeviceSetupOver,
        "password_wrong" => Refusal::PasswordWrong,
        "no_password" => Refusal::NoPassword,
        "too_many_failures" => Refusal::TooManyFailures(Duration::ZERO),
        "locked" => Refusal::Locked,
        "old_password_wrong" => Refusal::OldPasswordWrong,
        "setup_code" => Refusal::SetupCodeWrong,
        "not_proven" => Refusal::NotProven,
        "recent_sign_in_needed" => Refusal::RecentSignInNeeded,
        "password_off" => Refusal::PasswordOff,
        "platform_works" => Refusal::PlatformWorks,
        "not_an_agent" => Refusal::NotAnAgent,
        "role_needed" => Refusal::NotPermitted,
        "address_not_allowed" => Refusal::AddressNotAllowed(role?),
        "temporary_role" => Refusal::TemporaryRole,
        "last_admin" => Refusal::LastAdmin,
        "would_shut_you_out" => Refusal::WouldLockYouOut(role?),
        "unknown" => Refusal::Revoked(TokenError::Unknown),
        "expired" => Refusal::Revoked(TokenError::Expired),
        "left" => Refusal::Revoked(TokenError::Left),
        "signed_out" => Refusal::Revoked(TokenError::SignedOut),
        "kicked" => Refusal::Revoked(TokenError::Kicked),
        _ => return None,
    })
}
