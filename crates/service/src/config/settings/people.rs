//! People who come and go, and what their phones are asked.

use std::time::Duration;

use deskpass_derive::Section;

use crate::config::value::{ApprovalMethod, choice};

/// Sign-ins with a QR code.
#[derive(Clone, Debug, Section)]
pub struct Qr {
    /// Whether the screen shows a number that the user must pick from three on the phone. on: the sign-in page and programs
    /// that ask with match=1 show one, and for every other code the phone warns that it did not come from the sign-in page.
    /// always: every code has one, so programs that do not show it cannot sign users in. off: only programs that ask with
    /// match=1. It stops a code that was sent alone; it does not stop a forged page that shows both code and number.
    #[setting(development = "off", production = "on")]
    pub number_match: NumberMatching,
}

choice! {
    /// Which QR codes come with a number.
    pub enum NumberMatching {
        /// Those that were asked for with `match=1`.
        Off = "off",
        /// Also those of the sign-in page; the phone warns about others.
        On = "on",
        /// All.
        Always = "always",
    }
}

/// How high-risk changes are confirmed.
#[derive(Clone, Debug, Section)]
pub struct Approval {
    /// What confirms a high-risk change: a one-time password (otp), or an approval on the administrator's phone through the
    /// platform (phone), on which they pick the number that the browser shows. With phone, an administrator's account at the
    /// platform both signs in and confirms: a person who takes over that account, or an administrator of the platform, needs
    /// nothing else. A one-time password is on a device that the platform does not control.
    #[setting(development = "otp,phone", production = "otp")]
    pub methods: Vec<ApprovalMethod>,
}

/// The verification of callers.
#[derive(Clone, Debug, Section)]
pub struct Verification {
    /// Whether a password or an authenticator may be reset only after the employee has confirmed on their phone, within the
    /// last ten minutes and to the same session, that they called. It covers every setup code; unlocking and links need no
    /// check, and the command line can always reset. The agent must then give a reason, which the employee sees.
    #[setting(default = false)]
    pub before_resets: bool,
}

/// The check whether signed-in people are still at the platform.
#[derive(Clone, Debug, Section)]
pub struct Recheck {
    /// How often the platform is asked about each person with a session. A person who left is locked out by the next check
    /// at the latest, also if no event arrives; WeCom sends none when a member is disabled. With DingTalk, which counts the
    /// calls of a month, at most 100 people a day, together with the lookups for events and for the synchronisation. "0"
    /// turns it off.
    #[setting(default = "1h", min = "1m", max = "30d")]
    pub period: Option<Duration>,
}

/// The synchronisation with the platform's directory.
#[derive(Clone, Debug, Section)]
pub struct Sync {
    /// How often departments, members and tags are read from the platform, names and departments brought up to date, and
    /// role rules applied. With DingTalk, which counts the calls of a month, at least 7 days, and longer if there are many
    /// departments. "0" turns it off; `deskpass sync` does it at once.
    #[setting(default = "1d", min = "10m", max = "30d")]
    pub period: Option<Duration>,
}
