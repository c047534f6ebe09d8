//! Who holds an identifier, according to the platform. An identifier that passes to another person must not open the account of the
//! former holder: as soon as the platform says what fits another person only, the roles of the record do not count, until an operator
//! confirms the holder. The roles stay where they are. Sessions and sign-ins that are under way may be the former holder's: they end.

use deskpass_core::{Digest, EmployeeKey, Holder, HolderChange, Role, Timestamp};

use crate::cache::CacheChange;
use crate::database::{Sql, SqlValue, Tx};
use crate::deny_list::EndReason;
use crate::locks::{lock_agent, lock_employee};
use crate::oidc::endings::end_all_of;
use crate::sessions::{SessionScope, end_sessions_of};
use crate::temporary_admin::Gift;
use crate::{ChangeAuthor, ChangeError, LogEntry, Notice, Result, Store};

/// What the platform says about who holds an employee's identifier.
#[derive(Clone, Debug)]
pub struct HolderReport {
    /// The employee.
    pub key: EmployeeKey,
    /// What it says.
    pub said: Holder,
    /// When it was asked. An answer from before the identifier passed on is about the former holder, and is ignored.
    pub asked_at: Timestamp,
    /// The role that everyone has: only others need protection.
    pub default_role: Option<Role>,
    /// The time.
    pub now: Timestamp,
    /// How long the digests of the ended sessions are denied.
    pub deny_until: Timestamp,
}

/// What is written when another person seems to hold an identifier.
#[derive(Clone, Debug)]
pub struct HolderAlarm {
    /// The notices for administrators.
    pub notices: Vec<Notice>,
    /// The audit event.
    pub entry: LogEntry,
}

/// Outcome of following who holds an identifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HolderOutcome {
    /// Nothing says that it is another person, or there is no such employee.
    Confirmed,
    /// It seems to be another person. The roles do not count.
    Unconfirmed,
    /// It seems to be another person, and nothing is written yet: call again with an alarm. Contains the former holder.
    NeedsAlarm(Holder),
}

/// Someone who seems to be another person than the former holder of an identifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnconfirmedHolder {
    /// Since when.
    pub since: Timestamp,
    /// What was known of the former holder.
    pub former: Holder,
    /// What the platform says now.
    pub now: Holder,
}

/// How much of a digest names a claimant: 64 bits, which nobody can hit who may choose their name.
const CLAIM_DIGITS: usize = 16;

impl UnconfirmedHolder {
    /// A short digest of what the platform says now, which an operator confirms.
    #[must_use]
    pub fn digest(&self) -> String {
        digest_of(&self.now)
    }
}

fn digest_of(claimant: &Holder) -> String {
    let digest = Digest::of(&[b"claimant", text_of(claimant).as_bytes()]).to_text();
    digest.get(..CLAIM_DIGITS).unwrap_or_default().to_owned()
}

/// Outcome of confirming a holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfirmOutcome {
    /// The holder is confirmed.
    Confirmed,
    /// There was nothing to confirm.
    NotNeeded,
    /// The platform says something else about the holder by now than what was confirmed.
    Changed,
    /// There is no such employee.
    Unknown,
}

/// What is known of the holder of an identifier.
#[derive(Debug, Default)]
struct KnownHolder {
    known: Option<Holder>,
    claimant: Option<Holder>,
    unconfirmed_at: Option<Timestamp>,
    /// Only read: [`note_holder`] writes it.
    since: Option<Timestamp>,
}

/// What has to be written.
enum Step {
    /// Nothing.
    None(HolderOutcome),
    /// This is known from now on, and the holder is confirmed.
    Learn(Holder),
    /// This is what the platform says about a holder who is unconfirmed already, and may be yet another person.
    Renew(Holder),
    /// Another person seems to hold the identifier; this is the former one.
    Doubt(Holder),
}

impl Store {
    /// Compares what the platform says about who holds an identifier with what is known, and keeps it. Usually nothing is written.
    pub async fn follow_holder(&self, report: HolderReport, alarm: Option<HolderAlarm>) -> Result<HolderOutcome> {
        let reported = report.clone();
        match self.database.read(move |sql| next_step(sql, &reported)).await? {
            Step::None(outcome) => Ok(outcome),
            Step::Doubt(former) if alarm.is_none() => Ok(HolderOutcome::NeedsAlarm(former)),
            Step::Learn(_) | Step::Renew(_) | Step::Doubt(_) => {
                self.database.write(move |tx| follow(tx, &report, alarm.as_ref())).await
            }
        }
    }

