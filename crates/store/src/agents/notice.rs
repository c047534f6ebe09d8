//! Notices to employees and administrators through the platform: written in the transaction of the event, delivered later.

use deskpass_core::{EmployeeKey, Role, Timestamp};
use serde::{Deserialize, Serialize};

use crate::database::{Row, Tx};
use crate::due_time::due_at_once;
use crate::{Result, Store, StoreError};

/// A notice to an employee.
#[derive(Clone, Debug)]
pub struct Notice {
    /// Unique identifier, in hexadecimal. It ends with the reference of the event, if that has one.
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
    /// What the notice is about, beside the recipient and the client.
    pub about: Option<NoticeAbout>,
    /// The number of delivery attempts so far.
    pub tries: i64,
}

/// What a notice is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeAbout {
    /// A sign-in or a new device of another employee.
    SignIn {
        /// The employee's display name.
        who: String,
        /// When it happened.
        at: Timestamp,
    },
    /// A role that ends.
    Role {
        /// The role.
        role: Role,
        /// Its end.
        until: Timestamp,
    },
    /// An approval that was refused on the phone of another employee.
    Approval {
        /// The identifier of the employee.
        who: String,
    },
    /// A caller who was not verified.
    Caller {
        /// The identifier of the employee whose phone was asked.
        asked: String,
        /// The identifier of the employee of IT who asked.
        asker: String,
        /// Whether a wrong number was picked.
        wrong_number: bool,
    },
    /// So many people who seem to have left.
    Leavers(usize),
    /// An employee with another identifier.
    Renamed {
        /// The former identifier.
        from: String,
        /// The new one.
        to: String,
    },
    /// An identifier that passed to another person.
    PassedOn {
        /// The identifier.
        id: String,
        /// The former identifier of the new holder, if there is one.
        from: Option<String>,
    },
    /// An employee's identifier that another person seems to have now.
    Holder {
        /// The identifier.
        employee: String,
        /// The name of the former holder, or empty.
        former: String,
        /// The name of the present one, or empty.
        now: String,
    },
}

impl NoticeAbout {
    /// Reads what is stored; `None` if a later version wrote it, or if nothing is stored.
    fn from_text(text: &str) -> Option<Self> {
        if text.starts_with('{') {
            return serde_json::from_str(text).ok();
        }
        let (at, who) = text.split_once(' ')?;
        Some(Self::SignIn { who: who.to_owned(), at: Timestamp::from_millis(at.parse().ok()?) })
    }

    fn to_text(&self) -> String {
        match self {
            // As earlier versions write and read it: their nodes deliver these notices as well.
            Self::SignIn { who, at } => format!("{} {who}", at.millis()),
            // Every member is a text or a number, so it can be written.
            about => serde_json::to_string(about).unwrap_or_default(),
        }
    }
}

named_enum! {
    /// The subject of a notice.
    pub enum NoticeSubject {
        /// A one-time-password device was bound.
        DeviceBound = "device_bound",
        /// The recipient's password was used to sign in.
        PasswordUsed = "password_used",
        /// The recipient's password was changed.
        PasswordChanged = "password_changed",
        /// The recipient's one-time-password device was removed.
        DeviceUnbound = "device_unbound",
        /// An employee disowned one of their sign-ins. For administrators.
        SignInDisowned = "sign_in_disowned",
        /// A sign-in with a QR code was confirmed for the recipient from a network that they had not signed in from before.
        NewNetwork = "new_network",
        /// An employee of a connected corporation, whom the platform cannot reach, bound a device. For administrators.
        PartnerDeviceBound = "partner_device_bound",
        /// A role that the recipient holds until a time ends soon.
        RoleEndsSoon = "role_ends_soon",
        /// A request to approve an operation on the recipient's phone was refused there.
        ApprovalRefused = "approval_refused",
        /// An employee said that they are not talking to the agent who asked. For administrators, and for the employee if the number
        /// was wrong.
        CallerRefused = "caller_refused",
        /// More people than usual would have left at once, and none of them was locked out. For administrators.
        ManyLeavers = "many_leavers",
        /// A person with a password or a device has another identifier, and needs a setup code for another one. For administrators.
        SetupCodeNeeded = "setup_code_needed",
        /// An identifier passed to another person, and what the former holder had could not be told from what is the other's. For
        /// administrators.
        IdentifierPassedOn = "identifier_passed_on",
        /// A person has another identifier, and the platform could not be asked about it for long. For administrators.
        RenameUnanswered = "rename_unanswered",
        /// An employee's identifier seems to be another person's now. For administrators.
        HolderUnconfirmed = "holder_unconfirmed",
    }
}

