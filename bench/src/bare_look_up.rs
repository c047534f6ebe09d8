//! The minimal baseline for sessions that are not in memory, over HTTP: axum with one handler, which looks the session of each request
//! up in SQLite, with the service's statement, and returns the same bytes.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use axum::extract::State;
use axum::http::{StatusCode, response::Response};
use axum::routing::post;
use axum::{Json, Router};
use deskpass_core::{Access, Secret};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use tokio::net::TcpListener;

use crate::bare_handler::{CannedResponse, CannedResponses, Verify, parent_exited};
use crate::error::BenchError;
use crate::postgres_baseline::FIND;

#[derive(Clone, Debug)]
struct LookUps {
    database: PathBuf,
    idle: Arc<Mutex<Vec<Connection>>>,
    found: &'static CannedResponse,
}

impl LookUps {
    /// Looks a session up, on a connection of its own; whether there is one.
    fn find(&self, digest: &str) -> rusqlite::Result<bool> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.connect()?,
        };
        let found = found(&connection, digest)?;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        Ok(found)
    }

    fn connect(&self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.database, flags)?;
        // As in the service: otherwise SQLite may compile the statement again for other values.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        Ok(connection)
    }
}

fn found(connection: &Connection, digest: &str) -> rusqlite::Result<bool> {
    let mut statement = connection.prepare_cached(FIND)?;
    let mut rows = statement.query([digest])?;
    let found = rows.next()?.is_some();
    // The other roles.
    while rows.next()?.is_some() {}
    Ok(found)
}

/// The query may wait for the disk, so it runs on a thread that may be blocked.
async fn verify(State(look_ups): State<LookUps>, Json(ask): Json<Verify>) -> Result<Response<Body>, StatusCode> {
    let token = Secret::<Access>::parse(&ask.token).map_err(|_| StatusCode::BAD_REQUEST)?;
    let (digest, canned) = (token.digest().to_text(), look_ups.found);
    let found = tokio::task::spawn_blocking(move || look_ups.find(&digest)).await;
    match found {
        Ok(Ok(true)) => Ok(canned.answer()),
        Ok(Ok(false)) => Err(StatusCode::UNAUTHORIZED),
        Ok(Err(_)) | Err(_) => Err(StatusCode::INTERNAL_SERVER_ERROR),
    }
}

/// Reads the responses from standard input and serves them until it is closed.
pub(crate) fn serve(database: PathBuf) -> Result<(), BenchError> {
    let look_ups = LookUps { database, idle: Arc::default(), found: CannedResponses::read()?.verify };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(listen(look_ups))
}

async fn listen(look_ups: LookUps) -> Result<(), BenchError> {
    let routes = Router::new().route("/api/auth/verify", post(verify));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("the handler that looks sessions up is ready at http://{}", listener.local_addr()?);
    tokio::select! {
        served = axum::serve(listener, routes.with_state(look_ups)) => Ok(served?),
        () = parent_exited() => Ok(()),
    }
}
