//! `deskpass key rotate` is killed in the middle: nothing is lost, nothing is half done, and the next run completes it.

use std::io::{BufRead as _, BufReader, ErrorKind, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use deskpass_core::{EncryptionKeys, Entropy, KeyBytes};
use deskpass_store::{ChainKeys, Location, LogVerification, Mode, Seal, verify_log};
use serde_json::Value;

use super::{key_list, postgres};
use crate::harness::{ClusterStore, Servers, StoreBackend, binary, finished, query, with_settings};

const DEVICES: usize = 120;
const SEED: [u8; 20] = [42; 20];

/// The number of kills; `make torture` sets a higher one.
fn kills() -> u8 {
    if std::env::var_os("TORTURE").is_some() { 50 } else { 4 }
}

fn key(number: u8) -> KeyBytes {
    [number; 32]
}

/// Data with many devices, and no service.
struct Data {
    directory: tempfile::TempDir,
    place: Option<ClusterStore>,
}

impl Data {
    fn new() -> Self {
        let place = match StoreBackend::current() {
            StoreBackend::Embedded => None,
            StoreBackend::ScaledOut => Some(Servers::shared().cluster_store()),
        };
        let data = Self { directory: tempfile::tempdir().unwrap(), place };
        assert!(finished(&mut data.command(&["migrate", "--create"], &[key(0)])).status.success());
        let seal = seal(&[key(0)]);
        let (mut employees, mut agents) = (Vec::new(), Vec::new());
        for number in 0..DEVICES {
            let name = format!("bulk{number:03}");
            let sealed = URL_SAFE_NO_PAD.encode(seal.close(&format!("wwdeskpass/{name}"), &SEED).unwrap());
            employees.push(format!("('wwdeskpass', '{name}', '{name}', '{name}', '', '', 0)"));
            agents.push(format!("('wwdeskpass', '{name}', 2, 0, '{sealed}', 0)"));
        }
        data.sql(&format!(
            "INSERT INTO employee (corp_id, employee_key, employee_id, name, department, avatar, created_at) VALUES {}",
            employees.join(", ")
        ));
        data.sql(&format!(
            "INSERT INTO agent (corp_id, employee_key, role_id, created_at, otp_secret, otp_bound_at) VALUES {}",
            agents.join(", ")
        ));
        data
    }

    fn sql(&self, text: &str) -> Vec<String> {
        match &self.place {
            Some(place) => place.query(text),
            None => query(&self.directory.path().join("data/deskpass.db"), text),
        }
    }

    fn command(&self, arguments: &[&str], keys: &[KeyBytes]) -> Command {
        let mut command = binary();
        command.args(arguments).arg("--dev").current_dir(self.directory.path());
        if let Some(place) = &self.place {
            with_settings(&mut command, place.settings());
        }
        with_settings(&mut command, [("encryption_key", &*key_list(keys))]);
        command
    }

    fn location(&self) -> Location {
        let embedded = |directory: &Path| Location::Embedded(directory.join("data"));
        self.place.as_ref().map_or_else(|| embedded(self.directory.path()), postgres)
    }

    /// Every device opens with these keys, and the log is intact.
    async fn check(&self, keys: &[KeyBytes]) {
        let seal = seal(keys);
        let rows = self.sql("SELECT employee_key, otp_secret FROM agent WHERE otp_secret IS NOT NULL");
        assert_eq!(rows.len(), DEVICES);
        for row in rows {
            let (name, sealed) = row.split_once('|').unwrap();
            let opened = seal.open(&format!("wwdeskpass/{name}"), &URL_SAFE_NO_PAD.decode(sealed).unwrap());
            assert_eq!(opened.as_deref(), Some(&SEED[..]), "{name}");
        }
        let keys = ChainKeys::new(&EncryptionKeys::new(keys[0], keys[1..].iter().copied()));
        let location = self.location();
        let verdict = verify_log(LogVerification::new(&location, Mode::Development, &keys, |_| true)).await.unwrap();
        assert!(verdict.faults.is_empty(), "{verdict:?}");
    }
}

/// A socket that takes no more until the other end, returned first, is read: a command that writes to it waits.
fn full_socket() -> (UnixStream, OwnedFd) {
    let (reader, mut writer) = UnixStream::pair().unwrap();
    writer.set_nonblocking(true).unwrap();
    let full = std::iter::repeat_with(|| writer.write(b"\n")).find_map(Result::err).unwrap();
    assert_eq!(full.kind(), ErrorKind::WouldBlock);
    writer.set_nonblocking(false).unwrap();
    (reader, writer.into())
}

fn seal(keys: &[KeyBytes]) -> Seal {
    let keys = EncryptionKeys::new(keys[0], keys[1..].iter().copied());
    Seal::new(&keys, "deskpass one-time-password devices", Entropy::system())
}

on_every_store! {
    async fn a_rotation_that_is_killed_loses_nothing_and_is_completed() {
        let (data, mut random, mut interrupted) = (Data::new(), 0x2545_F491_4F6C_DD1D_u64, 0);
        for round in 0..kills() {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let keys = [key(round + 1), key(round)];
            let (progress, stderr) = full_socket();
            let mut child = data.command(&["key", "rotate"], &keys).stderr(stderr).spawn().unwrap();
            // Somewhere before its second step, since it waits to report the first; or after some of its steps.
            let steps = usize::from(round % 4);
            if steps > 0 {
                let mut lines = BufReader::new(&progress).lines().filter(|line| line.as_ref().is_ok_and(|l| !l.is_empty()));
                lines.nth(steps - 1);
            }
            for _ in 0..random % 300_000 {
                std::hint::spin_loop();
            }
            child.kill().unwrap();
            child.wait().unwrap();
            data.check(&keys).await;
            let again = finished(&mut data.command(&["key", "rotate", "--json"], &keys));
            assert!(again.status.success(), "{again:?}");
            let report: Value = serde_json::from_slice(&again.stdout).unwrap();
            assert!(report["devices_left"] == 0 && report["unreadable"] == 0, "{report}");
            interrupted += u8::from(report["switched"] == true || report["devices_moved"] != 0);
            data.check(&keys[..1]).await;
        }
        assert!(interrupted > 0, "each was done before it was killed");
        let rotations = data.sql("SELECT COUNT(*) FROM login_log WHERE event = 'key_rotated'");
        assert_eq!(rotations, [kills().to_string()], "each is recorded once");
    }
}
