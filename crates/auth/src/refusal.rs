//! The refusals: one block declares everything about one. `declare` documents the form.

mod chinese;
mod declare;
mod from_log;
mod texts;

use std::time::Duration;

use deskpass_core::oidc::InvalidRegistration;
use deskpass_core::{Role, Roles, ServiceScope, Weakness};
use serde::{Deserialize, Serialize};

use crate::TokenError;
use texts::{SAME_PASSWORD, describe_weakness, english_minutes, english_seconds, role_names, whole_minutes};

pub use declare::RefusalInfo;
pub(crate) use declare::{first_explanation, logged_name, refusals};
pub use from_log::logged_refusal;
pub use texts::{ReasonExplanation, audited_reasons, explain_reason, whole_seconds};

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests;

refusals! {
    /// A deliberate refusal, which reaches the client unchanged.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Refusal {
        /// The token is not valid.
        #[serde(skip)]
        Token(problem: TokenError) => RefusalInfo { audited: false, ..problem.info() };
        /// The token became invalid while the request was processed.
        #[serde(skip)]
        Revoked(problem: TokenError) => problem.info();
        /// The employee is unknown, or not identified by the platform.
        UnknownEmployee {
            code(1003), reason("unknown_employee"),
            en("the employee must sign in through the platform first"),
            zh("员工需先通过{{platform}}登录"),
            audit("There is no such employee, or the proof of identity was missing, invalid, used or expired.",
                "Sign in through the platform once, or run `deskpass employee add EMPLOYEE`; for a link, run `deskpass link approve`."),
        }
        /// An operator or an administrator disabled the employee.
        Disabled {
            code(1003), reason("disabled"), logged("disabled_here"),
            en("the employee is disabled here; an administrator of the help desk can enable them"),
            zh("该员工已在本系统停用，请联系服务台管理员"),
            audit("An operator or an administrator disabled the employee here.", "To enable: `deskpass employee enable EMPLOYEE`."),
        }
        /// The platform says that the employee left, or is disabled there. The previous version knows one word for both.
        #[serde(rename(serialize = "Disabled", deserialize = "LeftPlatform"))]
        LeftPlatform {
            code(1003), reason("disabled"), logged("left_platform"),
            en("the platform says that the employee has left or is disabled there; its administrator can change that"),
            zh("{{platform}}显示该成员已离职或已被禁用，请联系{{platform}}管理员"),
            audit("The platform says that the employee has left or is disabled there.", "If that is wrong, enable the member in the platform's console (通讯录)."),
        }
        /// The platform says that another person has the identifier, which no operator has confirmed yet. The previous version has a word
        /// that asks the administrator, too.
        #[serde(rename(serialize = "NoRole", deserialize = "HolderUnconfirmed"))]
        HolderUnconfirmed {
            code(1003), reason("holder_unconfirmed"),
            en("{{platform}} says that another person had this identifier before; an administrator of the help desk must confirm you first"),
            zh("{{platform}}显示该账号此前属于另一人，需由服务台管理员确认后才能继续"),
            audit("The platform says that another person has the identifier now. The roles of the record do not count until an operator confirms the person.",
                "Ask in person. If it is the same person, run `deskpass employee confirm EMPLOYEE`; if it is another one, revoke what they may not have, run `deskpass employee new-person EMPLOYEE`, then confirm."),
        }
        /// The employee holds no role.
        NoRole {
            code(1003), reason("no_role"),
            en("the employee has no role; contact the administrator"),
            zh("员工没有任何角色，请联系管理员"),
            audit("The employee holds no role for this kind of sign-in, and no default role applies.",
                "Grant one with `deskpass role grant EMPLOYEE ROLE`, or set default_role for everyone."),
        }
        /// The employee does not hold the requested role.
        RoleNotHeld(role: String) {
            code(1003), reason("role_not_held"),
            en("you do not hold the role {role}"),
            zh("您没有该角色：{role}"),
            audit("The employee does not hold the requested role.",
                "Choose another role, or run `deskpass role grant EMPLOYEE ROLE`."),
        }
        /// The active role was taken away after it was chosen.
        RoleTakenAway(role: Role) {
            code(1003), reason("role_taken_away"),
            en("your active role was revoked; switch to another one or sign in again: {role}"),
            zh("您的当前角色已被收回，请切换角色或重新登录：{role}"),
            audit("The active role was revoked.", "Switch to another role, or run `deskpass role grant EMPLOYEE ROLE`."),
        }
        /// The role does not exist.
        NoSuchRole(role: String) {
            code(1004), reason("no_such_role"),
            en("no such role: {role}"),
            zh("角色不存在：{role}"),
        }
        /// The user declined at the platform.
        Denied {
            code(1003), reason("denied"),
            en("the sign-in was declined at the platform"),
            zh("您在{{platform}}中拒绝了登录"),
            audit("The user declined at the platform.", "Sign in again and approve the request."),
        }
        /// The user declined on the phone.
        Cancelled {
            code(1019), reason("cancelled"),
            en("the sign-in was cancelled on the phone; start again"),
            zh("登录已在手机上取消，请重新开始"),
            audit("The user cancelled the sign-in on the phone.",
                "If the user did not start it, another person tried and was not signed in. Otherwise sign in again."),
        }
        /// The platform's code is used, expired, or was brought by another browser.
        InvalidCode {
            code(1003), reason("invalid_code"),
            en("the platform's code was already used or has expired; start again"),
            zh("{{platform}}授权码已使用或已过期，请重新登录"),
            audit("The platform's code was used, expired, or came from a browser that did not start the sign-in.",
                "Sign in again. If it happens to everyone, check the clock and proxies that repeat requests: `deskpass doctor`."),
        }
        /// The platform knows the user, but not as a member of a corporation.
        NotAMember {
            code(1003), reason("not_a_member"),
            en("only members of the corporation can sign in"),
            zh("仅限本企业成员登录"),
            audit("The platform identified a user who is not a member of platform.corp_id, or may not use the application.",
                "They belong to another corporation or tenant, are an external contact, or have left: check platform.corp_id (the service log names a foreign tenant), and in the platform's console the member and who may use the application."),
        }
        /// The platform's code belongs to another person than the named employee.
        #[serde(rename = "SomebodyElse")]
        CodeOfAnotherPerson {
            code(1003), reason("somebody_else"),
            en("the platform's code belongs to another employee; sign in as yourself"),
            zh("{{platform}}授权码属于其他员工，请使用本人的账号登录"),
            audit("The platform's code belongs to a different person than the employee that was named.",
                "Sign in to the platform's client as the same person."),
        }
        /// The sign-in was decided, was claimed by another phone, or has expired.
        #[serde(rename = "Over")]
        SignInOver {
            code(1019), reason("over"),
            en("this sign-in was already decided or has expired; start again"),
            zh("该登录请求已处理或已失效，请重新开始"),
            audit("The sign-in was already decided, taken by another phone, or expired.", "Load a new QR code and scan it."),
        }
        /// The platform identified another person than the one who was asked.
        NotAsked {
            code(1003), reason("not_asked"),
            en("this question is for another person; only the phone of the person who was asked can answer it"),
            zh("该请求是发给他人的，只有被询问者本人的手机可以回答"),
            audit("A person opened the link of a question that another employee was asked.",
                "Ask the employee whether they passed the message on, and why: the link is for their phone only."),
        }
        /// The link of a question was opened on a computer.
        PhoneNeeded {
            code(1003), reason("phone_needed"),
            en("open this message on your phone"),
            zh("请在手机上打开这条消息"),
            audit("The link of a question to a phone was opened, or answered, in a browser that is not a phone's.",
                "Open the message in the platform's app on the phone."),
        }
        /// The phone picked another number than the one on the screen.
        WrongNumber {
            code(1003), reason("wrong_number"),
            en("this is not the number on the screen, or the one that was read out; nothing was confirmed. If you did not begin this, another person did"),
            zh("所选数字与屏幕上显示或对方念出的不一致，未予确认。如不是您本人发起，则是他人所为"),
            audit("The number that was picked on the phone is not the one on the screen, or the one that was read out.",
                "If the person did not begin it, another person did, and was stopped here: check the addresses. Otherwise begin again."),
        }
        /// The question was answered, has expired, or its asker is gone.
        QuestionOver {
            code(1019), reason("question_over"),
            en("this question was answered, was opened again, or has expired; it can be asked again"),
            zh("该请求已处理、已重新打开或已过期，可重新发起"),
        }
        /// The approval is not for this operation, is not of this session, was not given, or was used.
        ApprovalInvalid {
            code(1008), reason("approval_invalid"),
            en("the approval was not given, has expired, was already used, or is for another operation; ask for a new one"),
            zh("手机批准未通过、已过期、已使用，或用于其他操作，请重新发起"),
            audit("The approval was not given on the phone, had expired or been used, or is for another operation or session.",
                "Approve again, and send exactly what was approved. If it repeats, check which program sends it."),
        }
        /// The operation needs an approval on the phone.
        ApprovalNeeded {
            code(1007), reason("approval_needed"),
            en("this operation must be approved on your phone; send the id of the approval in the header X-Approval"),
            zh("此操作需在手机上批准，请将批准编号放在请求头 X-Approval 中"),
        }
        /// The employee was not verified as a caller.
        CallerNotVerified {
            code(1003), reason("caller_not_verified"),
            en("verify the caller on their phone first"),
            zh("请先在来电人的手机上核实其身份"),
            audit("A password or an authenticator was to be reset, and its owner was not verified as the caller within 10 minutes.",
                "Verify the caller on their phone, or set verification.before_resets = false."),
        }
        /// The person cannot be asked through the platform.
        CannotAsk {
            code(1003), reason("cannot_ask"),
            en("this person cannot be asked on the phone through the platform; check the employee id, use a one-time password, or verify the person in another way"),
            zh("无法通过{{platform}}向该人员的手机发送请求；请核对账号，改用一次性密码，或以其他方式核实身份"),
            audit("A question was not sent: the employee is unknown, disabled or has left, or the platform cannot reach their phone.",
                "The details name the employee; look them up with `deskpass employee list`. Many such rows of one person may be attempts to find out who works here."),
        }
        /// Approvals on the phone do not count here.
        ApprovalsOff {
            code(1003), reason("approvals_off"),
            en("approvals on the phone are off (approval.methods); send a one-time password in the header X-OTP-Code"),
            zh("未启用手机批准（approval.methods），请将一次性密码放在请求头 X-OTP-Code 中"),
        }
        /// The phone refused an approval that this session asked for; it gets no others for this time.
        #[serde(skip)]
        ApprovalsPaused(wait: Duration) {
            code(1003), reason("approvals_paused"),
            en("an approval was refused on your phone, so this session can ask for none for a while; use a one-time password, or try again in {}", english_minutes(*wait)),
            zh("您的手机拒绝了一次批准，本会话暂时不能再次请求；请使用一次性密码，或在 {} 分钟后重试", whole_minutes(*wait)),
            audit("The session asked for an approval within 10 minutes of one that was refused on the phone, or answered with a wrong number.",
                "Ask the person whether they asked. If not, another person has their session: end their sessions and check the addresses."),
        }
        /// The authorization request of an OpenID Connect client has expired, was answered, or belongs to another browser.
        OidcRequestGone {
            code(1019), reason("oidc_request_gone"),
            en("this request of the program was answered, has expired, or was begun in another browser; start again in the program"),
            zh("该程序的登录请求已处理、已过期，或在其他浏览器中发起，请回到该程序重新开始"),
            audit("The request of an OpenID Connect client was answered, older than 10 minutes, or begun in another browser.",
                "Start again in the program. If the user did not begin it, another person sent them a link."),
        }
        /// The user may not use the OpenID Connect client with this id.
        ClientNotAllowed(_id: String) {
            code(1003), reason("client_not_allowed"),
            en("your account may not use this program; ask an administrator of the help desk"),
            zh("您的账号不能使用该程序，请联系服务台管理员"),
            audit("The OpenID Connect client is disabled, or is not for this employee's roles or corporation.",
                "See `deskpass oidc client show CLIENT`, or run `deskpass role grant EMPLOYEE ROLE`."),
        }
        /// The OpenID Connect client asks for a newer sign-in.
        NewSignInNeeded {
            code(1003), reason("recent_sign_in_needed"),
            en("this program asks for a new sign-in; sign in again"),
            zh("该程序要求重新登录，请重新登录"),
        }
        /// The OpenID Connect client asks for another user.
        AnotherUserNeeded {
            code(1003), reason("another_user_needed"),
            en("this program asks for the user who was signed in there before; sign in as that user, or start again in the program"),
            zh("该程序要求以此前在其中登录的用户登录，请换用该用户登录，或回到该程序重新开始"),
        }
        /// The platform says something else about who has an identifier than what was confirmed.
        #[serde(skip)]
        HolderChanged {
            code(1019), reason("holder_changed"),
            en("{{platform}} says something else about who has this identifier by now; look again, and confirm the person who is shown"),
            zh("{{platform}}中该账号的持有人信息已再次变更，请重新查看并确认所显示的人员"),
        }
        /// The object exists already.
        Exists {
            code(1019), reason("exists"),
            en("it already exists"), zh("已存在"),
        }
        /// The operation needs a fresh one-time password.
        OtpNeeded {
            code(1007), reason("otp_needed"),
            en("this operation requires a fresh one-time password in the header X-OTP-Code"),
            zh("此操作需要新的一次性密码，请放在请求头 X-OTP-Code 中"),
        }
        /// The one-time password is wrong or used.
        OtpWrong {
            code(1008), reason("otp_wrong"),
            en("the one-time password is wrong or was already used; try again with the next one"),
            zh("一次性密码错误或已使用，请等待下一个再试"),
            audit("The one-time password was wrong or already used.",
                "Wait for the next one. If all fail, correct the phone's clock, or run `deskpass agent reset-otp EMPLOYEE`."),
        }
        /// No device for one-time passwords is bound.
        NoDevice {
            code(1009), reason("no_device"),
            en("no authenticator is bound; bind one within 5 minutes of signing in, with POST /api/auth/otp-setup and otp-bind"),
            zh("尚未绑定身份验证器，请在登录后 5 分钟内调用 POST /api/auth/otp-setup 和 otp-bind 完成绑定"),
        }
        /// The user may not have a device.
        DeviceNotAllowed {
            code(1003), reason("device_not_allowed"),
            en("binding an authenticator requires a role other than user, and no disabled agent record; ask an administrator"),
            zh("绑定身份验证器需要 user 以外的角色，且坐席记录未被停用，请联系管理员"),
            audit("The employee holds no role other than user, or their agent record is disabled.",
                "Run `deskpass role grant EMPLOYEE ROLE`, or `deskpass agent enable EMPLOYEE`."),
        }
        /// A device is bound already.
        DeviceBound {
            code(1010), reason("device_bound"),
            en("an authenticator is already bound; unbind it first, or ask an administrator to reset it"),
            zh("已绑定身份验证器，请先解绑，或联系管理员重置"),
        }
        /// The device setup does not exist, has expired, or was replaced.
        DeviceSetupOver {
            code(1019), reason("setup_over"),
            en("this setup of the authenticator has expired or was replaced; start again with otp-setup"),
            zh("本次绑定已失效，请重新从 otp-setup 开始"),
            audit("The setup of the authenticator has expired or was started again.", "Start again with otp-setup."),
        }
        /// The password is wrong, or there is no such agent.
        PasswordWrong {
            code(1011), reason("password_wrong"),
            en("the employee id or the password is wrong"),
            zh("{{platform}}账号或密码错误"),
            audit("The password was wrong, or no agent with this name can sign in with one.",
                "Try again, check `deskpass agent list`, or run `deskpass agent reset-password EMPLOYEE` for a setup code."),
        }
        /// The agent has no password yet.
        NoPassword {
            code(1012), reason("no_password"),
            en("no password has been set; sign in through the platform and set one, or ask an administrator for a setup code"),
            zh("尚未设置密码，请通过{{platform}}登录后设置，或向管理员索取设置码"),
            audit("The agent has no password yet.",
                "Set one while signed in through the platform, or run `deskpass agent reset-password EMPLOYEE` for a setup code."),
        }
        /// Too many attempts failed; attempts are checked again after this time.
        #[serde(skip)]
        TooManyFailures(wait: Duration) {
            code(1013), reason("too_many_failures"),
            en("too many wrong attempts; try again in {}", english_minutes(*wait)),
            zh("错误次数过多，请在 {} 分钟后重试", whole_minutes(*wait)),
            audit("Too many attempts failed; attempts are paused for some minutes.",
                "Wait, or run `deskpass agent unlock EMPLOYEE`. If it was not the agent, it is an attack: check the addresses."),
        }
        /// So many attempts failed that an administrator has to unlock the agent.
        #[serde(skip)]
        Locked {
            code(1013), reason("locked"),
            en("locked after too many wrong attempts; ask an administrator to unlock it"),
            zh("错误次数过多，已被锁定，请联系管理员解锁"),
            audit("A hundred attempts in a row failed; the agent is locked.",
                "Run `deskpass agent unlock EMPLOYEE`. If it was not the agent, it is an attack: check the addresses."),
        }
        /// The new password is too easy to guess.
        #[serde(skip)]
        WeakPassword(weakness: Weakness) {
            code(1014), reason("weak_password"),
            en("choose another password; this one {}", describe_weakness(*weakness)[0]),
            zh("请换一个密码：{}", describe_weakness(*weakness)[1]),
        }
        /// The new password equals the old one.
        SamePassword {
            code(1014), reason("same_password"),
            en("choose another password; this one {}", SAME_PASSWORD[0]),
            zh("请换一个密码：{}", SAME_PASSWORD[1]),
        }
        /// Changing a password needs the old one.
        OldPasswordNeeded {
            code(1015), reason("old_password_needed"),
            en("changing the password requires the old one; send old_password too"),
            zh("修改密码需要提供旧密码 old_password"),
        }
        /// The old password is wrong.
        OldPasswordWrong {
            code(1016), reason("old_password_wrong"),
            en("the old password is wrong"),
            zh("旧密码错误"),
            audit("The old password was wrong.", "Try again, or run `deskpass agent reset-password EMPLOYEE`."),
        }
        /// The setup code is missing where one is needed, or wrong, used or expired.
        SetupCodeWrong {
            code(1003), reason("setup_code"),
            en("a setup code is needed: none was sent, or it is wrong, already used or expired; ask an administrator for one"),
            zh("需要设置码：未提供，或错误、已使用、已过期，请向管理员索取"),
            audit("The setup code for a password or an authenticator was missing, wrong, used, or older than a day.",
                "For a new one, run `deskpass agent reset-password EMPLOYEE`, or `reset-otp` for an authenticator."),
        }
        /// Setting a first password or device needs a session that the platform vouched for.
        NotProven {
            code(1003), reason("not_proven"),
            en("setting a first password or binding an authenticator requires your own sign-in through the platform, or a setup code from an administrator"),
            zh("首次设置密码或绑定身份验证器，须由本人通过{{platform}}登录，或使用管理员提供的设置码"),
            audit("A first password or authenticator requires a session in which the platform identified this person.",
                "Sign in through the platform, or run `deskpass agent reset-password EMPLOYEE` (or `reset-otp`) for a setup code."),
        }
        /// Setting a first password or device needs a sign-in that is only minutes old.
        RecentSignInNeeded {
            code(1003), reason("recent_sign_in_needed"),
            en("setting a first password or binding an authenticator requires a sign-in at most 5 minutes old: sign in through the platform again, or use a setup code from an administrator"),
            zh("首次设置密码或绑定身份验证器，须在登录后 5 分钟内完成：请通过{{platform}}重新登录，或使用管理员提供的设置码"),
            audit("A first password or authenticator requires a sign-in within the last 5 minutes.",
                "Sign in through the platform again, or run `deskpass agent reset-password EMPLOYEE` (or `reset-otp`) for a setup code."),
        }
        /// The device was bound without platform vouching, and is not accepted for operations of high risk.
        DeviceNotProven {
            code(1003), reason("device_not_proven"),
            en("your authenticator was bound without the platform: sign in through the platform and send one of its codes to POST /api/auth/otp-verify within 5 minutes"),
            zh("您的身份验证器绑定时未经{{platform}}确认：请通过{{platform}}登录，并在 5 分钟内调用 POST /api/auth/otp-verify 验证一次"),
        }
        /// Passwords are disabled.
        PasswordOff {
            code(1003), reason("password_off"),
            en("password sign-in is disabled; sign in through the platform"),
            zh("密码登录已关闭，请通过{{platform}}登录"),
            audit("Sign-in with a password is disabled.",
                "Sign in through the platform; agents.password_fallback enables passwords."),
        }
        /// Passwords are accepted only while the platform cannot be reached.
        PlatformWorks {
            code(1003), reason("platform_works"),
            en("sign in through the platform; passwords are accepted only while the platform is unavailable"),
            zh("请通过{{platform}}登录；仅在{{platform}}不可用时才能使用密码"),
            audit("Passwords are accepted only while the platform is down, and it is available.",
                "Sign in through the platform; agents.password_fallback = \"always\" accepts passwords at any time."),
        }
        /// The operation is for agents.
        NotAnAgent {
            code(1003), reason("not_an_agent"),
            en("only agents may do this; ask an administrator to make you an agent"),
            zh("仅限坐席使用，请联系管理员开通"),
            audit("The employee is not an agent.", "To add one: `deskpass agent add EMPLOYEE`."),
        }
        /// There is no such agent.
        NoSuchAgent {
            code(1004), reason("no_such_agent"),
            en("there is no such agent; check the employee id"),
            zh("没有该坐席，请核对{{platform}}账号"),
        }
        /// The operation is for another active role.
        NotPermitted {
            code(1003), reason("role_needed"),
            en("your active role does not allow this; switch to one that does, such as admin"),
            zh("当前角色无权执行此操作，请先切换到有权限的角色（如 admin）"),
            audit("The request requires another active role.", "Switch to that role, if held."),
        }
        /// The operation is for these active roles.
        #[serde(skip)]
        RoleNeeded(roles: Roles) {
            code(1003), reason("role_needed"),
            en("this operation requires one of these active roles: {}", role_names(*roles)),
            zh("此操作需要切换到以下角色之一：{}", role_names(*roles)),
        }
        /// The permission matrix does not grant the operation to the active role.
        NotGranted {
            code(1003), reason("not_permitted"),
            en("the active role does not permit this"),
            zh("当前角色没有此权限"),
        }
        /// The service key does not have this scope.
        #[serde(skip)]
        ScopeNeeded(scope: ServiceScope) {
            code(1003), reason("scope_needed"),
            en("this service key does not have the required scope: {scope}"),
            zh("该服务密钥没有所需的权限范围：{scope}"),
        }
        /// The role may not be active from the client's address.
        AddressNotAllowed(role: Role) {
            code(1017), reason("address_not_allowed"),
            en("your address is not on the allow-list of the role; use an allowed network, or switch to another role: {role}"),
            zh("您的地址不在该角色的白名单内，请使用允许的网络或切换角色：{role}"),
            audit("The role's allow-list does not permit the client's address.",
                "See `deskpass ip-rule list`. Behind a proxy, trusted_proxies decides which address is checked."),
        }
        /// There is no such employee within the administrator's scope.
        NoSuchEmployee {
            code(1004), reason("no_such_employee"),
            en("there is no such employee; check the employee id"),
            zh("没有该员工，请核对{{platform}}账号"),
        }
        /// There is no such session, or it belongs to another employee.
        NoSuchSession {
            code(1004), reason("no_such_session"),
            en("there is no such session; it may have ended"),
            zh("没有该会话，可能已结束"),
        }
        /// There is no such sign-in, or it belongs to another employee.
        NoSuchSignIn {
            code(1004), reason("no_such_sign_in"),
            en("you have no such sign-in; reload the list"),
            zh("没有该登录记录，请刷新列表"),
        }
        /// There is no such service key.
        NoSuchKey {
            code(1004), reason("no_such_key"),
            en("there is no such service key; check the id"),
            zh("没有该服务密钥，请核对编号"),
        }
        /// There is no such OpenID Connect client.
        NoSuchOidcClient {
            code(1004), reason("no_such_oidc_client"),
            en("there is no such client; check the client_id"),
            zh("没有该应用，请核对 client_id"),
        }
        /// The OpenID Connect client is in the settings file, which alone can change it.
        OidcClientFromFile {
            code(1019), reason("oidc_client_from_file"),
            en("this client is in the settings file; change it there"),
            zh("该应用在配置文件中登记，请在配置文件中修改"),
        }
        /// The OpenID Connect client is public, and has no secret that could be replaced.
        OidcClientWithoutSecret {
            code(1019), reason("oidc_client_without_secret"),
            en("this client is public and has no secret"),
            zh("该应用为公开客户端，没有密钥"),
        }
        /// The registration of an OpenID Connect client is invalid.
        #[serde(skip)]
        InvalidOidcClient(problem: InvalidRegistration) {
            code(1002), reason("invalid_oidc_client"),
            en("the registration of the client is invalid: {problem}"),
            zh("应用的登记信息有误：{problem}"),
        }
        /// There is no such link.
        NoSuchLink {
            code(1004), reason("no_such_link"),
            en("there is no such link"),
            zh("没有该关联"),
        }
        /// The change would leave the corporation without an administrator.
        LastAdmin {
            code(1019), reason("last_admin"),
            en("this is the last administrator; appoint another one first"),
            zh("这是最后一名管理员，请先指定其他管理员"),
            audit("The change would have removed the last administrator.",
                "Make another employee an administrator first: `deskpass role grant`."),
        }
        /// An administrator whose role is temporary gives themself a role, makes an administrator, adds a role rule, or opens the account of one.
        TemporaryRole {
            code(1003), reason("temporary_role"),
            en("your administrator role is temporary, so you cannot give yourself roles, make administrators, add role rules, or enable, confirm or link one, or reset the password or the authenticator of one; ask another administrator"),
            zh("您的管理员角色是临时角色，不能给自己授予角色，不能指定管理员或添加角色规则，也不能启用、确认、关联管理员的账号，或重置其密码或身份验证器，请联系其他管理员"),
            audit("An administrator whose role is temporary gave themself a role, gave the role of an administrator, added a role rule, or enabled, confirmed, linked or reset the account of one.",
                "Another administrator can do it; for the person to stay one, run `deskpass role grant EMPLOYEE admin`."),
        }
        /// The role comes from a rule, so it cannot be revoked by hand.
        RoleFromRule(role: Role) {
            code(1019), reason("role_from_rule"),
            en("a rule gives this role; change the rule, or the person's department or tag at the platform: {role}"),
            zh("该角色来自角色规则，请修改规则，或在{{platform}}中调整其部门或标签：{role}"),
        }
        /// The allow-list would lock the caller out of this role.
        #[serde(rename = "WouldShutYouOut")]
        WouldLockYouOut(role: Role) {
            code(1019), reason("would_shut_you_out"),
            en("this allow-list would lock your own address out of the role; add your network: {role}"),
            zh("该白名单会使您当前的地址无法使用此角色，请加入您的网络：{role}"),
            audit("The allow-lists would have excluded the administrator who set them.",
                "Add the administrator's own network to the list of admin, or run `deskpass ip-rule set`."),
        }
        /// The message at this index leaves a gap in its stream, which goes on with this number.
        #[serde(skip)]
        StreamGap(index: usize, next: u64) {
            code(1019), reason("out_of_stream"),
            en("messages[{index}] does not follow in its stream; the next seq is {next}"),
            zh("messages[{index}] 与其流不连续，下一个 seq 应为 {next}"),
        }
        /// The message at this index comes after the end of its stream.
        #[serde(skip)]
        StreamEnded(index: usize) {
            code(1019), reason("out_of_stream"),
            en("messages[{index}] comes after the end of its stream; start another stream_id"),
            zh("messages[{index}] 所属的流已结束，请使用新的 stream_id"),
        }
        /// Too many requests, or too many refusals; the client may retry after this time.
        #[serde(rename = "TooOften")]
        RateLimited(wait: Duration) {
            code(1006), reason("too_often"),
            en("too many requests; try again in {}", english_seconds(*wait)),
            zh("请求过于频繁，请在 {} 秒后重试", whole_seconds(*wait)),
        }
        /// Too many codes of the platform arrive whose sign-ins did not begin here, or which it refuses.
        #[serde(skip)]
        CodesLimited {
            code(1006), reason("codes_limited"),
            en("too many sign-ins arrive that did not begin here, or with codes that are not valid; begin at the sign-in page, or try again in a minute"),
            zh("未从本系统发起或授权码无效的登录过多，请从登录页重新开始，或一分钟后重试"),
            audit("The code came without a sign that this service had sent the browser to the platform, or from a sign-in with more than three codes, or from a network of which the platform had refused 30 codes within ten minutes; and the budget for such codes (limits.foreign_codes, limits.foreign_codes_total) was used up. The platform was not asked.",
                "Begin at the sign-in page of this service. If browsers lose its cookie, or pages of another origin begin the sign-ins, raise both limits; otherwise a program tries codes: check the addresses. Others of its network can sign in as usual half a minute after it stops."),
        }
        /// The queue of passwords to be checked is full.
        Busy {
            code(1006), reason("busy"),
            en("too many passwords are being checked; try again in 1 second"),
            zh("当前密码校验请求过多，请在 1 秒后重试"),
        }
    }
}
