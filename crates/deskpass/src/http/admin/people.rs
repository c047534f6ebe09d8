//! Who works here, and what they may act as.

use axum::extract::{FromRequest, FromRequestParts as _, Request, State};
use deskpass_auth::{PeopleAsked, PeopleFound};
use deskpass_core::{CorpId, EmployeeKey, Role, Roles};
use deskpass_store::{Listed, Order};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Done, Known, Paging, Whom, bad_cursor, within};
use crate::Desk;
use crate::http::answer::Window;
use crate::http::authority::{Authority, HighRisk, On, Reader};
use crate::http::envelope::Reply;
use crate::http::extract::Body;
use crate::http::failure::Failure;
use crate::http::fields::{Ask, Fields, Problem};
use crate::http::login::iso;
use crate::http::openapi::{Asks, Moment, RoleName, Sheet};
use crate::http::query::Query;

/// The words for the orders a list can have.
const ORDERS: &[&str] = &["employee_id", "name", "last_login"];
/// Why not every list can.
const SORTED_ALREADY: [&str; 2] =
    ["cannot be combined with q or role, whose lists have an order of their own", "不能与 q 或 role 同时使用"];
/// What is said of a text with the one character that no text has, in any database of ours.
const NO_NUL: [&str; 2] = ["must not contain U+0000", "不能包含 U+0000"];
/// The longest text to search for, in bytes.
const SOUGHT: usize = 128;

/// Which people somebody wants to see.
#[derive(Debug)]
pub(in crate::http) struct People {
    corp: Option<CorpId>,
    asked: PeopleAsked,
    paging: Paging,
}

impl Ask for People {
    fn read(fields: &mut Fields) -> Option<Self> {
        let (corp, department) = (fields.maybe_id("corp_id", CorpId::parse), fields.maybe_text("department"));
        let (q, role) = (fields.maybe_text("q"), fields.maybe_word("role", &Role::NAMES));
        let (sort, paging) = (fields.maybe_word("sort", ORDERS), Paging::read(fields));
        let (q, role, sort) = (q?.filter(|q| !q.is_empty()), role?.and_then(Role::from_name), sort?);
        if q.as_ref().is_some_and(|q| q.len() > SOUGHT) {
            fields.refuse("q", Problem::TooLong(SOUGHT));
        }
        if department.iter().flatten().any(|department| department.contains('\0')) {
            fields.refuse("department", Problem::Form(NO_NUL));
        }
        if sort.is_some() && (q.is_some() || role.is_some()) {
            fields.refuse("sort", Problem::Form(SORTED_ALREADY));
        }
        let order = match sort {
            Some("name") => Order::Name,
            Some("last_login") => Order::LastLogin,
            _ => Order::Id,
        };
        let asked = PeopleAsked { department: department?, q, role, order };
        Some(Self { corp: corp?, asked, paging: paging? })
    }
}

/// A page of people.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "{T}Page")]
pub(in crate::http) struct Listing<T> {
    items: Vec<T>,
    /// How many there are, counted up to ten thousand.
    total: i64,
    total_exact: bool,
    page: u64,
    page_size: u64,
    next: Option<String>,
}

/// Somebody and the roles they hold.
#[derive(Debug, JsonSchema, Serialize)]
pub(in crate::http) struct Assigned {
    corp_id: String,
    employee_id: String,
    name: String,
    department: String,
    #[schemars(with = "Vec<RoleName>")]
    roles: Roles,
}

impl From<Listed> for Assigned {
    fn from(Listed { person, .. }: Listed) -> Self {
        Self {
            corp_id: person.key.corp().to_owned(),
            employee_id: person.employee_id,
            name: person.name,
            department: person.department,
            roles: person.roles,
        }
    }
}

/// Somebody, with what administrators look for.
#[derive(Debug, JsonSchema, Serialize)]
pub(in crate::http) struct Employee {
    #[serde(flatten)]
    assigned: Assigned,
    avatar: String,
    disabled: bool,
    #[schemars(with = "Option<Moment>")]
    last_login_at: Option<String>,
    last_login_ip: Option<String>,
}

impl From<Listed> for Employee {
    fn from(listed: Listed) -> Self {
        Self {
            avatar: listed.person.avatar.clone(),
            disabled: listed.person.disabled,
            last_login_at: listed.last_login_at.map(iso),
            last_login_ip: listed.last_login_ip.clone(),
            assigned: listed.into(),
        }
    }
}

/// Lists people and their roles.
pub(in crate::http) async fn user_roles(
    State(desk): State<Desk>,
    reader: Reader,
    Query(people): Query<People>,
) -> Result<Reply<Listing<Assigned>>, Failure> {
    list(&desk, &reader, people).await
}

/// Lists people.
pub(in crate::http) async fn employees(
    State(desk): State<Desk>,
    reader: Reader,
    Query(people): Query<People>,
) -> Result<Reply<Listing<Employee>>, Failure> {
    list(&desk, &reader, people).await
}

