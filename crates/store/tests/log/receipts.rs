//! Rows that were cut off the end together with every trace of them are found by a receipt.

use deskpass_store::{LogFaultKind, Receipt};

use crate::log::fixture::{Fixture, key, on_every_store, summary};

async fn faults(fixture: &Fixture, receipt: &Receipt) -> Vec<(LogFaultKind, i64, i64, i64)> {
    let verdict = fixture.verify_with(&key(), Some(receipt)).await.unwrap();
    verdict.faults.iter().map(summary).collect()
}

/// Removes everything after a row from a chain, and resets its end to match.
async fn set_back(fixture: &Fixture, chain: i64, seq: i64) {
    fixture.sql(&format!("DELETE FROM login_log WHERE chain = {chain} AND seq > {seq}")).await;
    let hash = format!("(SELECT hash FROM login_log WHERE chain = {chain} AND seq = {seq})");
    fixture.sql(&format!("UPDATE log_chain SET seq = {seq}, hash = {hash} WHERE chain = {chain}")).await;
}

on_every_store! {
    async fn a_receipt_finds_what_was_cut_off_since(fixture: &Fixture) {
        fixture.write(0..60).await;
        let receipt = fixture.verify().await.receipt;
        let receipt = Receipt::parse(&receipt.to_string()).unwrap();
        assert_eq!(faults(fixture, &receipt).await, []);
        fixture.write(60..90).await;
        fixture.prune(10).await;
        assert_eq!(faults(fixture, &receipt).await, [], "more rows and fewer old ones are no fault");
        let (chain, seq, _) = fixture.middle().await;
        let end: i64 = receipt.to_string().split(&format!(",{chain}:")).nth(1).unwrap().split(':').next().unwrap().parse().unwrap();
        assert!(seq < end, "the receipt tells of rows after the middle");
        set_back(fixture, chain, seq).await;
        assert!(faults(fixture, &receipt).await.contains(&(LogFaultKind::LostFromReceipt, chain, seq + 1, end)));
        // The service continues from there, with rows that match.
        fixture.write(100..400).await;
        assert!(faults(fixture, &receipt).await.contains(&(LogFaultKind::LostFromReceipt, chain, end, end)));
    }
}

on_every_store! {
    async fn a_receipt_outlives_the_rows_it_tells_of(fixture: &Fixture) {
        fixture.write(0..40).await;
        let receipt = fixture.verify().await.receipt;
        fixture.prune(1_000).await;
        assert_eq!(faults(fixture, &receipt).await, [], "the last row of each was the last to go");
        fixture.write(1_000..1_040).await;
        fixture.prune(1_020).await;
        assert_eq!(faults(fixture, &receipt).await, []);
        let receipt = fixture.verify().await.receipt;
        fixture.sql("DELETE FROM login_log").await;
        fixture.sql("DELETE FROM log_chain").await;
        assert_eq!(fixture.faults().await.len(), 9, "no chain is without an end");
        assert_eq!(faults(fixture, &receipt).await.len(), 9 + 8, "everything is gone, and the receipt remembers");
    }
}

on_every_store! {
    async fn an_older_copy_of_all_of_it_is_found_with_a_receipt(fixture: &Fixture) {
        const TABLES: [&str; 3] = ["login_log", "log_chain", "log_marker"];
        fixture.write(0..40).await;
        for table in TABLES {
            fixture.sql(&format!("CREATE TABLE old_{table} AS SELECT * FROM {table}")).await;
        }
        let old = fixture.verify().await.receipt;
        fixture.write(40..80).await;
        let receipt = fixture.verify().await.receipt;
        for table in TABLES {
            fixture.sql(&format!("DELETE FROM {table}")).await;
            fixture.sql(&format!("INSERT INTO {table} SELECT * FROM old_{table}")).await;
        }
        assert_eq!(fixture.faults().await, [], "nothing inside it tells");
        assert_eq!(faults(fixture, &old).await, []);
        let found = faults(fixture, &receipt).await;
        assert!(!found.is_empty() && found.iter().all(|(what, ..)| *what == LogFaultKind::LostFromReceipt), "{found:?}");
    }
}
