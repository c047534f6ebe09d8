//! Whoever has the database and not the key changes nothing that is not found.

use std::collections::BTreeSet;

use deskpass_core::EmployeeKey;
use deskpass_store::{ChainKey, LogEntry, VerifyError, What};

use crate::desk::{Desk, key, on_every_store, told};

/// A log of some length, with every column of every row filled.
async fn fill(desk: &Desk) {
    for millis in 0..60 {
        let entry = LogEntry {
            actor: Some(EmployeeKey::from_parts("ww", "admin01")),
            reason: Some("disabled"),
            detail: "admin, user -> user".to_owned(),
            ..desk.entry(millis)
        };
        desk.store().record(entry).await.unwrap();
    }
}

#[derive(Debug)]
struct Column {
    name: String,
    is_text: bool,
    may_be_null: bool,
}

/// The columns of a table as the database has them, so that none is forgotten.
async fn columns(desk: &Desk, table: &str) -> Vec<Column> {
    let text = if desk.is_embedded() {
        format!("SELECT name, type, \"notnull\" FROM pragma_table_info('{table}')")
    } else {
        format!(
            "SELECT column_name, upper(data_type), CASE is_nullable WHEN 'NO' THEN 1 ELSE 0 END
             FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = '{table}'"
        )
    };
    let rows = desk.sql(&text).await.into_iter().map(|row| {
        let [name, kind, never] = <[_; 3]>::try_from(row).unwrap().map(Option::unwrap);
        Column { name, is_text: kind == "TEXT", may_be_null: never == "0" }
    });
    rows.collect()
}

/// Other values for a column, as SQL.
fn others(desk: &Desk, Column { name, is_text, may_be_null }: &Column) -> Vec<String> {
    let mut others = if *is_text {
        vec![format!("{name} || 'x'"), "''".to_owned(), format!("upper({name}) || ' '")]
    } else {
        vec![format!("{name} + 100000"), "-1".to_owned()]
    };
    if *may_be_null {
        others.push("NULL".to_owned());
    }
    if desk.is_embedded() {
        // Which takes values of any kind.
        others.push(if *is_text { format!("CAST({name} AS BLOB)") } else { "0.5".to_owned() });
    }
    others
}

fn literal(value: Option<&str>, is_text: bool) -> String {
    match value {
        None => "NULL".to_owned(),
        Some(text) if is_text => format!("'{text}'"),
        Some(number) => number.to_owned(),
    }
}

on_every_store! {
    async fn a_change_to_any_column_of_a_row_is_found(desk: &Desk) {
        fill(desk).await;
        let (chain, seq, id) = desk.middle().await;
        let columns = columns(desk, "login_log").await;
        assert!(columns.len() >= 18, "{columns:?}");
        for column in &columns {
            let name = &column.name;
            // By something else than what is changed.
            let (row, back) = match &**name {
                "id" => (format!("chain = {chain} AND seq = {seq}"), format!("chain = {chain} AND seq = {seq}")),
                _ => (format!("id = '{id}'"), format!("id = '{id}'")),
            };
            let before = desk.sql(&format!("SELECT {name} FROM login_log WHERE {row}")).await.remove(0).remove(0);
            for other in others(desk, column) {
                desk.sql(&format!("UPDATE login_log SET {name} = {other} WHERE {row}")).await;
                let faults: Vec<_> = desk.verify().await.faults.iter().map(told).collect();
                let found = faults.iter().any(|(_, of, first, last)| *of == chain && (*first..=*last).contains(&seq));
                assert!(found, "{name} = {other}: {faults:?}");
                let near = |(_, of, first, last): &(What, i64, i64, i64)| *of != chain || (*first >= seq && *last <= seq);
                assert!(faults.iter().all(near) || matches!(&**name, "seq"), "{name} = {other}: {faults:?}");
                let value = literal(before.as_deref(), column.is_text);
                desk.sql(&format!("UPDATE login_log SET {name} = {value} WHERE {back}")).await;
                assert_eq!(desk.faults().await, [], "{name} is as it was");
            }
        }
    }
}

