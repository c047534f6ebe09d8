//! People who come and go, and what their phones are asked.

use std::time::Duration;

use deskpass_derive::Section;

use crate::config::value::ApprovalMethod;

/// Sign-ins with a QR code.
#[derive(Clone, Debug, Section)]
pub struct Qr {
    /// Whether the sign-in page shows a number that the user must pick from three on the phone, so that nobody confirms a
    /// sign-in that began elsewhere. A program that shows QR codes itself asks for it with match=1.
    #[setting(development = false, production = true)]
    pub number_match: bool,
}

/// How high-risk changes are confirmed.
#[derive(Clone, Debug, Section)]
pub struct Approval {
    /// What confirms a high-risk change: a one-time password (otp), or an approval on the administrator's phone through the
    /// platform (phone), on which they pick the number that the browser shows.
    #[setting(default = "otp,phone")]
    pub methods: Vec<ApprovalMethod>,
}

/// The verification of callers.
#[derive(Clone, Debug, Section)]
pub struct Verification {
    /// Whether a password or an authenticator may be reset only after the employee has confirmed on their phone, within the
    /// last ten minutes, that they are the caller. The command line can always reset them.
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
