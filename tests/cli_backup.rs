//! `deskpass backup` and `deskpass restore`: everything comes back, on either store, except what ended since.

mod interrupted;
mod oidc;
mod refusals;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::cli_copy::{TABLES, live, sorted};
use crate::harness::{Client, ClusterStore, Operator, PASSWORD, Process, Servers, StoreBackend, query};

/// A place for the data of a service in development mode.
pub(crate) struct Place {
    directory: TempDir,
    cluster: Option<ClusterStore>,
}

impl Place {
    /// An empty place of this kind.
    pub(crate) fn new(kind: StoreBackend) -> Self {
        let cluster = (kind == StoreBackend::ScaledOut).then(|| Servers::shared().cluster_store());
        Self { directory: tempfile::tempdir().unwrap(), cluster }
    }

    /// An empty place of the kind that the test runs on.
    pub(crate) fn current() -> Self {
        Self::new(StoreBackend::current())
    }

    pub(crate) fn operator(&self) -> Operator<'_> {
        self.cluster.as_ref().map_or(Operator::In(self.directory.path()), Operator::At)
    }

    pub(crate) fn serve(&self) -> Process {
        match &self.cluster {
            Some(cluster) => Process::node(cluster, &[]),
            None => Process::serve(&self.directory.path().join("data"), &[]),
        }
    }

    pub(crate) fn query(&self, sql: &str) -> Vec<String> {
        match &self.cluster {
            Some(cluster) => cluster.query(sql),
            None => query(&self.directory.path().join("data/deskpass.db"), sql),
        }
    }

    /// A path next to the data.
    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn backup(&self, name: &str, more: &[&str]) -> PathBuf {
        let file = self.file(name);
        self.operator().succeed(&[&["backup", text(&file)][..], more].concat());
        file
    }

    fn restore(&self, file: &Path, more: &[&str]) -> String {
        self.operator().succeed(&[&["restore", text(file)][..], more].concat())
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Requires that two places have the same rows, except that the log of `now` has a row about the restore.
fn assert_same(before: &Place, now: &Place) {
    for table in TABLES.into_iter().chain(["used_once", "desk", "probe"]) {
        let all = format!("SELECT * FROM {table}");
        let [before, mut now] = [before, now].map(|place| sorted(place.query(&all)));
        match table {
            "login_log" => now.retain(|row| !row.contains("|restored|") || before.contains(row)),
            // One of the chains has a new end.
            "log_chain" => now.retain(|row| before.contains(row)),
            _ => {}
        }
        let missing = usize::from(table == "log_chain");
        assert_eq!(now.len() + missing, before.len(), "{table}");
        assert!(now.iter().all(|row| before.contains(row)), "{table}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_moves_from_one_store_to_the_other_and_back() {
    let [first, second, third] =
        [StoreBackend::Embedded, StoreBackend::ScaledOut, StoreBackend::Embedded].map(Place::new);
    let lived = live(&first.file("data")).await;
    let file = first.backup("one", &[]);
    let output = second.restore(&file, &["--keep-sessions"]);
    assert!(output.contains("sessions were kept"), "{output}");
    assert_same(&first, &second);
    std::fs::write(second.file("password"), "correct horse battery\n").unwrap();
    let password = second.file("password");
    let encrypted = ["--password-file", text(&password)];
    let file = second.backup("two", &encrypted);
    third.restore(&file, &[&encrypted[..], &["--keep-sessions"]].concat());
    assert_same(&second, &third);
    for place in [&second, &third] {
        let process = place.serve();
        let mut client = Client::connect(&process.address).await;
        assert_eq!(client.verify(&lived.good).await["current_role"], "agent");
        assert_eq!(client.verify(&lived.by_phone).await["employee_id"], "user01");
        assert_eq!(client.me(&lived.signed_out).await.refused(401, 1001).reason(), "signed_out");
        assert_eq!(client.me(&lived.shut_out).await.refused(401, 1001).reason(), "disabled");
        assert_eq!(client.get_as(&lived.half, "/api/auth/otp-status").await.data()["bound"], true);
        assert_eq!(client.agent_login("agent01", PASSWORD).await.data()["otp"], "verify");
        assert_eq!(process.terminate().0, Some(0));
        place.operator().succeed(&["audit", "verify"]);
    }
}

on_every_store! {
    async fn what_ended_after_the_backup_does_not_come_back() {
        let place = Place::current();
        let process = place.serve();
        let mut client = Client::connect(&process.address).await;
        let (ended, stays) = (client.sign_in("user01").await, client.sign_in("admin01").await);
        client.first_password("agent01").await;
        let half = client.partial_sign_in("agent01").await;
        let output = place.operator().succeed(&["backup", text(&place.file("all")), "--json"]);
        let report: Value = serde_json::from_str(&output).unwrap();
        assert!(report["rows"].as_u64().unwrap() > 10 && report["encrypted"] == false, "{output}");
        let receipt = place.operator().succeed(&["audit", "verify"]);
        assert!(receipt.contains("receipt"), "{receipt}");
        client.logout(&ended).await.data();
        let later = client.sign_in("user01").await;
        assert!(client.is_valid(&stays).await, "a backup disturbs no one");
        process.terminate();

        let restored = Place::current();
        let output = restored.restore(&place.file("all"), &["--json"]);
        let report: Value = serde_json::from_str(&output).unwrap();
        assert_eq!((&report["sessions_ended"], &report["sessions_kept"]), (&2.into(), &false.into()), "{output}");
        let process = restored.serve();
        let mut client = Client::connect(&process.address).await;
        for token in [&ended, &stays] {
            assert_eq!(client.me(token).await.refused(401, 1001).reason(), "kicked");
        }
        assert_eq!(client.me(&later).await.refused(401, 1001).reason(), "unknown");
        assert_eq!(client.get_as(&half, "/api/auth/otp-status").await.status, 401);
        let fresh = client.sign_in("user01").await;
        assert!(client.is_valid(&fresh).await);
        process.terminate();
        restored.operator().succeed(&["audit", "verify"]);
        let rows = restored.query("SELECT detail FROM login_log WHERE event = 'restored'");
        assert!(rows.len() == 1 && rows[0].starts_with("from a backup of ") && rows[0].contains("; 2 session(s) ended, 0 service key(s) revoked"), "{rows:?}");

        // For a planned move nothing has ended since the backup, so nothing ends.
        let moved = Place::current();
        moved.restore(&place.file("all"), &["--keep-sessions"]);
        let process = moved.serve();
        assert!(Client::connect(&process.address).await.is_valid(&stays).await);
    }

    async fn a_restore_revives_no_secret() {
        let source = Place::new(StoreBackend::Embedded);
        live(&source.file("data")).await;
        source.operator().succeed(&["service-key", "create", "billing", "--scope", "introspect"]);
        source.query("UPDATE agent SET setup_code = 'digest', setup_code_until = 9000000000000");
        let secrets = [
            "SELECT COUNT(*) FROM service_key WHERE revoked_at IS NULL",
            "SELECT COUNT(*) FROM recovery_code",
            "SELECT COUNT(*) FROM known_browser",
            "SELECT COUNT(*) FROM half_session",
            "SELECT COUNT(*) FROM agent WHERE setup_code IS NOT NULL",
        ];
        for sql in secrets {
            assert_ne!(source.query(sql), ["0"], "{sql}");
        }
        let (file, restored) = (source.backup("all", &[]), Place::current());
        let output = restored.restore(&file, &[]);
        for words in ["service key(s) revoked: ", "billing", "deskpass service-key create NAME", "recovery code(s) deleted"] {
            assert!(output.contains(words), "{output}");
        }
        for sql in secrets {
            assert_eq!(restored.query(sql), ["0"], "{sql}");
        }
        restored.operator().succeed(&["audit", "verify"]);
    }

    async fn a_backup_under_load_is_of_one_moment() {
        let place = Place::current();
        let (process, stop) = (place.serve(), Arc::new(AtomicBool::new(false)));
        let mut customers = JoinSet::new();
        for _ in 0..4 {
            let (address, stop) = (process.address.clone(), Arc::clone(&stop));
            customers.spawn(async move {
                let mut client = Client::connect(&address).await;
                while !stop.load(Ordering::Relaxed) {
                    let token = client.sign_in("user01").await;
                    client.logout(&token).await.data();
                    client.sign_in("agent01").await;
                }
            });
        }
        for round in 0..3 {
            let name = format!("backup{round}");
            let file = place.file(&name);
            let (operator, arguments) = (place.operator(), ["backup", text(&file)]);
            // Blocks this thread alone; the customers go on.
            let output = tokio::task::block_in_place(|| operator.succeed(&arguments));
            assert!(output.contains("backed up "), "{output}");
        }
        stop.store(true, Ordering::Relaxed);
        customers.join_all().await;
        process.terminate();
        for round in 0..3 {
            let restored = Place::current();
            restored.restore(&place.file(&format!("backup{round}")), &["--keep-sessions"]);
            // The chains are whole, and each sign-in has its row.
            restored.operator().succeed(&["audit", "verify"]);
            let count = |sql: &str| restored.query(sql)[0].parse::<usize>().unwrap();
            let sign_ins = count("SELECT COUNT(*) FROM login_log WHERE event = 'sign_in'");
            let sign_outs = count("SELECT COUNT(*) FROM login_log WHERE event = 'logout'");
            assert_eq!(count("SELECT COUNT(*) FROM session") + sign_outs, sign_ins);
            assert_eq!(count("SELECT COUNT(*) FROM denied_token"), sign_outs);
        }
    }
}
