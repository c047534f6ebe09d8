//! Concurrent writers leave no gap, and chains that are made in memory are those of the store.

use deskpass_core::EmployeeKey;
use deskpass_store::{ChainBuilder, ChainPlace, LogEntry};
use tokio::task::JoinSet;

use crate::log::fixture::{Fixture, key, on_every_store};

on_every_store! {
    async fn chains_have_no_gap_however_many_write(fixture: &Fixture) {
        let mut tasks = JoinSet::new();
        for number in 0..200 {
            let (node, entries) = (fixture.node(number), [fixture.entry(1), fixture.entry(2), fixture.entry(3)]);
            tasks.spawn(async move {
                for entry in entries {
                    // A writer that finds every connection busy retries.
                    while node.record(entry.clone()).await.is_err() {
                        tokio::task::yield_now().await;
                    }
                }
            });
        }
        tasks.join_all().await;
        let verdict = fixture.verify().await;
        assert_eq!((verdict.rows, verdict.fitting, verdict.faults.len()), (600, 600, 0));
        let ends = fixture.sql("SELECT chain, seq FROM log_chain WHERE chain < 8 ORDER BY chain").await;
        assert_eq!(ends.len(), 8, "every chain is in use");
        for end in ends {
            let (chain, seq) = (end[0].clone().unwrap(), end[1].clone().unwrap());
            let rows = fixture.sql(&format!("SELECT COUNT(*), MIN(seq), MAX(seq) FROM login_log WHERE chain = {chain}")).await;
            assert_eq!(rows[0], [Some(seq.clone()), Some("1".to_owned()), Some(seq)]);
        }
    }
}

on_every_store! {
    async fn chains_that_are_made_in_memory_are_the_same(fixture: &Fixture) {
        let (mut chains, mut made) = (ChainBuilder::new(key()), Vec::new());
        for millis in 0..60 {
            let actor = (millis % 3 == 0).then(|| EmployeeKey::from_parts("ww", "admin01"));
            let entry = LogEntry { actor, detail: format!("row {millis}"), ..fixture.entry(millis) };
            fixture.store().record(entry.clone()).await.unwrap();
            let ChainPlace { chain, seq, hash, seen_seq, seen_hash } = chains.append(&entry);
            let row = [entry.id, chain.to_string(), seq.to_string(), hash, seen_seq.to_string(), seen_hash];
            made.push(row.map(Some).to_vec());
        }
        made.sort();
        let text = "SELECT id, chain, seq, hash, seen_seq, seen_hash FROM login_log ORDER BY id";
        assert_eq!(fixture.sql(text).await, made);
        let end = |(chain, seq, hash): (i64, i64, &str)| [chain.to_string(), seq.to_string(), hash.to_owned()];
        let ends: Vec<_> = chains.ends().map(|place| end(place).map(Some).to_vec()).collect();
        assert_eq!(fixture.sql("SELECT chain, seq, hash FROM log_chain WHERE chain < 8 ORDER BY chain").await, ends);
    }
}
