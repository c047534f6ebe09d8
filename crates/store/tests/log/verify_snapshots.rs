//! Verifying the log holds no snapshot for long, and takes nothing for a fault that the service does between two snapshots.

use std::collections::VecDeque;
use std::sync::mpsc;
use std::time::Duration;

use deskpass_core::EncryptionKeys;
use deskpass_store::{
    AuditEvent, ChainKeys, Location, LogEntry, LogFaultKind, LogVerdict, LogVerification, Mode, Receipt, Store,
    verify_log,
};
use tokio::runtime::Handle;

use crate::log::fixture::{Fixture, at, key, on_every_store, run_sql, summary};
use crate::stores;

/// Verifies the log with three rows in each snapshot, and calls `between` after each.
async fn verify(
    location: &Location,
    keys: &ChainKeys,
    receipt: Option<&Receipt>,
    mut between: impl FnMut() + Send + 'static,
) -> LogVerdict {
    let verification = LogVerification {
        receipt,
        progress: Box::new(move |_, _| between()),
        batch_rows: 3,
        ..LogVerification::new(location, Mode::Development, keys, |check| check == "ours")
    };
    verify_log(verification).await.unwrap()
}

/// The same database; its connections have a name in PostgreSQL.
fn with_name(location: &Location) -> (Location, String) {
    match location {
        Location::Embedded(_) => (location.clone(), String::new()),
        Location::Postgres(server) => {
            let name = format!("verify_{}", server.url.rsplit("%3D").next().unwrap());
            (Location::Postgres(stores::settings(format!("{}&application_name={name}", server.url))), name)
        }
    }
}

/// Whether a connection, of those with this name in PostgreSQL, holds a snapshot.
async fn holds_snapshot(location: &Location, name: &str) -> bool {
    match location {
        Location::Embedded(directory) => {
            let connection = rusqlite::Connection::open(directory.join("deskpass.db")).unwrap();
            connection.busy_timeout(Duration::from_millis(200)).unwrap();
            connection.execute("UPDATE probe SET at = at + 1", []).unwrap();
            // The write-ahead log starts again at its beginning only if no connection reads from it.
            let is_busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
            is_busy.unwrap() != 0
        }
        Location::Postgres(_) => {
            let text = "SELECT COUNT(*), COUNT(backend_xmin) FROM pg_stat_activity WHERE application_name";
            let found = run_sql(location, &format!("{text} = '{name}'")).await.remove(0);
            assert_eq!(found[0].as_deref(), Some("1"), "the connection is there");
            found[1].as_deref() != Some("0")
        }
    }
}

/// Writes the next of these rows.
async fn write_some(store: &Store, entries: &mut VecDeque<LogEntry>) {
    for _ in 0..20 {
        let Some(entry) = entries.pop_front() else { return };
        store.record(entry).await.unwrap();
    }
}

async fn prune(store: &Store, millis: i64, keys: &ChainKeys) {
    while store.prune_log(at(millis), keys.clone(), 7).await.unwrap() > 0 {}
}

on_every_store! {
    async fn no_snapshot_lasts_longer_than_its_rows(fixture: &Fixture) {
        fixture.write(0..100).await;
        let ((location, name), (sender, held)) = (with_name(&fixture.location), mpsc::channel());
        let here = fixture.location.clone();
        let between = move || sender.send(Handle::current().block_on(holds_snapshot(&here, &name))).unwrap();
        let verdict = verify(&location, &key(), None, between).await;
        assert_eq!((verdict.rows, verdict.fitting, verdict.faults.len()), (100, 100, 0));
        let held: Vec<_> = held.into_iter().collect();
        assert!(held.len() >= 33, "it is asked after every three rows: {}", held.len());
        assert!(!held.contains(&true), "{held:?}");
    }
}

on_every_store! {
    async fn rows_that_are_pruned_meanwhile_are_not_missing(fixture: &Fixture) {
        fixture.write(0..300).await;
        let receipt = fixture.verify().await.receipt;
        let (store, mut is_first) = (fixture.store().clone(), true);
        let between = move || {
            if std::mem::take(&mut is_first) {
                Handle::current().block_on(prune(&store, 250, &key()));
            }
        };
        let verdict = verify(&fixture.location, &key(), Some(&receipt), between).await;
        assert_eq!(verdict.faults, []);
        // Three rows were verified before they went.
        assert_eq!((verdict.rows, verdict.fitting, verdict.pruned), (3 + 50, 3 + 50, 250 - 3));
    }
}

