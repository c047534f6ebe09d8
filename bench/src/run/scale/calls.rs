//! The calls that are measured, through the running service, one at a time.

use std::collections::BTreeMap;

use deskpass_core::Timestamp;
use fastrand::Rng;
use serde_json::{Value, json};

use super::Place;
use super::call::{Answer, Call, Caller};
use crate::connection::Connection;
use crate::error::BenchError;
use crate::plan::CALL_SECONDS;
use crate::progress::grouped;
use crate::report::duration;
use crate::requests::{Requests, WordList};
use crate::run::Run;
use crate::scale_seed::{BUSY_EMPLOYEE, SUPERVISOR, ScaleLayout, days_before, reference};
use crate::seed::{CORP, employee};
use crate::server::Server;
use crate::stats::{nanoseconds, now, share};

const EMPLOYEES: &str = "/api/admin/employees";
const SESSIONS: &str = "/api/admin/sessions";
const LOG: &str = "/api/admin/login-log";

/// The results of one kind of call.
#[derive(Debug, Default)]
pub(super) struct CallResults {
    pub(super) times: Vec<u32>,
    /// What the responses said: the most items, and whether anything was cut off.
    answer: Answer,
    failures: usize,
}

impl CallResults {
    pub(super) fn add_failure(&mut self, name: &str, why: &str) {
        if self.failures == 0 {
            eprintln!("{name} failed:\n{why}");
        }
        self.failures += 1;
    }

    fn add(&mut self, answer: &Answer) {
        self.answer.items = self.answer.items.max(answer.items);
        self.answer.is_page_cut |= answer.is_page_cut;
        self.answer.is_count_cut |= answer.is_count_cut;
    }

    /// What was cut off, as the end of a sentence.
    const fn cut_off(&self) -> &'static str {
        match (self.answer.is_page_cut, self.answer.is_count_cut) {
            (false, false) => "",
            (true, false) => "; page cut off",
            (false, true) => "; count cut off",
            (true, true) => "; page and count cut off",
        }
    }
}

/// The tokens of the users who call.
struct Tokens {
    admin: String,
    supervisor: String,
    user: String,
}

impl Tokens {
    const fn of(&self, caller: Caller) -> Option<&String> {
        match caller {
            Caller::Admin => Some(&self.admin),
            Caller::Supervisor => Some(&self.supervisor),
            Caller::User => Some(&self.user),
            Caller::Operator => None,
        }
    }
}

impl Run<'_> {
    /// Measures all lists, searches and counts.
    pub(super) async fn calls(&mut self, place: &Place, server: &Server, moment: Timestamp) -> Result<(), BenchError> {
        let (title, layout) = (place.title(), self.plan.scale);
        self.progress.step(format_args!("{title}: lists, searches and counts"));
        let tokens = Tokens {
            admin: sign_in(server, 0).await?,
            supervisor: sign_in(server, SUPERVISOR).await?,
            user: sign_in(server, BUSY_EMPLOYEE).await?,
        };
        let calls = [people_calls(layout), session_calls(layout), log_calls(layout, moment)?, other_calls(moment)?];
        for call in calls.into_iter().flatten() {
            let results = self.measure(server, &call, tokens.of(call.caller).map(String::as_str)).await?;
            self.progress.at(call.name, results.times.len(), self.plan.calls);
            self.report_calls(&format!("{title}: {}", call.name), results);
        }
        Ok(())
    }

    async fn measure(&self, server: &Server, call: &Call, token: Option<&str>) -> Result<CallResults, BenchError> {
        let (mut connection, mut rng) = (Connection::open(server.address).await?, Rng::with_seed(21));
        let (mut results, mut after) = (CallResults::default(), None::<String>);
        for _ in 0..self.plan.calls {
            let request = call.request(&mut rng, after.as_deref(), token);
            let sent = now();
            let answer = connection.exchange(&request).await;
            results.times.push(nanoseconds(sent.elapsed()));
            let failure = match answer {
                Ok(answer) if answer.is_ok() => {
                    let answer = Answer::read(answer.body());
                    results.add(&answer);
                    after = answer.next;
                    continue;
                }
                Ok(answer) => answer.text(),
                Err(BenchError(why)) => why,
            };
            results.add_failure(call.name, &failure);
            // The server may have closed the connection.
            (connection, after) = (Connection::open(server.address).await?, None);
        }
        Ok(results)
    }

    /// Adds the results of calls to the report.
    pub(super) fn report_calls(&mut self, name: &str, mut results: CallResults) {
        results.times.sort_unstable();
        let [p50, p99] = [50, 99].map(|percent| share(&results.times, percent));
        let (count, items) = (results.times.len(), results.answer.items);
        let items = if items > 0 { format!(", {items} items") } else { String::new() };
        let failed = match results.failures {
            0 => String::new(),
            failures => format!("; {failures} failed"),
        };
        let (seen, cut_off) = (format!("p50 {} of {}{items}", duration(p50), grouped(count)), results.cut_off());
        let figure = format!("p99 {}{cut_off}{failed}", duration(p99));
        let met = results.failures == 0 && (p99 <= CALL_SECONDS || !cut_off.is_empty());
        self.report.figure(name, &seen, &figure, Some((&*format!("{:.0} ms", CALL_SECONDS * 1_000.0), met)));
    }
}

