//! Concurrent writers leave no gap.

use tokio::task::JoinSet;

use crate::log::fixture::{Fixture, on_every_store};

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