/// The update postpones the notices, so a second node finds them postponed even if both nodes saw them due. Subjects of a
/// later version are left to its nodes: this version has no text for them.
pub(super) fn claim() -> String {
    let known = NoticeSubject::ALL.map(|subject| format!("'{}'", subject.name())).join(", ");
    format!(
        "UPDATE notice SET due_at = $2, tries = tries + 1 WHERE id IN
         (SELECT id FROM notice WHERE due_at <= $1 AND subject IN ({known}) ORDER BY due_at, id LIMIT $3) AND due_at <= $1
         RETURNING id, corp_id, employee_key, subject, ip_address, at, tries, about, user_agent"
    )
}

impl NoticeSubject {
    /// Whether the event has a row in the audit log, under the reference with which the notice's id ends. Half of a sign-in has none until
    /// it is completed, nor has what only may happen.
    #[must_use]
    pub const fn has_row(self) -> bool {
        match self {
            Self::PasswordUsed | Self::RoleEndsSoon | Self::ManyLeavers => false,
            Self::DeviceBound
            | Self::PasswordChanged
            | Self::DeviceUnbound
            | Self::SignInDisowned
            | Self::NewNetwork
            | Self::PartnerDeviceBound
            | Self::ApprovalRefused
            | Self::CallerRefused
            | Self::SetupCodeNeeded
            | Self::IdentifierPassedOn
            | Self::RenameUnanswered
            | Self::HolderUnconfirmed => true,
        }
    }
}

impl Notice {
    pub(crate) fn write(&self, tx: &Tx<'_>) -> Result<()> {
        let text = "INSERT INTO notice (id, corp_id, employee_key, subject, ip_address, at, tries, due_at, about,
            user_agent) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
        let (corp, id) = (self.employee.corp(), self.employee.id());
        let about = self.about.as_ref().map(NoticeAbout::to_text).unwrap_or_default();
        let (subject, user_agent) = (self.subject.name(), &*self.user_agent);
        let (address, at, due_at) = (&*self.address, self.at, due_at_once(self.at));
        let values = args![&*self.id, corp, id, subject, address, at, self.tries, due_at, &*about, user_agent];
        tx.execute(text, &values).map(drop)
    }
}

impl Store {
    /// Queues notices.
    pub async fn queue_notices(&self, notices: Vec<Notice>) -> Result<()> {
        self.database.write(move |tx| notices.iter().try_for_each(|notice| notice.write(tx))).await
    }

    /// Claims up to `limit` due notices for this node until `until`; then they are due again.
    pub async fn claim_notices(&self, now: Timestamp, until: Timestamp, limit: i64) -> Result<Vec<Notice>> {
        self.database.write(move |tx| tx.rows(&claim(), &args![now, until, limit], notice)).await
    }

    /// The number of notices that are not delivered yet; counting stops at ten thousand.
    pub async fn pending_notices(&self) -> Result<usize> {
        let text = "SELECT COUNT(*) FROM (SELECT id FROM notice LIMIT 10000) AS pending";
        let count = self.database.read(move |sql| sql.first(text, &[], |row| row.int(0))).await?;
        Ok(count.and_then(|count| usize::try_from(count).ok()).unwrap_or_default())
    }

    /// Postpones a notice that could not be delivered.
    pub async fn postpone_notice(&self, id: String, until: Timestamp) -> Result<()> {
        let text = "UPDATE notice SET due_at = $2 WHERE id = $1";
        self.database.write(move |tx| tx.execute(text, &args![&*id, until]).map(drop)).await
    }

    /// Removes a notice that was delivered, or cannot be delivered.
    pub async fn delete_notice(&self, id: String) -> Result<()> {
        self.database.write(move |tx| tx.execute("DELETE FROM notice WHERE id = $1", &args![&*id]).map(drop)).await
    }
}

fn notice(row: &Row<'_>) -> Result<Notice> {
    let subject = NoticeSubject::from_name(&row.text(3)?);
    Ok(Notice {
        id: row.text(0)?,
        employee: row.employee(1)?,
        subject: subject.ok_or_else(|| StoreError::damaged("unknown subject of a notice"))?,
        address: row.text(4)?,
        at: row.timestamp(5)?,
        tries: row.int(6)?,
        about: NoticeAbout::from_text(&row.text(7)?),
        user_agent: row.text(8)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sign_ins_are_stored_as_earlier_versions_read_and_write_them() {
        let at = Timestamp::from_millis(1_800_000_000_000);
        for who in ["Ada", "Ada Lovelace", "", " ", "{\"who\"}", "a\nb", "\"quoted\""] {
            let (stored, about) = (format!("1800000000000 {who}"), NoticeAbout::SignIn { who: who.to_owned(), at });
            assert_eq!((about.to_text(), NoticeAbout::from_text(&stored)), (stored, Some(about)));
        }
    }

    #[test]
    fn what_a_later_version_wrote_is_left_out() {
        for text in
            ["", "Ada", "now Ada", "{\"moon\":{\"phase\":3}}", "{\"role\":{\"role\":\"pilot\",\"until\":1}}", "{"]
        {
            assert_eq!(NoticeAbout::from_text(text), None, "{text}");
        }
    }
}
