//! Every change by an attacker who has the database and not the key is found.

use std::collections::BTreeSet;

use deskpass_core::{EmployeeKey, EncryptionKeys};
use deskpass_store::{ChainKeys, LogEntry, LogFaultKind, VerifyError};

use crate::log::fixture::{Fixture, at, key, on_every_store, summary};

/// Writes a log of some length, with every column of every row filled.
async fn fill(fixture: &Fixture) {
    for millis in 0..60 {
        let entry = LogEntry {
            actor: Some(EmployeeKey::from_parts("ww", "admin01")),
            reason: Some("disabled"),
            detail: "admin, user -> user".to_owned(),
            ..fixture.entry(millis)
        };
        fixture.store().record(entry).await.unwrap();
    }
}

#[derive(Debug)]
struct Column {
    name: String,
    is_text: bool,
    may_be_null: bool,
}

/// The columns of a table from the database, so that none is forgotten.
async fn columns(fixture: &Fixture, table: &str) -> Vec<Column> {
    let text = if fixture.is_embedded() {
        format!("SELECT name, type, \"notnull\" FROM pragma_table_info('{table}')")
    } else {
        format!(
            "SELECT column_name, upper(data_type), CASE is_nullable WHEN 'NO' THEN 1 ELSE 0 END
             FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = '{table}'"
        )
    };
    let rows = fixture.sql(&text).await.into_iter().map(|row| {
        let [name, kind, never] = <[_; 3]>::try_from(row).unwrap().map(Option::unwrap);
        Column { name, is_text: kind == "TEXT", may_be_null: never == "0" }
    });
    rows.collect()
}

