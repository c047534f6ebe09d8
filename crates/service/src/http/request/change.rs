//! Extractors for changes of high risk. The session is looked up once; every check of the input is made for that administrator.

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Request};
use deskpass_auth::{FreshCode, Refusal};
use deskpass_core::{Digest, Question, Secret, operation_digest};
use hyper::HeaderMap;
use hyper::http::uri::PathAndQuery;

use crate::App;
use crate::http::error::ApiError;
use crate::http::request::{
    Admin, DescribeInput, FromFields, FullRequest, InputSpec, JsonBody, RequestContext, RequiredAccess, path_fields,
};

/// An administrator who sent a fresh one-time password with this request, or approved it on the phone. Password and approval are used
/// only after everything else about the request is valid, so that a mistake does not waste them.
#[derive(Debug)]
pub(crate) struct HighRisk<T>(pub(crate) Admin, pub(crate) T);

/// The input of a change, read for the administrator who requests it.
pub(crate) trait ChangeInput: Sized {
    /// Adds the input to the specification.
    fn describe(spec: &mut InputSpec);

    /// Reads and checks the input.
    fn read(
        request: Request,
        admin: &Admin,
        context: &RequestContext,
    ) -> impl Future<Output = Result<Self, ApiError>> + Send;
}

/// Input that depends on who sends it, such as a record that exists within their scope.
pub(crate) trait CheckedInput: Sized {
    /// The fields before the check.
    type Fields: FromFields + Send;

    /// Checks the fields for this administrator.
    fn check(fields: Self::Fields, admin: &Admin, app: &App) -> impl Future<Output = Result<Self, ApiError>> + Send;
}

/// Checked input from the path.
#[derive(Debug)]
pub(crate) struct InPath<T>(pub(crate) T);

/// Checked input from a JSON body.
#[derive(Debug)]
pub(crate) struct InBody<T>(pub(crate) T);

/// Checked input from the path, and a JSON body.
#[derive(Debug)]
pub(crate) struct PathAndBody<P, B>(pub(crate) P, pub(crate) B);

/// Checked input from the path, and from a JSON body.
#[derive(Debug)]
pub(crate) struct PathAndCheckedBody<P, B>(pub(crate) P, pub(crate) B);

/// Input that only administrators of the home corporation may send. Others are rejected before their one-time password is used.
#[derive(Debug)]
pub(crate) struct HomeOnly<T>(pub(crate) T);

impl<T: ChangeInput + Send> FromRequest<RequestContext> for HighRisk<T> {
    type Rejection = ApiError;
    async fn from_request(request: Request, context: &RequestContext) -> Result<Self, ApiError> {
        // Only the input is read by code that is compiled for each input.
        let (request, admin, confirmation) = check_confirmation(request, context).await?;
        let input = T::read(request, &admin, context).await?;
        confirmation.consume(&admin, &context.app.newest()).await?;
        Ok(Self(admin, input))
    }
}

/// What a request of high risk is confirmed with.
enum Confirmation {
    /// A one-time password, if there is one.
    Code(Option<String>),
    /// The id of an approval.
    Approval(String),
}

impl Confirmation {
    /// The confirmation that a request brings, if the settings accept its kind.
    fn of(headers: &HeaderMap, app: &App) -> Result<Self, Refusal> {
        let accepted = &app.auth.policy.questions;
        match (single_header(headers, "x-otp-code"), single_header(headers, "x-approval")) {
            (Some(_), Some(_)) => Err(Refusal::ApprovalInvalid),
            (None, Some(approval)) if accepted.accepts_phone => match Secret::<Question>::parse(&approval) {
                Ok(_) => Ok(Self::Approval(approval)),
                Err(_) => Err(Refusal::ApprovalInvalid),
            },
            (None, Some(_)) => Err(Refusal::OtpNeeded),
            (code, None) if accepted.accepts_otp => Ok(Self::Code(code)),
            (_, None) => Err(Refusal::ApprovalNeeded),
        }
    }
}

/// A confirmation that was checked and not used yet.
enum UnusedConfirmation {
    Code(FreshCode),
    /// An approval of exactly this operation, and how the audit log describes it.
    Approval {
        id: String,
        operation: Digest,
        described: String,
    },
}

impl UnusedConfirmation {
    /// Uses it up, if the settings still accept its kind: they may have changed while the body came.
    async fn consume(self, admin: &Admin, app: &App) -> Result<(), ApiError> {
        let (auth, Admin { caller, visitor }) = (&app.auth, admin);
        let accepted = &auth.policy.questions;
        match self {
            Self::Code(_) if !accepted.accepts_otp => return Err(Refusal::ApprovalNeeded.into()),
            Self::Approval { .. } if !accepted.accepts_phone => return Err(Refusal::OtpNeeded.into()),
            Self::Code(code) => auth.consume_fresh_code(caller, code, visitor).await?,
            Self::Approval { id, operation, described } => {
                auth.use_approval(caller, &id, (operation, &described), visitor).await?;
            }
        }
        Ok(())
    }
}

