//! Data of an earlier version is migrated with its own key only.

use deskpass_core::EncryptionKeys;
use deskpass_store::{ChainKeys, Mode, OpenError, SameKey, Store, newest_version, restart_log};

use crate::log::fixture::{Fixture, at, key, on_every_store};

async fn open(fixture: &Fixture, key: ChainKeys) -> Result<Store, OpenError> {
    Store::open_with(fixture.location.clone(), Mode::Production, 100, at(0), Some(key)).await
}

async fn unchain(fixture: &Fixture) {
    fixture.sql("UPDATE login_log SET chain = NULL, seq = NULL, hash = NULL").await;
    fixture.sql("DELETE FROM log_chain").await;
}

on_every_store! {
    async fn a_wrong_key_leaves_data_of_an_earlier_version_as_it_is(fixture: &mut Fixture) {
        fixture.write(0..30).await;
        fixture.stop();
        fixture.sql("UPDATE desk SET mode = 'production'").await;
        // Rows with no more than an earlier version recorded.
        unchain(fixture).await;
        fixture.make_older().await;
        drop(open(fixture, key()).await.unwrap());
        fixture.make_older().await;
        let other = || ChainKeys::new(&EncryptionKeys::one([8; 32]));
        for _ in 0..2 {
            let refused = open(fixture, other()).await;
            assert!(matches!(refused, Err(OpenError::Key(_))), "{refused:?}");
            assert_eq!(fixture.sql("SELECT MAX(id) FROM migration").await, [[Some("9".to_owned())]]);
        }
        assert_eq!(open(fixture, key()).await.unwrap().is_key_of_log(key()).await.unwrap(), Some(true));
        // Where no row was chained, the key check decides.
        fixture.make_older().await;
        unchain(fixture).await;
        fixture.sql("UPDATE desk SET key_check = 'theirs'").await;
        assert!(matches!(open(fixture, key()).await, Err(OpenError::Key(_))));
        // A lost key has a way out.
        let restart = |same_key| restart_log(&fixture.location, Mode::Production, at(100), fixture.entry(100), same_key);
        assert!(restart(SameKey::Refuse).await.unwrap());
        assert!(!restart(SameKey::Refuse).await.unwrap(), "the key is that of the log now");
        // Also where nothing in the log shows the key any more.
        assert_eq!(open(fixture, key()).await.unwrap().is_key_of_log(key()).await.unwrap(), Some(true));
    }
}

/// PostgreSQL builds an index on a log with rows outside of a transaction; an attempt that was interrupted is repeated.
#[tokio::test]
async fn the_index_of_references_is_built_after_the_migration_and_again_after_an_interruption() {
    let mut fixture = Fixture::scaled_out().await;
    fixture.write(0..30).await;
    let valid = "SELECT i.indisvalid FROM pg_index i WHERE i.indexrelid = to_regclass('login_log_by_reference')";
    let newest = format!("SELECT MAX(id) = {} FROM migration", newest_version());
    for interrupt in
        ["SELECT 1", "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'login_log_by_reference'::regclass"]
    {
        fixture.undo_since("0014").await;
        fixture.sql(interrupt).await;
        fixture.sql("DELETE FROM migration WHERE id >= 13").await;
        fixture.reopen().await;
        assert_eq!(fixture.sql(valid).await, [[Some("t".to_owned())]], "{interrupt}");
        assert_eq!(fixture.sql(&newest).await, [[Some("t".to_owned())]], "{interrupt}");
    }
    fixture.make_older().await;
    fixture.reopen().await;
    assert_eq!(fixture.sql(valid).await, [[Some("t".to_owned())]]);
}
