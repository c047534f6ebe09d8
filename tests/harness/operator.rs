//! Acts as the operator, on the command line.

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use super::{ClusterStore, binary, query, with_settings};

/// An operator of a development service, on a directory or on servers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operator<'a> {
    In(&'a Path),
    At(&'a ClusterStore),
}

impl Operator<'_> {
    /// Runs the program; returns whether it succeeded, and its output.
    pub(crate) fn run(self, arguments: &[&str]) -> (bool, String) {
        self.run_with(arguments, "")
    }

    /// Runs the program with standard input.
    pub(crate) fn run_with(self, arguments: &[&str], input: &str) -> (bool, String) {
        let mut command = binary();
        command.args(arguments).arg("--dev").stdin(Stdio::piped());
        match self {
            Self::In(directory) => command.current_dir(directory),
            Self::At(place) => {
                with_settings(&mut command, place.settings());
                command.current_dir(std::env::temp_dir())
            }
        };
        let mut child = command.spawn().unwrap();
        // Most commands read nothing, and may exit before it is written.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (output.status.success(), text)
    }

    pub(crate) fn succeed(self, arguments: &[&str]) -> String {
        let (success, text) = self.run(arguments);
        assert!(success, "{arguments:?}\n{text}");
        text
    }

    /// Runs the program and requires that it fails with these words; returns its output.
    pub(crate) fn fail(self, arguments: &[&str], words: &str) -> String {
        let (success, text) = self.run(arguments);
        assert!(!success && text.contains(words), "{arguments:?}\n{text}");
        text
    }

    /// Changes the database directly, past the service.
    pub(crate) fn sql(self, sql: &str) {
        match self {
            Self::In(directory) => drop(query(&directory.join("data/deskpass.db"), sql)),
            Self::At(place) => drop(place.query(sql)),
        }
    }
}
