//! A program in a process of its own, which writes and reads lines of JSON.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Where a tool of this name installs.
pub(super) fn installed(tool: &str) -> PathBuf {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join(tool);
    assert!(home.join("installed").exists(), "run tools/{tool} first");
    home
}

fn packages() -> PathBuf {
    installed("relying-parties")
}

/// The directory of the scripts and templates.
pub(super) fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/relying_parties")
}

/// A running program. It ends with this value.
#[derive(Debug)]
pub(super) struct Program {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    /// What it writes to standard error, and for a server its data.
    directory: TempDir,
}

impl Program {
    /// Starts a script with Node.js.
    pub(super) fn node(script: &str, settings: &[(&str, &str)]) -> Self {
        Self::start(Command::new(packages().join("bin/node")), script, settings)
    }

    /// Starts a script with Python.
    pub(super) fn python(script: &str, settings: &[(&str, &str)]) -> Self {
        let mut command = Command::new(packages().join("bin/python"));
        // Compiled modules are kept, and not beside the sources.
        command.env_remove("PYTHONDONTWRITEBYTECODE").env("PYTHONPYCACHEPREFIX", packages().join("cache"));
        Self::start(command, script, settings)
    }

    /// Starts a script with the system's Ruby.
    pub(super) fn ruby(script: &str, settings: &[(&str, &str)]) -> Self {
        Self::start(Command::new("ruby"), script, settings)
    }

    fn start(mut command: Command, script: &str, settings: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        command.arg(scripts().join(script)).envs(settings.iter().copied());
        command.env("PACKAGES", packages()).env("DIRECTORY", directory.path());
        command.env("NO_PROXY", "127.0.0.1").env("no_proxy", "127.0.0.1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(File::create(directory.path().join("log")).unwrap());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{error}: {command:?}"));
        let (stdin, stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, stdin, stdout, directory }
    }

    /// The next line of JSON that the program writes. Notes of its libraries in between are left out.
    pub(super) fn hear(&mut self) -> Value {
        loop {
            let mut line = String::new();
            if self.stdout.read_line(&mut line).unwrap() == 0 {
                let log = std::fs::read_to_string(self.directory.path().join("log")).unwrap();
                panic!("the program ended:\n{log}");
            }
            if line.starts_with('{') {
                return serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            }
        }
    }

    /// Writes a line of JSON to the program.
    pub(super) fn say(&mut self, value: &Value) {
        writeln!(self.stdin, "{value}").unwrap();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
