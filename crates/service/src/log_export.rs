//! The log in its export formats: CSV for spreadsheets, or one JSON object per line.

use std::io::{self, Write};

use deskpass_core::Role;
use deskpass_store::LogRow;
use schemars::JsonSchema;
use serde::Serialize;

use crate::timestamp::{Rfc3339, rfc3339};

/// The format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExportFormat {
    /// RFC 4180, with a header row.
    Csv,
    /// One JSON object per line.
    JsonLines,
}

/// A row of the log with its public field names.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "LogLine")]
pub(crate) struct LogLine<'a> {
    id: &'a str,
    #[schemars(with = "Rfc3339")]
    at: String,
    event: &'a str,
    corp_id: &'a str,
    /// `null` if the employee is not known.
    employee_id: Option<&'a str>,
    current_role: Option<&'static str>,
    login_method: Option<&'a str>,
    login_source: Option<&'a str>,
    ip_address: &'a str,
    peer_address: &'a str,
    user_agent: &'a str,
    actor: Option<Actor<'a>>,
    reason: Option<&'a str>,
    detail: &'a str,
    /// The address that limits and allow-lists were applied to; `null` in rows of earlier versions.
    decided_address: Option<&'a str>,
    /// The reference of the request; `null` in rows of earlier versions and of the command line.
    reference: Option<&'a str>,
    /// Whether the row is in a chain and unchanged; `null` if that was not checked.
    verified: Option<bool>,
}

/// The employee who caused an event about another employee.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
pub(crate) struct Actor<'a> {
    corp_id: &'a str,
    employee_id: &'a str,
}

impl<'a> LogLine<'a> {
    /// Builds the line of a row.
    pub(crate) fn of(row: &'a LogRow) -> Self {
        let there = |text: &'a str| Some(text).filter(|text| !text.is_empty());
        Self {
            id: &row.id,
            at: rfc3339(row.at),
            event: &row.event,
            corp_id: row.about.corp(),
            employee_id: there(row.about.id()),
            current_role: row.role.map(Role::name),
            login_method: there(&row.method),
            login_source: there(&row.source),
            ip_address: &row.ip_address,
            peer_address: &row.peer_address,
            user_agent: &row.user_agent,
            actor: row.actor.as_ref().map(|actor| Actor { corp_id: actor.corp(), employee_id: actor.id() }),
            reason: row.reason.as_deref(),
            detail: &row.detail,
            decided_address: row.decided_address.as_deref(),
            reference: row.reference.as_deref(),
            verified: row.verified,
        }
    }
}

/// The columns of a table: the name in the header row, and the text in the row of a line.
const COLUMNS: [(&str, CellText); 18] = [
    ("id", |line| line.id),
    ("at", |line| &line.at),
    ("event", |line| line.event),
    ("corp_id", |line| line.corp_id),
    ("employee_id", |line| line.employee_id.unwrap_or_default()),
    ("current_role", |line| line.current_role.unwrap_or_default()),
    ("login_method", |line| line.login_method.unwrap_or_default()),
    ("login_source", |line| line.login_source.unwrap_or_default()),
    ("ip_address", |line| line.ip_address),
    ("peer_address", |line| line.peer_address),
    ("user_agent", |line| line.user_agent),
    ("actor_corp_id", |line| line.actor.map_or("", |actor| actor.corp_id)),
    ("actor_employee_id", |line| line.actor.map_or("", |actor| actor.employee_id)),
    ("reason", |line| line.reason.unwrap_or_default()),
    ("detail", |line| line.detail),
    ("decided_address", |line| line.decided_address.unwrap_or_default()),
    ("verified", |line| line.verified.map_or("", |verified| if verified { "true" } else { "false" })),
    // At the end, so that the other columns stay where they were.
    ("reference", |line| line.reference.unwrap_or_default()),
];

type CellText = for<'a> fn(&'a LogLine<'_>) -> &'a str;

