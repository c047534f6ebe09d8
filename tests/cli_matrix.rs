//! The access matrix on the command line.

use crate::cli::{checked, output_of, run};
use crate::harness::{binary, finished, with_settings};

#[test]
fn the_access_matrix_is_printed_checked_and_read_back() {
    let directory = tempfile::tempdir().unwrap();
    let (success, printed) = run(directory.path(), &["config", "matrix"]);
    assert!(success && printed.contains("[supervisor]"), "{printed}");
    let file = [("access.matrix_file", "matrix.toml")];
    let write = |text: &str| std::fs::write(directory.path().join("matrix.toml"), text).unwrap();
    write(&printed.replacen("read = \"all\"", "read = \"own\"", 1));
    assert!(checked(directory.path(), &file).0);
    let mut again = binary();
    with_settings(again.current_dir(directory.path()).args(["config", "matrix"]), file);
    let (_, read) = output_of(&again.output().unwrap());
    assert_eq!(read, printed.replacen("read = \"all\"", "read = \"own\"", 1));

    write(&printed.replacen("read = \"all\"", "read = \"al\"", 1).replace("[user]", "[users]"));
    let mut serve = binary();
    with_settings(serve.current_dir(directory.path()).args(["serve", "--dev"]), file);
    for (success, text) in [checked(directory.path(), &file), output_of(&finished(&mut serve))] {
        assert!(
            !success && text.contains("admin.conversation.read (matrix.toml:6): there is no scope \"al\""),
            "{text}"
        );
        assert!(
            text.contains("users (matrix.toml:17): there is no such role; the nearest known one is user"),
            "{text}"
        );
    }
    assert!(!directory.path().join("data").exists(), "nothing was made");
}
