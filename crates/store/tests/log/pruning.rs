//! Old rows are removed, and the remaining ones can be verified.

use deskpass_store::LogFaultKind;
use tokio::task::JoinSet;

use crate::log::fixture::{Fixture, at, key, on_every_store};

async fn count(fixture: &Fixture, which: &str) -> usize {
    let rows = fixture.sql(&format!("SELECT COUNT(*) FROM login_log WHERE {which}")).await;
    rows[0][0].as_ref().unwrap().parse().unwrap()
}

on_every_store! {
    async fn what_is_old_enough_goes_and_the_rest_fits(fixture: &Fixture) {
        fixture.write(0..100).await;
        assert_eq!(fixture.prune(0).await, 0, "nothing is from before the beginning");
        assert_eq!(fixture.prune(40).await, 40);
        let verdict = fixture.verify().await;
        assert_eq!((verdict.rows, verdict.pruned, verdict.faults.len()), (60, 40, 0));
        assert_eq!(count(fixture, &format!("at < {}", at(40).millis())).await, 0);
        fixture.write(100..120).await;
        assert_eq!(fixture.prune(1_000).await, 80, "everything");
        let verdict = fixture.verify().await;
        assert_eq!((verdict.rows, verdict.pruned, verdict.faults.len()), (0, 120, 0));
        fixture.write(1_000..1_020).await;
        assert_eq!((fixture.verify().await.rows, fixture.faults().await), (20, vec![]));
    }
}

on_every_store! {
    async fn only_the_beginning_of_a_chain_goes(fixture: &Fixture) {
        // As nodes whose clocks differ a little write them.
        fixture.write((0..100).map(|number| if number % 10 == 9 { 1_000 } else { number })).await;
        let gone = fixture.prune(500).await;
        assert!(gone < 90, "{gone}");
        let verdict = fixture.verify().await;
        assert_eq!((verdict.rows, verdict.pruned, verdict.faults.len()), (100 - gone as u64, gone as u64, 0));
        assert_eq!(count(fixture, &format!("at = {}", at(1_000).millis())).await, 10);
    }
}

on_every_store! {
    async fn a_batch_is_no_larger_than_asked_for(fixture: &Fixture) {
        fixture.write(0..100).await;
        let mut steps = 0;
        while let gone @ 1.. = fixture.store().prune_log(at(1_000), key(), 2).await.unwrap() {
            assert!(gone <= 16, "two of each chain: {gone}");
            assert_eq!(fixture.faults().await, []);
            steps += 1;
        }
        assert!(steps >= 7, "{steps}");
    }
}

on_every_store! {
    async fn rows_from_before_chains_go_by_their_age_and_rows_in_no_chain_do_not(fixture: &mut Fixture) {
        fixture.write(0..30).await;
        fixture.sql("UPDATE login_log SET chain = NULL, seq = NULL, hash = NULL").await;
        fixture.sql("DELETE FROM log_chain").await;
        fixture.make_older().await;
        fixture.reopen().await;
        fixture.write(30..60).await;
        assert_eq!(fixture.prune(10).await, 10);
        let verdict = fixture.verify().await;
        assert_eq!((verdict.rows, verdict.unchained, verdict.pruned, verdict.faults.len()), (50, 0, 10, 0));
        assert_eq!(fixture.prune(40).await, 30);
        let verdict = fixture.verify().await;
        assert_eq!((verdict.rows, verdict.unchained, verdict.pruned, verdict.faults.len()), (20, 0, 40, 0));
        // Rows that are taken out of their chains are not removed, however old.
        fixture.sql("UPDATE login_log SET chain = NULL, seq = NULL, hash = NULL").await;
        assert_eq!(fixture.prune(1_000).await, 0);
        assert_eq!(fixture.verify().await.unchained, 20);
    }
}

on_every_store! {
    async fn pruning_and_writing_do_not_hold_each_other_up(fixture: &Fixture) {
        fixture.write(0..200).await;
        let mut tasks = JoinSet::new();
        for number in 0..4 {
            let node = fixture.node(number);
            let entries: Vec<_> = (0..50).map(|millis| fixture.entry(1_000 + millis)).collect();
            tasks.spawn(async move {
                for entry in entries {
                    node.record(entry).await.unwrap();
                }
            });
        }
        for number in 0..2 {
            let node = fixture.node(number);
            tasks.spawn(async move { while node.prune_log(at(200), key(), 3).await.unwrap() > 0 {} });
        }
        // A concurrent verification finds no fault.
        while tasks.try_join_next().is_none() {
            assert_eq!(fixture.faults().await, []);
        }
        tasks.join_all().await;
        fixture.prune(200).await;
        let verdict = fixture.verify().await;
        assert_eq!((verdict.rows, verdict.pruned, verdict.faults.len()), (200, 200, 0));
    }
}

on_every_store! {
    async fn a_faked_prune_is_found(fixture: &Fixture) {
        fixture.write(0..60).await;
        fixture.prune(10).await;
        let (chain, seq, _) = fixture.middle().await;
        // Deletes a prefix of the rows, and moves the mark to match, with the old mac.
        let hash = format!("(SELECT hash FROM login_log WHERE chain = {chain} AND seq = {seq})");
        fixture.sql(&format!("UPDATE log_chain SET pruned_seq = {seq}, pruned_hash = {hash} WHERE chain = {chain}")).await;
        let with_rows = fixture.faults().await;
        assert_eq!(with_rows[0], (LogFaultKind::ForgedPrune, chain, 1, seq), "{with_rows:?}");
        fixture.sql(&format!("DELETE FROM login_log WHERE chain = {chain} AND seq <= {seq}")).await;
        assert_eq!(fixture.faults().await, [(LogFaultKind::ForgedPrune, chain, 1, seq)]);
        // Nothing more of the chain is removed: the investigation needs what is left.
        let left = count(fixture, &format!("chain = {chain}")).await;
        fixture.prune(1_000).await;
        assert_eq!(count(fixture, &format!("chain = {chain}")).await, left);
        assert_eq!(fixture.faults().await, [(LogFaultKind::ForgedPrune, chain, 1, seq)]);
    }
}

on_every_store! {
    async fn a_row_that_is_made_old_by_hand_does_not_go(fixture: &Fixture) {
        fixture.write(1_000..1_060).await;
        let (chain, seq, _) = fixture.middle().await;
        fixture.sql(&format!("UPDATE login_log SET at = {} WHERE chain = {chain} AND seq <= {seq}", at(0).millis())).await;
        assert_eq!(fixture.prune(500).await, 0);
        assert_eq!(fixture.faults().await, [(LogFaultKind::Changed, chain, 1, seq)]);
    }
}

on_every_store! {
    async fn what_was_said_of_a_row_goes_with_it(fixture: &Fixture) {
        fixture.write(0..60).await;
        fixture.sql("INSERT INTO disowned (sign_in, at) SELECT id, at FROM login_log").await;
        for (older_than, left) in [(10, 50), (40, 20), (1_000, 0)] {
            fixture.prune(older_than).await;
            let orphans = "SELECT COUNT(*) FROM disowned WHERE sign_in NOT IN (SELECT id FROM login_log)";
            assert_eq!(fixture.sql(orphans).await, [[Some("0".to_owned())]]);
            assert_eq!(fixture.sql("SELECT COUNT(*) FROM disowned").await, [[Some(left.to_string())]]);
        }
    }
}
