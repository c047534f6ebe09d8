use deskpass_core::{Entropy, Timestamp};
use proptest::prelude::*;

use super::*;
use crate::backup_file::KeyDerivation;

const PASSWORD: &str = "correct horse battery";

fn password() -> BackupPassword {
    BackupPassword::new(PASSWORD).unwrap()
}

fn header(encrypted: bool) -> BackupHeader {
    BackupHeader {
        deskpass: "0.1.0".to_owned(),
        schema: 13,
        mode: "production".to_owned(),
        created_at: Timestamp::from_millis(1_800_000_000_000),
        source: "sqlite".to_owned(),
        encryption: encrypted.then(|| KeyDerivation::quick(Entropy::system()).unwrap()),
    }
}

type Rows = Vec<Vec<SqlValue<'static>>>;

fn write(rows: &[Vec<SqlValue<'static>>], encrypted: bool) -> Vec<u8> {
    let password = encrypted.then(password);
    let mut file = BackupWriter::begin(Vec::new(), &header(encrypted), password.as_ref()).unwrap();
    file.begin_table("employee", vec!["name".to_owned(), "at".to_owned()]).unwrap();
    file.write_rows(rows).unwrap();
    file.end_table().unwrap();
    let written = file.finish().unwrap();
    assert_eq!(written.tables, [("employee".to_owned(), u64::try_from(rows.len()).unwrap())]);
    assert_eq!(written.bytes, u64::try_from(written.out.len()).unwrap());
    written.out
}

/// Reads a whole file; returns its rows.
fn read(file: &[u8], password: Option<&BackupPassword>) -> Result<Rows, BackupFileError> {
    let (mut backup, mut rows) = (BackupReader::open(file, password)?, Vec::new());
    loop {
        match backup.next_record()? {
            Record::Row(row) => rows.push(row),
            Record::End { .. } => return Ok(rows),
            Record::Table { .. } | Record::TableEnd { .. } => {}
        }
    }
}

fn some_rows(count: i64) -> Rows {
    let text = |at: i64| SqlValue::Text(format!("张三 \u{0} \" \\ \n {at}").into());
    (0..count)
        .map(|at| vec![if at % 7 == 0 { SqlValue::Null } else { text(at) }, SqlValue::Int(i64::MIN + at)])
        .collect()
}

#[test]
fn what_is_written_is_read_back() {
    // The last is many chunks, of text that is hard to compress.
    let noise = (0..20_000_u64).map(|at| deskpass_core::Digest::of(&[&at.to_be_bytes()]).to_text());
    let noise: Rows = noise.map(|text| vec![SqlValue::Text(text.into()), SqlValue::Int(0)]).collect();
    for rows in [some_rows(0), some_rows(1), some_rows(3_000), noise] {
        assert!(read(&write(&rows, false), None).is_ok_and(|found| found == rows));
        assert!(read(&write(&rows, true), Some(&password())).is_ok_and(|found| found == rows));
    }
}

#[test]
fn an_encrypted_file_opens_with_its_password_alone_and_shows_no_content() {
    let file = write(&some_rows(100), true);
    assert!(matches!(read(&file, None), Err(BackupFileError::PasswordNeeded)));
    let wrong = BackupPassword::new("correct horse batterz").unwrap();
    assert!(matches!(read(&file, Some(&wrong)), Err(BackupFileError::WrongPassword)));
    assert!(matches!(read(&write(&some_rows(100), false), Some(&password())), Err(BackupFileError::NotEncrypted)));
    assert!(!file.windows(8).any(|part| part == b"employee"));
    assert!(BackupPassword::new("too short").is_none());
}

#[test]
fn other_files_are_not_backups() {
    for other in [&b""[..], b"SQLite format 3\0", b"deskpass-backup", b"deskpass-backup 1\n{", b"\xff\xfe\n"] {
        let error = read(other, None).unwrap_err();
        assert!(matches!(error, BackupFileError::NotABackup | BackupFileError::Incomplete), "{other:?}: {error}");
    }
    let error = read(b"deskpass-backup 2\n{}\n", None).unwrap_err();
    assert!(matches!(error, BackupFileError::NewerFormat(version) if version == "2"));
}

#[test]
fn a_header_with_other_words_is_refused() {
    for (deskpass, mode, source) in [
        ("", "production", "sqlite"),
        ("0.1.0\u{1b}[2J", "production", "sqlite"),
        ("0.1.0\n", "production", "sqlite"),
        ("0.1.0", "productive", "sqlite"),
        ("0.1.0", "production", "mysql"),
    ] {
        let [deskpass, mode, source] = [deskpass, mode, source].map(str::to_owned);
        let forged = BackupHeader { deskpass, mode, source, ..header(false) };
        let file = BackupWriter::begin(Vec::new(), &forged, None).unwrap().finish().unwrap().out;
        assert!(matches!(read(&file, None), Err(BackupFileError::Damaged)), "{forged:?}");
    }
}

#[test]
fn a_row_that_could_not_be_read_back_is_not_written() {
    let row = |length: usize| vec![vec![SqlValue::Text("x".repeat(length).into()), SqlValue::Int(0)]];
    // The rest of the line is `["",0]` and its end.
    let longest = row(MAX_LINE_BYTES - 7);
    assert!(read(&write(&longest, false), None).is_ok_and(|found| found == longest));
    let mut file = BackupWriter::begin(Vec::new(), &header(false), None).unwrap();
    file.begin_table("employee", vec!["name".to_owned(), "at".to_owned()]).unwrap();
    let error = file.write_rows(&row(MAX_LINE_BYTES - 6)).unwrap_err();
    assert!(matches!(error, BackupFileError::LongRow(table) if table == "employee"));
}

/// Each of these takes a checksum of its own, so the chunks must be bound together.
#[test]
fn chunks_cannot_be_moved_between_encrypted_files() {
    let (one, other) = (write(&some_rows(10), true), write(&some_rows(10), true));
    let body = |file: &[u8]| file.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(1).unwrap().0 + 1;
    let mixed = [&one[..body(&one)], &other[body(&other)..]].concat();
    assert!(matches!(read(&mixed, Some(&password())), Err(BackupFileError::WrongPassword)));
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let file = write(&some_rows(50), false);
    for end in 0..file.len() {
        assert!(read(&file[..end], None).is_err(), "cut at {end}");
    }
    assert!(read(&[&file[..], b"x"].concat(), None).is_err(), "something follows");
}

#[test]
fn a_byte_changed_anywhere_is_found() {
    let file = write(&some_rows(50), false);
    for at in 0..file.len() {
        let mut changed = file.clone();
        changed[at] ^= 0x10;
        assert!(read(&changed, None).is_err(), "changed at {at}");
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_pass_and_never_panic(
        header in proptest::collection::vec(any::<u8>(), 0..40),
        body in proptest::collection::vec(any::<u8>(), 0..2_000),
    ) {
        let file = [b"deskpass-backup 1\n".as_slice(), &header, b"\n", &body].concat();
        prop_assert!(read(&file, None).is_err());
        let (valid, mut file) = (write(&some_rows(3), false), Vec::new());
        let start = valid.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(1).unwrap().0 + 1;
        file.extend_from_slice(&valid[..start]);
        file.extend_from_slice(&body);
        prop_assert!(read(&file, None).is_err());
    }
}
