//! Enforces the rate limits of the route table.

use std::net::IpAddr;
use std::time::Duration;

use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use deskpass_core::{Access, Digest, EmployeeKey, Rate, Secret, rate_limit_address};
use deskpass_store::LimitSubject;
use hyper::HeaderMap;
use hyper::header::HeaderValue;

use crate::App;
use crate::http::auth::code_claims::claim_body;
use crate::http::auth::scan;
use crate::http::error::ApiError;
use crate::http::request::{RequestContext, X_FORWARDED_FOR, bearer_token, client_address};
use crate::http::response::Outcome;
use crate::http::route::{RateLimit, Route};

/// The subject of a limit: the client, whose address is resolved only when needed, or the ticket or the employee of the request.
struct RequestSubject {
    peer: IpAddr,
    forwarded: Vec<HeaderValue>,
    ticket: Option<Digest>,
    session: Option<Digest>,
}

/// Runs a route's handler unless the rate limit is exceeded; then the error says how long to wait.
pub(crate) async fn run_limited(
    app: &App,
    route: &Route,
    request: Request,
    context: RequestContext,
) -> Result<Response, Duration> {
    let limit = route.limit;
    let counted = limit.key_and_rate(&app.settings.limits);
    let subject = counted.map(|_| RequestSubject::of(limit, &request, context.peer));
    // What most requests do not do is on the heap, here and in the dispatcher: a future has room for whatever it may ever wait for, and
    // a client that sends its body slowly keeps it.
    let request = if route.brings_code { Box::pin(claim_body(request, &context)).await } else { Ok(request) };
    let Some((key_and_rate, subject)) = counted.zip(subject) else {
        return Ok(answer(route, request, context).await);
    };
    if !matches!(limit, RateLimit::Verify | RateLimit::Events) {
        Box::pin(subject.count(app, key_and_rate)).await?;
        return Ok(answer(route, request, context).await);
    }
    let response = answer(route, request, context).await;
    if is_negative(&response) {
        Box::pin(subject.count(app, key_and_rate)).await?;
    }
    Ok(response)
}

/// Answers a request whose body, if it brings a code, could be read.
async fn answer(route: &Route, request: Result<Request, ApiError>, context: RequestContext) -> Response {
    match request {
        Ok(request) => (route.handler)(request, context).await,
        Err(unreadable) => unreadable.into_response(),
    }
}

/// Whether a response counts where only refusals do: a token is not valid, or a request is not the platform's.
fn is_negative(response: &Response) -> bool {
    let extensions = response.extensions();
    matches!(extensions.get(), Some(Outcome::Negative(_))) || matches!(extensions.get(), Some(ApiError::EventRefused))
}

/// Whether a ticket was issued; also when the store fails, so that browsers behind one address do not use up each other's limit.
async fn is_issued(app: &App, ticket: &Digest) -> bool {
    let found = app.auth.shared.sign_ins.read_with(ticket, app.auth.clock.now(), |_| ()).await;
    found.map_or(true, |found| found.is_some())
}

/// The session that the token of a request may belong to.
fn session_digest(headers: &HeaderMap) -> Option<Digest> {
    Secret::<Access>::parse(bearer_token(headers).ok()?).ok().map(|token| token.digest())
}

/// The employee of a valid session.
async fn employee_of(app: &App, session: Digest) -> Option<EmployeeKey> {
    app.auth.authenticate_untouched(session).await.ok().map(|holder| holder.session().employee.clone())
}

impl RequestSubject {
    fn of(limit: RateLimit, request: &Request, peer: IpAddr) -> Self {
        let (ticket, session) = match limit {
            RateLimit::ScanStatus => (scan::ticket_digest(request.uri()), None),
            RateLimit::Replies => (None, session_digest(request.headers())),
            _ => (None, None),
        };
        let forwarded = request.headers().get_all(X_FORWARDED_FOR).iter().cloned().collect();
        Self { peer, forwarded, ticket, session }
    }

    async fn count(self, app: &App, (key, rate): (&[u8], Rate)) -> Result<(), Duration> {
        // Only issued tickets have a count of their own: a client could make up any number of others.
        let employee = match self.session {
            Some(session) => employee_of(app, session).await,
            None => None,
        };
        let (counted, subject) = match (self.ticket, employee) {
            (Some(ticket), _) if is_issued(app, &ticket).await => (LimitSubject::Ticket, ticket),
            (_, Some(employee)) => (LimitSubject::Client, Digest::of(&[key, employee.to_string().as_bytes()])),
            _ => {
                let address = rate_limit_address(client_address(app, self.peer, self.forwarded.iter()).decided);
                (LimitSubject::Client, Digest::of(&[key, address.to_string().as_bytes()]))
            }
        };
        app.auth.shared.limits.admit(counted, &subject, rate, app.auth.clock.now()).await
    }
}
