//! The cost of the pages: bytes over the network, time until content is visible, and behaviour on a slow network.

use serde_json::json;

use crate::harness::{Browser, Driver, Feature, Network, Options, Process};

/// The limit for a first view, in bytes.
const MOST: u64 = 60_000;
const ENTRANCES: [&str; 4] = ["/", "/h5/", "/itagent/", "/itadmin/"];
const WAITING: &str = "#welcome[data-state=waiting]";

fn service() -> (tempfile::TempDir, Process) {
    let directory = tempfile::tempdir().unwrap();
    let process = Process::serve(directory.path(), &[]);
    (directory, process)
}

/// The bytes transferred for this view; all of them come from the service itself.
async fn cost(browser: &Browser, origin: &str) -> Vec<(String, u64)> {
    let loads = browser.transferred().await;
    for (address, _) in &loads {
        assert!(address.starts_with(origin), "{address} is somewhere else");
    }
    loads
}

fn sum(loads: &[(String, u64)]) -> u64 {
    loads.iter().map(|(_, bytes)| bytes).sum()
}

/// A first visit transfers little, and a repeated one next to nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_view_is_small_and_a_second_one_smaller() {
    let (_directory, service) = service();
    let (driver, origin) = (Driver::shared(), format!("http://{}", service.address));
    for entrance in ENTRANCES {
        let browser = driver.browser(Options { features: &[Feature::TransferLog], ..Options::default() }).await;
        let address = format!("{origin}{entrance}");
        browser.goto(&address).await;
        browser.wait_for(WAITING).await;
        let loads = cost(&browser, &origin).await;
        assert!(loads.iter().any(|(address, bytes)| address.ends_with("/sign-in.js") && *bytes > 0), "{loads:#?}");
        assert!(sum(&loads) <= MOST, "{entrance} costs {}: {loads:#?}", sum(&loads));

        browser.goto("about:blank").await;
        cost(&browser, "").await;
        browser.goto(&address).await;
        browser.wait_for(WAITING).await;
        let again = cost(&browser, &origin).await;
        let asset = again.iter().find(|(address, bytes)| address.contains("/assets/") && *bytes > 0);
        assert_eq!(asset, None, "{entrance}: what a page needs is kept");
        let besides: Vec<_> = again.iter().filter(|(load, _)| *load != address).cloned().collect();
        assert!(sum(&besides) < 8_000, "besides the page only its code: {again:#?}");
    }
}

/// The purpose of a page is in its HTML: script that is late, or never arrives, does not hide it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_says_what_it_is_for_before_any_script_has_come() {
    let (_directory, service) = service();
    let driver = Driver::shared();
    let shown = [
        ("en", "Sign in to the IT help desk", "Scan this code", "Sign in on this computer"),
        ("zh-CN", "登录 IT 服务台", "扫描此二维码", "在此电脑上登录"),
    ];
    for (language, title, step, here) in shown {
        let browser = driver.browser(Options { language, ..Options::default() }).await;
        browser.block(&["*.js"]).await;
        browser.goto(&format!("http://{}/", service.address)).await;
        // The content fades in by CSS alone.
        browser.wait_until("getComputedStyle(document.querySelector('#entrance')).opacity === '1'").await;
        assert_eq!(browser.text("#welcome-title").await, title);
        assert!(browser.text(".steps").await.contains(step));
        assert_eq!(browser.text("#here").await, here);
        assert_eq!(browser.text("#by-password").await, "", "no script has asked whether a password counts");
    }
}

/// A slow network makes everything slower, and changes nothing else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_line_is_enough_to_sign_in_and_to_switch_a_role() {
    let (_directory, service) = service();
    let driver = Driver::shared();
    let browser = driver.browser(Options::default()).await;
    browser.throttle(Network::Slow3g).await;
    browser.goto(&format!("http://{}/itagent/", service.address)).await;
    browser.wait_for(WAITING).await;
    let last = "return Math.max(...performance.getEntriesByType('resource')
        .filter(({ name }) => name.endsWith('.js')).map(({ responseEnd }) => responseEnd))";
    let (painted, scripted) = (browser.first_paint().await, browser.script(last, &[]).await);
    assert!(painted < scripted.as_f64().unwrap(), "painted after {painted} ms, scripts were there after {scripted}");

    browser.click("#here").await;
    browser.wait_until("location.pathname === '/sim/wwlogin/sso/login'").await;
    let choose = "[...document.querySelectorAll('a')].find(a => a.textContent.includes('agent01')).click()";
    browser.script(choose, &[]).await;
    browser.wait_for("[data-role=agent][aria-pressed=true]").await;
    browser.click("[data-role=user]").await;
    browser.wait_until("document.querySelector('#status-line')?.textContent.includes('Employee')").await;
    let token = browser.script("return sessionStorage.getItem('deskpass.token')", &[]).await;
    let me = crate::harness::Client::connect(&service.address).await.me(token.as_str().unwrap()).await.data();
    assert_eq!(me["current_role"], json!("user"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_page_has_anything_to_complain_of() {
    let (_directory, service) = service();
    let (driver, origin) = (Driver::shared(), format!("http://{}", service.address));
    let browser = driver.browser(Options { features: &[Feature::TransferLog], ..Options::default() }).await;
    for page in ENTRANCES.into_iter().chain(["/scan/", "/continue/", "/approve/", "/verify/", "/api/docs"]) {
        browser.goto(&format!("{origin}{page}")).await;
        browser.wait_until("document.readyState === 'complete' && document.querySelector('h1')").await;
        if ENTRANCES.contains(&page) {
            browser.wait_for(WAITING).await;
        }
        cost(&browser, &origin).await;
        assert_eq!(browser.console().await, Vec::<String>::new(), "{page}");
    }
}
