//! Handlers for administrators.

pub(crate) mod agents;
pub(crate) mod employees;
pub(crate) mod ip_rules;
pub(crate) mod links;
pub(crate) mod login_log;
pub(crate) mod oidc_clients;
pub(crate) mod role_rules;
pub(crate) mod roles;
pub(crate) mod service_keys;
pub(crate) mod sessions;
pub(crate) mod statistics;

use deskpass_core::{CorpId, EmployeeId, EmployeeKey};
use schemars::JsonSchema;
use serde::Serialize;

use crate::App;
use crate::http::error::{ApiError, FieldError};
use crate::http::request::{Admin, CheckedInput, FromFields};

/// A change that was made.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Done {
    success: bool,
}

impl Done {
    pub(crate) const YES: Self = Self { success: true };
}

/// An employee of any corporation, as a path or a body names them.
#[derive(Debug, FromFields)]
pub(crate) struct EmployeeRef {
    /// The employee's corporation.
    #[field(name = "corp_id")]
    corp: Option<CorpId>,
    #[field(name = "employee_id")]
    id: EmployeeId,
}

impl EmployeeRef {
    /// The employee's key; without a corporation, in the caller's own.
    pub(crate) fn key_in_own_corp(&self, admin: &Admin, app: &App) -> EmployeeKey {
        let own = CorpId::parse(admin.caller.0.person().key.corp()).ok();
        app.auth.resolve_key(self.corp.as_ref().or(own.as_ref()), &self.id)
    }

    pub(crate) fn key(&self, app: &App) -> EmployeeKey {
        app.auth.resolve_key(self.corp.as_ref(), &self.id)
    }
}

/// A page of a list.
#[derive(Debug, FromFields)]
pub(crate) struct Paging {
    /// The number of the page.
    #[field(range = 1..=1_000_000, default = 1)]
    pub(crate) page: u64,
    #[field(flatten)]
    pub(crate) part: CursorPaging,
}

impl Paging {
    /// The number of items before the page.
    pub(crate) fn offset(&self) -> i64 {
        i64::try_from((self.page - 1) * self.part.page_size).unwrap_or(i64::MAX)
    }
}

/// A part of a list that has a cursor but no page numbers.
#[derive(Debug, FromFields)]
pub(crate) struct CursorPaging {
    /// The most items to return; 50 unless given.
    #[field(range = 1..=200, default = 50)]
    pub(crate) page_size: u64,
    /// The `next` of another page of the same list.
    pub(crate) after: Option<String>,
}

impl CursorPaging {
    pub(crate) fn limit(&self) -> i64 {
        i64::try_from(self.page_size).unwrap_or(i64::MAX)
    }
}

/// The error of a cursor that this list did not return.
pub(crate) fn bad_cursor() -> ApiError {
    let why = ["must be the next value of a page of the same list", "必须是同一列表上一页返回的 next"];
    ApiError::field("after", FieldError::Format(why))
}

/// An existing employee, as the path names them.
#[derive(Debug)]
pub(crate) struct ExistingEmployee(pub(crate) EmployeeKey);

impl CheckedInput for ExistingEmployee {
    type Fields = EmployeeRef;
    async fn check(employee: EmployeeRef, admin: &Admin, app: &App) -> Result<Self, ApiError> {
        let key = employee.key(app);
        admin.administrator(app).require_employee(&key).await?;
        Ok(Self(key))
    }
}
