//! Notes which commit is built, and when, for `/version`.

use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

fn main() {
    println!("cargo::rerun-if-changed=../../.git/HEAD");
    println!("cargo::rerun-if-changed=../../.git/refs/heads");
    // The compiler knows the embedded files, but not that one was added.
    println!("cargo::rerun-if-changed=../../web/assets");
    println!("cargo::rerun-if-env-changed=SOURCE_DATE_EPOCH");
    println!("cargo::rustc-env=BUILD_COMMIT={}", commit().unwrap_or_else(|| "unknown".into()));
    println!("cargo::rustc-env=BUILD_TIME={}", built_at());
}

fn commit() -> Option<String> {
    let output = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

fn built_at() -> String {
    #[expect(clippy::disallowed_methods, reason = "a build happens outside the program, at the machine's time")]
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    #[expect(clippy::disallowed_methods, reason = "reproducible builds hand the time in this way")]
    let seconds = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.parse().ok()).unwrap_or_else(now);
    jiff::Timestamp::from_second(i64::try_from(seconds).unwrap_or(0)).unwrap_or_default().to_string()
}