/// Signs an employee in; returns the token.
pub(super) async fn sign_in(server: &Server, number: usize) -> Result<String, BenchError> {
    let (bind, mut request) = (Requests::bind(WordList::one(&employee(number))), Vec::new());
    bind.write(0, &mut request);
    let mut connection = Connection::open(server.address).await?;
    let answer: Value = serde_json::from_slice(connection.exchange(&request).await?.body())?;
    let token = answer.pointer("/data/token").and_then(Value::as_str);
    Ok(token.ok_or_else(|| format!("{} cannot sign in: {answer}", employee(number)))?.to_owned())
}

fn people_calls(layout: ScaleLayout) -> Vec<Call> {
    let list = |query: &str| format!("{EMPLOYEES}?{query}");
    let department = move |rng: &mut Rng| layout.department_name(rng.usize(..layout.departments()));
    let far_pages = layout.employees / 50;
    vec![
        Call::pages("employees by identifier, page after page", list("sort=employee_id")),
        Call::pages("employees by name, page after page", list("sort=name")),
        Call::pages("employees by last sign-in, page after page", list("sort=last_login")),
        Call::drawn("employees, any page by its number", move |rng| {
            format!("{EMPLOYEES}?page={}", 1 + rng.usize(..far_pages))
        }),
        Call::drawn("employees of a department", move |rng| format!("{EMPLOYEES}?department={}", department(rng))),
        Call::pages("employees with a role that nearly all have, page after page", list("role=user")),
        Call::same("employees with a rare role", list("role=security")),
        Call::drawn("employees of a department with a rare role", move |rng| {
            format!("{EMPLOYEES}?department={}&role=security", department(rng))
        }),
        Call::pages("search that finds everybody, page after page", list("q=bench")),
        Call::same("search that finds one in 16", list("q=qiang")),
        Call::drawn("search that finds one", move |rng| format!("{EMPLOYEES}?q={:07}", rng.usize(..layout.employees))),
        Call::same("search that finds nobody", list("q=zzz")),
        Call::same("search that everybody fits, with a role of one in 200", list("q=bench&role=supervisor")),
        Call::same("search that everybody fits, with a rare role", list("q=bench&role=security")),
        Call::drawn("search that everybody fits, in a department", move |rng| {
            format!("{EMPLOYEES}?q=bench&department={}", department(rng))
        }),
        Call::pages("roles of employees, page after page", "/api/admin/roles/user-roles?page_size=50"),
        Call::drawn("one employee", move |rng| {
            format!("{EMPLOYEES}/{CORP}/{}", employee(rng.usize(..layout.employees)))
        }),
        Call::same("corporations", "/api/admin/corporations"),
        Call::pages("agents, page after page", "/api/admin/agents?page_size=50"),
        Call::pages("agents and authenticators, page after page", "/api/admin/agents?devices=true"),
        Call::pages("employees of the supervisor's department", list("sort=employee_id")).by(Caller::Supervisor),
    ]
}

