//! The log as a file: written while it is read, so that it may be of any length.

use std::io;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use deskpass_auth::{Error, LogWanted, Reach};
use deskpass_store::LogPage;
use futures_util::stream;
use hyper::header::{CONTENT_DISPOSITION, CONTENT_TYPE};

use crate::Desk;
use crate::http::authority::Reader;
use crate::http::failure::Failure;
use crate::log_export::Format;

/// How many rows are read at once.
const AT_ONCE: i64 = 500;

/// A file of the log whose beginning has been read. From then on, whatever goes wrong breaks the connection: nobody must take
/// a part for the whole.
#[derive(Debug)]
pub(in crate::http) struct Export {
    source: Source,
    begin: LogPage,
    media_type: &'static str,
}

/// Where the rows come from.
#[derive(Debug)]
struct Source {
    desk: Desk,
    /// Who reads: they may lose the right to while they do.
    reader: Reader,
    reach: Reach,
    wanted: LogWanted,
    format: Format,
}

impl Export {
    pub(super) async fn begin(
        desk: Desk,
        reader: Reader,
        reach: Reach,
        wanted: LogWanted,
        before: Option<String>,
        (format, media_type): (Format, &'static str),
    ) -> Result<Self, Failure> {
        let begin = desk.auth.log(&reach, &wanted, before, AT_ONCE).await?;
        Ok(Self { source: Source { desk, reader, reach, wanted, format }, begin, media_type })
    }
}

impl IntoResponse for Export {
    fn into_response(self) -> Response {
        let Self { source, begin, media_type } = self;
        let disposition = format!("attachment; filename=\"{}\"", source.file_name());
        let headers = [(CONTENT_TYPE, media_type.to_owned()), (CONTENT_DISPOSITION, disposition)];
        (headers, Body::from_stream(pieces(source, begin))).into_response()
    }
}

/// The file, piece by piece. The next one is read when the client has taken the one before.
fn pieces(source: Source, begin: LogPage) -> impl stream::Stream<Item = io::Result<Bytes>> {
    stream::unfold(Some((source, Step::Begin(begin))), |state| async move {
        let (source, step) = state?;
        match source.take(step).await {
            Ok((piece, next)) => Some((Ok(piece), next.map(|before| (source, Step::GoOn(before))))),
            Err(why) => {
                tracing::warn!(%why, "an export of the log was broken off");
                Some((Err(io::Error::other(why)), None))
            }
        }
    })
}

/// What comes next.
enum Step {
    /// What was read already, below the heading.
    Begin(LogPage),
    /// What is before this row.
    GoOn(String),
}

/// Why a file is not whole.
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error("the service is stopping")]
    Stopping,
    #[error(transparent)]
    Failed(#[from] Error),
}

impl Source {
    /// The next piece, and where to go on.
    async fn take(&self, step: Step) -> Result<(Bytes, Option<String>), Broken> {
        let (mut piece, mut page) = match step {
            Step::Begin(page) => (self.format.heading().to_owned(), page),
            Step::GoOn(before) => (String::new(), self.read(before).await?),
        };
        loop {
            for row in &page.rows {
                piece.push_str(&self.format.line(row));
            }
            match page.next {
                // What is rare is looked for in several goes.
                Some(before) if piece.is_empty() => page = self.read(before).await?,
                next => return Ok((piece.into(), next)),
            }
        }
    }

    async fn read(&self, before: String) -> Result<LogPage, Broken> {
        let Self { desk, reader, reach, wanted, .. } = self;
        if desk.is_draining() {
            return Err(Broken::Stopping);
        }
        desk.auth.still_reaches(&reader.caller.0, reader.visitor.address.decided, reach).await?;
        Ok(desk.auth.log(reach, wanted, Some(before), AT_ONCE).await?)
    }

    /// A name that says what is in it: the corporation and the time, in characters that need no quoting.
    fn file_name(&self) -> String {
        let now = jiff::Timestamp::from_millisecond(self.desk.auth.clock.now().millis()).unwrap_or_default();
        let (corp, at) = (&self.reach.corp, now.strftime("%Y%m%dT%H%M%SZ"));
        format!("login-log-{corp}-{at}.{}", self.format.name())
    }
}
