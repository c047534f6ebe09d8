//! The messages of refusals, in English and in Chinese, with what to do next.

use deskpass_auth::TokenError;
use deskpass_core::Weakness;
use deskpass_store::EndReason;

type Words = [&'static str; 2];

pub(super) const UNKNOWN_EMPLOYEE: Words =
    ["the employee must first authenticate through the platform", "员工需先通过平台完成认证"];
pub(super) const DISABLED: Words = ["the employee is disabled", "该员工已被停用"];
pub(super) const NO_ROLE: Words =
    ["the employee has no role; contact the administrator", "员工没有任何角色，请联系管理员"];
pub(super) const ROLE_NOT_HELD: Words = ["you do not hold the role", "您没有该角色："];
pub(super) const ROLE_TAKEN_AWAY: Words = [
    "your active role was taken away; switch to another one or sign in again:",
    "您的当前角色已被收回，请切换角色或重新登录：",
];
pub(super) const NO_SUCH_ROLE: Words = ["no such role:", "角色不存在："];
pub(super) const DENIED: Words = ["the platform's sign-in was refused", "平台登录被拒绝"];
pub(super) const INVALID_CODE: Words =
    ["the platform's code is used or too old; start again", "平台授权码已使用或已过期，请重新登录"];
pub(super) const SOMEBODY_ELSE: Words = [
    "the platform's code belongs to another employee; sign in as yourself",
    "平台授权码属于其他员工，请以本人身份登录",
];
pub(super) const NOT_A_MEMBER: Words = ["only members of the corporation can sign in", "仅限企业成员登录"];
pub(super) const OVER: Words =
    ["this sign-in was decided already or is over; start again", "该登录请求已处理或已失效，请重新开始"];
pub(super) const CANCELLED: Words =
    ["the sign-in was cancelled on the phone; start again", "登录已在手机上取消，请重新开始"];
pub(super) const EXISTS: Words = ["exists already", "已存在"];

pub(super) const NOT_AN_AGENT: Words =
    ["this is for agents; ask an administrator to make you one", "仅限坐席使用，请联系管理员开通"];
pub(super) const NO_SUCH_AGENT: Words = ["there is no such agent; check the employee id", "没有该坐席，请核对员工编号"];
pub(super) const NOT_PERMITTED: Words = [
    "your active role does not allow this; switch to one that does, such as admin",
    "当前角色无权执行此操作，请先切换到有权限的角色（如 admin）",
];
pub(super) const SCOPE_NEEDED: Words =
    ["this service key is not for that; make one with the scope", "该服务密钥没有所需的权限范围："];
pub(super) const ADDRESS_NOT_ALLOWED: Words = [
    "your address is not on the allow-list of the role; come from a listed network, or switch to another role:",
    "您的地址不在该角色的白名单内，请使用允许的网络或切换角色：",
];
pub(super) const NO_SUCH_EMPLOYEE: Words = ["there is no such employee; check the id", "没有该员工，请核对编号"];
pub(super) const NO_SUCH_SESSION: Words = ["there is no such session; it may have ended", "没有该会话，可能已结束"];
pub(super) const NO_SUCH_SIGN_IN: Words =
    ["there is no such sign-in of yours; look at the list again", "没有您的该登录记录，请重新查看列表"];
pub(super) const NO_SUCH_KEY: Words = ["there is no such service key; check the id", "没有该服务密钥，请核对编号"];
pub(super) const NO_SUCH_LINK: Words = ["there is no such link", "没有该关联"];
pub(super) const LAST_ADMIN: Words =
    ["this is the last administrator; make somebody else one first", "这是最后一名管理员，请先指定其他管理员"];
pub(super) const SHUTS_YOU_OUT: Words = [
    "with this list your own address could not act in the role any more; add your network:",
    "该白名单会使您当前的地址无法使用此角色，请加入您的网络：",
];
pub(super) const ROLE_NEEDED: Words = ["this needs another active role:", "此操作需要切换到以下角色之一："];
pub(super) const NOT_GRANTED: Words = ["the active role does not permit this", "当前角色没有此权限"];
pub(super) const BUSY: Words = [
    "too many passwords are being checked at this moment; try again in 1 second",
    "当前密码校验请求过多，请在 1 秒后重试",
];

pub(super) const OTP_NEEDED: Words = [
    "this needs a fresh one-time password; send it in the header X-OTP-Code",
    "此操作需要新的一次性密码，请放在请求头 X-OTP-Code 中",
];
pub(super) const OTP_WRONG: Words = [
    "the one-time password is wrong or was used already; try again with the next one",
    "一次性密码错误或已使用，请等待下一个再试",
];
pub(super) const NO_DEVICE: Words = [
    "no one-time-password device is bound; bind one with POST /api/auth/otp-setup, then otp-bind",
    "尚未绑定一次性密码设备，请先调用 POST /api/auth/otp-setup，再调用 otp-bind 完成绑定",
];
pub(super) const DEVICE_BOUND: Words = [
    "a one-time-password device is bound already; unbind it first, or ask an administrator to reset it",
    "已绑定一次性密码设备，请先解绑，或联系管理员重置",
];
pub(super) const SETUP_OVER: Words =
    ["this setup is over; begin with otp-setup again", "本次绑定已失效，请重新从 otp-setup 开始"];

pub(super) const PASSWORD_WRONG: Words = ["the employee id or the password is wrong", "员工编号或密码错误"];
pub(super) const NO_PASSWORD: Words = [
    "there is no password yet; sign in through the platform and set one, or ask an administrator for a setup code",
    "尚未设置密码，请通过平台登录后设置，或向管理员索取设置码",
];
pub(super) const PASSWORD_OFF: Words =
    ["passwords are switched off; sign in through the platform", "密码登录已关闭，请通过平台登录"];
pub(super) const PLATFORM_WORKS: Words = [
    "sign in through the platform; passwords count only while nobody can",
    "请通过平台登录；仅在无法通过平台登录时才能使用密码",
];
pub(super) const NOT_PROVEN: Words = [
    "a first password or device takes a sign-in of your own through the platform, or a setup code from an administrator",
    "首次设置密码或绑定设备需由本人通过平台登录，或使用管理员提供的设置码",
];
pub(super) const RECENT_SIGN_IN_NEEDED: Words = [
    "a first password or device takes a sign-in that is at most 5 minutes old: sign in through the platform again, or use a \
     setup code from an administrator",
    "首次设置密码或绑定设备需在登录后 5 分钟内完成：请通过平台重新登录，或使用管理员提供的设置码",
];
pub(super) const DEVICE_NOT_PROVEN: Words = [
    "your device was bound without the platform: sign in through the platform and show one of its codes with POST \
     /api/auth/otp-verify within 5 minutes",
    "您的设备绑定时未经平台确认：请通过平台登录，并在 5 分钟内调用 POST /api/auth/otp-verify 验证一次",
];
pub(super) const SETUP_CODE: Words = [
    "the setup code is wrong, used or too old; ask an administrator for another one",
    "设置码错误、已使用或已过期，请向管理员重新索取",
];
pub(super) const OLD_PASSWORD_NEEDED: Words =
    ["changing the password needs the old one; send old_password too", "修改密码需要提供旧密码 old_password"];
pub(super) const OLD_PASSWORD_WRONG: Words = ["the old password is wrong", "旧密码错误"];
pub(super) const SAME_PASSWORD: Words = ["is the one you have already", "与当前密码相同"];
pub(super) const LOCKED: Words = [
    "locked after too many wrong attempts; ask an administrator to unlock it",
    "错误次数过多，已被锁定，请联系管理员解锁",
];

/// The message for a weak password.
pub(super) const fn weakness(weakness: Weakness) -> Words {
    match weakness {
        Weakness::TooShort => ["is too short (at least 12 characters)", "太短（至少 12 个字符）"],
        Weakness::TooLong => ["is too long (at most 128 characters)", "太长（最多 128 个字符）"],
        Weakness::Common => ["is one of those that are guessed first", "过于常见，容易被猜到"],
        Weakness::Personal => [
            "has your name, your id or the name of the company or service in it",
            "包含您的姓名、员工编号、企业或系统名称",
        ],
        Weakness::Monotonous => ["is the same few characters over and over", "重复的字符过多"],
    }
}

/// The message for an invalid token.
pub(super) const fn token(problem: TokenError) -> Words {
    match problem {
        TokenError::Missing => {
            ["a bearer token is required: Authorization: Bearer <token>", "缺少令牌：Authorization: Bearer <token>"]
        }
        TokenError::Malformed => ["the bearer token cannot be read", "令牌无法识别"],
        TokenError::Unknown => ["the token is not known; sign in again", "令牌无效，请重新登录"],
        TokenError::Expired => ["the session has expired; sign in again", "登录已过期，请重新登录"],
        TokenError::Ended(EndReason::SignedOut) => {
            ["this session was signed out; sign in again", "已退出登录，请重新登录"]
        }
        TokenError::Ended(EndReason::Kicked) => {
            ["this session was ended elsewhere; sign in again", "会话已在别处被结束，请重新登录"]
        }
        TokenError::Ended(EndReason::Disabled) => ["the employee is disabled", "该员工已被停用"],
        TokenError::HalfAuthenticated => [
            "this token is for completing the sign-in: POST /api/auth/otp-verify or otp-bind",
            "此令牌仅用于完成登录：POST /api/auth/otp-verify 或 otp-bind",
        ],
    }
}
