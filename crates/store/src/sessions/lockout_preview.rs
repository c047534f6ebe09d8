//! Preview of the sessions that an allow list would exclude.

use std::net::IpAddr;

use deskpass_core::{AllowLists, Digest, Networks, Role, Timestamp};

use crate::database::Sql;
use crate::{ListedSession, Result, Store};

/// The number of sessions read at once, as in [`SESSIONS`]. All sessions are checked, however many.
const BATCH_ROWS: i64 = 5_000;

/// The next sessions, in the order of the primary key.
pub(super) const SESSIONS: &str = "SELECT digest, role_id, expires_at, ip_address FROM session WHERE digest > $1
    ORDER BY digest LIMIT 5000";

impl Store {
    /// Previews an allow list of `networks` for `role`: the number of sessions in which the role is active and that began
    /// elsewhere, and up to `limit` of them. Sessions from before addresses were recorded cannot be checked.
    pub async fn preview_lockout(
        &self,
        role: Role,
        networks: Networks,
        now: Timestamp,
        limit: usize,
    ) -> Result<(u64, Vec<ListedSession>)> {
        let lists: AllowLists = networks.as_slice().iter().map(|network| (role, *network)).collect();
        let (mut count, mut some, mut after) = (0, Vec::new(), String::new());
        loop {
            let from = after.clone();
            let addresses = self.database.read(move |sql| addresses(sql, &from, role, now)).await?;
            for (digest, address) in &addresses.known {
                if !lists.allow(role, *address) {
                    count += 1;
                    if some.len() < limit {
                        some.push(*digest);
                    }
                }
            }
            match addresses.last {
                Some(last) => after = last,
                None => break,
            }
        }
        let mut sessions = Vec::new();
        for digest in some {
            // The session may have ended meanwhile.
            sessions.extend(self.find_session(digest).await?);
        }
        Ok((count, sessions))
    }
}

struct AddressPage {
    known: Vec<(Digest, IpAddr)>,
    /// Where the next page continues.
    last: Option<String>,
}

fn addresses(sql: &Sql<'_>, after: &str, role: Role, now: Timestamp) -> Result<AddressPage> {
    let rows = sql.rows(SESSIONS, &args![after], |row| {
        let counts = row.int(1)? == role.id() && row.timestamp(2)? > now;
        let address = row.maybe_text(3)?.and_then(|text| text.parse::<IpAddr>().ok());
        Ok((row.digest(0)?, address.filter(|_| counts)))
    })?;
    let is_full = i64::try_from(rows.len()).is_ok_and(|count| count == BATCH_ROWS);
    let last = rows.last().filter(|_| is_full).map(|(digest, _)| digest.to_text());
    let known = rows.into_iter().filter_map(|(digest, address)| Some((digest, address?))).collect();
    Ok(AddressPage { known, last })
}
