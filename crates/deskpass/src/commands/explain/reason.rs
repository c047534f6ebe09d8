//! The meaning of each reason, and how to fix it.

use deskpass_auth::Reason;

macro_rules! sentences {
    ($($reason:ident: $what:literal, $next:literal;)+) => {
        /// What happened, and the next step. `EMPLOYEE` stands for the employee in question. A reason without sentences
        /// does not compile.
        pub(super) const fn explanation(reason: Reason) -> [&'static str; 2] {
            match reason {
                $(Reason::$reason => [$what, $next],)+
            }
        }
    };
}

sentences! {
    Missing: "The request had no token.", "The client must send Authorization: Bearer TOKEN.";
    Malformed: "The token could not be read: it is cut off, mistyped, or of another kind.",
        "Run `deskpass explain token` to see which.";
    Unknown: "The token was not issued here, or it expired long ago.",
        "Sign in again; check that the client and this service belong together.";
    Expired: "The token has expired.", "Sign in again; session.lifetime sets how long sessions last.";
    SignedOut: "The user signed out.", "Sign in again.";
    Kicked: "The session was ended: by an administrator, by the user elsewhere, by a newer session, or by a password change.",
        "Sign in again; `deskpass explain login` and the audit log show what happened at that time.";
    HalfAuthenticated: "The sign-in is incomplete: the password was accepted, the one-time password is missing.",
        "The client continues with POST /api/auth/otp-verify or otp-bind.";
    UnknownEmployee: "There is no such employee, or the proof of identity was missing, invalid, used or expired.",
        "Sign in through the platform once, or run `deskpass employee add EMPLOYEE`; for a link, run `deskpass link approve`.";
    Disabled: "The employee is disabled.", "To enable: `deskpass employee enable EMPLOYEE`.";
    NoRole: "The employee holds no role for this kind of sign-in, and no default role applies.",
        "Grant one with `deskpass role grant EMPLOYEE ROLE`, or set default_role for everyone.";
    RoleNotHeld: "The employee does not hold the requested role.",
        "Choose another role, or run `deskpass role grant EMPLOYEE ROLE`.";
    RoleTakenAway: "The active role was revoked.", "Switch to another role, or run `deskpass role grant EMPLOYEE ROLE`.";
    NoSuchRole: "There is no such role.", "The roles are admin, agent, user, supervisor and security.";
    Denied: "The user declined at the platform.", "Sign in again and approve the request.";
    Cancelled: "The user cancelled the sign-in on the phone.",
        "If the user did not start it, another person tried and was not signed in. Otherwise sign in again.";
    InvalidCode: "The platform's code was used, expired, or came from a browser that did not start the sign-in.",
        "Sign in again. If it happens to everyone, check the clock and proxies that repeat requests: `deskpass doctor`.";
    NotAMember: "The platform identified the user, but not as a member of a corporation that is connected here.",
        "Add the user to the application's visible range in the platform's console.";
    SomebodyElse: "The platform's code belongs to a different person than the employee that was named.",
        "Sign in to the platform's client as the same person.";
    Over: "The sign-in was already decided, taken by another phone, or expired.", "Load a new QR code and scan it.";
    Exists: "It already exists.", "No action is needed.";
    OtpNeeded: "The operation requires a fresh one-time password.", "The client sends one in X-OTP-Code.";
    OtpWrong: "The one-time password was wrong or already used.",
        "Wait for the next one. If all fail, correct the phone's clock, or run `deskpass agent reset-otp EMPLOYEE`.";
    NoDevice: "The agent has no one-time-password device.", "Bind one: POST /api/auth/otp-setup, then otp-bind.";
    DeviceBound: "The agent already has a device.", "Use it, or run `deskpass agent reset-otp EMPLOYEE` to unbind it.";
    SetupOver: "The setup of the device has expired or was started again.", "Start again with otp-setup.";
    PasswordWrong: "The password was wrong, or no agent with this name can sign in with one.",
        "Try again, check `deskpass agent list`, or run `deskpass agent reset-password EMPLOYEE` for a setup code.";
    NoPassword: "The agent has no password yet.",
        "Set one while signed in through the platform, or run `deskpass agent reset-password EMPLOYEE` for a setup code.";
    TooManyFailures: "Too many attempts failed; attempts are paused for some minutes.",
        "Wait, or run `deskpass agent unlock EMPLOYEE`. If it was not the agent, it is an attack: check the addresses.";
    Locked: "A hundred attempts in a row failed; the agent is locked.",
        "Run `deskpass agent unlock EMPLOYEE`. If it was not the agent, it is an attack: check the addresses.";
    WeakPassword: "The new password is too easy to guess.", "Choose a longer one without personal details.";
    SamePassword: "The new password is the current one.", "Choose another.";
    OldPasswordNeeded: "The request did not contain the old password.",
        "Send it, or run `deskpass agent reset-password EMPLOYEE`.";
    OldPasswordWrong: "The old password was wrong.", "Try again, or run `deskpass agent reset-password EMPLOYEE`.";
    SetupCode: "The setup code for a password or a device was wrong, used, or older than a day.",
        "For a new one, run `deskpass agent reset-password EMPLOYEE`, or `reset-otp` for a device.";
    NotProven: "A first password or device requires a session in which the platform identified this person.",
        "Sign in through the platform, or run `deskpass agent reset-password EMPLOYEE` (or `reset-otp`) for a setup code.";
    RecentSignInNeeded: "A first password or device requires a sign-in within the last 5 minutes.",
        "Sign in through the platform again, or run `deskpass agent reset-password EMPLOYEE` (or `reset-otp`) for a setup code.";
    DeviceNotProven: "The device was bound without platform vouching and is not accepted for high-risk operations.",
        "Sign in through the platform and verify a code of the device (otp-verify) within 5 minutes.";
    PasswordOff: "Sign-in with a password is disabled.",
        "Sign in through the platform; agents.password_fallback enables passwords.";
    PlatformWorks: "Passwords are accepted only while the platform is down, and it is available.",
        "Sign in through the platform; agents.password_fallback = \"always\" accepts passwords at any time.";
    NotAnAgent: "The employee is not an agent.", "To add one: `deskpass agent add EMPLOYEE`.";
    NoSuchAgent: "There is no such agent.", "See `deskpass agent list`.";
    RoleNeeded: "The request requires another active role.", "Switch to that role, if held.";
    NotPermitted: "The active role does not permit the operation.",
        "Switch to a role that does; see `deskpass explain access EMPLOYEE RESOURCE OPERATION SCOPE`.";
    ScopeNeeded: "The service key lacks the required scope.",
        "Create a key with it: `deskpass service-key create NAME --scope SCOPE`.";
    AddressNotAllowed: "The role's allow-list does not permit the client's address.",
        "See `deskpass ip-rule list`. Behind a proxy, trusted_proxies decides which address is checked.";
    NoSuchEmployee: "No employee has this identifier.", "See `deskpass employee list`.";
    NoSuchSession: "There is no such session, or it belongs to another user.", "It has ended; no action is needed.";
    NoSuchSignIn: "There is no such sign-in, or it belongs to another user.", "Reload the list; old sign-ins are removed from it.";
    NoSuchKey: "There is no such service key.", "See `deskpass service-key list`.";
    NoSuchLink: "There is no such link.", "See `deskpass link list`.";
    LastAdmin: "The change would have removed the last administrator.",
        "Make another employee an administrator first: `deskpass role grant`.";
    WouldShutYouOut: "The allow-lists would have excluded the administrator who set them.",
        "Add the administrator's own network to the list of admin, or run `deskpass ip-rule set`.";
    TooOften: "The client repeated requests that it is not permitted to make.", "Wait a minute.";
    OutOfStream: "A message did not follow the previous one of its stream.", "The sending service must start a new stream.";
    Busy: "Too many passwords were being checked at once.", "Try again. If it continues, it may be an attack.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_own_explanation() {
        let mut seen = std::collections::HashSet::new();
        for reason in Reason::ALL {
            let [what, next] = explanation(*reason);
            assert!(what.ends_with('.') && next.ends_with('.') && what.len() > 10 && next.len() > 10, "{reason:?}");
            assert!(seen.insert(what), "{reason:?}");
            assert_eq!(Reason::from_name(reason.name()), Some(*reason), "two reasons have the same name");
        }
    }
}
