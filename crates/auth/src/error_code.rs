//! The error codes of the API.

/// An error code, for programs. Number, usual status and meaning are a public contract.
#[derive(Debug, PartialEq, Eq)]
pub struct ErrorCode {
    /// The number in the envelope.
    pub number: u16,
    /// The usual HTTP status.
    pub status: u16,
    /// Whether responses name the reason, because the code has several.
    pub names_reason: bool,
    /// When the code is returned, in English and Chinese.
    pub meaning: [&'static str; 2],
}

impl ErrorCode {
    /// All codes, also those that only the HTTP layer returns: 1002, 1005 and 1018.
    #[rustfmt::skip]
    pub const ALL: &'static [Self] = &[
        row(1001, 401, "the token is missing or not valid", "缺少令牌，或令牌无效").with_reason(),
        row(1002, 400, "the request is not valid; `fields` names each invalid field", "请求不正确；fields 逐一说明有误的字段"),
        row(1003, 403, "the operation is not allowed; `reason` says why", "不允许该操作；reason 说明原因").with_reason(),
        row(1004, 404, "the requested object does not exist", "对象不存在"),
        row(1005, 500, "internal error; the log has details under the reference in the message", "内部错误；可凭错误信息中的参考编号查询日志"),
        row(1006, 429, "too many requests; try again after `Retry-After` seconds", "请求过于频繁；请在 Retry-After 秒后重试"),
        row(1007, 403, "a fresh one-time password is needed in `X-OTP-Code`, or an approval in `X-Approval`", "需要在 X-OTP-Code 中提供新的一次性密码，或在 X-Approval 中提供手机批准").with_reason(),
        row(1008, 401, "the one-time password or the approval is wrong, or was already used", "一次性密码或手机批准错误，或已使用").with_reason(),
        row(1009, 403, "no authenticator is bound", "尚未绑定身份验证器"),
        row(1010, 409, "an authenticator is already bound", "已绑定身份验证器"),
        row(1011, 401, "the employee id or the password is wrong", "员工账号或密码错误"),
        row(1012, 403, "no password has been set", "尚未设置密码"),
        row(1013, 429, "locked after too many wrong attempts; try again after `Retry-After` seconds", "错误次数过多已锁定；请在 Retry-After 秒后重试").with_reason(),
        row(1014, 400, "the password is too weak; `fields` says why", "密码强度不足；fields 说明原因"),
        row(1015, 400, "changing the password requires the old one", "修改密码需要提供旧密码"),
        row(1016, 403, "the old password is wrong", "旧密码错误"),
        row(1017, 403, "the active role may not be used from this address", "当前角色不能从此地址使用").with_reason(),
        row(1018, 403, "development mode is off", "开发模式未开启"),
        row(1019, 409, "conflict with the current state: already used, or already exists", "与当前状态冲突：已被使用，或已存在").with_reason(),
    ];

    /// The code with this number.
    #[must_use]
    pub const fn find(number: u16) -> Option<&'static Self> {
        let mut rest = Self::ALL;
        while let [first, others @ ..] = rest {
            if first.number == number {
                return Some(first);
            }
            rest = others;
        }
        None
    }

    /// The code with this number, for declarations: a number that is not listed does not compile.
    ///
    /// # Panics
    /// When there is no such code.
    #[must_use]
    pub const fn of(number: u16) -> &'static Self {
        match Self::find(number) {
            Some(code) => code,
            None => panic!("there is no error code with this number"),
        }
    }

    const fn with_reason(self) -> Self {
        Self { names_reason: true, ..self }
    }
}

const fn row(number: u16, status: u16, english: &'static str, chinese: &'static str) -> ErrorCode {
    ErrorCode { number, status, names_reason: false, meaning: [english, chinese] }
}