/// Other values for a column, as SQL.
fn others(fixture: &Fixture, Column { name, is_text, may_be_null }: &Column) -> Vec<String> {
    let mut others = if *is_text {
        vec![format!("{name} || 'x'"), "''".to_owned(), format!("upper({name}) || ' '")]
    } else {
        vec![format!("{name} + 100000"), "-1".to_owned(), i64::MIN.to_string(), i64::MAX.to_string()]
    };
    if *may_be_null {
        others.push("NULL".to_owned());
    }
    if fixture.is_embedded() {
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
    async fn a_change_to_any_column_of_a_row_is_found(fixture: &Fixture) {
        fill(fixture).await;
        let (chain, seq, id) = fixture.middle().await;
        let columns = columns(fixture, "login_log").await;
        assert!(columns.len() >= 21, "{columns:?}");
        for column in &columns {
            let name = &column.name;
            // The row is identified by a column other than the changed one.
            let (row, back) = match &**name {
                "id" => (format!("chain = {chain} AND seq = {seq}"), format!("chain = {chain} AND seq = {seq}")),
                _ => (format!("id = '{id}'"), format!("id = '{id}'")),
            };
            let before = fixture.sql(&format!("SELECT {name} FROM login_log WHERE {row}")).await.remove(0).remove(0);
            for other in others(fixture, column) {
                fixture.sql(&format!("UPDATE login_log SET {name} = {other} WHERE {row}")).await;
                let faults: Vec<_> = fixture.verify().await.faults.iter().map(summary).collect();
                let found = faults.iter().any(|(_, of, first, last)| *of == chain && (*first..=*last).contains(&seq));
                assert!(found, "{name} = {other}: {faults:?}");
                let near = |(_, of, first, last): &(LogFaultKind, i64, i64, i64)| *of != chain || (*first >= seq && *last <= seq);
                assert!(faults.iter().all(near) || matches!(&**name, "seq"), "{name} = {other}: {faults:?}");
                let value = literal(before.as_deref(), column.is_text);
                fixture.sql(&format!("UPDATE login_log SET {name} = {value} WHERE {back}")).await;
                assert_eq!(fixture.faults().await, [], "{name} is as it was");
            }
        }
    }
}

on_every_store! {
    async fn a_change_to_where_a_chain_ends_is_found(fixture: &Fixture) {
        fill(fixture).await;
        fixture.prune(20).await;
        let columns = columns(fixture, "log_chain").await;
        assert!(columns.len() >= 6, "{columns:?}");
        // A chain with pruned rows and remaining rows, and the chain for rows from before chains, which is empty.
        for chain in [fixture.middle().await.0, 8] {
            for column in &columns {
                let name = &column.name;
                let row = format!("SELECT {name} FROM log_chain WHERE chain = {chain}");
                let before = fixture.sql(&row).await.remove(0).remove(0);
                for other in others(fixture, column) {
                    let same = format!("SELECT 1 FROM log_chain WHERE chain = {chain} AND {name} = {other}");
                    if !fixture.sql(&same).await.is_empty() {
                        continue;
                    }
                    fixture.sql(&format!("UPDATE log_chain SET {name} = {other} WHERE chain = {chain}")).await;
                    let faults = fixture.faults().await;
                    assert!(faults.iter().any(|(_, of, ..)| *of == chain), "{chain} {name} = {other}: {faults:?}");
                    let back = literal(before.as_deref(), column.is_text);
                    let moved = if name == "chain" { "chain NOT IN (0, 1, 2, 3, 4, 5, 6, 7, 8)".to_owned() } else { format!("chain = {chain}") };
                    fixture.sql(&format!("UPDATE log_chain SET {name} = {back} WHERE {moved}")).await;
                    assert_eq!(fixture.faults().await, [], "{name} is as it was");
                }
            }
        }
        for chain in 0..=8 {
            fixture.sql(&format!("DELETE FROM log_chain WHERE chain = {chain}")).await;
            assert!(fixture.faults().await.iter().any(|(what, of, ..)| (*what, *of) == (LogFaultKind::EndChanged, chain)));
        }
    }
}

on_every_store! {
    async fn a_change_to_the_marker_is_found(fixture: &Fixture) {
        fill(fixture).await;
        let columns = columns(fixture, "log_marker").await;
        assert!(columns.len() >= 5, "{columns:?}");
        for column in &columns {
            let name = &column.name;
            let before = fixture.sql(&format!("SELECT {name} FROM log_marker")).await.remove(0).remove(0);
            for other in others(fixture, column) {
                if !fixture.sql(&format!("SELECT 1 FROM log_marker WHERE {name} = {other}")).await.is_empty() {
                    continue;
                }
                fixture.sql(&format!("UPDATE log_marker SET {name} = {other}")).await;
                assert_eq!(fixture.faults().await, [(LogFaultKind::MarkerChanged, -1, 0, 0)], "{name} = {other}");
                fixture.sql(&format!("UPDATE log_marker SET {name} = {}", literal(before.as_deref(), column.is_text))).await;
                assert_eq!(fixture.faults().await, [], "{name} is as it was");
            }
        }
        fixture.sql("INSERT INTO log_marker (id, since, adopted, hash, mac) SELECT 2, since, adopted, hash, mac FROM log_marker").await;
        assert_eq!(fixture.faults().await, [(LogFaultKind::MarkerChanged, -1, 0, 0)]);
        fixture.sql("DELETE FROM log_marker").await;
        assert_eq!(fixture.faults().await, [(LogFaultKind::MarkerMissing, -1, 0, 0)]);
    }
}

on_every_store! {
    async fn a_log_that_is_taken_out_of_its_chains_is_found_and_never_taken_for_an_old_one(fixture: &mut Fixture) {
        fill(fixture).await;
        let receipt = fixture.verify().await.receipt;
        fixture.sql("UPDATE login_log SET chain = NULL, seq = NULL, hash = NULL").await;
        fixture.sql("DELETE FROM log_chain").await;
        let ends = |what: LogFaultKind| (0..9).map(move |chain| (what, chain, 0, 0));
        let unchained = std::iter::repeat_n((LogFaultKind::Unchained, -1, 0, 0), 60);
        let expected: Vec<_> = ends(LogFaultKind::EndChanged).chain(unchained.clone()).collect();
        let verdict = fixture.verify().await;
        assert_eq!(verdict.faults.iter().map(summary).collect::<Vec<_>>(), expected);
        assert_eq!(verdict.unchained, 60);
        // Without the marker, too; a start does not create another one.
        fixture.sql("DELETE FROM log_marker").await;
        fixture.reopen().await;
        let expected: Vec<_> = std::iter::once((LogFaultKind::MarkerMissing, -1, 0, 0)).chain(expected).collect();
        assert_eq!(fixture.faults().await, expected);
        // As if the tables were of an earlier version: that takes the right to change tables, and a receipt finds it.
        fixture.make_older().await;
        fixture.reopen().await;
        let verdict = fixture.verify().await;
        assert_eq!((verdict.faults.len(), verdict.adopted.map(|(rows, _)| rows)), (0, Some(60)), "{verdict:?}");
        let verdict = fixture.verify_with(&key(), Some(&receipt)).await.unwrap();
        assert_eq!(summary(&verdict.faults[0]), (LogFaultKind::MarkerReplaced, -1, 0, 0));
        assert_eq!(verdict.faults.iter().filter(|fault| fault.what == LogFaultKind::LostFromReceipt).count(), 8);
    }
}

on_every_store! {
    async fn rows_from_before_chains_are_taken_into_one_and_cannot_be_changed_from_then_on(fixture: &mut Fixture) {
        fixture.write(0..30).await;
        fixture.sql("UPDATE login_log SET chain = NULL, seq = NULL, hash = NULL, detail = NULL, decided_address = NULL, seen_seq = NULL, seen_hash = NULL, reference = NULL").await;
        fixture.sql("DELETE FROM log_chain").await;
        fixture.make_older().await;
        // As after an upgrade from the previous version: these rows are chained, and record less.
        fixture.reopen().await;
        let verdict = fixture.verify().await;
        assert_eq!((verdict.rows, verdict.unchained, verdict.faults.len()), (30, 0, 0), "{verdict:?}");
        assert_eq!(verdict.adopted, Some((30, at(0))));
        fixture.write(30..60).await;
        assert_eq!(fixture.faults().await, []);
        let id = fixture.sql("SELECT id FROM login_log WHERE chain = 8 AND seq = 7").await.remove(0).remove(0).unwrap();
        fixture.sql(&format!("UPDATE login_log SET employee_key = 'other' WHERE id = '{id}'")).await;
        assert_eq!(fixture.faults().await, [(LogFaultKind::Changed, 8, 7, 7)]);
        fixture.sql(&format!("UPDATE login_log SET employee_key = 'user01' WHERE id = '{id}'")).await;
        // The end of a chain that never grows cannot be cut off, either.
        fixture.sql("DELETE FROM login_log WHERE chain = 8 AND seq > 25").await;
        fixture.sql("UPDATE log_chain SET seq = 25, hash = (SELECT hash FROM login_log WHERE chain = 8 AND seq = 25) WHERE chain = 8").await;
        assert_eq!(fixture.faults().await, [(LogFaultKind::EndChanged, 8, 30, 30)]);
    }
}

on_every_store! {
    async fn rows_in_no_chain_that_are_newer_than_chains_are_not_taken_into_one(fixture: &mut Fixture) {
        fill(fixture).await;
        let (chain, seq, id) = fixture.middle().await;
        fixture.sql(&format!("UPDATE login_log SET chain = NULL, seq = NULL, hash = NULL WHERE id = '{id}'")).await;
        fixture.make_older().await;
        fixture.reopen().await;
        let faults = fixture.faults().await;
        assert!(faults.contains(&(LogFaultKind::Missing, chain, seq, seq)) && faults.contains(&(LogFaultKind::Unchained, -1, 0, 0)), "{faults:?}");
    }
}

on_every_store! {
    async fn a_chain_that_is_cut_contradicts_the_others(fixture: &Fixture) {
        fixture.write(0..120).await;
        let (chain, seq, _) = fixture.middle().await;
        fixture.sql(&format!("DELETE FROM login_log WHERE chain = {chain} AND seq > {seq}")).await;
        let hash = format!("(SELECT hash FROM login_log WHERE chain = {chain} AND seq = {seq})");
        fixture.sql(&format!("UPDATE log_chain SET seq = {seq}, hash = {hash} WHERE chain = {chain}")).await;
        let faults = fixture.faults().await;
        let cut = |(what, of, first, _): &(LogFaultKind, i64, i64, i64)| (*what, *of) == (LogFaultKind::LostFromOthers, chain) && *first > seq;
        assert!(!faults.is_empty() && faults.iter().all(cut), "{faults:?}");
        // Rows that the service writes there afterwards do not hide it.
        fixture.write(200..500).await;
        let faults = fixture.faults().await;
        assert!(!faults.is_empty() && faults.iter().all(cut), "{faults:?}");
        // Pruning does not hide it, except for the pruned rows that prove it.
        fixture.prune(20).await;
        assert!(fixture.faults().await.iter().all(cut));
        // A chain that is emptied completely.
        let other = (chain + 1) % 8;
        fixture.sql(&format!("DELETE FROM login_log WHERE chain = {other}")).await;
        fixture.sql(&format!("UPDATE log_chain SET seq = 0, hash = '', pruned_seq = 0, pruned_hash = '', pruned_mac = '' WHERE chain = {other}")).await;
        assert!(fixture.faults().await.iter().any(|(what, of, ..)| (*what, *of) == (LogFaultKind::LostFromOthers, other)));
    }
}

on_every_store! {
    async fn a_removed_row_is_found_wherever_it_was(fixture: &Fixture) {
        fill(fixture).await;
        let (chain, seq, _) = fixture.middle().await;
        let end = fixture.sql(&format!("SELECT seq FROM log_chain WHERE chain = {chain}")).await;
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
            fixture.sql(&format!("DELETE FROM login_log WHERE chain = {chain} AND {which}")).await;
            assert_eq!(fixture.faults().await, expected, "{which}");
        }
    }
}