    /// Has the platform asked about an employee at the next re-check, since a sign-in got no answer about who holds the identifier. Only if
    /// there is something to compare, and to protect.
    pub async fn compare_holder_soon(&self, key: EmployeeKey, default_role: Option<Role>) -> Result<bool> {
        let employee = key.clone();
        if !self.database.read(move |sql| has_roles_by_hand(sql, &employee, default_role)).await? {
            return Ok(false);
        }
        let text = "UPDATE employee SET tried_at = NULL WHERE corp_id = $1 AND employee_key = $2 AND holder IS NOT NULL
            AND unconfirmed_at IS NULL";
        self.database.write(move |tx| Ok(tx.execute(text, &args![key.corp(), key.id()])? > 0)).await
    }

    /// What is known of the holders of these identifiers; those of whom nothing is known are left out.
    pub async fn holders(&self, corp: String, keys: Vec<String>) -> Result<Vec<(String, Holder)>> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let places: Vec<_> = (2..keys.len() + 2).map(|number| format!("${number}")).collect();
        let text = format!(
            "SELECT employee_key, holder FROM employee WHERE corp_id = $1 AND unconfirmed_at IS NULL AND holder IS NOT NULL
             AND employee_key IN ({})",
            places.join(", ")
        );
        self.database
            .read(move |sql| {
                let mut values = vec![SqlValue::from(&*corp)];
                values.extend(keys.iter().map(|key| SqlValue::from(&**key)));
                let found = sql.rows(&text, &values, |row| Ok((row.text(0)?, parsed(row.maybe_text(1)?))))?;
                Ok(found.into_iter().filter_map(|(key, holder)| Some((key, holder?))).collect())
            })
            .await
    }

    /// The holder of an identifier who seems to be another person than the former one, if that is so.
    pub async fn unconfirmed_holder(&self, key: EmployeeKey) -> Result<Option<UnconfirmedHolder>> {
        let found = self.database.read(move |sql| find(sql, &key)).await?.unwrap_or_default();
        let KnownHolder { known, claimant, unconfirmed_at, .. } = found;
        let (former, now) = (known.unwrap_or_default(), claimant.unwrap_or_default());
        Ok(unconfirmed_at.map(|since| UnconfirmedHolder { since, former, now }))
    }

    /// Confirms that the present holder of an identifier, as [`UnconfirmedHolder::digest`] names them, may have what the record has, and
    /// logs it. Sessions from before another person had the identifier end.
    pub async fn confirm_holder(
        &self,
        by: ChangeAuthor,
        key: EmployeeKey,
        claimed: String,
        deny_until: Timestamp,
        entry: LogEntry,
    ) -> Result<ConfirmOutcome, ChangeError> {
        self.write_giving(by, Gift::Account(key.clone()), move |tx| {
            lock_employee(tx, &key)?;
            let Some(KnownHolder { known, claimant, unconfirmed_at, .. }) = find(tx, &key)? else {
                return Ok(ConfirmOutcome::Unknown);
            };
            let Some(unconfirmed_at) = unconfirmed_at else { return Ok(ConfirmOutcome::NotNeeded) };
            let present = claimant.clone().unwrap_or_default();
            if digest_of(&present) != claimed {
                return Ok(ConfirmOutcome::Changed);
            }
            let detail = described(&known.unwrap_or_default(), &present);
            // The doubt ended them, unless a node of the previous version began some since.
            let older = SessionScope::BeganBefore(unconfirmed_at);
            end_sessions_of(tx, &key, older, (EndReason::Kicked, deny_until), entry.at)?;
            write(tx, &key, &KnownHolder { known: claimant, ..KnownHolder::default() })?;
            tx.record_change(CacheChange::Person(key.clone()));
            entry.clone().with_detail(detail).write(tx)?;
            Ok(ConfirmOutcome::Confirmed)
        })
        .await
    }

    /// Records where the ids of people come from; returns where they came from before, if that was elsewhere.
    pub async fn record_holder_source(&self, source: String) -> Result<Option<String>> {
        let text = "SELECT holder_source FROM desk";
        let before = self.database.read(move |sql| sql.first(text, &[], |row| row.maybe_text(0))).await?.flatten();
        if before.as_ref() == Some(&source) {
            return Ok(None);
        }
        let text = "UPDATE desk SET holder_source = $1";
        self.database.write(move |tx| tx.execute(text, &args![&*source]).map(drop)).await?;
        Ok(before)
    }
}

/// Moves what is known of a holder to the record of another identifier that the person has now. Who holds the former one is another
/// question: an id of the person decides at the next sign-in whether it is the same person, and a name does not.
pub(crate) fn move_holder(tx: &Tx<'_>, from: &EmployeeKey, to: &EmployeeKey) -> Result<()> {
    let holder = find(tx, from)?.unwrap_or_default();
    match &holder.known {
        Some(known) if known.has_id() => {
            write(tx, to, &KnownHolder { known: Some(known.clone()), ..KnownHolder::default() })?;
        }
        Some(_) => write(tx, to, &holder)?,
        None => {}
    }
    write(tx, from, &KnownHolder::default())
}

