//! What the database keeps of questions to phones: rows of the audit log, and notices. The questions themselves are in the shared
//! state.

use crate::{ChangeAuthor, ChangeError, LogEntry, Notice, Result, Store};

impl Store {
    /// Logs that an author asks a question, unless the author's session has ended or may no longer ask.
    pub async fn record_question(&self, by: ChangeAuthor, entry: LogEntry) -> Result<(), ChangeError> {
        self.write_as(by, move |tx| entry.write(tx)).await
    }

    /// Logs the answer to a question, and queues the notices about it in the same transaction.
    pub async fn record_answer(&self, entry: LogEntry, notices: Vec<Notice>) -> Result<()> {
        self.database
            .write(move |tx| {
                for notice in &notices {
                    notice.write(tx)?;
                }
                entry.write(tx)
            })
            .await
    }
}
