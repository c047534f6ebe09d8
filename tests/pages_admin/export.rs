use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

use super::{Office, arrive, well_made};
use crate::harness::{Browser, Download, Options};

const WHOLE: u8 = 0;
const CUT: u8 = 1;
const STALLED: u8 = 2;

/// A proxy to a service through which a file arrives whole, breaks off, or never ends.
struct BreakableConnection {
    address: String,
    manner: Arc<AtomicU8>,
}

impl BreakableConnection {
    async fn to(app: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, manner) = (listener.local_addr().unwrap().to_string(), Arc::new(AtomicU8::new(WHOLE)));
        let (app, shared) = (app.to_owned(), Arc::clone(&manner));
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let (from_browser, to_browser) = near.into_split();
                let (from_desk, to_desk) = TcpStream::connect(&app).await.unwrap().into_split();
                tokio::spawn(carry(from_browser, to_desk, Arc::default()));
                tokio::spawn(carry(from_desk, to_browser, Arc::clone(&shared)));
            }
        });
        Self { address, manner }
    }
}

/// Copies bytes; of a file only the first half if the mode says so.
async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, manner: Arc<AtomicU8>) {
    let mut bytes = vec![0; 65_536];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        let manner = manner.load(Ordering::SeqCst);
        let file = String::from_utf8_lossy(&bytes[..count]).contains("content-type: text/csv");
        let broken = manner != WHOLE && file;
        if to.write_all(&bytes[..if broken { count - 40 } else { count }]).await.is_err() || (broken && manner == CUT) {
            return;
        }
        if broken {
            std::future::pending::<()>().await;
        }
    }
}

/// The directory for the browser's downloads.
async fn saving(browser: &Browser) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let kept = json!({ "behavior": "allow", "downloadPath": directory.path() });
    browser.cdp("Browser.setDownloadBehavior", kept).await;
    directory
}

/// The only file that arrives, once it is there.
async fn saved(directory: &tempfile::TempDir, kind: &str) -> String {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let files = std::fs::read_dir(directory.path()).unwrap().map(|file| file.unwrap().path());
        if let Some(file) = files.into_iter().find(|file| file.extension().is_some_and(|end| end == kind)) {
            return std::fs::read_to_string(file).unwrap();
        }
        assert!(Instant::now() < deadline, "nothing was saved");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn until_status(browser: &Browser, words: &str) {
    let words = Value::from(words);
    browser.wait_until(&format!("document.querySelector('#export-state').textContent.includes({words})")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_saved_is_what_the_desk_says() {
    let office = Office::open().await;
    let token = office.token(["admin01", "admin"]).await;
    let browser = office.driver.browser(Options::default()).await;
    arrive(&browser, &office.app.address, &token, "log?event=sign_in").await;
    browser.wait_for("tbody .tag").await;
    for (kind, accept) in [("csv", "text/csv"), ("jsonl", "application/jsonl")] {
        let directory = saving(&browser).await;
        browser.click(&format!("[data-act=export-{kind}]")).await;
        until_status(&browser, "Saved login-log-wwdeskpass-").await;
        let path = "/api/admin/login-log?event=sign_in";
        let direct = Download::begin(&office.app.address, &token, path, accept).await.rest().await.unwrap().body;
        assert!(direct.contains("admin01") && !direct.contains("device_bound"));
        assert_eq!(saved(&directory, kind).await, direct);
        browser.wait_until(&format!("document.activeElement.dataset.act === 'export-{kind}'")).await;
    }
    well_made(&browser, "the log after an export").await;
    let seen = browser
        .script("return performance.getEntriesByType('resource').map((entry) => entry.name).join(' ')", &[])
        .await;
    assert!(!seen.as_str().unwrap().contains(&token), "a token in an address");
}

/// A download that breaks off is not saved, and the page does not report it as saved.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_breaks_off_is_not_saved() {
    let office = Office::open().await;
    let line = BreakableConnection::to(&office.app.address).await;
    let token = office.token(["admin01", "admin"]).await;
    let browser = office.driver.browser(Options { language: "zh-CN", ..Options::default() }).await;
    let directory = saving(&browser).await;
    arrive(&browser, &line.address, &token, "log").await;
    line.manner.store(CUT, Ordering::SeqCst);
    browser.click("[data-act=export-csv]").await;
    until_status(&browser, "中断，未保存任何文件").await;
    line.manner.store(STALLED, Ordering::SeqCst);
    browser.click("[data-act=export-csv]").await;
    until_status(&browser, "已接收").await;
    browser.click("[data-act=stop-export]").await;
    until_status(&browser, "已取消，未保存任何文件").await;
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    line.manner.store(WHOLE, Ordering::SeqCst);
    browser.click("[data-act=export-csv]").await;
    until_status(&browser, "已保存").await;
    assert!(saved(&directory, "csv").await.contains("admin01"));
}

/// An export in a session that has ended leads to the sign-in, as everywhere.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_without_a_session_leads_to_the_entrance() {
    let office = Office::open().await;
    let token = office.token(["admin01", "admin"]).await;
    let browser = office.driver.browser(Options::default()).await;
    arrive(&browser, &office.app.address, &token, "log").await;
    office.app.client().await.logout(&token).await.data();
    browser.script("document.querySelector('[data-act=export-csv]')?.click()", &[]).await;
    browser.wait_for("body[data-view=welcome]").await;
}
