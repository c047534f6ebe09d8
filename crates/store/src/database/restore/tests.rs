use super::*;
use crate::backup_file::BackupWriter;
use crate::database::sqlite::SqliteConnection;

type TableColumns = (String, Vec<String>);

fn all_tables() -> Vec<TableColumns> {
    let tables = tables_at(migrate::newest_version()).unwrap();
    tables.iter().map(|table| (table.name.clone(), table.column_names())).collect()
}

/// Whether a backup with these tables, which have no rows, is loaded.
fn is_loaded(tables: &[TableColumns]) -> bool {
    let header = BackupHeader {
        deskpass: "0.1.0".to_owned(),
        schema: migrate::newest_version(),
        mode: Mode::Production.name().to_owned(),
        created_at: Timestamp::from_millis(0),
        source: "sqlite".to_owned(),
        encryption: None,
    };
    let mut file = BackupWriter::begin(Vec::new(), &header, None).unwrap();
    for (name, columns) in tables {
        file.begin_table(name, columns.clone()).unwrap();
        file.end_table().unwrap();
    }
    let file = file.finish().unwrap().out;
    let empty = SqliteConnection::open_in_memory().unwrap();
    let sql = Sql::Sqlite(&empty);
    migrate::create_tables(&sql, header.schema).unwrap();
    let known = tables_at(header.schema).unwrap();
    let mut backup = BackupReader::open(&*file, None).unwrap();
    load_tables(&sql, &mut backup, &known, &mut |_: CopyProgress<'_>| {}).is_ok()
}

#[test]
fn a_backup_has_every_table_once_with_every_column() {
    let all = all_tables();
    assert!(is_loaded(&all));
    assert!(!is_loaded(&[]));
    let mut without_table = all.clone();
    without_table.remove(0);
    assert!(!is_loaded(&without_table));
    let mut without_column = all.clone();
    without_column.last_mut().unwrap().1.pop();
    assert!(!is_loaded(&without_column));
    let twice = [&*all, &*all].concat();
    assert!(!is_loaded(&twice));
}
