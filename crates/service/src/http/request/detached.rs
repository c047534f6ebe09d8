//! Work that continues after the client has gone.

use deskpass_auth::Error;
use futures_util::FutureExt as _;
use tokio::sync::oneshot;
use tracing::Instrument as _;

use crate::http::error::ApiError;

/// Runs work to its end even when the client disconnects, which drops the handler: a change must not be left half done. Its log
/// lines are those of the request.
pub(crate) async fn run_to_completion<T: Send + 'static>(
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, ApiError> {
    // The result takes a channel, so that the task has one type for all work.
    let (sender, mut result) = oneshot::channel();
    let task = async move { drop(sender.send(work.await)) };
    tokio::spawn(task.in_current_span().boxed()).await.map_err(|broken| ApiError::unexpected(&broken))?;
    let done = result.try_recv().map_err(|missing| ApiError::unexpected(&missing))?;
    Ok(done?)
}