fn session_calls(layout: ScaleLayout) -> Vec<Call> {
    vec![
        Call::pages("sessions, page after page", format!("{SESSIONS}?page_size=50")),
        Call::drawn("sessions of an employee", move |rng| {
            format!("{SESSIONS}?employee_id={}", employee(rng.usize(..layout.employees)))
        }),
        Call::pages("sessions with a role that nearly all have", format!("{SESSIONS}?role=user")),
        Call::same("sessions with a rare role", format!("{SESSIONS}?role=security")),
        Call::same("sessions of the supervisor's department", SESSIONS).by(Caller::Supervisor),
        Call::same("own sessions", "/api/auth/sessions").by(Caller::User),
    ]
}

fn log_calls(layout: ScaleLayout, moment: Timestamp) -> Result<Vec<Call>, BenchError> {
    let list = |query: &str| format!("{LOG}?{query}");
    let person = move |rng: &mut Rng| employee(rng.usize(..layout.employees));
    let busy = employee(BUSY_EMPLOYEE);
    let (from, to) = (text(days_before(moment, 30))?, text(days_before(moment, 29))?);
    Ok(vec![
        Call::pages("audit log, page after page", list("page_size=50")),
        Call::drawn("audit log of an employee", move |rng| format!("{LOG}?employee_id={}", person(rng))),
        Call::pages("audit log of an employee with very many rows", list(&format!("employee_id={busy}"))),
        Call::same("audit log of that employee, one event", list(&format!("employee_id={busy}&event=switch_role"))),
        Call::pages("audit log, a frequent event", list("event=sign_in")),
        Call::same("audit log, a rare event", list("event=roles_changed")),
        Call::drawn("audit log of an address", move |rng| {
            format!("{LOG}?ip_address=10.20.{}.{}", rng.u8(..), rng.u8(..))
        }),
        Call::same("audit log, a frequent reason", list("reason=no_role")),
        Call::same("audit log, a reason that no row has", list("reason=locked")),
        Call::same("audit log, a method that no row has", list("method=password")),
        Call::drawn("audit log, a reference", move |rng| {
            format!("{LOG}?reference={}", reference(rng.usize(..layout.log_rows)))
        }),
        Call::pages("audit log of a day a month ago", list(&format!("from={from}&to={to}"))),
        Call::same("audit log of the supervisor's department", list("page_size=50")).by(Caller::Supervisor),
        Call::same("own sign-ins", "/api/auth/sign-ins").by(Caller::User),
    ])
}

fn other_calls(moment: Timestamp) -> Result<Vec<Call>, BenchError> {
    let (from, to) = (text(days_before(moment, 92))?, text(moment.millis())?);
    let mut lists: BTreeMap<_, _> = ["admin", "agent", "supervisor", "security"].map(|role| (role, json!([]))).into();
    // Half of the addresses that sessions began at.
    lists.insert("user", json!(["10.20.0.0/17"]));
    Ok(vec![
        Call::same("statistics of 7 days", "/api/admin/statistics"),
        Call::same("statistics of 92 days", format!("/api/admin/statistics?from={from}&to={to}")),
        Call::post("allow-lists, dry run", "/api/admin/ip-rules/dry-run", json!(lists).to_string()),
        Call::same("metrics", "/metrics").by(Caller::Operator),
    ])
}

/// A time as the API reads it.
fn text(millis: i64) -> Result<String, BenchError> {
    Ok(jiff::Timestamp::from_millisecond(millis)?.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}
