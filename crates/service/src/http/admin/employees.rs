//! Employees and corporations, for administrators.

use deskpass_auth::{DefaultRoleGrant, PeopleQuery, PeopleResult};
use deskpass_core::{CorpId, Role, Roles};
use deskpass_store::{ListedAgent, ListedPerson, PeopleOrder, RoleOrigin, UnconfirmedHolder};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Done, EmployeeRef, ExistingEmployee, Paging, bad_cursor};
use crate::App;
use crate::http::error::{ApiError, FieldError};
use crate::http::request::{
    FieldKind, FieldValue, FromFields, GivenValue, HighRisk, InvalidFields, Path, PathAndBody, Query, Reader,
};
use crate::http::response::{LeftReasonName, Reply, RoleName};
use crate::timestamp::Rfc3339;

/// The sort orders of a list.
const SORT_ORDERS: &[&str] = &["employee_id", "name", "last_login"];

/// The error of `sort` in a list whose order is fixed.
const SORT_CONFLICT: [&str; 2] =
    ["cannot be combined with q or role, which have their own order", "不能与 q 或 role 同时使用"];
/// The error of a text with U+0000, which databases cannot store.
const NO_NUL: [&str; 2] = ["must not contain U+0000", "不能包含 U+0000"];

/// The longest search text, in bytes.
const MAX_SEARCH_BYTES: usize = 128;

/// The query of the list of employees.
#[derive(Debug, FromFields)]
pub(crate) struct PeoplePageQuery {
    /// The corporation of the employees; the caller's own unless given.
    #[field(name = "corp_id")]
    corp: Option<CorpId>,
    #[field(flatten)]
    filter: PeopleQuery,
    #[field(flatten)]
    paging: Paging,
}

/// The employees that the query selects, and their order.
#[derive(FromFields)]
#[field(into = PeopleQuery)]
struct PeopleFilter {
    /// The name of the department.
    department: Option<String>,
    /// The start of an employee id, of a name, or of a word in a name.
    q: Option<String>,
    /// A role that the employees hold.
    role: Option<Role>,
    /// The order of the list; cannot be combined with `q` or `role`.
    sort: Option<PeopleOrder>,
}

impl TryFrom<PeopleFilter> for PeopleQuery {
    type Error = InvalidFields;
    fn try_from(PeopleFilter { department, q, role, sort }: PeopleFilter) -> Result<Self, InvalidFields> {
        let q = q.filter(|q| !q.is_empty());
        let too_long = q.as_ref().is_some_and(|q| q.len() > MAX_SEARCH_BYTES);
        let has_nul = department.as_ref().is_some_and(|department| department.contains('\0'));
        InvalidFields::check([
            (too_long, "q", FieldError::TooLong(MAX_SEARCH_BYTES)),
            (has_nul, "department", FieldError::Format(NO_NUL)),
            (sort.is_some() && (q.is_some() || role.is_some()), "sort", FieldError::Format(SORT_CONFLICT)),
        ])?;
        Ok(Self { department, q, role, order: sort.unwrap_or(PeopleOrder::Id) })
    }
}

impl FieldValue for PeopleOrder {
    fn kind() -> FieldKind {
        FieldKind::OneOf(SORT_ORDERS)
    }

    fn read(given: GivenValue) -> Result<Self, FieldError> {
        match &*given.text()? {
            "employee_id" => Ok(Self::Id),
            "name" => Ok(Self::Name),
            "last_login" => Ok(Self::LastLogin),
            _ => Err(FieldError::NotOneOf(SORT_ORDERS)),
        }
    }
}

/// A page of employees.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "{T}Page")]
pub(crate) struct Listing<T> {
    items: Vec<T>,
    /// The number of matching employees among the first 10,000 candidates.
    total: i64,
    total_exact: bool,
    page: u64,
    page_size: u64,
    next: Option<String>,
}

/// An employee and the roles they hold.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Assigned {
    corp_id: String,
    employee_id: String,
    name: String,
    department: String,
    #[schemars(with = "Vec<RoleName>")]
    roles: Roles,
}

impl From<ListedPerson> for Assigned {
    fn from(ListedPerson { person, .. }: ListedPerson) -> Self {
        Self {
            corp_id: person.key.corp().to_owned(),
            employee_id: person.employee_id,
            name: person.name,
            department: person.department,
            roles: person.roles,
        }
    }
}

