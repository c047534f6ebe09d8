//! Notices to agents and administrators through the platform: written in the transaction of the event, delivered later.

use std::time::Duration;

use deskpass_core::{EmployeeKey, Timestamp};

use crate::database::{Row, Tx};
use crate::{Store, StoreError};

/// A notice to an employee.
#[derive(Clone, Debug)]
pub struct Notice {
    /// Unique identifier: sixteen random bytes, in hexadecimal.
    pub id: String,
    /// The recipient.
    pub employee: EmployeeKey,
    /// The event.
    pub subject: NoticeSubject,
    /// The client's address.
    pub address: String,
    /// The client's `User-Agent`; empty if it is not shown.
    pub user_agent: String,
    /// When the event happened.
    pub at: Timestamp,
    /// The sign-in that the notice is about, if it is not the recipient's own.
    pub about: Option<SignInReference>,
    /// The number of delivery attempts so far.
    pub tries: i64,
}

/// A sign-in of another employee.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignInReference {
    /// The employee's display name.
    pub who: String,
    /// When the sign-in happened.
    pub at: Timestamp,
}

impl SignInReference {
    fn from_text(text: &str) -> Option<Self> {
        let (at, who) = text.split_once(' ')?;
        Some(Self { who: who.to_owned(), at: Timestamp::from_millis(at.parse().ok()?) })
    }

    fn to_text(&self) -> String {
        format!("{} {}", self.at.millis(), self.who)
    }
}

/// The subject of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeSubject {
    /// A one-time-password device was bound.
    DeviceBound,
    /// The recipient's password was used to sign in.
    PasswordUsed,
    /// The recipient's password was changed.
    PasswordChanged,
    /// The recipient's one-time-password device was removed.
    DeviceUnbound,
    /// An employee disowned one of their sign-ins. For administrators.
    SignInDisowned,
    /// A sign-in with a QR code was confirmed for the recipient from a network that they had not signed in from before.
    NewNetwork,
}

impl NoticeSubject {
    const ALL: [Self; 6] = [
        Self::DeviceBound,
        Self::PasswordUsed,
        Self::PasswordChanged,
        Self::DeviceUnbound,
        Self::SignInDisowned,
        Self::NewNetwork,
    ];

    /// The subject's name in records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DeviceBound => "device_bound",
            Self::PasswordUsed => "password_used",
            Self::PasswordChanged => "password_changed",
            Self::DeviceUnbound => "device_unbound",
            Self::SignInDisowned => "sign_in_disowned",
            Self::NewNetwork => "new_network",
        }
    }
}

/// Retention of a notice that could not be delivered.
const NOTICE_RETENTION: Duration = Duration::from_hours(48);

/// The update postpones the notices, so a second node finds them postponed even if both nodes saw them due. Subjects of a
/// later version are left to its nodes: this version has no text for them.
fn claim() -> String {
    let known = NoticeSubject::ALL.map(|subject| format!("'{}'", subject.name())).join(", ");
    format!(
        "UPDATE notice SET due_at = $2, tries = tries + 1 WHERE id IN
         (SELECT id FROM notice WHERE due_at <= $1 AND subject IN ({known}) ORDER BY due_at, id LIMIT $3) AND due_at <= $1
         RETURNING id, corp_id, employee_key, subject, ip_address, at, tries, about, user_agent"
    )
}

impl Notice {
    pub(crate) fn write(&self, tx: &Tx<'_>) -> Result<(), StoreError> {
        let text = "INSERT INTO notice (id, corp_id, employee_key, subject, ip_address, at, tries, due_at, about,
            user_agent) VALUES ($1, $2, $3, $4, $5, $6, $7, $6, $8, $9)";
        let (corp, id) = (self.employee.corp(), self.employee.id());
        let about = self.about.as_ref().map(SignInReference::to_text).unwrap_or_default();
        let (subject, user_agent) = (self.subject.name(), &*self.user_agent);
        let values = args![&*self.id, corp, id, subject, &*self.address, self.at, self.tries, &*about, user_agent];
        tx.execute(text, &values).map(drop)
    }
}

impl Store {
    /// Claims up to `limit` due notices for this node until `until`; then they are due again.
    pub async fn claim_notices(&self, now: Timestamp, until: Timestamp, limit: i64) -> Result<Vec<Notice>, StoreError> {
        self.database.write(move |tx| tx.rows(&claim(), &args![now, until, limit], notice)).await
    }

    /// Postpones a notice that could not be delivered.
    pub async fn postpone_notice(&self, id: String, until: Timestamp) -> Result<(), StoreError> {
        let text = "UPDATE notice SET due_at = $2 WHERE id = $1";
        self.database.write(move |tx| tx.execute(text, &args![&*id, until]).map(drop)).await
    }

    /// Removes a notice that was delivered, or cannot be delivered.
    pub async fn delete_notice(&self, id: String) -> Result<(), StoreError> {
        self.database.write(move |tx| tx.execute("DELETE FROM notice WHERE id = $1", &args![&*id]).map(drop)).await
    }
}

fn notice(row: &Row<'_>) -> Result<Notice, StoreError> {
    let subject = row.text(3)?;
    let subject = NoticeSubject::ALL.into_iter().find(|known| known.name() == subject);
    Ok(Notice {
        id: row.text(0)?,
        employee: EmployeeKey::from_parts(&row.text(1)?, &row.text(2)?),
        subject: subject.ok_or_else(|| StoreError::damaged("unknown subject of a notice"))?,
        address: row.text(4)?,
        at: row.timestamp(5)?,
        tries: row.int(6)?,
        about: SignInReference::from_text(&row.text(7)?),
        user_agent: row.text(8)?,
    })
}

/// Removes notices that are too old to be useful.
pub(super) fn sweep(tx: &Tx<'_>, now: Timestamp, batch: i64) -> Result<usize, StoreError> {
    let text = "DELETE FROM notice WHERE id IN (SELECT id FROM notice WHERE at <= $1 LIMIT $2)";
    tx.execute(text, &args![now - NOTICE_RETENTION, batch])
}