impl ExportFormat {
    /// The format with this name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        [Self::Csv, Self::JsonLines].into_iter().find(|format| format.name() == name)
    }

    /// The name of the format, which is also the file extension.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::JsonLines => "jsonl",
        }
    }

    /// Writes what precedes the first row.
    pub(crate) fn write_heading(self, out: impl Write) -> io::Result<()> {
        match self {
            Self::Csv => {
                let mut table = table(out);
                table.write_record(COLUMNS.map(|(name, _)| name)).map_err(io_error)?;
                table.flush()
            }
            Self::JsonLines => Ok(()),
        }
    }

    /// Writes rows, including their line ends.
    pub(crate) fn write_rows(self, rows: &[LogRow], mut out: impl Write) -> io::Result<()> {
        let mut lines = rows.iter().map(LogLine::of);
        match self {
            Self::Csv => {
                let mut table = table(out);
                let written =
                    lines.try_for_each(|line| table.write_record(COLUMNS.map(|(_, text)| disarmed(text(&line)))));
                written.map_err(io_error)?;
                table.flush()
            }
            Self::JsonLines => lines.try_for_each(|line| {
                serde_json::to_writer(&mut out, &line)?;
                out.write_all(b"\n")
            }),
        }
    }
}

/// A writer with the line ends of RFC 4180.
fn table<W: Write>(out: W) -> csv::Writer<W> {
    csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out)
}

/// The error of the writer below, whose kind the conversion by the library would hide: a closed pipe is no error to the caller.
fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// Characters that make a spreadsheet treat a cell as a formula if it starts with one.
const FORMULA_STARTS: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];

/// Characters that a spreadsheet may skip at the start of a text before it detects a formula.
const SKIPPED_STARTS: [char; 3] = ['\t', '\r', '\n'];

/// Characters that may start a new cell in the middle of a text: a spreadsheet uses the separator of its own locale,
/// and may not recognise the quotes of another one.
const SEPARATORS: [char; 4] = [';', '\t', '\r', '\n'];

