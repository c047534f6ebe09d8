//! Protection of secrets: no core dumps, https only, files readable by their owner only.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::harness::{PRODUCTION, Process, TestApp, binary, settings, with_settings};

#[test]
fn a_crash_leaves_no_core_dump() {
    let directory = tempfile::tempdir().unwrap();
    let process = Process::serve(directory.path(), &[]);
    let limits = fs::read_to_string(format!("/proc/{}/limits", process.id())).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().skip(4).take(2).collect::<Vec<_>>(), ["0", "0"], "{core}");
    process.kill();
}

#[tokio::test]
async fn browsers_must_use_https_where_the_service_is_reached_by_it() {
    let paths = [
        "/",
        "/h5/",
        "/healthz",
        "/api/ready",
        "/metrics",
        "/api/version",
        "/api/auth/me",
        "/no/such",
        "/api/dev/users",
    ];
    // Development mode never sends the header: browsers would apply it to everything on localhost.
    let developing = settings(&[("development.enabled", "true"), ("public_url", "https://localhost:8443")]);
    for (app, expected) in [
        (TestApp::production().await, Some("max-age=31536000")),
        (TestApp::start().await, None),
        (TestApp::with(developing).await, None),
    ] {
        let mut client = app.client().await;
        for path in paths {
            let answer = client.get(path, &[]).await;
            assert_eq!(answer.header("strict-transport-security"), expected, "{path}: {answer:?}");
        }
    }
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A command's messages about who can read its secrets.
fn output_of(directory: &Path, arguments: &[&str]) -> String {
    let mut command = binary();
    command.args(arguments).current_dir(directory).env("DESKPASS_PLATFORM__SECRET_FILE", directory.join("secret"));
    with_settings(&mut command, [PRODUCTION[0], PRODUCTION[2], ("platform.api_url", "http://127.0.0.1:1")]);
    let output = command.output().unwrap();
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn secrets_that_others_can_read_are_reported() {
    let directory = tempfile::tempdir().unwrap();
    let at = fs::canonicalize(directory.path()).unwrap();
    let [file, secret] = ["deskpass.toml", "secret"].map(|name| at.join(name));
    fs::write(&file, format!("encryption_key = \"{}\"\n", PRODUCTION[3].1)).unwrap();
    fs::write(&secret, PRODUCTION[1].1).unwrap();
    let check = |modes: [u32; 3]| {
        for (path, mode) in [&at, &file, &secret].into_iter().zip(modes) {
            chmod(path, mode);
        }
        let text = output_of(&at, &["config", "check"]);
        assert!(text.contains("the settings are valid"), "{text}");
        [&file, &secret].map(|path| text.contains(&format!("run: chmod go= {}", path.display())))
    };
    assert_eq!(check([0o755, 0o600, 0o600]), [false, false]);
    assert_eq!(check([0o755, 0o644, 0o600]), [true, false]);
    assert_eq!(check([0o755, 0o600, 0o604]), [false, true]);
    assert_eq!(check([0o755, 0o640, 0o440]), [true, true], "the group can");
    assert_eq!(check([0o700, 0o644, 0o644]), [false, false], "no other user can open the directory");
    assert_eq!(check([0o755, 0o644, 0o644]), [true, true]);
    let doctor = output_of(&at, &["doctor", "--language", "en"]);
    assert!(doctor.contains("! secret files: other users can read ") && doctor.contains("  chmod go= "), "{doctor}");
    chmod(&file, 0o600);
    chmod(&secret, 0o600);
    let doctor = output_of(&at, &["doctor", "--language", "en"]);
    assert!(doctor.contains("✓ secret files: not readable by other users"), "{doctor}");
}

#[test]
fn secrets_that_others_can_read_are_reported_at_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let (data, secret) = (directory.path().join("data"), directory.path().join("secret"));
    fs::write(&secret, PRODUCTION[3].1).unwrap();
    for (path, mode) in [(directory.path(), 0o755), (&*secret, 0o644)] {
        chmod(path, mode);
    }
    let mut command = binary();
    command.args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"]).arg(&data);
    command.env("DESKPASS_ENCRYPTION_KEY_FILE", &secret);
    let (_, log) = Process::spawn(command).terminate();
    assert!(log.contains("contains secrets and is readable by every user"), "{log}");
}
