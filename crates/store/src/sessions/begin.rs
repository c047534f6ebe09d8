//! How a session begins: all of it, or nothing.

use deskpass_core::{Digest, EmployeeKey, Session, Timestamp, Visitor};

use super::network::{self, SignInNetwork};
use super::{Ended, deny};
use crate::acting::line_up;
use crate::agents::{half, record};
use crate::cache::Change;
use crate::database::Tx;
use crate::{LogEntry, Store, StoreError, links};

/// A session about to begin.
#[derive(Clone, Debug)]
pub struct Birth {
    /// What the token hashes to.
    pub digest: Digest,
    /// The session.
    pub session: Session,
    /// Whether the employee's agent record lends the role that is lent, which it then must do still.
    pub lent_by_record: bool,
    /// What it stands on, without which it does not begin.
    pub grounds: Grounds,
    /// How many sessions the person may have at once; the oldest end.
    pub at_most: Option<usize>,
    /// How long the digests of those are denied.
    pub deny_until: Timestamp,
    /// The network it begins from.
    pub network: SignInNetwork,
    /// The row for the log.
    pub entry: LogEntry,
}

/// What a session stands on besides its employee.
#[derive(Clone, Debug)]
pub enum Grounds {
    /// Nothing.
    None,
    /// A proof, which it uses up.
    Proof(Digest),
    /// A link, by which this identity acts as the employee.
    Link(EmployeeKey),
    /// A half of a sign-in, which it completes.
    Half(Digest),
}

/// What became of a session that was to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// It has begun.
    Begun,
    /// It has begun, and a notice waits to be delivered to its employee.
    BegunWithNotice,
    /// Its employee is gone or shut out.
    ShutOut,
    /// What it was to stand on does not hold.
    Groundless,
    /// The agent record lends another role by now, or none.
    Unlent,
}

impl Store {
    /// Begins a session and logs it, if it may begin.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn begin_session(&self, birth: Birth) -> Result<Beginning, StoreError> {
        self.database.write(move |tx| begin(tx, &birth)).await
    }
}

fn begin(tx: &mut Tx<'_>, birth: &Birth) -> Result<Beginning, StoreError> {
    let Birth { digest, session, lent_by_record, grounds, at_most, deny_until, network, entry } = birth;
    let (employee, now) = (&session.employee, session.created_at);
    if let Grounds::Proof(_) | Grounds::Link(_) = grounds {
        // Only for the order of locks: an administrator holds these rows of theirs before a link that they approve to themselves.
        line_up(tx, employee)?;
    }
    let founded = match grounds {
        Grounds::None => true,
        Grounds::Proof(proof) => {
            // Of two that come with it at once, one waits here and then finds it used.
            links::hold(tx, *proof)?;
            match links::permitted(tx, *proof, employee, now)? {
                Some(identity) if identity != *employee => links::holds(tx, &identity, employee)?,
                permitted => permitted.is_some(),
            }
        }
        Grounds::Link(identity) => links::holds(tx, identity, employee)?,
        Grounds::Half(digest) => half::stands(tx, *digest, employee, now)?,
    };
    if !founded {
        return Ok(Beginning::Groundless);
    }
    // Such a role stands until the session ends, so it must not be taken away meanwhile either.
    if *lent_by_record && record::lends(tx, employee)? != session.lent {
        return Ok(Beginning::Unlent);
    }
    // Before the session is written, so that somebody who is being shut out meanwhile is not missed: whoever comes second
    // waits for this row.
    if !is_let_in(tx, session, entry)? {
        return Ok(Beginning::ShutOut);
    }
    if !insert(tx, *digest, session, &entry.visitor)? {
        return again(tx, *digest, employee);
    }
    match grounds {
        Grounds::Proof(proof) => links::spend(tx, *proof, employee, now)?,
        Grounds::Half(digest) => half::spend(tx, *digest)?,
        Grounds::None | Grounds::Link(_) => {}
    }
    if let Some(at_most) = at_most {
        end_oldest(tx, employee, *digest, *at_most, *deny_until)?;
    }
    tx.touch(Change::Born(*digest, session.clone()));
    let told = network::note(tx, employee, network, now)?;
    entry.write(tx)?;
    Ok(if told { Beginning::BegunWithNotice } else { Beginning::Begun })
}

/// Notes the sign-in with the employee, unless they are gone or shut out.
fn is_let_in(tx: &Tx<'_>, session: &Session, entry: &LogEntry) -> Result<bool, StoreError> {
    let text = "UPDATE employee SET last_login_at = $3, last_login_ip = $4
        WHERE corp_id = $1 AND employee_key = $2 AND disabled_at IS NULL";
    let (corp, id) = (session.employee.corp(), session.employee.id());
    Ok(tx.execute(text, &args![corp, id, session.created_at, entry.visitor.address.logged])? == 1)
}

/// Writes the session; `false` when its token has begun one already, or was ended.
fn insert(tx: &Tx<'_>, digest: Digest, session: &Session, visitor: &Visitor) -> Result<bool, StoreError> {
    let text = "INSERT INTO session (digest, corp_id, employee_key, role_id, login_method, login_source, created_at,
        expires_at, proven, lent_role_id, ip_address, user_agent, seen_at)
        SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $7
        WHERE NOT EXISTS (SELECT 1 FROM denied_token WHERE digest = $1) ON CONFLICT (digest) DO NOTHING";
    let values = args![
        digest,
        session.employee.corp(),
        session.employee.id(),
        session.current_role,
        session.method.name(),
        session.source.name(),
        session.created_at,
        session.expires_at,
        session.vouched.number(),
        session.lent,
        visitor.address.decided,
        visitor.user_agent.as_str()
    ];
    Ok(tx.execute(text, &values)? == 1)
}

/// A sign-in may be tried again when nobody knows whether it was committed. Then its session stands as it is.
fn again(tx: &Tx<'_>, digest: Digest, employee: &EmployeeKey) -> Result<Beginning, StoreError> {
    let text = "SELECT 1 FROM session WHERE digest = $1 AND corp_id = $2 AND employee_key = $3";
    let stands = tx.first(text, &args![digest, employee.corp(), employee.id()], |row| row.int(0))?.is_some();
    Ok(if stands { Beginning::Begun } else { Beginning::Groundless })
}

/// Ends the oldest sessions of an employee, so that `at_most` remain with the one just `born`.
fn end_oldest(
    tx: &mut Tx<'_>,
    key: &EmployeeKey,
    born: Digest,
    at_most: usize,
    deny_until: Timestamp,
) -> Result<(), StoreError> {
    let text =
        "DELETE FROM session WHERE digest IN (SELECT digest FROM session WHERE corp_id = $1 AND employee_key = $2
        AND digest <> $3 ORDER BY created_at DESC, digest LIMIT 1000 OFFSET $4) RETURNING digest";
    let others = i64::try_from(at_most.saturating_sub(1)).unwrap_or(i64::MAX);
    let ended = tx.rows(text, &args![key.corp(), key.id(), born, others], |row| row.digest(0))?;
    ended.into_iter().try_for_each(|digest| deny(tx, digest, Ended::Kicked, deny_until))
}
