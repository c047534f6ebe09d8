//! Preview of the sessions that allow-lists would lock out.

use std::net::IpAddr;

use deskpass_core::{AllowLists, Digest, Role, Timestamp};

use super::list::find_sessions;
use crate::database::{Row, Sql, in_snapshot};
use crate::{ListedSession, Result, Store};

/// The number of sessions read at once, as in [`SESSIONS`].
const BATCH_ROWS: usize = 5_000;

/// The maximum number of sessions that are checked. Digests are random: the first of them are a fair sample of all.
const MAX_SCANNED_SESSIONS: usize = 20_000;

/// The next sessions, in the order of the primary key.
pub(super) const SESSIONS: &str = "SELECT digest, role_id, expires_at, ip_address FROM session WHERE digest > $1
    ORDER BY digest LIMIT 5000";

/// The sessions that an allow-list would lock out of its role.
#[derive(Clone, Debug)]
pub struct RoleLockout {
    /// The role.
    pub role: Role,
    /// The number of sessions in which the role is active and that began at an address outside the list, as far as was checked.
    pub number: u64,
    /// Whether all sessions were checked; otherwise there may be more.
    pub exact: bool,
    /// Some of those sessions.
    pub some: Vec<ListedSession>,
}

impl RoleLockout {
    /// Nobody is locked out of this role.
    #[must_use]
    pub const fn none(role: Role) -> Self {
        Self { role, number: 0, exact: true, some: Vec::new() }
    }
}

/// What was found about a role so far.
struct Tally {
    role: Role,
    number: u64,
    some: Vec<Digest>,
}

/// A session of which the address is known.
struct CheckedSession {
    digest: Digest,
    role: Role,
    address: IpAddr,
}

impl Store {
    /// Previews allow-lists: for each role the sessions that its list would lock out, and up to `listed` of them. Sessions from
    /// before addresses were recorded cannot be checked. At most 20 000 sessions are read, once for all roles.
    pub async fn preview_lockouts(&self, lists: AllowLists, now: Timestamp, listed: usize) -> Result<Vec<RoleLockout>> {
        if lists.is_empty() {
            return Ok(Role::ALL.map(RoleLockout::none).into());
        }
        let preview = move |sql: &Sql<'_>| in_snapshot(sql, |sql| preview(sql, &lists, now, listed));
        self.database.read(preview).await
    }
}

fn preview(sql: &Sql<'_>, lists: &AllowLists, now: Timestamp, listed: usize) -> Result<Vec<RoleLockout>> {
    let mut tallies = Role::ALL.map(|role| Tally { role, number: 0, some: Vec::new() });
    let (mut after, mut scanned, mut ended) = (String::new(), 0, false);
    while !ended && scanned < MAX_SCANNED_SESSIONS {
        let sessions = sql.rows(SESSIONS, &args![&*after], |row| Ok((row.text(0)?, checked_session(row, now)?)))?;
        scanned += sessions.len();
        ended = sessions.len() < BATCH_ROWS;
        for (digest, session) in sessions {
            after = digest;
            let Some(CheckedSession { digest, role, address }) = session else { continue };
            let tally = tallies.iter_mut().find(|tally| tally.role == role && !lists.allow(role, address));
            if let Some(tally) = tally {
                tally.number += 1;
                tally.some.extend((tally.some.len() < listed).then_some(digest));
            }
        }
    }
    let some: Vec<_> = tallies.iter().flat_map(|tally| tally.some.iter().copied()).collect();
    let mut sessions = find_sessions(sql, &some)?;
    let lockout = |Tally { role, number, some }| {
        let exact = ended || lists.list(role).is_empty();
        let some = some.iter().filter_map(|digest| sessions.remove(digest)).collect();
        RoleLockout { role, number, exact, some }
    };
    Ok(tallies.into_iter().map(lockout).collect())
}

/// A session that has not expired, if its address is known.
fn checked_session(row: &Row<'_>, now: Timestamp) -> Result<Option<CheckedSession>> {
    let address = row.maybe_text(3)?.and_then(|text| text.parse::<IpAddr>().ok());
    let known = Role::from_id(row.int(1)?).zip(address);
    let (digest, is_over) = (row.digest(0)?, row.timestamp(2)? <= now);
    Ok(known.filter(|_| !is_over).map(|(role, address)| CheckedSession { digest, role, address }))
}
