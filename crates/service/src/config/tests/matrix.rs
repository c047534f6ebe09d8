//! The file that replaces the access matrix.

use deskpass_core::{Operation, PermissionMatrix, PermissionScope, Resource, Role};
use proptest::prelude::*;

use super::super::matrix_file;
use super::TestSources;

/// The built-in matrix as a file, with these lines replaced.
fn file(changes: &[(&str, &str)]) -> String {
    let written = matrix_file(&PermissionMatrix::built_in());
    changes.iter().fold(written, |file, (from, to)| {
        assert!(file.contains(from), "{from}");
        file.replacen(from, to, 1)
    })
}

fn given(text: &str) -> TestSources {
    TestSources::development().variable("DESKPASS_ACCESS__MATRIX_FILE", "matrix.toml").file("matrix.toml", text)
}

/// The agent's row for conversations, as it is printed.
const AGENT: &str = r#"conversation = { read = "department", create = "own", update = "own", delete = "none" }"#;

#[track_caller]
fn says(change: &str, expected: &[&str]) {
    let problems = given(&file(&[(AGENT, change)])).problems();
    assert_eq!(problems.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn without_a_file_the_built_in_matrix_holds() {
    assert_eq!(TestSources::production().settings().access.matrix, PermissionMatrix::built_in());
}

#[test]
fn a_file_replaces_it_and_nothing_else_of_it() {
    let wider = AGENT.replace("department", "all");
    let matrix = given(&file(&[(AGENT, &wider)])).settings().access.matrix;
    let expected = PermissionMatrix::from_cells(|role, resource, operation| match (role, resource, operation) {
        (Role::Agent, Resource::Conversation, Operation::Read) => Some(PermissionScope::All),
        _ => PermissionMatrix::built_in().granted(role, resource, operation),
    });
    assert_eq!(matrix, expected);
}

#[test]
fn cells_may_stand_in_tables_of_their_own() {
    let split = format!("knowledge.read = \"all\"\nknowledge.create = \"own\"\nknowledge.update = \"own\"\n{AGENT}");
    let whole = r#"knowledge = { read = "all", create = "own", update = "own", delete = "none" }"#;
    let text = file(&[(AGENT, &split), (whole, r#"knowledge.delete = "none""#)]);
    assert_eq!(given(&text).settings().access.matrix, PermissionMatrix::built_in());
}

#[test]
fn unknown_words_are_answered_with_the_nearest() {
    says(
        &AGENT.replace("\"department\"", "\"departement\""),
        &[
            "agent.conversation.read (matrix.toml:12): there is no scope \"departement\"; the nearest known one is department",
        ],
    );
    says(
        &AGENT.replace("conversation", "conversations"),
        &[
            "agent.conversations (matrix.toml:12): there is no such resource; the nearest known one is conversation",
            "agent.conversation (matrix.toml:11): this resource is missing, and a matrix names every one; \
             `deskpass config matrix` prints one to start from",
        ],
    );
    says(
        &AGENT.replace("update", "upd\u{fc}te\\n").replace("upd\u{fc}te\\n", "\"upd\u{fc}te\\n\""),
        &[
            "agent.conversation.upd\u{fc}te\\n (matrix.toml:12): there is no such operation; the nearest known one is update",
            "agent.conversation.update (matrix.toml:12): this operation is missing, and a matrix names every one; \
             `deskpass config matrix` prints one to start from",
        ],
    );
}

#[test]
fn what_is_no_word_at_all_is_told() {
    says(
        &AGENT.replace("\"none\"", "false"),
        &[
            "agent.conversation.delete (matrix.toml:12): this is not a scope; expected one of \"own\", \"department\", \"all\", \"none\"",
        ],
    );
    says(
        "conversation = \"all\"",
        &[
            "agent.conversation (matrix.toml:12): this is not a table; expected a table with every operation: read, create, update, delete",
        ],
    );
}

#[test]
fn everything_that_is_wrong_is_told_at_once_with_the_settings() {
    let user = r#"conversation = { read = "own", create = "own", update = "own", delete = "none" }"#;
    let odd = user.replace("create = \"own\"", "create = \"mine\"").replace("none", "nothing");
    let text = file(&[("[agent]", "[agents]"), (user, &odd)]);
    let problems = given(&text).variable("DESKPASS_LOG__LEVEL", "loud").problems();
    let subjects: Vec<_> = problems.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(subjects, ["log.level", "agents", "agent", "user.conversation.create", "user.conversation.delete"]);
}

#[test]
fn an_empty_file_lacks_every_role() {
    let problems = given("").problems();
    let subjects: Vec<_> = problems.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(subjects, ["admin", "agent", "user", "supervisor", "security"]);
}

#[test]
fn what_is_not_toml_is_told_with_its_line() {
    let problems = given(&file(&[("[agent]", "[agent")])).problems();
    assert!(problems.starts_with("matrix.toml:11: this is not TOML"), "{problems}");
    assert!(problems.ends_with("`deskpass config matrix` prints one to start from"), "{problems}");
}

#[test]
fn a_file_that_is_not_there_is_told() {
    let problems = TestSources::development().variable("DESKPASS_ACCESS__MATRIX_FILE", "gone.toml").problems();
    let expected = "access.matrix_file (environment DESKPASS_ACCESS__MATRIX_FILE): gone.toml cannot be read: ";
    assert!(problems.starts_with(expected), "{problems}");
}

#[test]
fn the_matrix_is_known_without_what_production_lacks_but_not_from_a_bad_file() {
    let bare = TestSources::default();
    assert!(bare.check().is_err());
    assert_eq!(bare.resolve().matrix().ok(), Some(&PermissionMatrix::built_in()));
    assert!(given("").resolve().matrix().is_err());
    assert!(TestSources::default().toml("[access").resolve().matrix().is_err());
}

proptest! {
    #[test]
    fn what_is_printed_reads_back(scopes in proptest::collection::vec(0..4_usize, 80)) {
        let mut scopes = scopes.into_iter();
        let matrix = PermissionMatrix::from_cells(|_, _, _| PermissionScope::ALL.get(scopes.next()?).copied());
        prop_assert_eq!(given(&matrix_file(&matrix)).settings().access.matrix, matrix);
    }

    #[test]
    fn no_file_is_too_odd(text in "(\\[?(admin|agent|x)?\\]?\n?|(read|conversation|=|\\{|\\}|\"all\"|\\.|,| ){0,6}\n){0,12}") {
        prop_assert!(!given(&text).problems().is_empty());
    }
}
