//! Backups of data that an earlier version wrote, with their log.

use std::io::Cursor;

use deskpass_core::{Digest, EmployeeKey, Role};
use deskpass_store::{
    AuditEvent, BackupSettings, Chore, DataPlatform, EndedByRestore, Location, LogEntry, LogVerification, Mode,
    RestoreError, RestoreSettings, RestoredSessions, Store, backup, newest_version, read_data_platform, restore,
    verify_log,
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
    restored_for(DataPlatform::new("wecom", "userid"), fixture, file, to, mode).await
}

/// Restores with settings of this platform.
async fn restored_for(
    platform: DataPlatform,
    fixture: &Fixture,
    file: &[u8],
    to: &Location,
    mode: Mode,
) -> Result<EndedByRestore, RestoreError> {
    let sessions = RestoredSessions::End { deny_until: at(1_000) };
    let (now, key_is_lost) = (at(100), false);
    let settings = RestoreSettings { mode, platform, now, key: key(), key_is_lost, password: None, sessions };
    let entry = LogEntry { event: AuditEvent::Restored, ..fixture.entry(100) };
    let report = restore(Cursor::new(file.to_vec()), to, settings, move |_| entry, |_| {}).await;
    report.map(|report| report.ended.unwrap())
}

async fn empty_places(directory: &tempfile::TempDir) -> [Location; 2] {
    let server = stores::settings(stores::schema().await);
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
            let keys = key();
            let verification = LogVerification::new(&place, Mode::Development, &keys, |check| check == "ours");
            assert_eq!(verify_log(verification).await.unwrap().faults.len(), 0, "{place:?}");
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

on_every_store! {
    async fn a_backup_keeps_its_platform_and_does_not_fit_another(fixture: &Fixture) {
        let [own, other] = ["user_id", "open_id"].map(|person_id| DataPlatform::new("feishu", person_id));
        fixture.store().claim_platform(own.clone()).await.unwrap();
        let (_, file) = file_of(fixture).await;
        let directory = tempfile::tempdir().unwrap();
        for place in empty_places(&directory).await {
            for wanted in [DataPlatform::new("wecom", "userid"), other.clone()] {
                let refused = restored_for(wanted, fixture, &file, &place, Mode::Development).await;
                assert!(matches!(refused, Err(RestoreError::Platform(_))), "{refused:?}");
            }
            restored_for(own.clone(), fixture, &file, &place, Mode::Development).await.unwrap();
            let recorded = read_data_platform(&place, Mode::Development).await.unwrap();
            assert_eq!(recorded, Some(own.clone()), "{place:?}");
        }
    }
}

on_every_store! {
    async fn a_restore_ends_what_clients_got_and_withdraws_keys(fixture: &Fixture) {
        let digest = |name: &str| Digest::of(&[name.as_bytes()]);
        let [session, token, cookie] = ["session", "token", "cookie"].map(|name| digest(name).to_text());
        let later = at(1_000_000).millis();
        for text in [
            format!(
                "INSERT INTO session (digest, corp_id, employee_key, role_id, login_method, login_source, created_at, expires_at)
                 VALUES ('{session}', 'ww', 'user01', 3, 'dev', 'h5', 0, {later})"
            ),
            format!(
                "INSERT INTO oidc_grant (id, session, client_id, corp_id, employee_key, subject, sid, scopes, roles, address, code,
                 created_at, expires_at) VALUES ('grant', '{session}', 'desk', 'ww', 'user01', 'subject', 'sid', 'openid', 'user',
                 '192.0.2.1', 'code', 0, {later})"
            ),
            format!(
                "INSERT INTO oidc_token (digest, grant_id, kind, created_at, expires_at)
                 VALUES ('{token}', 'grant', 'refresh', 0, {later})"
            ),
            format!("INSERT INTO oidc_browser (digest, session, expires_at) VALUES ('{cookie}', '{session}', {later})"),
            "INSERT INTO oidc_logout (sid, client_id, subject, at, tries, due_at) VALUES ('old', 'desk', 'subject', 0, 1, 0)".to_owned(),
            "INSERT INTO oidc_client (id, registration, created_at, removed_at, disabled_at) VALUES
             ('desk', '{\"name\":\"Desk\"}', 0, NULL, NULL), ('gone', '{}', 0, 1, NULL), ('off', '{}', 0, NULL, 1)".to_owned(),
            "INSERT INTO oidc_key (kid, algorithm, public_jwk, sealed, created_at, active_from)
             VALUES ('kid', 'RS256', '{}', 'sealed', 0, 0)".to_owned(),
        ] {
            fixture.sql(&text).await;
        }
        assert!(fixture.store().grant_of_refresh(digest("token")).await.unwrap().is_some());
        let (_, file) = file_of(fixture).await;
        let directory = tempfile::tempdir().unwrap();
        for place in empty_places(&directory).await {
            let ended = restored(fixture, &file, &place, Mode::Development).await.unwrap();
            let oidc_clients = vec!["desk".to_owned()];
            assert_eq!(ended, EndedByRestore { sessions: 1, oidc_clients, signing_keys: 1, ..EndedByRestore::default() });
            let store = Store::open_with(place, Mode::Development, 10, at(200), Some(key())).await.unwrap();
            assert!(store.grant_of_refresh(digest("token")).await.unwrap().is_none());
            assert_eq!(store.browser_session(digest("cookie"), at(200)).await.unwrap(), None);
            let waiting = store.claim_logouts_of("desk".to_owned(), at(1_000_000), at(1_000_000), 10).await.unwrap();
            let mut waiting: Vec<_> = waiting.iter().map(|notice| &*notice.sid).collect();
            waiting.sort_unstable();
            assert_eq!(waiting, ["old", "sid"], "one was not told before, the other ends now");
            let rules = store.access_rules().await.unwrap();
            assert_eq!(rules.oidc_client("desk").map(|client| &*client.registration.name), Some("Desk"));
            assert!(rules.oidc_keys.iter().all(|key| key.times.withdrawn_at.is_some()) && rules.oidc_keys.len() == 1);
        }
    }
}

on_every_store! {
    async fn a_restore_takes_timed_roles_back_and_requests_a_synchronisation(fixture: &Fixture) {
        fixture.employ("ww", "user01", "").await;
        let (later, [admin, agent]) = (at(1_000_000).millis(), [Role::Admin, Role::Agent].map(Role::id));
        fixture.sql(&format!(
            "INSERT INTO user_role (corp_id, employee_key, role_id, by_hand, by_rule, until, reason) VALUES
             ('ww', 'user01', {admin}, 0, 0, {later}, 'on call'), ('ww', 'user01', {agent}, 0, 1, {later}, 'on call')"
        ))
        .await;
        let (_, file) = file_of(fixture).await;
        let directory = tempfile::tempdir().unwrap();
        for place in empty_places(&directory).await {
            let ended = restored(fixture, &file, &place, Mode::Development).await.unwrap();
            assert_eq!(ended, EndedByRestore { timed_roles: 1, ..EndedByRestore::default() });
            let store = Store::open_with(place, Mode::Development, 10, at(200), Some(key())).await.unwrap();
            let origins = store.role_origins(EmployeeKey::from_parts("ww", "user01")).await.unwrap();
            let held: Vec<_> = origins.iter().map(|origin| (origin.role, origin.by_rule, origin.until)).collect();
            assert!(held.contains(&(Role::Agent, true, None)) && held.len() == 2, "{held:?}");
            let state = store.chore_state(Chore::Synchronise).await.unwrap().unwrap();
            assert_eq!(state, Chore::due_state(at(100)));
        }
    }
}
