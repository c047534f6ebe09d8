//! Every change by an attacker who has the database and not the key is found.

use std::collections::BTreeSet;

use deskpass_core::EmployeeKey;
use deskpass_store::{ChainKey, LogEntry, LogFaultKind, VerifyError};

use crate::log::desk::{Desk, at, key, on_every_store, told};

/// Writes a log of some length, with every column of every row filled.
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

/// The columns of a table from the database, so that none is forgotten.
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
        vec![format!("{name} + 100000"), "-1".to_owned(), i64::MIN.to_string(), i64::MAX.to_string()]
    };
    if *may_be_null {
        others.push("NULL".to_owned());
    }
    if desk.is_embedded() {
        // SQLite stores values of any type.
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
        assert!(columns.len() >= 21, "{columns:?}");
        for column in &columns {
            let name = &column.name;
            // The row is identified by a column other than the changed one.
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
                let near = |(_, of, first, last): &(LogFaultKind, i64, i64, i64)| *of != chain || (*first >= seq && *last <= seq);
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
        let columns = columns(desk, "log_chain").await;
        assert!(columns.len() >= 6, "{columns:?}");
        // A chain with pruned rows and remaining rows, and the chain for rows from before chains, which is empty.
        for chain in [desk.middle().await.0, 8] {
            for column in &columns {
                let name = &column.name;
                let row = format!("SELECT {name} FROM log_chain WHERE chain = {chain}");
                let before = desk.sql(&row).await.remove(0).remove(0);
                for other in others(desk, column) {
                    let same = format!("SELECT 1 FROM log_chain WHERE chain = {chain} AND {name} = {other}");
                    if !desk.sql(&same).await.is_empty() {
                        continue;
                    }
                    desk.sql(&format!("UPDATE log_chain SET {name} = {other} WHERE chain = {chain}")).await;
                    let faults = desk.faults().await;
                    assert!(faults.iter().any(|(_, of, ..)| *of == chain), "{chain} {name} = {other}: {faults:?}");
                    let back = literal(before.as_deref(), column.is_text);
                    let moved = if name == "chain" { "chain NOT IN (0, 1, 2, 3, 4, 5, 6, 7, 8)".to_owned() } else { format!("chain = {chain}") };
                    desk.sql(&format!("UPDATE log_chain SET {name} = {back} WHERE {moved}")).await;
                    assert_eq!(desk.faults().await, [], "{name} is as it was");
                }
            }
        }
        for chain in 0..=8 {
            desk.sql(&format!("DELETE FROM log_chain WHERE chain = {chain}")).await;
            assert!(desk.faults().await.iter().any(|(what, of, ..)| (*what, *of) == (LogFaultKind::EndChanged, chain)));
        }
    }
}

on_every_store! {
    async fn a_change_to_the_marker_is_found(desk: &Desk) {
        fill(desk).await;
        let columns = columns(desk, "log_marker").await;
        assert!(columns.len() >= 5, "{columns:?}");
        for column in &columns {
            let name = &column.name;
            let before = desk.sql(&format!("SELECT {name} FROM log_marker")).await.remove(0).remove(0);
            for other in others(desk, column) {
                if !desk.sql(&format!("SELECT 1 FROM log_marker WHERE {name} = {other}")).await.is_empty() {
                    continue;
                }
                desk.sql(&format!("UPDATE log_marker SET {name} = {other}")).await;
                assert_eq!(desk.faults().await, [(LogFaultKind::MarkerChanged, -1, 0, 0)], "{name} = {other}");
                desk.sql(&format!("UPDATE log_marker SET {name} = {}", literal(before.as_deref(), column.is_text))).await;
                assert_eq!(desk.faults().await, [], "{name} is as it was");
            }
        }
        desk.sql("INSERT INTO log_marker (id, since, adopted, hash, mac) SELECT 2, since, adopted, hash, mac FROM log_marker").await;
        assert_eq!(desk.faults().await, [(LogFaultKind::MarkerChanged, -1, 0, 0)]);
        desk.sql("DELETE FROM log_marker").await;
        assert_eq!(desk.faults().await, [(LogFaultKind::MarkerMissing, -1, 0, 0)]);
    }
}

