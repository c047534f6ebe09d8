//! Rows of the log as whoever reads them gets them: in answers, and as lines of a file.

use std::io::Write as _;

use deskpass_core::{EmployeeKey, Role};
use deskpass_store::LogRow;
use serde::Serialize;

use crate::http::iso;

/// A row of the log.
#[derive(Debug, Serialize)]
pub(crate) struct LogItem {
    id: String,
    at: String,
    event: String,
    corp_id: String,
    /// Nothing where nobody is known.
    employee_id: Option<String>,
    current_role: Option<Role>,
    login_method: Option<String>,
    login_source: Option<String>,
    ip_address: String,
    peer_address: String,
    user_agent: String,
    actor: Option<Actor>,
    reason: Option<String>,
    detail: String,
}

/// Who did something to somebody else.
#[derive(Debug, Serialize)]
pub(crate) struct Actor {
    corp_id: String,
    employee_id: String,
}

impl From<LogRow> for LogItem {
    fn from(row: LogRow) -> Self {
        let actor = |actor: EmployeeKey| Actor { corp_id: actor.corp().into(), employee_id: actor.id().into() };
        Self {
            id: row.id,
            at: iso(row.at),
            event: row.event,
            corp_id: row.about.corp().to_owned(),
            employee_id: said(row.about.id().to_owned()),
            current_role: row.role,
            login_method: said(row.method),
            login_source: said(row.source),
            ip_address: row.ip_address,
            peer_address: row.peer_address,
            user_agent: row.user_agent,
            actor: row.actor.map(actor),
            reason: row.reason,
            detail: row.detail,
        }
    }
}

fn said(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// RFC 4180, with a head.
    Csv,
    /// A JSON object on each line.
    NdJson,
    /// The same by its other name.
    JsonLines,
}

/// The columns of a table, in their order.
const COLUMNS: &str = "id,at,event,corp_id,employee_id,current_role,login_method,login_source,ip_address,peer_address,\
    user_agent,actor_corp_id,actor_employee_id,reason,detail\r\n";

impl Format {
    /// What HTTP calls it.
    pub(crate) const fn media_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv; charset=utf-8; header=present",
            Self::NdJson => "application/x-ndjson",
            Self::JsonLines => "application/jsonl",
        }
    }

    /// How the name of such a file ends.
    pub(crate) const fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::NdJson | Self::JsonLines => "jsonl",
        }
    }

    /// What stands above the rows.
    pub(crate) const fn head(self) -> &'static str {
        match self {
            Self::Csv => COLUMNS,
            Self::NdJson | Self::JsonLines => "",
        }
    }

    /// Writes a row.
    pub(crate) fn write(self, item: &LogItem, into: &mut Vec<u8>) {
        match self {
            Self::Csv => write_csv(item, into),
            Self::NdJson | Self::JsonLines => {
                // Texts and words cannot fail to be rendered.
                let _ = serde_json::to_writer(&mut *into, item);
                into.push(b'\n');
            }
        }
    }
}

fn write_csv(item: &LogItem, into: &mut Vec<u8>) {
    let actor = |part: fn(&Actor) -> &str| item.actor.as_ref().map(part).unwrap_or_default();
    let cells = [
        &*item.id,
        &item.at,
        &item.event,
        &item.corp_id,
        item.employee_id.as_deref().unwrap_or_default(),
        item.current_role.map_or("", Role::name),
        item.login_method.as_deref().unwrap_or_default(),
        item.login_source.as_deref().unwrap_or_default(),
        &item.ip_address,
        &item.peer_address,
        &item.user_agent,
        actor(|actor| &actor.corp_id),
        actor(|actor| &actor.employee_id),
        item.reason.as_deref().unwrap_or_default(),
        &item.detail,
    ];
    for (at, cell) in cells.into_iter().enumerate() {
        if at > 0 {
            into.push(b',');
        }
        write_cell(cell, into);
    }
    into.extend_from_slice(b"\r\n");
}

/// What makes a spreadsheet take a cell for a formula, if it begins with it.
const FORMULA: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// Writes a cell. A stranger's words may be made for the spreadsheet in which an administrator opens them, so what would be a
/// formula there gets an apostrophe in front, which makes it text.
fn write_cell(text: &str, into: &mut Vec<u8>) {
    let formula = text.trim_start_matches(' ').starts_with(FORMULA);
    if !formula && !text.contains([',', '"', '\r', '\n']) {
        into.extend_from_slice(text.as_bytes());
        return;
    }
    // Nothing can go wrong in memory.
    let _ = write!(into, "\"{}{}\"", if formula { "'" } else { "" }, text.replace('"', "\"\""));
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use deskpass_core::Timestamp;

    use super::*;

    fn row(user_agent: &str) -> LogRow {
        LogRow {
            id: "0".repeat(32),
            at: Timestamp::from_millis(1_800_000_000_000),
            event: "sign_in_refused".to_owned(),
            about: EmployeeKey::from_parts("ww", ""),
            role: None,
            method: "bind".to_owned(),
            source: String::new(),
            ip_address: "::1".to_owned(),
            peer_address: "127.0.0.1".to_owned(),
            user_agent: user_agent.to_owned(),
            actor: Some(EmployeeKey::from_parts("ww", "-a")),
            reason: Some("disabled".to_owned()),
            detail: String::new(),
        }
    }

    fn written(format: Format, user_agent: &str) -> String {
        let mut bytes = Vec::new();
        format.write(&row(user_agent).into(), &mut bytes);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_table_has_as_many_cells_as_columns_and_quotes_what_it_must() {
        let plain = written(Format::Csv, "curl/8.5.0");
        let zeros = "0".repeat(32);
        assert_eq!(
            plain,
            format!(
                "{zeros},2027-01-15T08:00:00Z,sign_in_refused,ww,,,bind,,::1,127.0.0.1,curl/8.5.0,ww,\"'-a\",disabled,\r\n"
            )
        );
        assert_eq!(plain.matches(',').count(), COLUMNS.matches(',').count());
        assert!(written(Format::Csv, "a \"b\", c\nd").contains(",\"a \"\"b\"\", c\nd\","));
    }

    #[test]
    fn no_cell_is_a_formula() {
        for formula in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1", "＠a"] {
            let text = written(Format::Csv, formula);
            assert!(text.contains(&format!(",\"'{formula}\",")), "{text}");
        }
    }

    #[test]
    fn a_line_is_an_object_on_one_line() {
        for format in [Format::NdJson, Format::JsonLines] {
            let text = written(format, "a\nb\"c");
            let (line, rest) = text.split_once('\n').unwrap();
            assert_eq!(rest, "");
            let item: serde_json::Value = serde_json::from_str(line).unwrap();
            let expected = serde_json::json!({
                "id": "0".repeat(32), "at": "2027-01-15T08:00:00Z", "event": "sign_in_refused", "corp_id": "ww",
                "employee_id": null, "current_role": null, "login_method": "bind", "login_source": null,
                "ip_address": "::1", "peer_address": "127.0.0.1", "user_agent": "a\nb\"c",
                "actor": { "corp_id": "ww", "employee_id": "-a" }, "reason": "disabled", "detail": "",
            });
            assert_eq!(item, expected);
        }
    }
}
