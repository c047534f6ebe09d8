//! Rate limits.

use deskpass_core::Rate;
use deskpass_derive::Section;

/// Rate limits; `None` is unlimited.
#[derive(Clone, Debug, Section)]
pub struct Limits {
    /// Whether requests are rate limited. A client that exceeds a limit gets 1006 (HTTP 429) and the time after which to
    /// retry. All nodes count together; while Redis is unavailable, each node counts on its own.
    #[setting(development = false, production = true)]
    pub enabled: bool,
    /// QR codes for one address or IPv6 /64. The full number may be requested at once, then one more each time the rate
    /// allows it: with 30/min, one every two seconds. A whole office may share one address, and a sign-in page that is
    /// open and visible requests a code every three minutes.
    #[setting(default = "30/min")]
    pub qrcode: Option<Rate>,
    /// Sign-ins that begin through oauth2/url, from one address.
    #[setting(default = "60/min")]
    pub oauth_url: Option<Rate>,
    /// The later steps of a sign-in together, from one address: the return from the platform (oauth2/callback),
    /// oauth2/pending, oauth2/continue, and on the phone scan/request, scan/confirm, scan/cancel and scan/outcome; also
    /// agents/login-methods, with which pages find out whether a password counts.
    #[setting(default = "300/min")]
    pub sign_in: Option<Rate>,
    /// Codes that arrive at oauth2/callback from one address without a sign that the sign-in began here: no cookie of
    /// oauth2/url, no QR code. The platform is asked about that many; more are refused. Sign-ins that began here do not
    /// count, up to three codes each in ten minutes, while the platform has refused fewer than 30 of their network in that
    /// time. DingTalk and Feishu return a sign of ours with each code, so there other codes are always refused. Codes at
    /// agents/login without the cookie count on every platform. A network (IPv4 /24, IPv6 /48) may bring twice as many as an
    /// address. Raise it if your own pages at another origin begin sign-ins at WeCom.
    #[setting(default = "30/min")]
    pub foreign_codes: Option<Rate>,
    /// The same codes, from all addresses together.
    #[setting(default = "120/min")]
    pub foreign_codes_total: Option<Rate>,
    /// Calls of scan/status and scan/events about one ticket, from any address; if there is no such ticket, from one
    /// address.
    #[setting(default = "2/s")]
    pub scan_status: Option<Rate>,
    /// Calls of bind from one address.
    #[setting(default = "20/min")]
    pub bind: Option<Rate>,
    /// Sign-ins of agents through agents/login from one address. Wrong passwords are also counted for each agent,
    /// regardless of the rate limits.
    #[setting(default = "10/min")]
    pub agents_login: Option<Rate>,
    /// All calls about one-time passwords together (otp-setup, otp-bind, otp-verify and similar, but not otp-status), from one address.
    #[setting(default = "10/min")]
    pub otp: Option<Rate>,
    /// Replies to messages by one employee, from any address; without a valid token, from one address.
    #[setting(default = "20/min")]
    pub replies: Option<Rate>,
    /// Authorization requests of OpenID Connect clients (/oidc/authorize, /oidc/logout and the calls of their pages), from
    /// one address. Calls of clients themselves, such as /oidc/token, are not limited: wrong secrets and invalid tokens are, and
    /// refreshes of one grant (30/min).
    #[setting(default = "300/min")]
    pub oidc: Option<Rate>,
    /// Questions to phones and their answers together (approvals and verifications, but not their status), from one
    /// address. Questions to callers are also counted for each agent and each employee, regardless of the rate limits.
    #[setting(default = "60/min")]
    pub questions: Option<Rate>,
    /// Refused requests to platform/events, from one address. Requests that the platform signed are never limited.
    #[setting(default = "60/min")]
    pub events: Option<Rate>,
    /// Invalid tokens that are presented to verify from one address. Valid tokens are never limited.
    #[setting(default = "300/min")]
    pub verify: Option<Rate>,
}
