//! The real program, in a process of its own.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};

use super::ClusterStore;

/// The beginning of the line that a service prints when it is ready.
const READY: &str = "deskpass is ready at ";

/// The program under test, as a command.
pub(crate) fn binary() -> Command {
    program(Path::new(env!("CARGO_BIN_EXE_deskpass")))
}

/// The program of a release, as a command.
pub(crate) fn program(path: &Path) -> Command {
    let mut command = Command::new(path);
    // The environment of the developer who runs the suite must not affect it.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("DESKPASS_")) {
        command.env_remove(name);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs a command to its end. A service that starts would not end: it is killed, and the test fails.
pub(crate) fn finished(command: &mut Command) -> Output {
    let mut child = command.spawn().unwrap();
    let (stdout, mut stderr) = (BufReader::new(child.stdout.take().unwrap()), child.stderr.take().unwrap());
    let errors = std::thread::spawn(move || {
        let mut errors = Vec::new();
        stderr.read_to_end(&mut errors).unwrap();
        errors
    });
    let mut written = Vec::new();
    for line in stdout.split(b'\n').map(Result::unwrap) {
        if line.starts_with(READY.as_bytes()) {
            child.kill().unwrap();
            child.wait().unwrap();
            let errors = errors.join().unwrap();
            panic!("it starts to serve: {command:?}\n{}", String::from_utf8_lossy(&errors));
        }
        written.extend(line);
        written.push(b'\n');
    }
    Output { status: child.wait().unwrap(), stdout: written, stderr: errors.join().unwrap() }
}

/// `deskpass serve` with settings from the environment only: no settings file of the developer who runs the suite.
fn node_at(place: &ClusterStore, more: &[(&str, &str)]) -> Command {
    node_of(binary(), place, more)
}

/// The same with the program of a release.
fn node_of(mut command: Command, place: &ClusterStore, more: &[(&str, &str)]) -> Command {
    command.arg("serve").current_dir(std::env::temp_dir());
    let given = [("listen", "127.0.0.1:0")].into_iter().chain(place.settings()).chain(more.iter().copied());
    with_settings(&mut command, given);
    command
}

/// Passes settings to a command through its environment.
pub(crate) fn with_settings<'a>(command: &mut Command, given: impl IntoIterator<Item = (&'a str, &'a str)>) {
    for (key, value) in given {
        command.env(format!("DESKPASS_{}", key.to_uppercase().replace('.', "__")), value);
    }
}

/// A running service.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    pub(crate) address: String,
}

impl Process {
    /// Starts `deskpass serve --dev` on `data` and waits for its ready line.
    pub(crate) fn serve(data: &Path, more: &[&str]) -> Self {
        let mut command = binary();
        command.args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"]).arg(data).args(more);
        Self::spawn(command)
    }

    /// Starts a node in development mode on a store that others may share, on a free port unless `listen` is given.
    pub(crate) fn node(place: &ClusterStore, more: &[(&str, &str)]) -> Self {
        Self::spawn(node_at(place, &[&[("development.enabled", "true")], more].concat()))
    }

    /// Starts a node in production mode on a store that others may share; `more` has the settings that production requires.
    pub(crate) fn production_node(place: &ClusterStore, more: &[(&str, &str)]) -> Self {
        Self::spawn(node_at(place, more))
    }

    /// Starts a node of a release in production mode on a store that others may share.
    pub(crate) fn release_node(release: Command, place: &ClusterStore, more: &[(&str, &str)]) -> Self {
        Self::spawn(node_of(release, place, more))
    }

    /// Starts a command that serves and waits for its ready line.
    pub(crate) fn spawn(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix(READY).and_then(|url| url.split_once("://"));
        let Some((_, address)) = url else {
            let mut why = String::new();
            match child.stderr.take() {
                Some(mut stderr) => drop(stderr.read_to_string(&mut why)),
                None => why.push_str("what its log says"),
            }
            panic!("no ready line, but {line:?} and {why}");
        };
        let address = address.to_owned();
        child.stdout = Some(stdout.into_inner());
        Self { child, address }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends SIGKILL.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until it has ended by itself.
    pub(crate) fn wait(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// Sends SIGSTOP: connections stay open without responses.
    pub(crate) fn pause(&self) {
        self.signal("STOP");
    }

    pub(crate) fn resume(&self) {
        self.signal("CONT");
    }

    /// Sends SIGHUP: the service reads its settings again.
    pub(crate) fn hang_up(&self) {
        self.signal("HUP");
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Sends SIGTERM; returns the exit code and everything it wrote to standard error, unless that is redirected.
    pub(crate) fn terminate(mut self) -> (Option<i32>, String) {
        self.signal("TERM");
        let mut log = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            stderr.read_to_string(&mut log).unwrap();
        }
        (self.child.wait().unwrap().code(), log)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A failing test must not leave its service behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
