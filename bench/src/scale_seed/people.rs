//! Employees, their roles and search terms, and agents.

use deskpass_core::{Role, Timestamp, search_terms};
use fastrand::Rng;

use super::layout::{DAY_MILLIS, ScaleLayout, address, days_before};
use super::table::Column::{Int, Text};
use super::table::{Cell, Table};
use crate::seed::{CORP, employee};

pub(super) const EMPLOYEE: Table = Table {
    name: "employee",
    columns: &[
        Text("corp_id"),
        Text("employee_key"),
        Text("employee_id"),
        Text("name"),
        Text("department"),
        Text("department_id"),
        Text("avatar"),
        Int("created_at"),
        Int("disabled_at"),
        Int("last_login_at"),
        Text("last_login_ip"),
        Text("terms_of"),
        Int("watched"),
        Int("tried_at"),
    ],
    is_replaced: false,
};

pub(super) const USER_ROLE: Table =
    Table { name: "user_role", columns: &[Text("corp_id"), Text("employee_key"), Int("role_id")], is_replaced: false };

pub(super) const EMPLOYEE_TERM: Table = Table {
    name: "employee_term",
    columns: &[Text("corp_id"), Text("term"), Text("employee_key")],
    is_replaced: false,
};

pub(super) const AGENT: Table = Table {
    name: "agent",
    columns: &[
        Text("corp_id"),
        Text("employee_key"),
        Int("role_id"),
        Int("created_at"),
        Int("disabled_at"),
        Int("device_only"),
        Text("otp_secret"),
        Int("otp_bound_at"),
    ],
    is_replaced: false,
};

/// The given names: a search for one of them finds one employee in 16.
const GIVEN_NAMES: [&str; 16] = [
    "Wei", "Fang", "Na", "Min", "Jing", "Li", "Qiang", "Lei", "Yang", "Yan", "Jun", "Ping", "Gang", "Hui", "Xia", "Bo",
];

const FAMILY_NAMES: [&str; 20] = [
    "Wang", "Zhang", "Liu", "Chen", "Zhao", "Huang", "Zhou", "Wu", "Xu", "Sun", "Hu", "Zhu", "Gao", "Lin", "He", "Guo",
    "Ma", "Luo", "Liang", "Song",
];

/// The role of an employee. One employee is an administrator, one in 10 000 has the role security, one in 200 is a supervisor.
pub(super) fn role(number: usize) -> Role {
    match number {
        0 => Role::Admin,
        _ if number % 10_000 == 1 => Role::Security,
        _ if number % 200 == 2 => Role::Supervisor,
        _ if is_agent(number) => Role::Agent,
        _ => Role::User,
    }
}

fn is_agent(number: usize) -> bool {
    number % 100 == 3
}

/// Whether an employee is no agent and has an authenticator.
fn has_device_only(number: usize) -> bool {
    number % 20 == 5
}

fn name(number: usize) -> String {
    let word = |names: &[&'static str], at: usize| names.get(at % names.len().max(1)).copied().unwrap_or_default();
    let given = word(&GIVEN_NAMES, number);
    let family = word(&FAMILY_NAMES, number / GIVEN_NAMES.len());
    format!("{given} {family} {number:07}")
}

/// The employees. All have signed in lately, except for one in ten.
pub(super) fn employees(layout: ScaleLayout, now: Timestamp) -> impl Iterator<Item = Vec<Cell>> {
    let mut rng = Rng::with_seed(11);
    (0..layout.employees).map(move |number| -> Vec<Cell> {
        let (id, name, department) = (employee(number), name(number), layout.department_of(number));
        let signed_in = (number % 10 != 9).then(|| days_before(now, 90) + rng.i64(0..90 * DAY_MILLIS));
        let disabled = (number % 100 == 99).then(|| days_before(now, 30));
        vec![
            CORP.into(),
            id.clone().into(),
            id.into(),
            name.clone().into(),
            layout.department_name(department).into(),
            department.to_string().into(),
            "".into(),
            days_before(now, 400).into(),
            disabled.into(),
            signed_in.into(),
            signed_in.map(|_| address(&mut rng).to_string()).into(),
            name.into(),
            // As after a sign-in: otherwise the service would mark all of them at its start.
            1_i64.into(),
            now.millis().into(),
        ]
    })
}

pub(super) fn roles(layout: ScaleLayout) -> impl Iterator<Item = Vec<Cell>> {
    (0..layout.employees)
        .map(|number| -> Vec<Cell> { vec![CORP.into(), employee(number).into(), role(number).id().into()] })
}

/// The search terms, in the order of the primary key.
pub(super) fn terms(layout: ScaleLayout) -> Vec<(String, usize)> {
    let of = |number| search_terms(&employee(number), &name(number)).into_iter().map(move |term| (term, number));
    let mut terms: Vec<_> = (0..layout.employees).flat_map(of).collect();
    terms.sort_unstable();
    terms
}

pub(super) fn term((term, number): (String, usize)) -> Vec<Cell> {
    vec![CORP.into(), term.into(), employee(number).into()]
}

/// The agents, and the employees who are no agents and have an authenticator.
pub(super) fn agents(layout: ScaleLayout, now: Timestamp) -> impl Iterator<Item = Vec<Cell>> {
    let numbers = (0..layout.employees).filter(|number| is_agent(*number) || has_device_only(*number));
    numbers.map(move |number| -> Vec<Cell> {
        let (at, device_only) = (days_before(now, 300), !is_agent(number));
        let role = if device_only { Role::User } else { Role::Agent };
        vec![
            CORP.into(),
            employee(number).into(),
            role.id().into(),
            at.into(),
            device_only.then_some(at).into(),
            i64::from(device_only).into(),
            // Nobody signs in with it.
            device_only.then_some("sealed").into(),
            device_only.then_some(at).into(),
        ]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_a_value_for_every_column() {
        let (layout, now) = (ScaleLayout::QUICK, Timestamp::from_millis(1_800_000_000_000));
        assert!(employees(layout, now).all(|row| row.len() == EMPLOYEE.columns.len()));
        assert!(roles(layout).all(|row| row.len() == USER_ROLE.columns.len()));
        assert!(agents(layout, now).all(|row| row.len() == AGENT.columns.len()));
        assert_eq!(employees(layout, now).count(), layout.employees);
        let terms = terms(layout);
        assert_eq!(terms.len(), 4 * layout.employees, "{:?}", terms.first());
        assert_eq!(term(("a".to_owned(), 1)).len(), EMPLOYEE_TERM.columns.len());
    }
}
