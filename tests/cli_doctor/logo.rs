//! The check of the logo, before a start would fail on it.

use super::DoctorFixture;
use crate::cli::checked;

#[test]
fn a_logo_that_cannot_be_used_is_found_by_the_checks() {
    let directory = tempfile::tempdir().unwrap();
    let place = |name: &str, content: &[u8]| {
        let path = directory.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let good = place("good.svg", b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>");
    let missing = directory.path().join("none.svg").to_str().unwrap().to_owned();
    let bad = [
        (place("logo.gif", b"GIF89a"), "neither an SVG nor a PNG"),
        (place("large.svg", "<svg>".repeat(20_000).as_bytes()), "larger than 64 KiB"),
        (missing, "cannot be read"),
    ];
    let mut patient = DoctorFixture::new();
    patient.set("branding.logo", &good);
    assert!(checked(directory.path(), &[("branding.logo", &good)]).0);
    let [english, chinese] = patient.both();
    english.line(&format!("✓ logo: {good} can be used"));
    chinese.line(&format!("✓ 徽标：{good} 可以使用"));
    for (path, why) in bad {
        let (valid, text) = checked(directory.path(), &[("branding.logo", &path)]);
        assert!(!valid && text.contains("branding.logo") && text.contains(why), "{text}");
        patient.set("branding.logo", &path);
        let [english, chinese] = patient.both();
        english.below(&format!("✗ logo: {path}"), &["branding.logo"]);
        chinese.below(&format!("✗ 徽标：{path}"), &["branding.logo"]);
    }
}
