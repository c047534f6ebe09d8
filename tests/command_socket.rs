//! The socket on which a running service accepts commands: no other user can ever connect.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::harness::{Operator, Process, binary};

/// A library that notes the mode of every socket at the moment of its bind.
fn bound_mode(directory: &Path) -> PathBuf {
    let library = directory.join("bound_mode.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/command_socket/bound_mode.c");
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).status().unwrap();
    assert!(compiled.success());
    library
}

/// A service whose umask would let every user in.
#[test]
fn the_socket_is_never_open_to_others() {
    let home = tempfile::tempdir().unwrap();
    let (data, modes) = (home.path().join("data"), home.path().join("modes"));
    let mut command = binary();
    command.args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"]).arg(&data);
    command.env("LD_PRELOAD", bound_mode(home.path())).env("BOUND_MODES", &modes);
    command.stderr(Stdio::null());
    let service = Process::spawn(command);
    assert_eq!(std::fs::read_to_string(&modes).unwrap(), "600\n");
    let mode = std::fs::metadata(data.join("deskpass.sock")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // The operator's commands still reach it.
    let listed = Operator::In(home.path()).succeed(&["employee", "list"]);
    assert!(listed.contains("admin01"), "{listed}");
    drop(service);
}
