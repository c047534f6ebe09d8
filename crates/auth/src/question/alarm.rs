//! Who is told that a phone refused a question: another person may use the session of an administrator, or be on the telephone.

use deskpass_core::{ClientInfo, EmployeeKey, PhoneQuestion, QuestionRefusal, QuestionStage, Role};
use deskpass_store::{LogEntry, Notice, NoticeAbout, NoticeSubject};

use super::QuestionKind;
use crate::notice::MAX_NOTIFIED_ADMINS;
use crate::{Auth, Error};

/// The roles that are told, in this order.
const ALARMED_ROLES: [Role; 2] = [Role::Admin, Role::Security];

impl Auth {
    /// The notices about a refusal: to the person, whose session another person may use, or who may not have noticed what they
    /// picked; and to administrators and security staff. Where there are none, at least the person who was asked is told.
    /// They tell where the question was asked from, and have the reference of the row of the answer.
    pub(super) async fn refusal_notices(&self, question: &PhoneQuestion, row: &LogEntry) -> Result<Vec<Notice>, Error> {
        let QuestionStage::Refused(how) = question.stage else { return Ok(Vec::new()) };
        let PhoneQuestion { asked, origin, shown, .. } = question;
        let (subject, about, is_told) = match QuestionKind::of(question) {
            QuestionKind::Approval => {
                (NoticeSubject::ApprovalRefused, NoticeAbout::Approval { who: shown.employee_id.clone() }, true)
            }
            QuestionKind::Caller => {
                let wrong_number = how == QuestionRefusal::WrongNumber;
                let asker = shown.employee_id.clone();
                let about = NoticeAbout::Caller { asked: asked.id().to_owned(), asker, wrong_number };
                (NoticeSubject::CallerRefused, about, wrong_number)
            }
        };
        let (at, visitor) = (row.at, ClientInfo { reference: row.visitor.reference, ..origin.clone() });
        let mut notices = Vec::new();
        if is_told {
            notices.push(self.new_notice(asked, subject, at, &visitor)?);
        }
        let mut alarmed = self.alarmed_by(question).await?;
        if alarmed.is_empty() && !is_told {
            alarmed.push(asked.clone());
        }
        notices.extend(self.notices_to(&alarmed, subject, &about, at, &visitor)?);
        Ok(notices)
    }

    /// The administrators and security staff who are told, without the two whom the question is about: the asker is who may
    /// have to be stopped.
    async fn alarmed_by(&self, question: &PhoneQuestion) -> Result<Vec<EmployeeKey>, Error> {
        let PhoneQuestion { asker, asked, .. } = question;
        let mut told = Vec::new();
        for role in ALARMED_ROLES {
            let home = self.policy.home_corp.as_str().to_owned();
            // One more, since the query leaves out only one of the two.
            let holders = self.store.role_holders(home, role, asker.clone(), MAX_NOTIFIED_ADMINS + 1).await?;
            for holder in holders {
                if holder != *asked && !told.contains(&holder) && told.len() < MAX_NOTIFIED_ADMINS {
                    told.push(holder);
                }
            }
        }
        Ok(told)
    }
}
