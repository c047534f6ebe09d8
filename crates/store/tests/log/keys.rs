//! The key of the log is replaced: rows from before and after are verified, and what each key wrote stays as it was.

use deskpass_core::{EncryptionKeys, key_id};
use deskpass_store::{
    AuditEvent, ChainKeys, KeyForgetting, KeySwitch, LogEntry, LogFaultKind, LogFilter, Receipt, SameKey, VerifyError,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tokio::task::JoinSet;

use crate::log::fixture::{Fixture, at, key, on_every_store, summary};

/// The keys with these numbers, the first of which encrypts.
fn keys(numbers: &[u8]) -> ChainKeys {
    let mut all = numbers.iter().map(|number| [*number; 32]);
    ChainKeys::new(&EncryptionKeys::new(all.next().unwrap(), all))
}

async fn faults(fixture: &Fixture, keys: &ChainKeys, receipt: Option<&Receipt>) -> Vec<(LogFaultKind, i64, i64, i64)> {
    fixture.verify_with(keys, receipt).await.unwrap().faults.iter().map(summary).collect()
}

async fn forget(fixture: &Fixture, numbers: &[u8], id: &str) -> KeyForgetting {
    let entry = LogEntry { key: keys(numbers), event: AuditEvent::KeyForgotten, ..fixture.entry(30) };
    fixture.store().forget_key(id.to_owned(), entry).await.unwrap()
}

on_every_store! {
    async fn rows_of_both_keys_are_verified_with_the_new_key_alone(fixture: &Fixture) {
        fixture.write(0..40).await;
        fixture.prune(10).await;
        let before = fixture.verify().await.receipt;
        let both = keys(&[8, 7]);
        // A node that has the new key, too, goes on with the old one until the key is replaced.
        fixture.write_with(&both, 40..60).await;
        assert_eq!(faults(fixture, &key(), None).await, []);
        assert_eq!(fixture.switch_key(&both, 60).await, KeySwitch::Switched);
        assert_eq!(fixture.switch_key(&both, 60).await, KeySwitch::Already);
        assert_eq!(fixture.switch_key(&keys(&[7, 8]), 60).await, KeySwitch::Replaced, "there is no way back");
        // Then every node goes on with the new key, whichever it has first.
        for (numbers, from) in [(&[8, 7][..], 61), (&[7, 8][..], 81), (&[8][..], 101)] {
            fixture.write_with(&keys(numbers), from..from + 20).await;
        }
        let new = keys(&[8]);
        for known in [&new, &both, &keys(&[7, 8])] {
            let verdict = fixture.verify_with(known, Some(&before)).await.unwrap();
            let found: Vec<_> = verdict.faults.iter().map(summary).collect();
            assert_eq!((verdict.rows, verdict.fitting, found), (111, 111, vec![]));
        }
        let receipt = Receipt::parse(&fixture.verify_with(&new, None).await.unwrap().receipt.to_string()).unwrap();
        assert_eq!(faults(fixture, &new, Some(&receipt)).await, []);
        // Old rows are removed across the change, and a page of the log knows each row's key.
        let filter = LogFilter { corp: "ww".to_owned(), key: Some(new.clone()), ..LogFilter::default() };
        let page = fixture.store().log_page(filter, None, 200).await.unwrap();
        assert!(page.rows.len() == 111 && page.rows.iter().all(|row| row.verified == Some(true)));
        while fixture.store().prune_log(at(90), new.clone(), 7).await.unwrap() > 0 {
            assert_eq!(faults(fixture, &new, Some(&before)).await, []);
        }
        assert_eq!(fixture.verify_with(&new, Some(&receipt)).await.unwrap().rows, 31);
    }
}

on_every_store! {
    async fn without_the_new_key_nothing_is_written_and_nothing_verified(fixture: &Fixture) {
        fixture.write(0..20).await;
        fixture.switch_key(&keys(&[8, 7]), 20).await;
        let old = key();
        let refused = fixture.store().record(fixture.entry(21)).await.unwrap_err().to_string();
        assert!(refused.contains("which is not in this node's encryption_key"), "{refused}");
        assert!(fixture.store().require_log_key(old.clone()).await.is_err());
        assert!(fixture.store().require_log_key(keys(&[9, 8])).await.is_ok());
        assert_eq!(fixture.store().prune_log(at(100), old.clone(), 7).await.unwrap(), 0);
        assert!(matches!(fixture.verify_with(&old, None).await, Err(VerifyError::WrongKey)));
        assert_eq!(fixture.store().is_key_of_log(old.clone()).await.unwrap(), Some(false));
        assert_eq!(fixture.store().is_key_of_log(keys(&[8])).await.unwrap(), Some(true));
        assert!(fixture.store().is_retired_key(old).await.unwrap());
        assert_eq!(faults(fixture, &keys(&[8]), None).await, []);
    }
}

on_every_store! {
    async fn a_key_is_replaced_again_and_again(fixture: &Fixture) {
        let mut receipts = vec![fixture.verify().await.receipt];
        for number in 8..12 {
            fixture.write_with(&keys(&[number - 1]), 0..20).await;
            assert_eq!(fixture.switch_key(&keys(&[number, number - 1]), 20).await, KeySwitch::Switched);
            receipts.push(fixture.verify_with(&keys(&[number]), None).await.unwrap().receipt);
        }
        let newest = keys(&[11]);
        for receipt in &receipts {
            assert_eq!(faults(fixture, &newest, Some(receipt)).await, []);
        }
        let known = fixture.store().known_keys(newest.clone()).await.unwrap();
        assert_eq!((known.current, known.unnamed, known.is_named), ([11; 32], key_id(&[7; 32]), true));
        assert_eq!(known.retired, (7..11).rev().map(|number| [number; 32]).collect::<Vec<_>>());
        let state = fixture.store().key_state(newest).await.unwrap();
        assert_eq!((state.retired.len(), state.needs_rotation(), state.lists_old_key_first()), (4, false, false));
        let foreign = fixture.verify_with(&keys(&[12, 11]), Some(&Receipt::parse("deskpass-log-1,0:1:x,y").unwrap())).await;
        assert!(matches!(foreign, Err(VerifyError::Receipt(_))));
    }
}

on_every_store! {
    async fn what_the_old_key_wrote_cannot_be_changed_with_it(fixture: &Fixture) {
        fixture.write(0..60).await;
        fixture.switch_key(&keys(&[8, 7]), 60).await;
        let new = keys(&[8]);
        let (chain, seq, _) = fixture.middle().await;
        // The end of a chain is cut off, with every trace that is in the table of its end.
        fixture.sql("CREATE TABLE saved AS SELECT * FROM login_log").await;
        let end = fixture.sql(&format!("SELECT seq, hash FROM log_chain WHERE chain = {chain}")).await.remove(0);
        fixture.sql(&format!("DELETE FROM login_log WHERE chain = {chain} AND seq > {seq}")).await;
        let hash = format!("(SELECT hash FROM login_log WHERE chain = {chain} AND seq = {seq})");
        fixture.sql(&format!("UPDATE log_chain SET seq = {seq}, hash = {hash} WHERE chain = {chain}")).await;
        let found = faults(fixture, &new, None).await;
        assert!(found.iter().any(|(what, of, ..)| (*what, *of) == (LogFaultKind::LostFromEarlierKey, chain)), "{found:?}");
        fixture.sql(&format!("INSERT INTO login_log SELECT * FROM saved WHERE chain = {chain} AND seq > {seq}")).await;
        let (seq_before, hash) = (end[0].as_ref().unwrap(), end[1].as_ref().unwrap());
        fixture.sql(&format!("UPDATE log_chain SET seq = {seq_before}, hash = '{hash}' WHERE chain = {chain}")).await;
        assert_eq!(faults(fixture, &new, None).await, []);
        // Without the old key, its rows cannot be verified, and a copy under another name opens nothing.
        for sql in ["DELETE FROM retired_key", "UPDATE retired_key SET sealed = 'x'", "UPDATE retired_key SET id = 'x'"] {
            fixture.sql("CREATE TABLE kept AS SELECT * FROM retired_key").await;
            fixture.sql(sql).await;
            assert!(!faults(fixture, &new, None).await.is_empty(), "{sql}");
            fixture.sql("DELETE FROM retired_key").await;
            fixture.sql("INSERT INTO retired_key SELECT * FROM kept").await;
            fixture.sql("DROP TABLE kept").await;
        }
        assert_eq!(faults(fixture, &new, None).await, []);
    }
}

on_every_store! {
    async fn the_log_is_restarted_after_its_key_was_replaced(fixture: &mut Fixture) {
        fixture.write(0..20).await;
        fixture.switch_key(&keys(&[8, 7]), 20).await;
        fixture.stop();
        for (number, same_key) in [(8, SameKey::Accept), (9, SameKey::Refuse)] {
            let entry = LogEntry { key: keys(&[number]), ..fixture.entry(30) };
            let restarted = deskpass_store::restart_log(&fixture.location, deskpass_store::Mode::Development, at(30), entry, same_key);
            assert!(restarted.await.unwrap());
            assert_eq!(faults(fixture, &keys(&[number]), None).await, []);
        }
        assert_eq!(fixture.sql("SELECT id FROM retired_key").await.len(), 0, "they are sealed with a lost key");
        let named = fixture.sql("SELECT DISTINCT key_id FROM log_chain").await;
        assert_eq!(named, [[Some(key_id(&[9; 32]))]], "a node that has only the former key stops writing");
    }
}

on_every_store! {
    async fn nodes_write_while_the_key_is_replaced(fixture: &Fixture) {
        let mut tasks = JoinSet::new();
        for number in 0..60 {
            let numbers: &[u8] = if number % 2 == 0 { &[8, 7] } else { &[7, 8] };
            let entries = [1, 2, 3].map(|millis| LogEntry { key: keys(numbers), ..fixture.entry(millis) });
            let node = fixture.node(number);
            tasks.spawn(async move {
                for entry in entries {
                    while node.record(entry.clone()).await.is_err() {
                        tokio::task::yield_now().await;
                    }
                    let _ = node.prune_log(at(2), entry.key.clone(), 3).await;
                }
            });
        }
        while tasks.len() > 40 {
            tasks.join_next().await;
        }
        let entry = LogEntry { key: keys(&[8, 7]), ..fixture.entry(4) };
        while fixture.store().switch_key(entry.clone()).await.is_err() {
            tokio::task::yield_now().await;
        }
        tasks.join_all().await;
        let verdict = fixture.verify_with(&keys(&[8]), None).await.unwrap();
        assert_eq!((verdict.rows + verdict.pruned, verdict.faults.len()), (181, 0), "{:?}", verdict.faults);
    }
}

on_every_store! {
    async fn a_key_that_is_forgotten_verifies_the_log_and_nothing_else(fixture: &Fixture) {
        fixture.write(0..20).await;
        let before = fixture.verify().await.receipt;
        fixture.switch_key(&keys(&[8, 7]), 20).await;
        let old = key_id(&[7; 32]);
        assert_eq!(forget(fixture, &[8, 7], &old).await, KeyForgetting::Configured);
        assert_eq!(forget(fixture, &[8], "x").await, KeyForgetting::NotReplaced);
        assert_eq!(forget(fixture, &[8], &old).await, KeyForgetting::Forgotten);
        assert_eq!(forget(fixture, &[8], &old).await, KeyForgetting::Already);
        let known = fixture.store().known_keys(keys(&[8])).await.unwrap();
        assert_eq!((known.retired.len(), known.unnamed), (0, old.clone()));
        assert_eq!(known.forgotten, std::slice::from_ref(&old));
        assert_eq!(faults(fixture, &keys(&[8]), Some(&before)).await, []);
        // It stays forgotten when the key is replaced again, and it is still known that it was replaced.
        assert_eq!(fixture.switch_key(&keys(&[9, 8]), 40).await, KeySwitch::Switched);
        assert_eq!(fixture.store().known_keys(keys(&[9])).await.unwrap().forgotten, [old]);
        assert_eq!(faults(fixture, &keys(&[9]), Some(&before)).await, []);
        assert!(fixture.store().is_retired_key(key()).await.unwrap());
    }
}

on_every_store! {
    async fn that_a_key_was_replaced_is_believed_only_with_a_proof(fixture: &Fixture) {
        fixture.write(0..40).await;
        let (chain, seq, _) = fixture.middle().await;
        fixture.sql(&format!("UPDATE login_log SET detail = 'x' WHERE chain = {chain} AND seq = {seq}")).await;
        fixture.sql("UPDATE log_marker SET mac = 'x'").await;
        let id = key_id(&[7; 32]);
        for sealed in ["x", "x.y"] {
            fixture.sql(&format!("INSERT INTO retired_key (id, sealed) VALUES ('{id}', '{sealed}')")).await;
            let found = faults(fixture, &key(), None).await;
            assert!(found.contains(&(LogFaultKind::Changed, chain, seq, seq)), "{found:?}");
            assert!(!fixture.store().is_retired_key(key()).await.unwrap());
            fixture.sql("DELETE FROM retired_key").await;
        }
    }
}

on_every_store! {
    async fn an_old_marker_that_is_put_back_does_not_make_the_old_key_current(fixture: &Fixture) {
        fixture.write(0..40).await;
        let marker = fixture.sql("SELECT mac FROM log_marker").await.remove(0).remove(0).unwrap();
        let both = keys(&[8, 7]);
        fixture.switch_key(&both, 40).await;
        let receipt = fixture.verify_with(&keys(&[8]), None).await.unwrap().receipt;
        fixture.sql(&format!("UPDATE log_marker SET mac = '{marker}'")).await;
        let verdict = fixture.verify_with(&both, Some(&receipt)).await.unwrap();
        assert!(verdict.is_first_key && verdict.faults.iter().any(|fault| fault.what == LogFaultKind::MarkerChanged));
        // With every trace of the newer key gone, the receipt still shows it.
        fixture.sql("DELETE FROM retired_key").await;
        fixture.sql("UPDATE log_chain SET key_id = ''").await;
        let verdict = fixture.verify_with(&both, Some(&receipt)).await.unwrap();
        assert_eq!((verdict.key, verdict.is_first_key), (key_id(&[7; 32]), false));
        assert!(verdict.faults.iter().any(|fault| fault.what == LogFaultKind::MarkerReplaced), "{:?}", verdict.faults);
    }
}

on_every_store! {
    async fn a_key_is_not_replaced_on_a_guess(fixture: &Fixture) {
        fixture.write(0..20).await;
        fixture.sql("UPDATE log_marker SET mac = 'x'").await;
        let entry = |numbers: &[u8]| LogEntry { key: keys(numbers), ..fixture.entry(30) };
        let refused = fixture.store().switch_key(entry(&[9, 8])).await.unwrap_err().to_string();
        assert!(refused.contains("nothing in the audit log was made with a key"), "{refused}");
        assert_eq!(fixture.switch_key(&keys(&[8, 7]), 20).await, KeySwitch::Switched, "the rows show the key");
        let refused = fixture.store().switch_key(entry(&[7])).await.unwrap_err().to_string();
        assert!(refused.contains("which is not in this node's encryption_key"), "{refused}");
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Write(i64),
    Prune,
    Switch,
}

/// Whatever is written, removed and replaced in whichever order: the newest key alone verifies what is left.
#[test]
fn any_history_of_keys_is_verified_with_the_newest() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let step = prop_oneof![(1..12_i64).prop_map(Step::Write), Just(Step::Prune), Just(Step::Switch)];
    let mut runner = TestRunner::new(Config { cases: 15, failure_persistence: None, ..Config::default() });
    let check = |steps: Vec<Step>| {
        runtime.block_on(async {
            let fixture = Fixture::embedded().await;
            let (mut number, mut now, mut receipts) = (7, 0, Vec::new());
            for step in steps {
                match step {
                    Step::Write(rows) => {
                        fixture.write_with(&keys(&[number]), now..now + rows).await;
                        now += rows;
                    }
                    Step::Prune => {
                        let older = at(now / 2);
                        while fixture.store().prune_log(older, keys(&[number]), 3).await.unwrap() > 0 {}
                    }
                    Step::Switch => {
                        receipts.push(fixture.verify_with(&keys(&[number]), None).await.unwrap().receipt);
                        let switched = fixture.switch_key(&keys(&[number + 1, number]), now).await;
                        prop_assert_eq!(switched, KeySwitch::Switched);
                        number += 1;
                    }
                }
            }
            prop_assert_eq!(faults(&fixture, &keys(&[number]), None).await, []);
            for receipt in &receipts {
                prop_assert_eq!(faults(&fixture, &keys(&[number]), Some(receipt)).await, []);
            }
            Ok(())
        })
    };
    runner.run(&proptest::collection::vec(step, 1..14), check).unwrap();
}