/// An employee, with what administrators search for.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Employee {
    #[serde(flatten)]
    assigned: Assigned,
    /// The role with which the employee signs in through the platform although it is not assigned: that of the agent record, or the setting `default_role`; `null` if there is none.
    default_role: Option<RoleName>,
    avatar: String,
    disabled: bool,
    /// Why the employee may not sign in according to the platform; `null` if the employee may.
    left: Option<LeftReasonName>,
    /// Whether the platform says that another person has the identifier now, which an administrator must confirm: until then no role counts.
    unconfirmed: bool,
    last_login_at: Option<Rfc3339>,
    last_login_ip: Option<String>,
}

impl Employee {
    fn new(listed: ListedPerson, default_role: Option<DefaultRoleGrant>) -> Self {
        Self {
            default_role: default_role.map(|granted| RoleName(granted.role)),
            avatar: listed.person.avatar.clone(),
            disabled: listed.person.disabled,
            left: listed.person.left.map(LeftReasonName),
            unconfirmed: listed.person.unconfirmed,
            last_login_at: listed.last_login_at.map(Rfc3339),
            last_login_ip: listed.last_login_ip.clone(),
            assigned: listed.into(),
        }
    }
}

/// An item of a list of employees.
pub(crate) trait ListItem: Sized {
    fn of(listed: ListedPerson, app: &App) -> impl Future<Output = Result<Self, ApiError>> + Send;
}

impl ListItem for Assigned {
    async fn of(listed: ListedPerson, _: &App) -> Result<Self, ApiError> {
        Ok(listed.into())
    }
}

impl ListItem for Employee {
    async fn of(listed: ListedPerson, app: &App) -> Result<Self, ApiError> {
        let (_, default_role) = app.auth.platform_sign_in_roles(&listed.person).await?;
        Ok(Self::new(listed, default_role))
    }
}

/// An employee with the roles that they sign in with, and their credentials.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct EmployeeDetails {
    #[serde(flatten)]
    employee: Employee,
    /// The roles that the employee has when they sign in through the platform; without any, they cannot.
    #[schemars(with = "Vec<RoleName>")]
    sign_in_roles: Roles,
    /// Why the employee holds each assigned role.
    role_origins: Vec<RoleOriginShown>,
    /// Who has the identifier now, according to the platform, if that must be confirmed; else `null`.
    unconfirmed_holder: Option<UnconfirmedHolderShown>,
    /// The password and the authenticator; `null` if the employee has none, or if the caller is not an administrator of the main corporation.
    credentials: Option<Credentials>,
}

/// Who has an identifier now, according to the platform.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "UnconfirmedHolder")]
pub(crate) struct UnconfirmedHolderShown {
    since: Rfc3339,
    /// The name of the former holder; `null` if it is not known.
    former_name: Option<String>,
    /// The name of the present holder; `null` if it is not known.
    name: Option<String>,
    /// Whether the person cannot sign in before they are confirmed; otherwise they sign in with the default role.
    refused: bool,
    /// Names the person as shown here; to be sent to confirm them.
    digest: String,
}

impl From<UnconfirmedHolder> for UnconfirmedHolderShown {
    fn from(unconfirmed: UnconfirmedHolder) -> Self {
        let digest = unconfirmed.digest();
        let UnconfirmedHolder { since, former, now } = unconfirmed;
        Self { since: Rfc3339(since), former_name: former.name, refused: now.has_id(), name: now.name, digest }
    }
}

/// Why an employee holds a role.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "RoleOrigin")]
pub(crate) struct RoleOriginShown {
    role: RoleName,
    by_hand: bool,
    by_rule: bool,
    /// When the role ends by itself; `null` if it does not.
    until: Option<Rfc3339>,
    /// Why the temporary role was given; `null` if the role is not temporary.
    reason: Option<String>,
}

impl From<RoleOrigin> for RoleOriginShown {
    fn from(RoleOrigin { role, by_hand, by_rule, until, reason }: RoleOrigin) -> Self {
        Self { role: RoleName(role), by_hand, by_rule, until: until.map(Rfc3339), reason }
    }
}

/// What an employee has to prove themselves with, besides the platform.
#[derive(Debug, JsonSchema, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about an employee")]
pub(crate) struct Credentials {
    is_agent: bool,
    has_password: bool,
    has_device: bool,
    device_proven: bool,
    device_verified_at: Option<Rfc3339>,
    /// Whether too many failed attempts have locked them.
    locked: bool,
}

impl From<ListedAgent> for Credentials {
    fn from(ListedAgent { agent, locked, .. }: ListedAgent) -> Self {
        let device = agent.device.as_ref();
        Self {
            is_agent: !agent.device_only,
            has_password: agent.password.is_some(),
            has_device: device.is_some(),
            device_proven: device.is_some_and(|device| device.proven),
            device_verified_at: device.and_then(|device| device.verified_at).map(Rfc3339),
            locked,
        }
    }
}

