//! What the database keeps of questions to phones: rows of the audit log, and notices. The questions themselves are in the shared
//! state.

use crate::database::Tx;
use crate::login_log::{is_logged, write_once};
use crate::{ChangeAuthor, ChangeError, LogEntry, Notice, Result, Store};

impl Store {
    /// Logs that an author asks a question, unless the author's session has ended or may no longer ask.
    pub async fn record_question(&self, by: ChangeAuthor, entry: LogEntry) -> Result<(), ChangeError> {
        self.write_as(by, move |tx| entry.write(tx)).await
    }

    /// Logs the answer to a question, and queues the notices about it in the same transaction. It tries again by itself if it is
    /// unknown whether that was committed: there is one row.
    pub async fn record_answer(&self, entry: LogEntry, notices: Vec<Notice>) -> Result<()> {
        let work = move |tx: &mut Tx<'_>, is_repeated: bool| {
            if is_repeated && is_logged(tx, &entry.id)? {
                return Ok(());
            }
            for notice in &notices {
                notice.write(tx)?;
            }
            entry.write(tx)
        };
        self.database.write_repeatably(work).await
    }

    /// Logs once that an answer had no effect, if the answer is in the log.
    pub async fn record_correction(&self, answer: String, correction: LogEntry) -> Result<()> {
        let work = move |tx: &mut Tx<'_>| if is_logged(tx, &answer)? { write_once(tx, &correction) } else { Ok(()) };
        self.database.write(work).await
    }
}
