//! SIGKILL in the middle of a backup and of a restore: nothing is lost, and nothing is half done.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Stdio};

use crate::harness::{StoreBackend, binary, rounds, with_settings};

use super::Place;

const SESSIONS: usize = 8_000;

/// Adds sessions whose digests do not compress, so that the backup is larger than what a pipe holds.
fn fill(place: &Place) {
    place.operator().succeed(&["migrate", "--create"]);
    let database = place.file("data/deskpass.db");
    let connection = rusqlite::Connection::open(database).unwrap();
    let sql = format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {SESSIONS})
         INSERT INTO session (digest, corp_id, employee_key, role_id, login_method, login_source, created_at, expires_at, proven)
         SELECT lower(hex(randomblob(22))), 'wwdeskpass', 'user01', 3, 'dev', 'h5', i, i, 0 FROM n"
    );
    connection.execute_batch(&sql).unwrap();
}

fn sessions(place: &Place) -> Vec<String> {
    place.query("SELECT COUNT(*) FROM session")
}

/// Starts a command in development mode.
fn start(place: &Place, arguments: &[&str]) -> Child {
    let mut command = binary();
    command.args(arguments).arg("--dev").current_dir(place.file(".")).stdin(Stdio::piped());
    if let Some(cluster) = &place.cluster {
        with_settings(&mut command, cluster.settings());
    }
    command.spawn().unwrap()
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Waits until a file has this size, or the process has ended.
fn wait_for(child: &mut Child, file: &Path, size: u64) {
    while child.try_wait().unwrap().is_none() && !std::fs::metadata(file).is_ok_and(|found| found.len() >= size) {
        std::thread::yield_now();
    }
}

#[test]
fn a_killed_backup_leaves_no_file_or_all_of_it() {
    let place = Place::new(StoreBackend::Embedded);
    fill(&place);
    let file = place.backup("whole", &[]);
    let size = std::fs::metadata(&file).unwrap().len();
    assert!(size > 100_000, "{size}");
    let rounds = u64::try_from(rounds(50)).unwrap();
    for round in 0..rounds {
        let mut child = start(&place, &["backup", "killed"]);
        wait_for(&mut child, &place.file("killed.partial"), size * round / rounds);
        kill(child);
        if place.file("killed").exists() {
            let restored = Place::new(StoreBackend::Embedded);
            restored.restore(&place.file("killed"), &["--keep-sessions"]);
            assert_eq!(sessions(&restored), sessions(&place));
            std::fs::remove_file(place.file("killed")).unwrap();
        }
    }
    // What is left under the temporary name is in no one's way.
    place.backup("killed", &[]);
    assert!(!place.file("killed.partial").exists());
    assert_eq!(sessions(&place), [SESSIONS.to_string()]);
}

on_every_store! {
    async fn a_killed_restore_leaves_no_data_or_all_of_it() {
        let source = Place::new(StoreBackend::Embedded);
        fill(&source);
        let backup = std::fs::read(source.backup("all", &[])).unwrap();
        let (mut target, rounds) = (Place::current(), rounds(50));
        for round in 0..=rounds {
            let mut child = start(&target, &["restore", "-", "--keep-sessions"]);
            let mut input = child.stdin.take().unwrap();
            // The last time it gets all of it, and is killed while it completes.
            input.write_all(&backup[..backup.len() * round / rounds]).unwrap();
            if round == rounds {
                drop(input);
                kill(child);
            } else {
                kill(child);
                drop(input);
            }
            if has_data(&target) {
                assert_eq!(sessions(&target), [SESSIONS.to_string()]);
                target = Place::current();
            }
        }
        let output = target.restore(&source.file("all"), &[]);
        assert!(output.contains("restored "), "{output}");
        assert_eq!(sessions(&target), ["0"]);
        target.operator().succeed(&["audit", "verify"]);
    }
}

/// Returns whether a restore took effect.
fn has_data(place: &Place) -> bool {
    match &place.cluster {
        Some(cluster) => {
            // The server may still be at work for the process that was killed.
            cluster.query("SELECT pg_advisory_xact_lock(hashtext('deskpass ' || current_schema()))");
            cluster.query("SELECT to_regclass('session') IS NOT NULL") == ["t"]
        }
        None => place.file("data/deskpass.db").exists(),
    }
}