/// Shows one employee.
pub(crate) async fn show(
    app: App,
    reader: Reader,
    Path(EmployeeRef { corp, id }): Path<EmployeeRef>,
) -> Result<Reply<EmployeeDetails>, ApiError> {
    let listed = app.auth.employee(reader.access_scope(&app, corp.as_ref()).await?, &id).await?;
    let credentials = if reader.is_home_admin(&app) {
        app.auth.credentials(listed.person.key.clone()).await?.map(Credentials::from)
    } else {
        None
    };
    let role_origins = role_origins(&app, &reader, &listed).await?;
    let (sign_in_roles, default_role) = app.auth.platform_sign_in_roles(&listed.person).await?;
    let unconfirmed_holder = app.auth.unconfirmed_holder(listed.person.key.clone()).await?;
    let unconfirmed_holder = unconfirmed_holder.map(UnconfirmedHolderShown::from);
    let employee = Employee::new(listed, default_role);
    Ok(Reply(EmployeeDetails { employee, sign_in_roles, role_origins, unconfirmed_holder, credentials }))
}

async fn role_origins(app: &App, reader: &Reader, listed: &ListedPerson) -> Result<Vec<RoleOriginShown>, ApiError> {
    let administrator = app.auth.administrator(&reader.caller, reader.visitor.clone());
    let origins = administrator.role_origins(listed.person.key.clone()).await?;
    Ok(origins.into_iter().map(RoleOriginShown::from).collect())
}

/// Lists employees, each as a `T`.
pub(crate) async fn list<T: ListItem>(
    app: App,
    reader: Reader,
    Query(PeoplePageQuery { corp, filter, paging }): Query<PeoplePageQuery>,
) -> Result<Reply<Listing<T>>, ApiError> {
    let scope = reader.access_scope(&app, corp.as_ref()).await?;
    let is_other = |name: &String| *name != reader.caller.0.person().department();
    if scope.department_id.is_some() && filter.department.as_ref().is_some_and(is_other) {
        // A caller who may see one department only cannot ask for another.
        return reader.deny(&app).await;
    }
    let (part, offset) = (&paging.part, paging.offset());
    let found = app.auth.people(scope, filter, part.after.as_deref(), offset, part.limit()).await?;
    let PeopleResult { people, next, total, exact } = found.map_err(|_| bad_cursor())?;
    let mut items = Vec::with_capacity(people.len());
    for listed in people {
        items.push(T::of(listed, &app).await?);
    }
    let (page, page_size) = (paging.page, paging.part.page_size);
    Ok(Reply(Listing { items, total, total_exact: exact, page, page_size, next }))
}

/// The corporations with known employees.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Corporations {
    items: Vec<Corporation>,
}

/// A corporation.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Corporation {
    corp_id: String,
    home: bool,
}

/// Lists the corporations whose employees the caller may see.
pub(crate) async fn corporations(app: App, reader: Reader) -> Result<Reply<Corporations>, ApiError> {
    let seen = app.auth.corporations().await?;
    let may_see = |corp: &String| CorpId::parse(corp).is_ok_and(|corp| reader.may_read(&app, &corp));
    let shown = |corp_id: String| Corporation { home: corp_id == app.auth.policy.home_corp.as_str(), corp_id };
    Ok(Reply(Corporations { items: seen.into_iter().filter(may_see).map(shown).collect() }))
}

/// Whether the employee is disabled.
#[derive(Debug, FromFields)]
pub(crate) struct EmployeePatch {
    disabled: bool,
}

/// Disables or enables an employee.
pub(crate) async fn update(
    app: App,
    HighRisk(admin, PathAndBody(ExistingEmployee(employee), input)): HighRisk<
        PathAndBody<ExistingEmployee, EmployeePatch>,
    >,
) -> Result<Reply<Done>, ApiError> {
    if input.disabled {
        admin.administrator(&app).disable(employee).await?;
    } else {
        admin.administrator(&app).enable(employee).await?;
    }
    Ok(Reply(Done::YES))
}

/// Which person is confirmed.
#[derive(Debug, FromFields)]
pub(crate) struct HolderConfirmation {
    /// The `digest` of `unconfirmed_holder`, as it was shown.
    digest: String,
}

/// Confirms the person who has an employee's identifier now.
pub(crate) async fn confirm_holder(
    app: App,
    HighRisk(admin, PathAndBody(ExistingEmployee(employee), input)): HighRisk<
        PathAndBody<ExistingEmployee, HolderConfirmation>,
    >,
) -> Result<Reply<Done>, ApiError> {
    admin.administrator(&app).confirm_holder(employee, input.digest).await?;
    Ok(Reply(Done::YES))
}
