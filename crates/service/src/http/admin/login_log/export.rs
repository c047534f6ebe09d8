//! The log as a file, streamed while it is read, so that its length is not limited.

use std::io;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use deskpass_auth::{AccessScope, Error, LogQuery};
use deskpass_store::LogPage;
use futures_util::stream;
use hyper::header::{CONTENT_DISPOSITION, CONTENT_TYPE};

use crate::App;
use crate::http::error::ApiError;
use crate::http::request::Reader;
use crate::log_export::ExportFormat;

/// The number of rows read at once.
const EXPORT_PAGE_ROWS: i64 = 500;

/// A file of the log whose first page was read. Later errors break the connection, so that no partial file passes for a whole.
#[derive(Debug)]
pub(crate) struct LogExport {
    source: ExportSource,
    begin: LogPage,
    media_type: &'static str,
}

/// The source of the rows.
#[derive(Debug)]
struct ExportSource {
    app: App,
    /// The caller, who may lose access during the export.
    reader: Reader,
    scope: AccessScope,
    wanted: LogQuery,
    format: ExportFormat,
}

impl LogExport {
    pub(super) async fn begin(
        app: App,
        reader: Reader,
        scope: AccessScope,
        wanted: LogQuery,
        before: Option<String>,
        (format, media_type): (ExportFormat, &'static str),
    ) -> Result<Self, ApiError> {
        let begin = app.auth.log(&scope, &wanted, before, EXPORT_PAGE_ROWS).await?;
        Ok(Self { source: ExportSource { app, reader, scope, wanted, format }, begin, media_type })
    }
}

impl IntoResponse for LogExport {
    fn into_response(self) -> Response {
        let Self { source, begin, media_type } = self;
        let disposition = format!("attachment; filename=\"{}\"", source.file_name());
        let headers = [(CONTENT_TYPE, media_type.to_owned()), (CONTENT_DISPOSITION, disposition)];
        (headers, Body::from_stream(chunks(source, begin))).into_response()
    }
}

/// Streams the file in chunks. The next chunk is read when the client has taken the previous one.
fn chunks(source: ExportSource, begin: LogPage) -> impl stream::Stream<Item = io::Result<Bytes>> {
    stream::unfold(Some((source, ExportStep::Begin(begin))), |state| async move {
        let (source, step) = state?;
        match source.take(step).await {
            Ok((piece, next)) => Some((Ok(piece), next.map(|before| (source, ExportStep::GoOn(before))))),
            Err(why) => {
                tracing::warn!(%why, "export of the audit log aborted");
                Some((Err(io::Error::other(why)), None))
            }
        }
    })
}

/// The next step of an export.
enum ExportStep {
    /// The heading and the page that was read already.
    Begin(LogPage),
    /// The rows before this one.
    GoOn(String),
}

/// Why an export is incomplete.
#[derive(Debug, thiserror::Error)]
enum ExportError {
    #[error("the service is stopping")]
    Stopping,
    #[error(transparent)]
    Failed(#[from] Error),
    #[error(transparent)]
    Unwritten(#[from] io::Error),
}

impl ExportSource {
    /// Returns the next chunk, and the row to continue from.
    async fn take(&self, step: ExportStep) -> Result<(Bytes, Option<String>), ExportError> {
        let mut piece = Vec::new();
        let mut page = match step {
            ExportStep::Begin(page) => {
                self.format.write_heading(&mut piece)?;
                page
            }
            ExportStep::GoOn(before) => self.read(before).await?,
        };
        loop {
            self.format.write_rows(&page.rows, &mut piece)?;
            match page.next {
                // A rare event can take several reads until a row matches.
                Some(before) if piece.is_empty() => page = self.read(before).await?,
                next => return Ok((piece.into(), next)),
            }
        }
    }

    async fn read(&self, before: String) -> Result<LogPage, ExportError> {
        let Self { app, reader, scope, wanted, .. } = self;
        if app.is_draining() {
            return Err(ExportError::Stopping);
        }
        app.auth.require_scope_unchanged(&reader.caller, scope).await?;
        Ok(app.auth.log(scope, wanted, Some(before), EXPORT_PAGE_ROWS).await?)
    }

    /// The file name: the corporation and the time, in characters that need no quoting.
    fn file_name(&self) -> String {
        let now = jiff::Timestamp::from_millisecond(self.app.auth.clock.now().millis()).unwrap_or_default();
        let (corp, at) = (&self.scope.corp, now.strftime("%Y%m%dT%H%M%SZ"));
        format!("login-log-{corp}-{at}.{}", self.format.name())
    }
}