on_every_store! {
    async fn whatever_is_written_and_pruned_meanwhile_is_no_fault(fixture: &Fixture) {
        fixture.write(0..200).await;
        let mut entries: VecDeque<_> = (200..1_200).map(|millis| fixture.entry(millis)).collect();
        let (store, mut pruned) = (fixture.store().clone(), 0);
        let between = move || {
            Handle::current().block_on(async {
                write_some(&store, &mut entries).await;
                let newest = entries.front().map_or(1_200, |next| next.at.millis() - at(0).millis());
                pruned += (newest - pruned) / 2;
                prune(&store, pruned, &key()).await;
            });
        };
        let verdict = verify(&fixture.location, &key(), None, between).await;
        assert_eq!(verdict.faults, []);
        let after = fixture.verify_with(&key(), Some(&verdict.receipt)).await.unwrap();
        assert_eq!(after.faults, [], "the receipt is as good as any");
    }
}

on_every_store! {
    async fn a_key_that_is_replaced_meanwhile_is_no_fault(fixture: &Fixture) {
        fixture.write(0..120).await;
        fixture.prune(20).await;
        let both = ChainKeys::new(&EncryptionKeys::new([8; 32], [[7; 32]]));
        let with = |entry: LogEntry| LogEntry { key: both.clone(), ..entry };
        let mut switch = Some(LogEntry { event: AuditEvent::KeyRotated, ..with(fixture.entry(120)) });
        let mut entries: VecDeque<_> = (121..200).map(|millis| with(fixture.entry(millis))).collect();
        let (store, keys) = (fixture.store().clone(), both.clone());
        let between = move || {
            let switch = switch.take();
            Handle::current().block_on(async {
                if let Some(entry) = switch {
                    store.switch_key(entry).await.unwrap();
                }
                write_some(&store, &mut entries).await;
                prune(&store, 60, &keys).await;
            });
        };
        let verdict = verify(&fixture.location, &both, None, between).await;
        assert_eq!((&*verdict.faults, verdict.is_first_key), (&[][..], true));
        let after = fixture.verify_with(&both, Some(&verdict.receipt)).await.unwrap();
        assert_eq!(after.faults, []);
    }
}

on_every_store! {
    async fn what_is_written_meanwhile_hides_nothing(fixture: &Fixture) {
        fixture.write(0..120).await;
        let (chain, seq, id) = fixture.middle().await;
        let end = fixture.sql(&format!("SELECT seq FROM log_chain WHERE chain = {chain}")).await.remove(0).remove(0);
        let (end, beyond) = (end.unwrap().parse::<i64>().unwrap(), seq + 1_000);
        fixture.sql(&format!(
            "INSERT INTO login_log (id, at, event, corp_id, employee_key, role_id, login_method, login_source, ip_address,
             peer_address, user_agent, detail, chain, seq, hash) SELECT '{id}0', at, event, corp_id, employee_key, role_id,
             login_method, login_source, ip_address, peer_address, user_agent, detail, chain, {beyond}, hash
             FROM login_log WHERE id = '{id}'"
        )).await;
        fixture.sql(&format!("UPDATE login_log SET employee_key = 'other' WHERE id = '{id}'")).await;
        let mut entries: VecDeque<_> = (120..320).map(|millis| fixture.entry(millis)).collect();
        let store = fixture.store().clone();
        let between = move || Handle::current().block_on(write_some(&store, &mut entries));
        let verdict = verify(&fixture.location, &key(), None, between).await;
        let faults: Vec<_> = verdict.faults.iter().map(summary).collect();
        assert_eq!(faults.len(), 3, "{faults:?}");
        assert_eq!((faults[0], faults[2]), ((LogFaultKind::Changed, chain, seq, seq), (LogFaultKind::Added, chain, beyond, beyond)));
        // Rows that the service wrote since are neither missing nor added.
        let (what, of, first, last) = faults[1];
        assert_eq!((what, of, last), (LogFaultKind::Missing, chain, beyond - 1), "{faults:?}");
        assert!(first > end + 1, "{faults:?}");
    }
}