/// Puts a quote mark before what a spreadsheet would treat as a formula, because untrusted clients choose the text.
fn disarmed(text: &str) -> String {
    let begins_with = |text: &str, any: &[char]| text.trim_start_matches([' ', '"']).starts_with(any);
    let guard = |text: &str, starts: &[char]| if begins_with(text, starts) { "'" } else { "" };
    let first = guard(text, &SKIPPED_STARTS).to_owned();
    text.split_inclusive(SEPARATORS).fold(first, |cell, part| cell + guard(part, &FORMULA_STARTS) + part)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use deskpass_core::{EmployeeKey, Timestamp};
    use serde_json::json;

    use super::*;

    fn row() -> LogRow {
        LogRow {
            id: "0197".to_owned(),
            at: Timestamp::from_millis(1_750_000_000_123),
            event: "roles_changed".to_owned(),
            about: EmployeeKey::from_parts("ww", "zhangsan"),
            role: Some(Role::Admin),
            method: "qrcode".to_owned(),
            source: "itadmin".to_owned(),
            ip_address: "192.0.2.1".to_owned(),
            peer_address: "::1".to_owned(),
            user_agent: "Mozilla/5.0 (X11; Linux)".to_owned(),
            actor: Some(EmployeeKey::from_parts("ww", "admin01")),
            reason: Some("not_held".to_owned()),
            detail: "admin, user -> user".to_owned(),
            decided_address: Some("198.51.100.7".to_owned()),
            reference: Some("1a2b3c4d".to_owned()),
            verified: Some(true),
        }
    }

    fn anonymous_row() -> LogRow {
        LogRow {
            about: EmployeeKey::from_parts("ww", ""),
            role: None,
            method: String::new(),
            source: String::new(),
            actor: None,
            reason: None,
            detail: String::new(),
            decided_address: None,
            reference: None,
            verified: None,
            ..row()
        }
    }

    fn heading(format: ExportFormat) -> String {
        let mut written = Vec::new();
        format.write_heading(&mut written).unwrap();
        String::from_utf8(written).unwrap()
    }

    fn line(format: ExportFormat, row: LogRow) -> String {
        let mut written = Vec::new();
        format.write_rows(&[row], &mut written).unwrap();
        String::from_utf8(written).unwrap()
    }

    #[test]
    fn a_table_has_as_many_cells_as_its_heading() {
        assert_eq!(
            line(ExportFormat::Csv, row()),
            "0197,2025-06-15T15:06:40.123Z,roles_changed,ww,zhangsan,admin,qrcode,itadmin,192.0.2.1,::1,\
             Mozilla/5.0 (X11; Linux),ww,admin01,not_held,\"admin, user -> user\",198.51.100.7,true,1a2b3c4d\r\n"
        );
        assert_eq!(
            heading(ExportFormat::Csv),
            "id,at,event,corp_id,employee_id,current_role,login_method,login_source,ip_address,peer_address,user_agent,\
             actor_corp_id,actor_employee_id,reason,detail,decided_address,verified,reference\r\n"
        );
        let line = line(ExportFormat::Csv, anonymous_row());
        assert_eq!(line.split(',').count(), COLUMNS.len());
        assert!(line.contains(",ww,,,,,192.0.2.1,") && line.ends_with(",,,,,,,\r\n"), "{line}");
    }

    #[test]
    fn a_cell_says_what_it_said_and_is_never_a_formula() {
        for (text, written) in [
            ("", ""),
            ("plain", "plain"),
            ("张三，管理员", "张三，管理员"),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("two\r\nlines", "\"two\r\nlines\""),
            ("=1+1", "'=1+1"),
            ("+86", "'+86"),
            ("-2", "'-2"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\tx", "'\tx"),
            ("\rx", "\"'\rx\""),
            ("=HYPERLINK(\"http://x\",\"y\")", "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\""),
            (" =1", "' =1"),
            ("＝1", "'＝1"),
            ("\n=1", "\"'\n'=1\""),
            ("a;=1", "a;'=1"),
            ("a; =1;b", "a;' =1;b"),
            ("a\t@SUM(A1)", "a\t'@SUM(A1)"),
            ("a;\"=1", "\"a;'\"\"=1\""),
            ("a;＝1", "a;'＝1"),
            ("a\n-2+3", "\"a\n'-2+3\""),
            ("a;b", "a;b"),
            ("\"=1", "\"'\"\"=1\""),
            ("a=b", "a=b"),
            ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
        ] {
            let line = line(ExportFormat::Csv, LogRow { user_agent: text.to_owned(), ..row() });
            assert!(line.contains(&format!(",::1,{written},ww,")), "{text:?}: {line}");
        }
    }

    #[test]
    fn a_closed_pipe_is_reported_as_one() {
        struct ClosedPipe;
        impl Write for ClosedPipe {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        for format in [ExportFormat::Csv, ExportFormat::JsonLines] {
            let written = format.write_rows(&vec![row(); 100], ClosedPipe);
            assert_eq!(written.unwrap_err().kind(), io::ErrorKind::BrokenPipe, "{format:?}");
        }
    }

    #[test]
    fn a_line_of_json_has_the_same_names() {
        let row = LogRow { detail: "张三 \"said\"\nso".to_owned(), ..row() };
        let text = line(ExportFormat::JsonLines, row);
        assert!(text.ends_with("}\n") && text.matches('\n').count() == 1, "{text}");
        assert_eq!(heading(ExportFormat::JsonLines), "");
        let row_json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            row_json,
            json!({
                "id": "0197", "at": "2025-06-15T15:06:40.123Z", "event": "roles_changed", "corp_id": "ww",
                "employee_id": "zhangsan", "current_role": "admin", "login_method": "qrcode", "login_source": "itadmin",
                "ip_address": "192.0.2.1", "peer_address": "::1", "user_agent": "Mozilla/5.0 (X11; Linux)",
                "actor": { "corp_id": "ww", "employee_id": "admin01" }, "reason": "not_held",
                "detail": "张三 \"said\"\nso", "decided_address": "198.51.100.7", "reference": "1a2b3c4d", "verified": true
            })
        );
        let row_json: serde_json::Value =
            serde_json::from_str(&line(ExportFormat::JsonLines, anonymous_row())).unwrap();
        for name in [
            "employee_id",
            "current_role",
            "login_method",
            "login_source",
            "actor",
            "reason",
            "decided_address",
            "reference",
            "verified",
        ] {
            assert_eq!(row_json.get(name), Some(&serde_json::Value::Null), "{name}");
        }
    }
}
