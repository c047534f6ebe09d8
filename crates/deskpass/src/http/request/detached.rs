//! Work that continues after the client has gone.

use deskpass_auth::Error;
use tracing::Instrument as _;

use crate::http::error::ApiError;

/// Runs work to its end even when the client disconnects, which drops the handler: a change must not be left half done. Its log
/// lines are those of the request.
pub(crate) async fn run_to_completion<T: Send + 'static>(
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, ApiError> {
    match tokio::spawn(work.in_current_span()).await {
        Ok(done) => Ok(done?),
        Err(broken) => Err(ApiError::unexpected(&broken)),
    }
}