on_every_store! {
    async fn a_log_that_is_taken_out_of_its_chains_is_found_and_never_taken_for_an_old_one(desk: &mut Desk) {
        fill(desk).await;
        let receipt = desk.verify().await.receipt;
        desk.sql("UPDATE login_log SET chain = NULL, seq = NULL, hash = NULL").await;
        desk.sql("DELETE FROM log_chain").await;
        let ends = |what: LogFaultKind| (0..9).map(move |chain| (what, chain, 0, 0));
        let unchained = std::iter::repeat_n((LogFaultKind::Unchained, -1, 0, 0), 60);
        let expected: Vec<_> = ends(LogFaultKind::EndChanged).chain(unchained.clone()).collect();
        let verdict = desk.verify().await;
        assert_eq!(verdict.faults.iter().map(told).collect::<Vec<_>>(), expected);
        assert_eq!(verdict.unchained, 60);
        // Without the marker, too; a start does not create another one.
        desk.sql("DELETE FROM log_marker").await;
        desk.reopen().await;
        let expected: Vec<_> = std::iter::once((LogFaultKind::MarkerMissing, -1, 0, 0)).chain(expected).collect();
        assert_eq!(desk.faults().await, expected);
        // As if the tables were of an earlier version: that takes the right to change tables, and a receipt finds it.
        desk.make_older().await;
        desk.reopen().await;
        let verdict = desk.verify().await;
        assert_eq!((verdict.faults.len(), verdict.adopted.map(|(rows, _)| rows)), (0, Some(60)), "{verdict:?}");
        let verdict = desk.verify_with(&key(), Some(&receipt)).await.unwrap();
        assert_eq!(told(&verdict.faults[0]), (LogFaultKind::MarkerReplaced, -1, 0, 0));
        assert_eq!(verdict.faults.iter().filter(|fault| fault.what == LogFaultKind::LostFromReceipt).count(), 8);
    }
}

on_every_store! {
    async fn rows_from_before_chains_are_taken_into_one_and_cannot_be_changed_from_then_on(desk: &mut Desk) {
        desk.write(0..30).await;
        desk.sql("UPDATE login_log SET chain = NULL, seq = NULL, hash = NULL, detail = NULL, decided_address = NULL, seen_seq = NULL, seen_hash = NULL").await;
        desk.sql("DELETE FROM log_chain").await;
        desk.make_older().await;
        // As after an upgrade from the previous version: these rows are chained, and record less.
        desk.reopen().await;
        let verdict = desk.verify().await;
        assert_eq!((verdict.rows, verdict.unchained, verdict.faults.len()), (30, 0, 0), "{verdict:?}");
        assert_eq!(verdict.adopted, Some((30, at(0))));
        desk.write(30..60).await;
        assert_eq!(desk.faults().await, []);
        let id = desk.sql("SELECT id FROM login_log WHERE chain = 8 AND seq = 7").await.remove(0).remove(0).unwrap();
        desk.sql(&format!("UPDATE login_log SET employee_key = 'other' WHERE id = '{id}'")).await;
        assert_eq!(desk.faults().await, [(LogFaultKind::Changed, 8, 7, 7)]);
        desk.sql(&format!("UPDATE login_log SET employee_key = 'user01' WHERE id = '{id}'")).await;
        // The end of a chain that never grows cannot be cut off, either.
        desk.sql("DELETE FROM login_log WHERE chain = 8 AND seq > 25").await;
        desk.sql("UPDATE log_chain SET seq = 25, hash = (SELECT hash FROM login_log WHERE chain = 8 AND seq = 25) WHERE chain = 8").await;
        assert_eq!(desk.faults().await, [(LogFaultKind::EndChanged, 8, 30, 30)]);
    }
}

on_every_store! {
    async fn rows_in_no_chain_that_are_newer_than_chains_are_not_taken_into_one(desk: &mut Desk) {
        fill(desk).await;
        let (chain, seq, id) = desk.middle().await;
        desk.sql(&format!("UPDATE login_log SET chain = NULL, seq = NULL, hash = NULL WHERE id = '{id}'")).await;
        desk.make_older().await;
        desk.reopen().await;
        let faults = desk.faults().await;
        assert!(faults.contains(&(LogFaultKind::Missing, chain, seq, seq)) && faults.contains(&(LogFaultKind::Unchained, -1, 0, 0)), "{faults:?}");
    }
}

