//! The reasons of refusals, as names.

macro_rules! reasons {
    ($($reason:ident = $word:literal,)+) => {
        /// The reason of a refusal. The texts for users are defined where they are rendered.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "each is the word for it")]
        pub enum Reason {
            $($reason,)+
        }

        impl Reason {
            /// All reasons.
            pub const ALL: &'static [Self] = &[$(Self::$reason),+];

            /// The name, for clients and for the log.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$reason => $word,)+
                }
            }

            /// The reason with this name.
            #[must_use]
            pub fn from_name(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|reason| reason.name() == word)
            }
        }
    };
}

reasons! {
    Missing = "missing",
    Malformed = "malformed",
    Unknown = "unknown",
    Expired = "expired",
    SignedOut = "signed_out",
    Kicked = "kicked",
    HalfAuthenticated = "half_authenticated",
    UnknownEmployee = "unknown_employee",
    Disabled = "disabled",
    NoRole = "no_role",
    RoleNotHeld = "role_not_held",
    RoleTakenAway = "role_taken_away",
    NoSuchRole = "no_such_role",
    Denied = "denied",
    Cancelled = "cancelled",
    InvalidCode = "invalid_code",
    NotAMember = "not_a_member",
    SomebodyElse = "somebody_else",
    Over = "over",
    Exists = "exists",
    OtpNeeded = "otp_needed",
    OtpWrong = "otp_wrong",
    NoDevice = "no_device",
    DeviceBound = "device_bound",
    SetupOver = "setup_over",
    PasswordWrong = "password_wrong",
    NoPassword = "no_password",
    TooManyFailures = "too_many_failures",
    Locked = "locked",
    WeakPassword = "weak_password",
    SamePassword = "same_password",
    OldPasswordNeeded = "old_password_needed",
    OldPasswordWrong = "old_password_wrong",
    SetupCode = "setup_code",
    NotProven = "not_proven",
    RecentSignInNeeded = "recent_sign_in_needed",
    DeviceNotProven = "device_not_proven",
    PasswordOff = "password_off",
    PlatformWorks = "platform_works",
    NotAnAgent = "not_an_agent",
    NoSuchAgent = "no_such_agent",
    RoleNeeded = "role_needed",
    NotPermitted = "not_permitted",
    ScopeNeeded = "scope_needed",
    AddressNotAllowed = "address_not_allowed",
    NoSuchEmployee = "no_such_employee",
    NoSuchSession = "no_such_session",
    NoSuchSignIn = "no_such_sign_in",
    NoSuchKey = "no_such_key",
    NoSuchLink = "no_such_link",
    LastAdmin = "last_admin",
    WouldShutYouOut = "would_shut_you_out",
    OutOfStream = "out_of_stream",
    TooOften = "too_often",
    Busy = "busy",
}