async fn list<T: From<Listed>>(desk: &Desk, reader: &Reader, people: People) -> Result<Reply<Listing<T>>, Failure> {
    let People { corp, asked, paging } = people;
    let reach = within(reader, desk, corp.as_ref(), asked.department.as_deref()).await?;
    let found = desk.auth.people(reach, asked, paging.after.as_deref(), paging.offset(), paging.limit()).await?;
    let PeopleFound { people, next, total, exact } = found.map_err(|_| bad_cursor())?;
    let items = people.into_iter().map(T::from).collect();
    let Paging { page, page_size, .. } = paging;
    Ok(Reply(Listing { items, total, total_exact: exact, page, page_size, next }))
}

/// A role.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Role")]
pub(in crate::http) struct RoleShown {
    id: i64,
    #[schemars(with = "RoleName")]
    name: Role,
    priority: u8,
}

/// The roles there are.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Roles")]
pub(in crate::http) struct RolesShown {
    items: Vec<RoleShown>,
}

/// Lists the roles.
pub(in crate::http) async fn roles(_: Reader) -> Reply<RolesShown> {
    let shown = |role: Role| RoleShown { id: role.id(), name: role, priority: role.priority() };
    Reply(RolesShown { items: Role::ALL.into_iter().map(shown).collect() })
}

/// The corporations whose people are known here.
#[derive(Debug, JsonSchema, Serialize)]
pub(in crate::http) struct Corporations {
    items: Vec<Corporation>,
}

/// A corporation.
#[derive(Debug, JsonSchema, Serialize)]
pub(in crate::http) struct Corporation {
    corp_id: String,
    home: bool,
}

/// Lists the corporations that the caller may see people of.
pub(in crate::http) async fn corporations(
    State(desk): State<Desk>,
    reader: Reader,
) -> Result<Reply<Corporations>, Failure> {
    let seen = desk.auth.corporations().await?;
    let may_see = |corp: &String| CorpId::parse(corp).is_ok_and(|corp| reader.reaches(&desk, &corp));
    let shown = |corp_id: String| Corporation { home: corp_id == desk.auth.policy.home.as_str(), corp_id };
    Ok(Reply(Corporations { items: seen.into_iter().filter(may_see).map(shown).collect() }))
}

/// Somebody and the roles they are to have.
#[derive(Debug)]
pub(in crate::http) struct Assignment {
    whom: Whom,
    roles: Roles,
}

impl Ask for Assignment {
    fn read(fields: &mut Fields) -> Option<Self> {
        let (whom, names) = (Whom::read(fields), fields.texts("roles", Role::ALL.len()));
        let roles: Option<Roles> = names?.iter().map(|name| Role::from_name(name)).collect();
        if roles.is_none() {
            fields.refuse("roles", Problem::NotOneOf(&Role::NAMES));
        }
        Some(Self { whom: whom?, roles: roles? })
    }
}

/// Roles for somebody who is there.
#[derive(Debug)]
pub(in crate::http) struct ToKnown(EmployeeKey, Roles);

impl Asks for ToKnown {
    fn asks(sheet: &mut Sheet) {
        sheet.reads_body::<Assignment>();
    }
}

impl FromRequest<Window> for ToKnown {
    type Rejection = Failure;
    async fn from_request(request: Request, window: &Window) -> Result<Self, Failure> {
        let (mut parts, body) = request.into_parts();
        let authority = Authority::from_request_parts(&mut parts, window).await?;
        let asked = Body::from_request(Request::from_parts(parts, body), window).await;
        let Body(Assignment { whom, roles }) = asked?;
        let key = whom.key_beside(&authority, &window.desk);
        authority.at(&window.desk).expect_employee(&key).await?;
        Ok(Self(key, roles))
    }
}

/// Gives somebody exactly these roles.
pub(in crate::http) async fn assign(
    State(desk): State<Desk>,
    HighRisk(admin, ToKnown(employee, roles)): HighRisk<ToKnown>,
) -> Result<Reply<Assigned>, Failure> {
    Ok(Reply(admin.at(&desk).set_roles(employee, roles).await?.into()))
}

/// Whether somebody is to be shut out.
#[derive(Debug)]
pub(in crate::http) struct Patch {
    disabled: bool,
}

impl Ask for Patch {
    fn read(fields: &mut Fields) -> Option<Self> {
        Some(Self { disabled: fields.flag("disabled")? })
    }
}

/// Shuts somebody out, or lets them in again.
pub(in crate::http) async fn patch(
    State(desk): State<Desk>,
    HighRisk(admin, On(Known(employee), Body(ask))): HighRisk<On<Known, Body<Patch>>>,
) -> Result<Reply<Done>, Failure> {
    if ask.disabled {
        admin.at(&desk).disable(employee).await?;
    } else {
        admin.at(&desk).enable(employee).await?;
    }
    Ok(Reply(Done::YES))
}
