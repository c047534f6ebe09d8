//! Rows of the audit log, in its chains, so that they can be verified and pruned.

use std::net::IpAddr;

use deskpass_core::{
    ClientAddress, ClientInfo, EmployeeKey, LoginMethod, LoginSource, Reference, Role, Timestamp, UserAgent,
};
use deskpass_store::{AuditEvent, ChainKeys, ChainPlace, LogEntry};
use fastrand::Rng;

use super::layout::{BUSY_EMPLOYEE, ScaleLayout, USER_AGENT, address, days_before, int};
use super::people::role;
use super::table::Column::{Int, Text};
use super::table::{Cell, Table};
use crate::seed::{CORP, employee};

pub(super) const LOGIN_LOG: Table = Table {
    name: "login_log",
    columns: &[
        Text("id"),
        Int("at"),
        Text("event"),
        Text("corp_id"),
        Text("employee_key"),
        Int("role_id"),
        Text("login_method"),
        Text("login_source"),
        Text("ip_address"),
        Text("peer_address"),
        Text("user_agent"),
        Text("actor_corp_id"),
        Text("actor_key"),
        Text("reason"),
        Text("detail"),
        Int("chain"),
        Int("seq"),
        Text("hash"),
        Text("decided_address"),
        Int("seen_seq"),
        Text("seen_hash"),
        Text("reference"),
    ],
    is_replaced: true,
};

/// The age of the oldest row, and of the newest row that is pruned, in days.
const OLDEST_DAYS: i64 = 100;
pub(crate) const PRUNED_DAYS: i64 = 90;

/// The age of the newest row: rows that the service writes during the measurement come after it.
const NEWEST_MILLIS: i64 = 60_000;

/// The reference of a row. No other row has it.
pub(crate) fn reference(number: usize) -> Reference {
    // Multiplying by an odd number permutes the numbers.
    Reference::new(u32::try_from(number).unwrap_or_default().wrapping_mul(0x9e37_79b1))
}

/// The entries, the oldest first.
pub(super) fn entries(layout: ScaleLayout, now: Timestamp, keys: &ChainKeys) -> impl Iterator<Item = LogEntry> {
    let mut rng = Rng::with_seed(14);
    let agent = UserAgent::from_header(USER_AGENT.as_bytes());
    (0..layout.log_rows).map(move |number| {
        let at = moment(layout, now, number);
        let (event, reason) = what_happened(number);
        let owner = if number % 97 == 7 { BUSY_EMPLOYEE } else { rng.usize(..layout.employees.max(1)) };
        let from = IpAddr::from(address(&mut rng));
        let visitor = ClientInfo {
            address: ClientAddress { logged: from, decided: from, peer: [10, 0, 0, 1].into() },
            user_agent: agent.clone(),
            reference: Some(reference(number)),
        };
        let by_admin = event == AuditEvent::RolesChanged;
        LogEntry {
            id: format!("{at:012x}{:020x}", rng.u64(..)),
            at: Timestamp::from_millis(at),
            event,
            about: EmployeeKey::from_parts(CORP, &employee(owner)),
            role: (!by_admin).then(|| role(owner)),
            method: (!by_admin).then_some(LoginMethod::Qrcode),
            source: (!by_admin).then(|| LoginSource::of(role(owner))),
            visitor,
            actor: by_admin.then(|| EmployeeKey::from_parts(CORP, &employee(0))),
            reason,
            detail: String::new(),
            key: keys.clone(),
        }
    })
}

/// What a row is about: a sign-in, mostly; rarely a change by the administrator.
fn what_happened(number: usize) -> (AuditEvent, Option<&'static str>) {
    match number % 100 {
        0 if number.is_multiple_of(100_000) => (AuditEvent::RolesChanged, None),
        0..70 => (AuditEvent::SignIn, None),
        70..90 => (AuditEvent::Logout, None),
        90..99 => (AuditEvent::SignInRefused, Some("no_role")),
        _ => (AuditEvent::SwitchRole, None),
    }
}

/// The time of a row, in milliseconds: rows are spread evenly over the time in which they are kept, and over the time before that.
fn moment(layout: ScaleLayout, now: Timestamp, number: usize) -> i64 {
    let (prunable, kept_from) = (layout.prunable_rows(), days_before(now, PRUNED_DAYS));
    let (from, to, place, count) = if number < prunable {
        (days_before(now, OLDEST_DAYS), kept_from, number, prunable)
    } else {
        (kept_from, now.millis() - NEWEST_MILLIS, number - prunable, layout.log_rows - prunable)
    };
    from + (to - from) * int(place) / int(count.max(1))
}

/// The values of a row.
pub(super) fn row(entry: LogEntry, place: ChainPlace) -> Vec<Cell> {
    let ClientAddress { logged, decided, peer } = entry.visitor.address;
    let ChainPlace { chain, seq, hash, seen_seq, seen_hash } = place;
    vec![
        entry.id.into(),
        entry.at.millis().into(),
        entry.event.name().into(),
        entry.about.corp().into(),
        entry.about.id().into(),
        entry.role.map_or(0, Role::id).into(),
        entry.method.map_or("", LoginMethod::name).into(),
        entry.source.map_or("", LoginSource::name).into(),
        logged.to_string().into(),
        peer.to_string().into(),
        entry.visitor.user_agent.as_str().into(),
        entry.actor.as_ref().map(EmployeeKey::corp).into(),
        entry.actor.as_ref().map(EmployeeKey::id).into(),
        entry.reason.into(),
        entry.detail.into(),
        chain.into(),
        seq.into(),
        hash.into(),
        decided.to_string().into(),
        seen_seq.into(),
        seen_hash.into(),
        entry.visitor.reference.map(|reference| reference.to_string()).into(),
    ]
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use deskpass_core::EncryptionKeys;
    use deskpass_store::ChainBuilder;

    use super::*;

    #[test]
    fn entries_ascend_and_end_before_now() {
        let (layout, now) = (ScaleLayout::QUICK, Timestamp::from_millis(1_800_000_000_000));
        let keys = ChainKeys::new(&EncryptionKeys::one([7; 32]));
        let mut chains = ChainBuilder::new(keys.clone());
        let all: Vec<_> = entries(layout, now, &keys).collect();
        assert!(all.is_sorted_by(|one, next| one.id < next.id && one.at < next.at));
        let kept_from = Timestamp::from_millis(days_before(now, PRUNED_DAYS));
        assert_eq!(all.iter().filter(|entry| entry.at < kept_from).count(), layout.prunable_rows());
        assert!(all.last().unwrap().at < now);
        let place = chains.append(all.first().unwrap());
        assert_eq!(row(all.first().unwrap().clone(), place).len(), LOGIN_LOG.columns.len());
    }
}