on_every_store! {
    async fn a_chain_that_is_cut_contradicts_the_others(desk: &Desk) {
        desk.write(0..120).await;
        let (chain, seq, _) = desk.middle().await;
        desk.sql(&format!("DELETE FROM login_log WHERE chain = {chain} AND seq > {seq}")).await;
        let hash = format!("(SELECT hash FROM login_log WHERE chain = {chain} AND seq = {seq})");
        desk.sql(&format!("UPDATE log_chain SET seq = {seq}, hash = {hash} WHERE chain = {chain}")).await;
        let faults = desk.faults().await;
        let cut = |(what, of, first, _): &(LogFaultKind, i64, i64, i64)| (*what, *of) == (LogFaultKind::LostFromOthers, chain) && *first > seq;
        assert!(!faults.is_empty() && faults.iter().all(cut), "{faults:?}");
        // Rows that the service writes there afterwards do not hide it.
        desk.write(200..500).await;
        let faults = desk.faults().await;
        assert!(!faults.is_empty() && faults.iter().all(cut), "{faults:?}");
        // Pruning does not hide it, except for the pruned rows that prove it.
        desk.prune(20).await;
        assert!(desk.faults().await.iter().all(cut));
        // A chain that is emptied completely.
        let other = (chain + 1) % 8;
        desk.sql(&format!("DELETE FROM login_log WHERE chain = {other}")).await;
        desk.sql(&format!("UPDATE log_chain SET seq = 0, hash = '', pruned_seq = 0, pruned_hash = '', pruned_mac = '' WHERE chain = {other}")).await;
        assert!(desk.faults().await.iter().any(|(what, of, ..)| (*what, *of) == (LogFaultKind::LostFromOthers, other)));
    }
}

on_every_store! {
    async fn a_removed_row_is_found_wherever_it_was(desk: &Desk) {
        fill(desk).await;
        let (chain, seq, _) = desk.middle().await;
        let end = desk.sql(&format!("SELECT seq FROM log_chain WHERE chain = {chain}")).await;
        let end: i64 = end[0][0].as_ref().unwrap().parse().unwrap();
        let cases = [
            ("seq = 1".to_owned(), vec![(LogFaultKind::Missing, chain, 1, 1)]),
            (format!("seq = {seq}"), vec![(LogFaultKind::Missing, chain, 1, 1), (LogFaultKind::Missing, chain, seq, seq)]),
            (
                format!("seq >= {}", end - 1),
                vec![(LogFaultKind::Missing, chain, 1, 1), (LogFaultKind::Missing, chain, seq, seq), (LogFaultKind::EndCut, chain, end - 1, end)],
            ),
            ("seq > 0".to_owned(), vec![(LogFaultKind::EndCut, chain, 1, end)]),
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
        let found: BTreeSet<_> = faults.iter().flat_map(|(what, _, first, last)| (*first..=*last).map(move |seq| (*what == LogFaultKind::Changed, seq))).collect();
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
        assert!(faults.contains(&(LogFaultKind::Missing, chain, seq, seq)), "{faults:?}");
        assert!(faults.contains(&(LogFaultKind::Added, other, beyond, beyond)), "{faults:?}");
        // In place of an existing row.
        desk.sql(&format!("DELETE FROM login_log WHERE chain = {other} AND seq = 2")).await;
        desk.sql(&format!("UPDATE login_log SET seq = 2 WHERE id = '{id}'")).await;
        let faults = desk.faults().await;
        assert!(faults.contains(&(LogFaultKind::Moved, other, 2, 2)), "{faults:?}");
        // Into a chain that does not exist.
        desk.sql(&format!("UPDATE login_log SET chain = 9, seq = 1 WHERE id = '{id}'")).await;
        let faults = desk.faults().await;
        assert!(faults.iter().any(|(what, of, ..)| (*what, *of) == (LogFaultKind::Moved, 9)), "{faults:?}");
    }
}

on_every_store! {
    async fn rows_put_in_by_hand_are_found(desk: &Desk) {
        fill(desk).await;
        let (chain, seq, id) = desk.middle().await;
        let copy = |new: &str, place: &str| format!(
            "INSERT INTO login_log (id, at, event, corp_id, employee_key, role_id, login_method, login_source, ip_address,
             peer_address, user_agent, actor_corp_id, actor_key, reason, detail, chain, seq, hash)
             SELECT '{new}', at, event, corp_id, employee_key, role_id, login_method, login_source, ip_address,
             peer_address, user_agent, actor_corp_id, actor_key, reason, detail, {place}, hash FROM login_log WHERE id = '{id}'"
        );
        // Older than all other rows, and newer than some.
        for (old, rows) in [(format!("{:012x}{:020x}", 1, 1), 1), (format!("{id}0"), 2)] {
            desk.sql(&copy(&old, "NULL, NULL")).await;
            let verdict = desk.verify().await;
            assert_eq!((verdict.rows, verdict.unchained, verdict.faults.len()), (60, rows, usize::try_from(rows).unwrap()));
            assert!(verdict.faults.iter().any(|fault| fault.what == LogFaultKind::Unchained && fault.id.as_ref() == Some(&old)));
        }
        // However old it is, it stays for the investigation.
        assert_eq!(desk.prune(-1).await, 0);
        assert_eq!(desk.verify().await.unchained, 2);
        desk.sql(&copy(&format!("{id}1"), &format!("{chain}, 0"))).await;
        desk.sql(&copy(&format!("{id}2"), &format!("{chain}, {}", seq + 1_000))).await;
        let faults = desk.faults().await;
        assert!(faults.contains(&(LogFaultKind::Added, chain, 0, 0)), "{faults:?}");
        assert!(faults.contains(&(LogFaultKind::Added, chain, seq + 1_000, seq + 1_000)), "{faults:?}");
    }
}