/// Checks who sends a request of high risk, and what confirms it.
async fn check_confirmation(
    request: Request,
    context: &RequestContext,
) -> Result<(Request, Admin, UnusedConfirmation), ApiError> {
    let (mut parts, body) = request.into_parts();
    let admin = Admin::from_request_parts(&mut parts, context).await?;
    let confirmation = Confirmation::of(&parts.headers, &context.app)?;
    let request = Request::from_parts(parts, body);
    match confirmation {
        Confirmation::Code(code) => {
            let code = context.app.auth.parse_fresh_code(&admin.caller, code.as_deref(), &admin.visitor).await?;
            Ok((request, admin, UnusedConfirmation::Code(code)))
        }
        Confirmation::Approval(id) => {
            // It is for exactly these bytes, so the body is read as a whole first.
            let FullRequest(request) = FullRequest::from_request(request, context).await?;
            let path = request.uri().path_and_query().map_or("", PathAndQuery::as_str);
            let operation = operation_digest(request.method().as_str(), path, request.body());
            let described = format!("{} {}", request.method(), request.uri().path());
            Ok((request.map(Body::from), admin, UnusedConfirmation::Approval { id, operation, described }))
        }
    }
}

impl<T: ChangeInput> DescribeInput for HighRisk<T> {
    const ACCESS: Option<RequiredAccess> = Some(RequiredAccess::HighRisk);

    fn describe_input(spec: &mut InputSpec) {
        T::describe(spec);
    }
}

impl<T: ChangeInput> ChangeInput for HomeOnly<T> {
    fn describe(spec: &mut InputSpec) {
        T::describe(spec);
    }

    async fn read(request: Request, admin: &Admin, context: &RequestContext) -> Result<Self, ApiError> {
        context.app.auth.require_home_admin(&admin.caller, &admin.visitor).await?;
        Ok(Self(T::read(request, admin, context).await?))
    }
}

impl<T: FromFields> ChangeInput for JsonBody<T> {
    fn describe(spec: &mut InputSpec) {
        spec.reads_body::<T>();
    }

    async fn read(request: Request, _: &Admin, context: &RequestContext) -> Result<Self, ApiError> {
        Self::from_request(request, context).await
    }
}

impl<T: CheckedInput> ChangeInput for InBody<T> {
    fn describe(spec: &mut InputSpec) {
        spec.reads_body::<T::Fields>();
    }

    async fn read(request: Request, admin: &Admin, context: &RequestContext) -> Result<Self, ApiError> {
        let JsonBody(fields) = JsonBody::from_request(request, context).await?;
        Ok(Self(T::check(fields, admin, &context.app.newest()).await?))
    }
}

impl<T: CheckedInput> ChangeInput for InPath<T> {
    fn describe(spec: &mut InputSpec) {
        spec.reads_path::<T::Fields>();
    }

    async fn read(_: Request, admin: &Admin, context: &RequestContext) -> Result<Self, ApiError> {
        Ok(Self(T::check(path_fields(context)?, admin, &context.app).await?))
    }
}

impl<P: CheckedInput + Send, B: FromFields> ChangeInput for PathAndBody<P, B> {
    fn describe(spec: &mut InputSpec) {
        spec.reads_path::<P::Fields>();
        spec.reads_body::<B>();
    }

    async fn read(request: Request, admin: &Admin, context: &RequestContext) -> Result<Self, ApiError> {
        let target = P::check(path_fields(context)?, admin, &context.app).await?;
        let JsonBody(body) = JsonBody::from_request(request, context).await?;
        Ok(Self(target, body))
    }
}

impl<P: CheckedInput + Send, B: CheckedInput + Send> ChangeInput for PathAndCheckedBody<P, B> {
    fn describe(spec: &mut InputSpec) {
        spec.reads_path::<P::Fields>();
        spec.reads_body::<B::Fields>();
    }

    async fn read(request: Request, admin: &Admin, context: &RequestContext) -> Result<Self, ApiError> {
        let target = P::check(path_fields(context)?, admin, &context.app).await?;
        let JsonBody(fields) = JsonBody::from_request(request, context).await?;
        Ok(Self(target, B::check(fields, admin, &context.app.newest()).await?))
    }
}

/// The value of a header; empty where the header is repeated or unreadable.
fn single_header(headers: &HeaderMap, name: &str) -> Option<String> {
    let mut given = headers.get_all(name).iter();
    let (first, second) = (given.next()?, given.next());
    Some(first.to_str().ok().filter(|_| second.is_none()).unwrap_or_default().to_owned())
}