on_every_store! {
    async fn a_change_to_where_a_chain_ends_is_found(desk: &Desk) {
        fill(desk).await;
        desk.prune(20).await;
        let (chain, ..) = desk.middle().await;
        let columns = columns(desk, "log_chain").await;
        assert!(columns.len() >= 6, "{columns:?}");
        for column in &columns {
            let name = &column.name;
            let row = format!("SELECT {name} FROM log_chain WHERE chain = {chain}");
            let before = desk.sql(&row).await.remove(0).remove(0);
            for other in others(desk, column) {
                desk.sql(&format!("UPDATE log_chain SET {name} = {other} WHERE chain = {chain}")).await;
                let faults = desk.faults().await;
                assert!(faults.iter().any(|(_, of, ..)| *of == chain), "{name} = {other}: {faults:?}");
                let back = literal(before.as_deref(), column.is_text);
                let moved = if name == "chain" { "chain NOT IN (0, 1, 2, 3, 4, 5, 6, 7)".to_owned() } else { format!("chain = {chain}") };
                desk.sql(&format!("UPDATE log_chain SET {name} = {back} WHERE {moved}")).await;
                assert_eq!(desk.faults().await, [], "{name} is as it was");
            }
        }
        desk.sql(&format!("DELETE FROM log_chain WHERE chain = {chain}")).await;
        assert!(desk.faults().await.iter().any(|(what, of, ..)| (*what, *of) == (What::EndChanged, chain)));
    }
}

on_every_store! {
    async fn a_removed_row_is_found_wherever_it_was(desk: &Desk) {
        fill(desk).await;
        let (chain, seq, _) = desk.middle().await;
        let end = desk.sql(&format!("SELECT seq FROM log_chain WHERE chain = {chain}")).await;
        let end: i64 = end[0][0].as_ref().unwrap().parse().unwrap();
        let cases = [
            ("seq = 1".to_owned(), vec![(What::Missing, chain, 1, 1)]),
            (format!("seq = {seq}"), vec![(What::Missing, chain, 1, 1), (What::Missing, chain, seq, seq)]),
            (
                format!("seq >= {}", end - 1),
                vec![(What::Missing, chain, 1, 1), (What::Missing, chain, seq, seq), (What::EndCut, chain, end - 1, end)],
            ),
            ("seq > 0".to_owned(), vec![(What::EndCut, chain, 1, end)]),
        ];
        for (which, expected) in cases {
            desk.sql(&format!("DELETE FROM login_log WHERE chain = {chain} AND {which}")).await;
            assert_eq!(desk.faults().await, expected, "{which}");
        }
    }
}

on_every_store! {
    async fn rows_in_each_others_places_are_found(desk: &Desk) {
        fill(desk).await;
        let (chain, seq, _) = desk.middle().await;
        let swap = |to: i64, from: i64| format!("UPDATE login_log SET seq = {to} WHERE chain = {chain} AND seq = {from}");
        for (to, from) in [(1_000_000, seq), (seq, seq + 1), (seq + 1, 1_000_000)] {
            desk.sql(&swap(to, from)).await;
        }
        let faults = desk.faults().await;
        let found: BTreeSet<_> = faults.iter().flat_map(|(what, _, first, last)| (*first..=*last).map(move |seq| (*what == What::Changed, seq))).collect();
        assert!(found.contains(&(true, seq)) && found.contains(&(true, seq + 1)), "{faults:?}");
    }
}