/// All that the platform said about who holds an identifier: what is known, and what it says about an unconfirmed holder.
pub(crate) fn said_about(sql: &Sql<'_>, key: &EmployeeKey) -> Result<Vec<Holder>> {
    let KnownHolder { known, claimant, .. } = find(sql, key)?.unwrap_or_default();
    Ok(known.into_iter().chain(claimant).collect())
}

/// Compares what the platform says with what is known.
fn next_step(sql: &Sql<'_>, report: &HolderReport) -> Result<Step> {
    let HolderReport { key, said, asked_at, default_role, .. } = report;
    let Some(KnownHolder { known, claimant, unconfirmed_at, since }) = find(sql, key)? else {
        return Ok(Step::None(HolderOutcome::Confirmed));
    };
    if since.is_some_and(|since| *asked_at < since) {
        let is_confirmed = unconfirmed_at.is_none();
        return Ok(Step::None(if is_confirmed { HolderOutcome::Confirmed } else { HolderOutcome::Unconfirmed }));
    }
    let mut change = Holder::compare(known.as_ref(), said, true);
    if unconfirmed_at.is_some() {
        return Ok(match (change, known) {
            // An id cannot be chosen: it is the former holder again. A name can.
            (HolderChange::Same, Some(known)) if known.has_id() && said.has_id() => Step::Learn(known),
            _ => renewal(claimant, said),
        });
    }
    if change == HolderChange::Another && !said.has_id() && !has_roles_by_hand(sql, key, *default_role)? {
        change = Holder::compare(known.as_ref(), said, false);
    }
    Ok(match change {
        HolderChange::Same => Step::None(HolderOutcome::Confirmed),
        HolderChange::Learn(holder) => Step::Learn(holder),
        HolderChange::Another => Step::Doubt(known.unwrap_or_default()),
    })
}

/// What becomes of what the platform said about an unconfirmed holder.
fn renewal(claimant: Option<Holder>, said: &Holder) -> Step {
    let claimant = claimant.unwrap_or_default();
    let renewed = said.clone().completed(&claimant);
    if renewed == claimant { Step::None(HolderOutcome::Unconfirmed) } else { Step::Renew(renewed) }
}

/// Whether the employee was given, by hand, a role that not everyone has.
fn has_roles_by_hand(sql: &Sql<'_>, key: &EmployeeKey, default_role: Option<Role>) -> Result<bool> {
    let usual = default_role.unwrap_or(Role::User);
    let text = "SELECT 1 WHERE EXISTS (SELECT 1 FROM user_role WHERE corp_id = $1 AND employee_key = $2
        AND role_id <> $3 AND role_id <> $4 AND (by_hand = 1 OR until IS NOT NULL))
        OR EXISTS (SELECT 1 FROM agent WHERE corp_id = $1 AND employee_key = $2
        AND role_id <> $3 AND role_id <> $4 AND device_only = 0 AND disabled_at IS NULL)";
    sql.exists(text, &args![key.corp(), key.id(), Role::User, usual])
}

/// Writes what follows from what the platform says. The decision is made anew, under the lock of the employee.
fn follow(tx: &mut Tx<'_>, report: &HolderReport, alarm: Option<&HolderAlarm>) -> Result<HolderOutcome> {
    let HolderReport { key, said, asked_at, now, .. } = report;
    // The agent as well: a sign-in with a password, or with the role of the record, is not completed meanwhile.
    lock_agent(tx, key)?;
    lock_employee(tx, key)?;
    let former = find(tx, key)?.unwrap_or_default();
    let step = next_step(tx, report)?;
    let is_another = match &step {
        Step::Learn(_) => Holder::compare(former.known.as_ref(), said, true) == HolderChange::Another,
        Step::Renew(_) => true,
        Step::Doubt(_) => alarm.is_some(),
        Step::None(_) => false,
    };
    if is_another && former.known.is_some() {
        // From now on the record is about this holder: answers to earlier questions are ignored.
        note_holder(tx, key, *asked_at)?;
    }
    match (step, alarm) {
        (Step::None(outcome), _) => Ok(outcome),
        (Step::Learn(holder), _) => {
            write(tx, key, &KnownHolder { known: Some(holder), ..KnownHolder::default() })?;
            if former.unconfirmed_at.is_some() {
                tx.record_change(CacheChange::Person(key.clone()));
            }
            Ok(HolderOutcome::Confirmed)
        }
        (Step::Renew(claimant), _) => {
            if Holder::compare(former.claimant.as_ref(), said, true) == HolderChange::Another {
                end_sessions(tx, report)?;
            }
            write(tx, key, &KnownHolder { claimant: Some(claimant), ..former })?;
            Ok(HolderOutcome::Unconfirmed)
        }
        (Step::Doubt(known), None) => Ok(HolderOutcome::NeedsAlarm(known)),
        (Step::Doubt(known), Some(HolderAlarm { notices, entry })) => {
            let (claimant, detail) = (Some(said.clone()), described(&known, said));
            write(tx, key, &KnownHolder { known: Some(known), claimant, unconfirmed_at: Some(*now), ..former })?;
            tx.record_change(CacheChange::Person(key.clone()));
            let ended = end_sessions(tx, report)?;
            // Clients know the former holder by what they got.
            end_all_of(tx, key, *now)?;
            notices.iter().try_for_each(|notice| notice.write(tx))?;
            entry.clone().with_detail(format!("{detail}; {ended} session(s) ended")).write(tx)?;
            Ok(HolderOutcome::Unconfirmed)
        }
    }
}

