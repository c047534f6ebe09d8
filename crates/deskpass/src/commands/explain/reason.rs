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
    Missing: "There was no token at all.", "The client must send Authorization: Bearer TOKEN.";
    Malformed: "The token could not be read: cut off, mistyped, or of another kind.", "`deskpass explain token` says which.";
    Unknown: "Nobody made it here, or it is long gone.", "Sign in again; check that client and service mean the same desk.";
    Expired: "Its time is over.", "Sign in again; session.lifetime says how long sessions live.";
    SignedOut: "Its holder signed out.", "Sign in again.";
    Kicked: "It was ended from elsewhere: by an administrator, by its holder, by a newer session, or with a changed password.",
        "Sign in again; `deskpass explain login` and the log of the employee say what happened around then.";
    HalfAuthenticated: "It is half a sign-in: the password was right, the one-time password is still to come.",
        "The client goes on with POST /api/auth/otp-verify or otp-bind.";
    UnknownEmployee: "Nobody here has that name, or what should have proven it was missing, foreign, used or too old.",
        "They sign in through the platform once, or `deskpass employee add EMPLOYEE`; a link takes `deskpass link approve`.";
    Disabled: "They are disabled.", "`deskpass employee enable EMPLOYEE` lets them in again.";
    NoRole: "They hold no role that counts on this way in, and none is lent to them.",
        "`deskpass role grant EMPLOYEE ROLE` gives them one; default_role lends one to everybody.";
    RoleNotHeld: "They asked for a role that they do not hold.", "They choose another, or `deskpass role grant EMPLOYEE ROLE`.";
    RoleTakenAway: "Their active role was taken away since they chose it.",
        "They switch to another, or `deskpass role grant EMPLOYEE ROLE` gives it back.";
    NoSuchRole: "There is no such role.", "The roles are admin, agent, user, supervisor and security.";
    Denied: "They said no at the platform.", "They try again, and agree this time.";
    Cancelled: "They said no on their phone.", "If that was not them, somebody else tried: nothing was let in. Else they try again.";
    InvalidCode: "The platform's code was used, too old, or brought by another browser than the one that set out.",
        "They begin again. If it happens to all, the clock or a proxy that repeats requests is at fault: `deskpass doctor`.";
    NotAMember: "The platform knows them, but not as a member of a corporation that is connected here.",
        "They must be in the app's visible range, in the platform's administration.";
    SomebodyElse: "The platform's code stood for another person than the one who was named.",
        "They sign in as themselves in the platform's client, and name themselves.";
    Over: "The sign-in had been decided, taken by another phone, or was over.", "They load another code and scan that.";
    Exists: "It was there already.", "Nothing needs doing.";
    OtpNeeded: "The operation wanted a fresh one-time password.", "The client sends one in X-OTP-Code.";
    OtpWrong: "The one-time password was wrong, or had been used.",
        "They wait for the next one. If none is ever right, the phone's clock is wrong, or `deskpass agent reset-otp EMPLOYEE`.";
    NoDevice: "They have no device that makes one-time passwords.", "They bind one: POST /api/auth/otp-setup, then otp-bind.";
    DeviceBound: "They have a device already.", "They use it, or `deskpass agent reset-otp EMPLOYEE` unbinds it.";
    SetupOver: "The device was set up too long ago, or set up anew meanwhile.", "They begin with otp-setup again.";
    PasswordWrong: "The password was wrong, or nobody who may sign in by one has that name.",
        "They try again; `deskpass agent list` shows who is an agent, `deskpass agent reset-password EMPLOYEE` gives a code for another.";
    NoPassword: "They have no password yet.",
        "They set one while they are signed in through the platform, or `deskpass agent reset-password EMPLOYEE` gives a code.";
    TooManyFailures: "Too many guesses were wrong; for some minutes none is looked at.",
        "They wait, or `deskpass agent unlock EMPLOYEE`. If it was not them, somebody is guessing: see the addresses.";
    Locked: "A hundred guesses in a row were wrong, and none is looked at any more.",
        "`deskpass agent unlock EMPLOYEE`. If it was not them, somebody is guessing: see the addresses.";
    WeakPassword: "The password they chose is too easy to guess.", "They choose a longer one that is not about them.";
    SamePassword: "The password they chose is the one they have.", "They choose another.";
    OldPasswordNeeded: "They sent no old password with the other.", "They send it, or `deskpass agent reset-password EMPLOYEE`.";
    OldPasswordWrong: "The old password was wrong.", "They try again, or `deskpass agent reset-password EMPLOYEE`.";
    SetupCode: "The code for setting a password, or for binding a device, was wrong, used, or older than a day.",
        "`deskpass agent reset-password EMPLOYEE`, or `reset-otp` for a device, makes another.";
    NotProven: "A first password or device takes a session in which the platform named this very person.",
        "They sign in through the platform, or `deskpass agent reset-password EMPLOYEE` (or `reset-otp`) gives a code.";
    RecentSignInNeeded: "A first password or device takes a sign-in that is at most 5 minutes old.",
        "They sign in through the platform again, or `deskpass agent reset-password EMPLOYEE` (or `reset-otp`) gives a code.";
    DeviceNotProven: "The device was bound without the platform's word, and does not count for high-risk operations.",
        "They sign in through the platform and show one of its codes (otp-verify) within 5 minutes.";
    PasswordOff: "Passwords are switched off.", "They sign in through the platform; agents.password_fallback switches passwords on.";
    PlatformWorks: "Passwords count only while the platform cannot be reached, and it can.",
        "They sign in through the platform; agents.password_fallback = \"always\" has passwords count at any time.";
    NotAnAgent: "It is for agents, and they are none.", "`deskpass agent add EMPLOYEE` makes them one.";
    NoSuchAgent: "There is no such agent.", "`deskpass agent list` shows them.";
    RoleNeeded: "It is for another role than their active one.", "They switch to that, if they hold it.";
    NotPermitted: "Their active role does not allow it.",
        "They switch to one that does; `deskpass explain access EMPLOYEE RESOURCE OPERATION SCOPE` says which.";
    ScopeNeeded: "The service key is not for this.", "`deskpass service-key create NAME --scope SCOPE` makes one that is.";
    AddressNotAllowed: "An allow-list keeps the role from being active where they were.",
        "`deskpass ip-rule list` shows the lists. Behind a proxy, trusted_proxies decides which address counts.";
    NoSuchEmployee: "There is no such employee.", "`deskpass employee list` shows them.";
    NoSuchSession: "There is no such session, or it was not theirs.", "It has ended; nothing needs doing.";
    NoSuchSignIn: "There is no such sign-in, or it was not theirs.", "They look at the list again; what is old goes from it.";
    NoSuchKey: "There is no such service key.", "`deskpass service-key list` shows them.";
    NoSuchLink: "There is no such link.", "`deskpass link list` shows them.";
    LastAdmin: "Without them nobody could administrate any more.", "Make somebody else an administrator first: `deskpass role grant`.";
    WouldShutYouOut: "The lists would have shut out whoever set them.",
        "They put their own network on the list of admin, or `deskpass ip-rule set` does it from here.";
    TooOften: "They asked for what they may not do again and again.", "They wait a minute.";
    OutOfStream: "A message did not follow the one before in its stream.", "The service that sent it begins another stream.";
    Busy: "More passwords were being looked at than there is room for.", "They try again. If it goes on, somebody is guessing.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_words_of_its_own() {
        let mut seen = std::collections::HashSet::new();
        for reason in Reason::ALL {
            let [what, next] = explanation(*reason);
            assert!(what.ends_with('.') && next.ends_with('.') && what.len() > 10 && next.len() > 10, "{reason:?}");
            assert!(seen.insert(what), "{reason:?}");
            assert_eq!(Reason::from_name(reason.name()), Some(*reason), "two reasons have one word");
        }
    }
}
