//! How often a route may be asked. The one place that enforces it, from the table.

use std::net::IpAddr;
use std::time::Duration;

use axum::extract::Request;
use axum::response::Response;
use deskpass_core::{Digest, Rate, counted_as};
use deskpass_store::Counted;
use hyper::header::HeaderValue;

use super::answer::Window;
use super::envelope::Outcome;
use super::extract::{FORWARDED, client_address};
use super::{Route, qr};
use crate::Desk;
use crate::config::Limits;

/// The limit of a route. Routes with the same one are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// None.
    Free,
    /// A client asks for a code.
    QrCode,
    /// A client sets out for the platform.
    OauthUrl,
    /// A client goes on with a sign-in.
    SignIn,
    /// Somebody looks at a ticket.
    ScanStatus,
    /// A client binds.
    Bind,
    /// A client signs an agent in.
    AgentsLogin,
    /// A client does anything about one-time passwords.
    Otp,
    /// A client shows tokens that are not good. Those that are cost nothing.
    Verify,
}

/// Who is counted: the client, whose address need not be known before it counts, or the ticket that it asks about.
struct Whose {
    peer: IpAddr,
    forwarded: Vec<HeaderValue>,
    ticket: Option<Digest>,
}

impl Limit {
    fn rate(self, limits: &Limits) -> Option<Rate> {
        let rate = match self {
            Self::Free => None,
            Self::QrCode => limits.qrcode,
            Self::OauthUrl => limits.oauth_url,
            Self::SignIn => limits.sign_in,
            Self::ScanStatus => limits.scan_status,
            Self::Bind => limits.bind,
            Self::AgentsLogin => limits.agents_login,
            Self::Otp => limits.otp,
            Self::Verify => limits.verify,
        };
        rate.filter(|_| limits.enabled)
    }

    /// Keeps the counts of one client apart. Nodes of the next version must mean the same by it.
    const fn name(self) -> &'static [u8] {
        match self {
            Self::Free => b"",
            Self::QrCode => b"qrcode",
            Self::OauthUrl => b"oauth_url",
            Self::SignIn => b"sign_in",
            Self::ScanStatus => b"scan_status",
            Self::Bind => b"bind",
            Self::AgentsLogin => b"agents_login",
            Self::Otp => b"otp",
            Self::Verify => b"verify",
        }
    }
}

/// Runs a route's handler, unless that has been done too often: then says how much too early it is.
pub(super) async fn within(desk: &Desk, route: &Route, request: Request, window: Window) -> Result<Response, Duration> {
    let limit = route.limit;
    let Some(rate) = limit.rate(&desk.settings.limits) else {
        return Ok((route.handler)(request, window).await);
    };
    let whose = Whose::of(limit, &request, window.peer);
    if limit != Limit::Verify {
        whose.count(desk, limit, rate).await?;
        return Ok((route.handler)(request, window).await);
    }
    let response = (route.handler)(request, window).await;
    if let Some(Outcome::No(_)) = response.extensions().get() {
        whose.count(desk, limit, rate).await?;
    }
    Ok(response)
}

/// Whether there is a sign-in with this ticket. Where nobody can tell, it is taken for one: the handler fails then as well, and
/// browsers behind one address do not use up each other's turns.
async fn is_issued(desk: &Desk, ticket: &Digest) -> bool {
    let found = desk.auth.shared.sign_ins.look(ticket, desk.auth.clock.now(), |_| ()).await;
    found.map_or(true, |found| found.is_some())
}

impl Whose {
    fn of(limit: Limit, request: &Request, peer: IpAddr) -> Self {
        let ticket = if limit == Limit::ScanStatus { qr::ticket(request.uri()) } else { None };
        Self { peer, forwarded: request.headers().get_all(FORWARDED).iter().cloned().collect(), ticket }
    }

    async fn count(self, desk: &Desk, limit: Limit, rate: Rate) -> Result<(), Duration> {
        // A ticket counts by itself only where it was issued: anybody can make up others, each with a count of its own.
        let (counted, key) = match self.ticket {
            Some(ticket) if is_issued(desk, &ticket).await => (Counted::Ticket, ticket),
            _ => {
                let address = counted_as(client_address(desk, self.peer, self.forwarded.iter()).decided);
                (Counted::Client, Digest::of(&[limit.name(), address.to_string().as_bytes()]))
            }
        };
        desk.auth.shared.limits.admit(counted, &key, rate, desk.auth.clock.now()).await
    }
}
