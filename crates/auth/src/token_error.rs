//! The problems with a token.

use deskpass_store::EndReason;

use crate::refusal::refusals;
use crate::{ErrorCode, Refusal, RefusalInfo};

refusals! {
    /// The problem with a token.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum TokenError {
        /// The request has no token.
        Missing {
            code(1001), reason("missing"),
            en("a bearer token is required: Authorization: Bearer <token>"),
            zh("缺少令牌：Authorization: Bearer <token>"),
        }
        /// The token cannot be parsed.
        Malformed {
            code(1001), reason("malformed"),
            en("the bearer token is malformed"),
            zh("令牌无法识别"),
        }
        /// The token was never issued, or its record has been removed.
        Unknown {
            code(1001), reason("unknown"),
            en("the token is unknown; sign in again"),
            zh("令牌无效，请重新登录"),
            audit("The token was not issued here, or it expired long ago.",
                "Sign in again; check that the client and this service belong together."),
        }
        /// The session has expired.
        Expired {
            code(1001), reason("expired"),
            en("the session has expired; sign in again"),
            zh("登录已过期，请重新登录"),
            audit("The token has expired.", "Sign in again; session.lifetime sets how long sessions last."),
        }
        /// The user signed out.
        SignedOut {
            code(1001), reason("signed_out"),
            en("this session was signed out; sign in again"),
            zh("已退出登录，请重新登录"),
            audit("The user signed out.", "Sign in again."),
        }
        /// A newer session replaced the session, or something that it depends on changed.
        Kicked {
            code(1001), reason("kicked"),
            en("this session was ended elsewhere; sign in again"),
            zh("会话已在别处被结束，请重新登录"),
            audit("The session was ended: by an administrator, by the user elsewhere, by a newer session, or by a password change.",
                "Sign in again; `deskpass explain login` and the audit log show what happened at that time."),
        }
        /// The platform says that the employee left.
        Left {
            code(1001), reason("left"),
            en("the platform says that you have left, are disabled there, or may no longer use this application; its administrator can change that"),
            zh("{{platform}}显示您已离职、已被禁用，或不在应用的可见范围内，请联系{{platform}}管理员"),
            audit("The session ended because the platform says that the employee has left, is disabled there, or is out of the application's range.",
                "If that is wrong, correct it in the platform's console (通讯录), and sign in again."),
        }
        /// The employee is disabled.
        Disabled => RefusalInfo { code: ErrorCode::of(1001), ..Refusal::Disabled.info() };
        /// The token is of a partial session, which can only be completed or signed out.
        HalfAuthenticated {
            code(1001), reason("half_authenticated"),
            en("this token can only complete the sign-in: POST /api/auth/otp-verify or otp-bind"),
            zh("此令牌仅用于完成登录：POST /api/auth/otp-verify 或 otp-bind"),
        }
    }
}

impl From<EndReason> for TokenError {
    fn from(ended: EndReason) -> Self {
        match ended {
            EndReason::SignedOut => Self::SignedOut,
            EndReason::Kicked => Self::Kicked,
            EndReason::Disabled => Self::Disabled,
            EndReason::Left => Self::Left,
        }
    }
}
