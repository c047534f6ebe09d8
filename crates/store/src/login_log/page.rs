//! Reading the log: newest first, a page at a time, along one index.

use deskpass_core::{LoginMethod, Timestamp};

use super::row::{COLUMNS, LogRow, read};
use super::row_check::verify_rows;
use super::{AuditEvent, ChainKeys};
use crate::database::{Row, Sql, SqlValue, in_snapshot, read_directly};
use crate::{DirectReadError, Location, Mode, Result, Store};

/// The maximum number of index entries scanned for a page. A search for rare rows continues from there.
const MAX_SCANNED_ENTRIES: usize = 20_000;

/// The number of entries read at once: few, when a page needs few.
const BATCH_SIZES: [usize; 2] = [64, 512];

/// The number of rows passed at once to a reader of the whole log.
const EXPORT_BATCH: usize = 1_000;

/// Which rows to read: those of one corporation that match all given conditions.
#[derive(Clone, Debug, Default)]
pub struct LogFilter {
    /// The corporation of the event.
    pub corp: String,
    /// About employees of the department with this id.
    pub department_id: Option<String>,
    /// About this employee, by canonical identifier.
    pub employee: Option<String>,
    /// Of this kind.
    pub event: Option<AuditEvent>,
    /// From this address, as written in the log.
    pub ip_address: Option<String>,
    /// Refused for this reason.
    pub reason: Option<String>,
    /// With this sign-in method.
    pub method: Option<LoginMethod>,
    /// Of the request with this reference.
    pub reference: Option<String>,
    /// Not before this time.
    pub from: Option<Timestamp>,
    /// Before this time.
    pub to: Option<Timestamp>,
    /// The keys to verify each row with.
    pub key: Option<ChainKeys>,
}

/// A page of the log.
#[derive(Clone, Debug, Default)]
pub struct LogPage {
    /// The rows, newest first.
    pub rows: Vec<LogRow>,
    /// Where the next page continues. It may be present with few rows, or none, when the scan reached its limit.
    pub next: Option<String>,
}

#[derive(Clone, Copy, Debug)]
enum LogIndex {
    Reference,
    EmployeeEvent,
    Employee,
    Address,
    Event,
    Corp,
}

impl LogIndex {
    const ALL: [Self; 6] =
        [Self::Reference, Self::EmployeeEvent, Self::Employee, Self::Address, Self::Event, Self::Corp];

    /// The index with the fewest entries to scan, and the values to look up.
    fn of(filter: &LogFilter) -> (Self, Vec<&str>) {
        if let Some(reference) = &filter.reference {
            return (Self::Reference, vec![reference]);
        }
        match (&filter.employee, &filter.ip_address, filter.event) {
            (Some(employee), _, Some(event)) => (Self::EmployeeEvent, vec![employee, event.name()]),
            (Some(employee), _, None) => (Self::Employee, vec![employee]),
            (None, Some(address), _) => (Self::Address, vec![address]),
            (None, None, Some(event)) => (Self::Event, vec![event.name()]),
            (None, None, None) => (Self::Corp, Vec::new()),
        }
    }

    const fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Reference => &["reference"],
            Self::EmployeeEvent => &["employee_key", "event"],
            Self::Employee => &["employee_key"],
            Self::Address => &["ip_address"],
            Self::Event => &["event"],
            Self::Corp => &[],
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Reference => "login_log_by_reference",
            Self::EmployeeEvent => "login_log_of_employee_by_event",
            Self::Employee => "login_log_of_employee",
            Self::Address => "login_log_by_address",
            Self::Event => "login_log_by_event",
            Self::Corp => "login_log_of_corp",
        }
    }

    /// The statement for the next `step` entries. It forces the use of this index, whatever a database estimates about the frequency of
    /// values: SQLite is told its name; for PostgreSQL, the column before `id` is compared and ordered by, too. The lower bound of that
    /// column stands alone: in a comparison of several columns, PostgreSQL ends its search only by the first one, and would read on to
    /// the end of the corporation.
    fn text(self, sql: &Sql<'_>, step: usize, department: bool) -> String {
        let hint = sql.index_hint(self.name());
        let columns = [&["corp_id"], self.columns()].concat();
        let mut asked: Vec<_> = columns.iter().zip(["$1", "$3", "$4"]).collect();
        let (column, value) = asked.pop().unwrap_or((&"corp_id", "$1"));
        let equal: Vec<_> = asked.iter().flat_map(|(column, value)| [**column, " = ", *value, " AND "]).collect();
        let equal = equal.concat();
        let department = if department { DEPARTMENT } else { "NULL" };
        // The index has only rows with a reference.
        let present = if matches!(self, Self::Reference) { "reference IS NOT NULL AND " } else { "" };
        format!(
            "{COLUMNS}, {department} FROM login_log l {hint}
             WHERE {present}{equal}({column}, id) < ({value}, $2) AND {column} >= {value}
             ORDER BY {column} DESC, id DESC LIMIT {step}"
        )
    }
}

const DEPARTMENT: &str =
    "(SELECT department_id FROM employee e WHERE e.corp_id = l.corp_id AND e.employee_key = l.employee_key)";

impl Store {
    /// The newest `limit` matching rows before the row `before`, among at most 20 000 scanned entries of one index.
    pub async fn log_page(&self, filter: LogFilter, before: Option<String>, limit: i64) -> Result<LogPage> {
        let limit = usize::try_from(limit).unwrap_or(0);
        let page = move |sql: &Sql<'_>| in_snapshot(sql, |sql| read_page(sql, &filter, before.clone(), limit));
        self.database.read(page).await
    }
}