/// Ends the sessions of whoever held the identifier before; returns their number.
fn end_sessions(tx: &mut Tx<'_>, HolderReport { key, now, deny_until, .. }: &HolderReport) -> Result<usize> {
    end_sessions_of(tx, key, SessionScope::All, (EndReason::Kicked, *deny_until), *now)
}

fn find(sql: &Sql<'_>, key: &EmployeeKey) -> Result<Option<KnownHolder>> {
    let text = "SELECT holder, claimant, unconfirmed_at, holder_since_at FROM employee
        WHERE corp_id = $1 AND employee_key = $2";
    sql.first(text, &args![key.corp(), key.id()], |row| {
        let (known, claimant) = (parsed(row.maybe_text(0)?), parsed(row.maybe_text(1)?));
        Ok(KnownHolder { known, claimant, unconfirmed_at: row.maybe_timestamp(2)?, since: row.maybe_timestamp(3)? })
    })
}

fn write(tx: &Tx<'_>, key: &EmployeeKey, holder: &KnownHolder) -> Result<()> {
    let KnownHolder { known, claimant, unconfirmed_at, .. } = holder;
    let (known, claimant) = (known.as_ref().map(text_of), claimant.as_ref().map(text_of));
    let text = "UPDATE employee SET holder = $3, claimant = $4, unconfirmed_at = $5
        WHERE corp_id = $1 AND employee_key = $2";
    let values = args![key.corp(), key.id(), known.as_deref(), claimant.as_deref(), *unconfirmed_at];
    tx.execute(text, &values).map(drop)
}

/// Whether another person seems to hold the identifier of an employee, whose record is then not theirs. Stays so, or not, while
/// the agent record or the employee is locked.
pub(crate) fn is_unconfirmed(tx: &Tx<'_>, key: &EmployeeKey) -> Result<bool> {
    let text = "SELECT 1 FROM employee WHERE corp_id = $1 AND employee_key = $2 AND unconfirmed_at IS NOT NULL";
    tx.exists(text, &args![key.corp(), key.id()])
}

/// Records since when, as far as is known here, a record is about its present holder.
pub(crate) fn note_holder(tx: &Tx<'_>, key: &EmployeeKey, since: Timestamp) -> Result<()> {
    let text = "UPDATE employee SET holder_since_at = $3
        WHERE corp_id = $1 AND employee_key = $2 AND COALESCE(holder_since_at, 0) < $3";
    tx.execute(text, &args![key.corp(), key.id(), since]).map(drop)
}

/// Records since when a new record is about its holder, if the identifier had another one before.
pub(super) fn note_first_holder(tx: &Tx<'_>, key: &EmployeeKey) -> Result<()> {
    let text = "UPDATE employee SET holder_since_at = (SELECT changed_at FROM identifier_change c
        WHERE c.corp_id = $1 AND c.employee_key = $2) WHERE corp_id = $1 AND employee_key = $2";
    tx.execute(text, &args![key.corp(), key.id()]).map(drop)
}

/// A holder as stored.
pub(super) fn text_of(holder: &Holder) -> String {
    // Every member is a text, so it can be written.
    serde_json::to_string(holder).unwrap_or_default()
}

/// What is not readable is learned anew.
fn parsed(text: Option<String>) -> Option<Holder> {
    serde_json::from_str(&text?).ok()
}

/// The former holder and the present one, for the log.
fn described(former: &Holder, now: &Holder) -> String {
    let name = |holder: &Holder| holder.name.clone().unwrap_or_else(|| "?".to_owned());
    let how = if now.has_id() { "another person's id" } else { "another name" };
    format!("{how}: {} -> {}", name(former), name(now))
}