on_every_store! {
    async fn two_rows_at_one_place_are_found(desk: &Desk) {
        fill(desk).await;
        let (chain, seq, id) = desk.middle().await;
        desk.sql("DROP INDEX login_log_by_chain").await;
        desk.sql("CREATE INDEX login_log_by_chain ON login_log (chain, seq)").await;
        let columns: Vec<_> = columns(desk, "login_log").await.into_iter().map(|column| column.name).collect();
        let others = columns.iter().filter(|name| *name != "id").cloned().collect::<Vec<_>>().join(", ");
        // A row before and a row after this one, by their identifiers; they belong to the same chain.
        for new in [format!("{:012x}{:019x}{}", 1, 1, &id[31..]), format!("f{}", &id[1..])] {
            desk.sql(&format!("INSERT INTO login_log (id, {others}) SELECT '{new}', {others} FROM login_log WHERE id = '{id}'")).await;
            let faults = desk.faults().await;
            assert!(faults.contains(&(LogFaultKind::Added, chain, seq, seq)), "{faults:?}");
            assert!(faults.iter().all(|(_, of, first, last)| (*of, *first, *last) == (chain, seq, seq)), "{faults:?}");
            desk.sql(&format!("DELETE FROM login_log WHERE id = '{new}'")).await;
            assert_eq!(desk.faults().await, []);
        }
    }
}

on_every_store! {
    async fn another_key_is_told_from_a_changed_log(desk: &Desk) {
        let other = ChainKey::new(&[8; 32]);
        assert!(matches!(desk.verify_with(&other, None).await, Err(VerifyError::WrongKey)), "also where nothing is written yet");
        assert_eq!(desk.store().is_key_of_log(other.clone()).await.unwrap(), Some(false));
        assert_eq!(desk.store().is_key_of_log(key()).await.unwrap(), Some(true));
        fill(desk).await;
        desk.prune(20).await;
        for check in ["NULL", "'theirs'"] {
            desk.sql(&format!("UPDATE desk SET key_check = {check}")).await;
            assert!(matches!(desk.verify_with(&other, None).await, Err(VerifyError::WrongKey)));
            // The key check is in the database, and nothing depends on it while rows verify.
            assert!(desk.verify_with(&key(), None).await.unwrap().faults.is_empty());
        }
        // The result does not depend on the marker either.
        desk.sql("UPDATE log_marker SET mac = 'x'").await;
        assert_eq!(desk.faults().await, [(LogFaultKind::MarkerChanged, -1, 0, 0)]);
        assert!(matches!(desk.verify_with(&other, None).await, Err(VerifyError::WrongKey)));
        desk.sql("UPDATE desk SET key_check = 'ours'").await;
        let verdict = desk.verify_with(&other, None).await.unwrap();
        assert_eq!((verdict.rows, verdict.fitting), (40, 0));
        let faults: Vec<_> = verdict.faults.iter().map(told).collect();
        assert!(faults.iter().all(|(what, ..)| matches!(what, LogFaultKind::Changed | LogFaultKind::ForgedPrune | LogFaultKind::MarkerChanged)), "{faults:?}");
        assert_eq!(faults.len(), 17, "one for the marker, one for each chain and one for what went of it: {faults:?}");
    }
}
