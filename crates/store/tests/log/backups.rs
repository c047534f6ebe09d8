//! Backups of data that an earlier version wrote, with their log.

use std::io::Cursor;

use deskpass_store::{
    AuditEvent, BackupSettings, EndedByRestore, Location, LogEntry, Mode, PostgresSettings, RestoreError,
    RestoreSettings, RestoredSessions, backup, newest_version, restore, verify_log,
};

use crate::log::fixture::{Fixture, at, key, on_every_store};
use crate::stores;

async fn file_of(fixture: &Fixture) -> (i64, Vec<u8>) {
    let settings = BackupSettings { deskpass: "earlier".to_owned(), now: at(0), password: None };
    let (report, file) = backup(&fixture.location, Mode::Development, settings, Vec::new(), |_| {}).await.unwrap();
    assert_eq!(report.bytes, u64::try_from(file.len()).unwrap());
    (report.header.schema, file)
}

async fn restored(fixture: &Fixture, file: &[u8], to: &Location, mode: Mode) -> Result<EndedByRestore, RestoreError> {
    let sessions = RestoredSessions::End { deny_until: at(1_000) };
    let settings = RestoreSettings { mode, now: at(100), key: key(), key_is_lost: false, password: None, sessions };
    let entry = LogEntry { event: AuditEvent::Restored, ..fixture.entry(100) };
    let report = restore(Cursor::new(file.to_vec()), to, settings, move |_| entry, |_| {}).await;
    report.map(|report| report.ended.unwrap())
}

async fn empty_places(directory: &tempfile::TempDir) -> [Location; 2] {
    let url = stores::schema().await;
    let server = PostgresSettings { url, connections: 2, ca_file: None };
    [Location::Embedded(directory.path().join("restored")), Location::Postgres(server)]
}

on_every_store! {
    async fn a_backup_of_an_earlier_version_is_migrated(fixture: &mut Fixture) {
        fixture.write(0..30).await;
        fixture.stop();
        // Rows with no more than an earlier version recorded.
        fixture.sql("UPDATE login_log SET chain = NULL, seq = NULL, hash = NULL").await;
        fixture.sql("DELETE FROM log_chain").await;
        fixture.make_older().await;
        let (version, file) = file_of(fixture).await;
        assert_eq!(version, 9);
        let directory = tempfile::tempdir().unwrap();
        for place in empty_places(&directory).await {
            assert!(matches!(
                restored(fixture, &file, &place, Mode::Production).await,
                Err(RestoreError::Mode { .. })
            ));
            assert_eq!(restored(fixture, &file, &place, Mode::Development).await.unwrap(), EndedByRestore::default());
            let verdict = verify_log(&place, Mode::Development, &key(), |check| check == "ours", None, |_, _| {}).await;
            assert_eq!(verdict.unwrap().faults.len(), 0, "{place:?}");
            assert!(restored(fixture, &file, &place, Mode::Development).await.is_err(), "it is not empty any more");
        }
    }
}

on_every_store! {
    async fn a_backup_has_the_version_of_its_data(fixture: &Fixture) {
        fixture.write(0..3).await;
        let (version, file) = file_of(fixture).await;
        assert_eq!(version, newest_version());
        let directory = tempfile::tempdir().unwrap();
        for place in empty_places(&directory).await {
            assert_eq!(restored(fixture, &file, &place, Mode::Development).await.unwrap(), EndedByRestore::default());
        }
    }
}