/// Passes all matching rows to `take`, newest first in batches, read next to the running service; stops when `take` fails.
pub async fn read_log<E: Send + 'static>(
    location: &Location,
    mode: Mode,
    filter: LogFilter,
    mut take: impl FnMut(Vec<LogRow>) -> Result<(), E> + Send + 'static,
) -> Result<Result<(), E>, DirectReadError> {
    let read = move |sql: &Sql<'_>| {
        let mut before = None;
        loop {
            let page = in_snapshot(sql, |sql| read_page(sql, &filter, before, EXPORT_BATCH))?;
            before = page.next;
            let taken = take(page.rows);
            if taken.is_err() || before.is_none() {
                return Ok(taken);
            }
        }
    };
    read_directly(location, mode, read).await
}

pub(crate) fn find_row(sql: &Sql<'_>, id: &str) -> Result<Option<LogRow>> {
    sql.first(&format!("{COLUMNS} FROM login_log WHERE id = $1"), &args![id], read)
}

pub(crate) fn read_page(sql: &Sql<'_>, filter: &LogFilter, before: Option<String>, limit: usize) -> Result<LogPage> {
    let mut page = collect(sql, filter, before, limit)?;
    if let Some(key) = &filter.key {
        verify_rows(sql, key, &mut page.rows)?;
    }
    Ok(page)
}

fn collect(sql: &Sql<'_>, filter: &LogFilter, before: Option<String>, limit: usize) -> Result<LogPage> {
    let (way, along) = LogIndex::of(filter);
    let (from, to) = (
        filter.from.map_or_else(String::new, first_id_at),
        filter.to.map_or_else(|| AFTER_ALL_IDS.to_owned(), first_id_at),
    );
    let mut before = before.into_iter().chain([to]).min().unwrap_or_default();
    let (mut page, mut looked) = (LogPage::default(), 0);
    while looked < MAX_SCANNED_ENTRIES {
        let [few, many] = BATCH_SIZES;
        let step = if looked == 0 && limit < few { few } else { many };
        let values = values(&filter.corp, &before, &along);
        let entries =
            sql.rows(&way.text(sql, step, filter.department_id.is_some()), &values, |row| entry(row, filter))?;
        looked += entries.len();
        let ended = entries.len() < step;
        for (id, row) in entries {
            if id < from {
                return Ok(page);
            }
            if row.is_some() && page.rows.len() == limit {
                page.next = Some(before);
                return Ok(page);
            }
            page.rows.extend(row);
            before = id;
        }
        if ended {
            return Ok(page);
        }
    }
    page.next = Some(before);
    Ok(page)
}

/// The values of the statements; the index values come last.
fn values<'a>(corp: &'a str, before: &'a str, along: &[&'a str]) -> Vec<SqlValue<'a>> {
    [corp, before].into_iter().chain(along.iter().copied()).map(SqlValue::from).collect()
}

/// The identifier of an entry, and its row if it matches.
fn entry(row: &Row<'_>, filter: &LogFilter) -> Result<(String, Option<LogRow>)> {
    let department = filter.department_id.is_none() || row.maybe_text(17)? == filter.department_id;
    let row = read(row)?;
    Ok((row.id.clone(), Some(row).filter(|row| department && filter.fits(row))))
}

impl LogFilter {
    /// Whether a row of this corporation and period matches all conditions on its own columns.
    fn fits(&self, row: &LogRow) -> bool {
        self.employee.as_deref().is_none_or(|employee| row.about.id() == employee)
            && self.event.is_none_or(|event| row.event == event.name())
            && self.ip_address.as_ref().is_none_or(|address| row.ip_address == *address)
            && self.reason.as_deref().is_none_or(|reason| is_reason(row, reason))
            && (self.reference.is_none() || row.reference == self.reference)
            && self.method.is_none_or(|method| row.method == method.name())
    }
}

/// Whether a row was refused for this reason. Rows of earlier versions have one word for both kinds of disabled employees, which
/// still finds both.
fn is_reason(row: &LogRow, reason: &str) -> bool {
    let Some(found) = row.reason.as_deref() else { return false };
    found == reason || (reason == "disabled" && matches!(found, "disabled_here" | "left_platform"))
}

/// Sorts after every identifier.
const AFTER_ALL_IDS: &str = "g";

/// Sorts before all identifiers from this time on.
pub(crate) fn first_id_at(moment: Timestamp) -> String {
    // As many digits as identifiers have, so that texts sort like numbers.
    format!("{:012x}", moment.millis().clamp(0, 0xffff_ffff_ffff))
}

/// The statements behind a page, each with a name and values, for the tests of their plans.
pub(crate) fn page_statements(sql: &Sql<'_>) -> impl Iterator<Item = (String, String, Vec<SqlValue<'static>>)> {
    LogIndex::ALL.into_iter().flat_map(|way| [(way, false), (way, true)]).map(move |(way, department)| {
        let values = values("ww", AFTER_ALL_IDS, way.columns());
        (format!("log along {way:?}"), way.text(sql, BATCH_SIZES[1], department), values)
    })
}

/// The same for values that no entry has, and that sort after all others.
pub(crate) fn empty_page_statements(sql: &Sql<'_>) -> impl Iterator<Item = (String, String, Vec<SqlValue<'static>>)> {
    LogIndex::ALL.into_iter().filter(|way| !way.columns().is_empty()).map(move |way| {
        let along = vec!["zzz"; way.columns().len()];
        (format!("log along {way:?}"), way.text(sql, BATCH_SIZES[1], false), values("ww", AFTER_ALL_IDS, &along))
    })
}