on_every_store! {
    async fn rows_in_each_others_places_are_found(fixture: &Fixture) {
        fill(fixture).await;
        let (chain, seq, _) = fixture.middle().await;
        let swap = |to: i64, from: i64| format!("UPDATE login_log SET seq = {to} WHERE chain = {chain} AND seq = {from}");
        for (to, from) in [(1_000_000, seq), (seq, seq + 1), (seq + 1, 1_000_000)] {
            fixture.sql(&swap(to, from)).await;
        }
        let faults = fixture.faults().await;
        let found: BTreeSet<_> = faults.iter().flat_map(|(what, _, first, last)| (*first..=*last).map(move |seq| (*what == LogFaultKind::Changed, seq))).collect();
        assert!(found.contains(&(true, seq)) && found.contains(&(true, seq + 1)), "{faults:?}");
    }
}

on_every_store! {
    async fn a_row_that_is_moved_to_another_chain_is_found(fixture: &Fixture) {
        fill(fixture).await;
        let (chain, seq, id) = fixture.middle().await;
        let (other, beyond) = ((chain + 1) % 8, 1_000);
        fixture.sql(&format!("UPDATE login_log SET chain = {other}, seq = {beyond} WHERE id = '{id}'")).await;
        let faults = fixture.faults().await;
        assert!(faults.contains(&(LogFaultKind::Missing, chain, seq, seq)), "{faults:?}");
        assert!(faults.contains(&(LogFaultKind::Added, other, beyond, beyond)), "{faults:?}");
        // In place of an existing row.
        fixture.sql(&format!("DELETE FROM login_log WHERE chain = {other} AND seq = 2")).await;
        fixture.sql(&format!("UPDATE login_log SET seq = 2 WHERE id = '{id}'")).await;
        let faults = fixture.faults().await;
        assert!(faults.contains(&(LogFaultKind::Moved, other, 2, 2)), "{faults:?}");
        // Into a chain that does not exist.
        fixture.sql(&format!("UPDATE login_log SET chain = 9, seq = 1 WHERE id = '{id}'")).await;
        let faults = fixture.faults().await;
        assert!(faults.iter().any(|(what, of, ..)| (*what, *of) == (LogFaultKind::Moved, 9)), "{faults:?}");
    }
}