on_every_store! {
    async fn a_row_that_is_moved_to_another_chain_is_found(desk: &Desk) {
        fill(desk).await;
        let (chain, seq, id) = desk.middle().await;
        let (other, beyond) = ((chain + 1) % 8, 1_000);
        desk.sql(&format!("UPDATE login_log SET chain = {other}, seq = {beyond} WHERE id = '{id}'")).await;
        let faults = desk.faults().await;
        assert!(faults.contains(&(What::Missing, chain, seq, seq)), "{faults:?}");
        assert!(faults.contains(&(What::Added, other, beyond, beyond)), "{faults:?}");
        // Into the place of one that is there.
        desk.sql(&format!("DELETE FROM login_log WHERE chain = {other} AND seq = 2")).await;
        desk.sql(&format!("UPDATE login_log SET seq = 2 WHERE id = '{id}'")).await;
        let faults = desk.faults().await;
        assert!(faults.contains(&(What::Moved, other, 2, 2)), "{faults:?}");
        // And into a chain that is none.
        desk.sql(&format!("UPDATE login_log SET chain = 9, seq = 1 WHERE id = '{id}'")).await;
        let faults = desk.faults().await;
        assert!(faults.iter().any(|(what, of, ..)| (*what, *of) == (What::Moved, 9)), "{faults:?}");
    }
}

on_every_store! {
    async fn rows_put_in_by_hand_are_found_or_noted(desk: &Desk) {
        fill(desk).await;
        let (chain, seq, id) = desk.middle().await;
        let copy = |new: &str, place: &str| format!(
            "INSERT INTO login_log (id, at, event, corp_id, employee_key, role_id, login_method, login_source, ip_address,
             peer_address, user_agent, actor_corp_id, actor_key, reason, detail, chain, seq, hash)
             SELECT '{new}', at, event, corp_id, employee_key, role_id, login_method, login_source, ip_address,
             peer_address, user_agent, actor_corp_id, actor_key, reason, detail, {place}, hash FROM login_log WHERE id = '{id}'"
        );
        let old = format!("{:012x}{:020x}", 1, 1);
        desk.sql(&copy(&old, "NULL, NULL")).await;
        let verdict = desk.verify().await;
        assert_eq!((verdict.rows, verdict.unchained, verdict.unchained_since, verdict.faults.len()), (60, 1, None, 0));
        let new = format!("{id}0");
        desk.sql(&copy(&new, "NULL, NULL")).await;
        let verdict = desk.verify().await;
        assert_eq!((verdict.unchained, verdict.unchained_since, verdict.faults.len()), (2, Some((1, new)), 0));
        desk.sql(&copy(&format!("{id}1"), &format!("{chain}, 0"))).await;
        desk.sql(&copy(&format!("{id}2"), &format!("{chain}, {}", seq + 1_000))).await;
        let faults = desk.faults().await;
        assert!(faults.contains(&(What::Added, chain, 0, 0)), "{faults:?}");
        assert!(faults.contains(&(What::Added, chain, seq + 1_000, seq + 1_000)), "{faults:?}");
    }
}

on_every_store! {
    async fn another_key_is_told_from_a_changed_log(desk: &Desk) {
        let other = ChainKey::new(&[8; 32]);
        assert!(desk.verify_with(&other, None).await.unwrap().faults.is_empty(), "nothing is written yet");
        fill(desk).await;
        desk.prune(20).await;
        desk.sql("UPDATE desk SET key_check = 'theirs'").await;
        assert!(matches!(desk.verify_with(&other, None).await, Err(VerifyError::WrongKey)));
        // What was left to tell the key by is in the database, and nothing depends on it while rows fit.
        assert!(desk.verify_with(&key(), None).await.unwrap().faults.is_empty());
        desk.sql("UPDATE desk SET key_check = 'ours'").await;
        let verdict = desk.verify_with(&other, None).await.unwrap();
        assert_eq!((verdict.rows, verdict.fitting), (40, 0));
        let faults: Vec<_> = verdict.faults.iter().map(told).collect();
        assert!(faults.iter().all(|(what, ..)| matches!(what, What::Changed | What::ForgedPrune)), "{faults:?}");
        assert_eq!(faults.len(), 16, "one for each chain and one for what went of it: {faults:?}");
    }
}
