use super::*;

#[test]
fn a_source_is_named_by_its_directory() {
    for (from, named) in [
        ("sqlite:/var/lib/deskpass", "/var/lib/deskpass"),
        ("sqlite:data", "data"),
        ("sqlite:///var/lib/deskpass", "/var/lib/deskpass"),
    ] {
        assert_eq!(directory(from).map_err(|failed| failed.why), Ok(PathBuf::from(named)), "{from}");
    }
    for from in ["", "sqlite:", "sqlite://", "data", "postgres://desk:hunter2@db/desk"] {
        let message = directory(from).map_or_else(|failed| failed.why, |path| path.display().to_string());
        assert!(message.starts_with("--from must be sqlite:") && !message.contains("hunter2"), "{from}: {message}");
    }
}

#[test]
fn progress_is_printed_twice_a_second_at_most() {
    let clock = Clock::manual(Timestamp::from_millis(0));
    let mut meter = ProgressMeter::new(Vec::new(), clock.clone());
    for rows in 0..100 {
        meter.report(CopyProgress { table: "session", rows, of: 100 });
        clock.advance(Duration::from_millis(100));
    }
    let message = String::from_utf8_lossy(&meter.out).into_owned();
    assert!(message.starts_with("session: 0 of 100\nsession: 5 of 100\n"), "{message}");
    assert_eq!(message.lines().count(), 20, "{message}");
}

#[test]
fn the_summary_counts_rows_tables_and_seconds() {
    let copied = CopyReport { tables: vec![("employee".to_owned(), 3), ("session".to_owned(), 40)] };
    let message = summary(&copied, Duration::from_millis(1_250));
    let words: Vec<_> = message.split_whitespace().collect();
    let expected = "copied 43 row(s) of 2 table(s) in 1.2 s employee 3 session 40";
    assert_eq!(words.join(" "), expected);
}

#[test]
fn every_refusal_says_what_to_do() {
    let (from, to) = (Path::new("/var/lib/deskpass"), "postgres://desk:***@db/desk");
    let message = |error: &CopyError| refusal(error, from, &to);
    let in_use = message(&CopyError::Source(OpenError::InUse(from.to_owned())));
    assert!(in_use.contains("a service runs on /var/lib/deskpass; stop it first"), "{in_use}");
    let full = message(&CopyError::NotEmpty { table: "employee".to_owned(), rows: 7 });
    assert!(full.contains("already contains data (employee: 7)") && full.contains("an empty database"), "{full}");
    let other = message(&CopyError::Target(OpenError::Mode {
        place: String::new(),
        found: "development mode".to_owned(),
        wanted: "production",
        instead: "",
    }));
    assert!(other.contains("was created in development mode") && other.contains("another database"), "{other}");
    for message in [full, other] {
        assert!(message.starts_with(to), "{message}");
    }
}