on_every_store! {
    async fn rows_put_in_by_hand_are_found(fixture: &Fixture) {
        fill(fixture).await;
        let (chain, seq, id) = fixture.middle().await;
        let copy = |new: &str, place: &str| format!(
            "INSERT INTO login_log (id, at, event, corp_id, employee_key, role_id, login_method, login_source, ip_address,
             peer_address, user_agent, actor_corp_id, actor_key, reason, detail, chain, seq, hash)
             SELECT '{new}', at, event, corp_id, employee_key, role_id, login_method, login_source, ip_address,
             peer_address, user_agent, actor_corp_id, actor_key, reason, detail, {place}, hash FROM login_log WHERE id = '{id}'"
        );
        // Older than all other rows, and newer than some.
        for (old, rows) in [(format!("{:012x}{:020x}", 1, 1), 1), (format!("{id}0"), 2)] {
            fixture.sql(&copy(&old, "NULL, NULL")).await;
            let verdict = fixture.verify().await;
            assert_eq!((verdict.rows, verdict.unchained, verdict.faults.len()), (60, rows, usize::try_from(rows).unwrap()));
            assert!(verdict.faults.iter().any(|fault| fault.what == LogFaultKind::Unchained && fault.id.as_ref() == Some(&old)));
        }
        // However old it is, it stays for the investigation.
        assert_eq!(fixture.prune(-1).await, 0);
        assert_eq!(fixture.verify().await.unchained, 2);
        fixture.sql(&copy(&format!("{id}1"), &format!("{chain}, 0"))).await;
        fixture.sql(&copy(&format!("{id}2"), &format!("{chain}, {}", seq + 1_000))).await;
        let faults = fixture.faults().await;
        assert!(faults.contains(&(LogFaultKind::Added, chain, 0, 0)), "{faults:?}");
        assert!(faults.contains(&(LogFaultKind::Added, chain, seq + 1_000, seq + 1_000)), "{faults:?}");
    }
}

