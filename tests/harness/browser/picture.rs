//! Screenshots of pages, for people to look at.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use super::Browser;

/// Saves a screenshot of the window as `NAME.png` among the build's pictures, some of which the README shows; returns the path.
pub(crate) async fn picture(browser: &Browser, name: &str) -> PathBuf {
    keep(name, &browser.get("/screenshot").await)
}

/// Saves a screenshot of the whole page, including the part below the window.
pub(crate) async fn full_picture(browser: &Browser, name: &str) -> PathBuf {
    let size = &browser.cdp("Page.getLayoutMetrics", json!({})).await["cssContentSize"];
    let clip = json!({ "x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1 });
    let asked = json!({ "captureBeyondViewport": true, "clip": clip });
    keep(name, &browser.cdp("Page.captureScreenshot", asked).await["data"])
}

fn keep(name: &str, picture: &Value) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("pictures");
    std::fs::create_dir_all(&directory).unwrap();
    // Renamed only once it is complete: the same test runs on every store at the same time.
    let mut file = NamedTempFile::new_in(&directory).unwrap();
    file.write_all(&STANDARD.decode(picture.as_str().unwrap()).unwrap()).unwrap();
    let path = directory.join(format!("{name}.png"));
    file.persist(&path).unwrap();
    path
}

impl Browser {
    /// Sets the width and height of the page.
    pub(crate) async fn set_size(&self, width: u32, height: u32) {
        let phone = self.session().phone;
        let scale = if phone { 2 } else { 1 };
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": scale, "mobile": phone });
        self.cdp("Emulation.setDeviceMetricsOverride", size).await;
    }
}
