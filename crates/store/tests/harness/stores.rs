//! Databases for tests: a new directory, or a new schema in the PostgreSQL that all tests of a process share.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use deskpass_store::PostgresSettings;
use tokio_postgres::NoTls;

/// Runs a test on each database.
macro_rules! on_every_store {
    ($(#[$meta:meta])* async fn $name:ident($fixture:ident: &mut Fixture) $body:block) => {
        mod $name {
            use super::*;

            async fn test($fixture: &mut Fixture) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn embedded() {
                test(&mut Fixture::embedded().await).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn scaled_out() {
                test(&mut Fixture::scaled_out().await).await;
            }
        }
    };
    ($(#[$meta:meta])* async fn $name:ident($fixture:ident: $kind:ty) $body:block) => {
        mod $name {
            use super::*;

            $(#[$meta])*
            async fn test($fixture: $kind) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn embedded() {
                test(&Fixture::embedded().await).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn scaled_out() {
                test(&Fixture::scaled_out().await).await;
            }
        }
    };
}
pub(crate) use on_every_store;

/// The URL of an empty schema.
pub(crate) async fn schema() -> String {
    static SCHEMAS: AtomicUsize = AtomicUsize::new(0);
    let (server, name) = (server(), format!("t_{}", SCHEMAS.fetch_add(1, Ordering::Relaxed)));
    let (client, connection) = tokio_postgres::connect(server, NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute(&format!("CREATE SCHEMA {name}")).await.unwrap();
    format!("{server}?options=-csearch_path%3D{name}")
}

/// A node on a schema. Its timeout is long, since tests run on busy machines.
pub(crate) fn settings(url: String) -> PostgresSettings {
    PostgresSettings { connections: 8, timeout: Duration::from_secs(30), ..PostgresSettings::new(url) }
}

/// The PostgreSQL that all tests of this process share. It stops when its standard input ends, and so with this process.
fn server() -> &'static str {
    static SERVER: OnceLock<(Child, String)> = OnceLock::new();
    let start = || {
        let directory = std::env::temp_dir().join(format!("deskpass-store-{}", std::process::id()));
        let mut command = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/servers"));
        command.arg(directory).arg("postgres").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("tools/servers starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.split_whitespace().next().expect("tools/services installs what tools/servers needs");
        (child, url.to_owned())
    };
    &SERVER.get_or_init(start).1
}