on_every_store! {
    async fn two_rows_at_one_place_are_found(fixture: &Fixture) {
        fill(fixture).await;
        let (chain, seq, id) = fixture.middle().await;
        fixture.sql("DROP INDEX login_log_by_chain").await;
        fixture.sql("CREATE INDEX login_log_by_chain ON login_log (chain, seq)").await;
        let columns: Vec<_> = columns(fixture, "login_log").await.into_iter().map(|column| column.name).collect();
        let others = columns.iter().filter(|name| *name != "id").cloned().collect::<Vec<_>>().join(", ");
        // A row before and a row after this one, by their identifiers; they belong to the same chain.
        for new in [format!("{:012x}{:019x}{}", 1, 1, &id[31..]), format!("f{}", &id[1..])] {
            fixture.sql(&format!("INSERT INTO login_log (id, {others}) SELECT '{new}', {others} FROM login_log WHERE id = '{id}'")).await;
            let faults = fixture.faults().await;
            assert!(faults.contains(&(LogFaultKind::Added, chain, seq, seq)), "{faults:?}");
            assert!(faults.iter().all(|(_, of, first, last)| (*of, *first, *last) == (chain, seq, seq)), "{faults:?}");
            fixture.sql(&format!("DELETE FROM login_log WHERE id = '{new}'")).await;
            assert_eq!(fixture.faults().await, []);
        }
    }
}

on_every_store! {
    async fn another_key_is_distinguished_from_a_changed_log(fixture: &Fixture) {
        let other = ChainKeys::new(&EncryptionKeys::one([8; 32]));
        assert!(matches!(fixture.verify_with(&other, None).await, Err(VerifyError::WrongKey)), "also where nothing is written yet");
        assert_eq!(fixture.store().is_key_of_log(other.clone()).await.unwrap(), Some(false));
        assert_eq!(fixture.store().is_key_of_log(key()).await.unwrap(), Some(true));
        fill(fixture).await;
        fixture.prune(20).await;
        for check in ["NULL", "'theirs'"] {
            fixture.sql(&format!("UPDATE desk SET key_check = {check}")).await;
            assert!(matches!(fixture.verify_with(&other, None).await, Err(VerifyError::WrongKey)));
            // The key check is in the database, and nothing depends on it while rows verify.
            assert!(fixture.verify_with(&key(), None).await.unwrap().faults.is_empty());
        }
        // The result does not depend on the marker either.
        fixture.sql("UPDATE log_marker SET mac = 'x'").await;
        assert_eq!(fixture.faults().await, [(LogFaultKind::MarkerChanged, -1, 0, 0)]);
        assert!(matches!(fixture.verify_with(&other, None).await, Err(VerifyError::WrongKey)));
        fixture.sql("UPDATE desk SET key_check = 'ours'").await;
        let verdict = fixture.verify_with(&other, None).await.unwrap();
        assert_eq!((verdict.rows, verdict.fitting), (40, 0));
        let faults: Vec<_> = verdict.faults.iter().map(summary).collect();
        assert!(faults.iter().all(|(what, ..)| matches!(what, LogFaultKind::Changed | LogFaultKind::ForgedPrune | LogFaultKind::MarkerChanged)), "{faults:?}");
        assert_eq!(faults.len(), 17, "one for the marker, one for each chain and one for what went of it: {faults:?}");
    }
}
