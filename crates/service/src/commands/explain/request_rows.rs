//! The rows of requests in the audit log, by their references.

use deskpass_core::Reference;
use deskpass_store::{LogRow, StoreError};

use super::describe::failure;
use crate::App;
use crate::config::Language;

/// The rows of the requests with these references, oldest first.
pub(super) async fn rows_of(app: &App, references: &[Reference], language: Language) -> Result<Vec<LogRow>, String> {
    let failed = |error: StoreError| failure(error, language);
    let corps = app.auth.store.corporations().await.map_err(failed)?;
    let home = app.auth.policy.home_corp.as_str();
    let others = corps.into_iter().filter(|corp| corp != home);
    let corps = std::iter::once(home.to_owned()).chain(others).collect();
    let references = references.iter().map(ToString::to_string).collect();
    app.auth.store.log_rows_of(references, corps, app.auth.chain_keys.clone()).await.map_err(failed)
}
