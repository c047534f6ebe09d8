//! The QR code of a page: it survives a reload, renews itself while a user sees it, and says why it ended.

use std::time::Duration;

use serde_json::{Value, json};

use super::{is_good, localized, people};
use crate::harness::{Browser, Driver, Options, TestApp, picture, settings};

/// The link of the code that a browser shows, as the phone that scans it sees it.
pub(super) async fn link(browser: &Browser) -> Value {
    browser.wait_for("#welcome[data-state=waiting]").await;
    json!({ "qrcode_url": browser.script("return document.querySelector('#simulated').href", &[]).await })
}

/// Opens the page of a client; a phone shows its code only on request.
async fn opened(driver: &Driver, app: &TestApp, options: Options<'_>, path: &str) -> Browser {
    let browser = driver.browser(options).await;
    browser.goto(&format!("http://{}{path}", app.address)).await;
    if options.phone {
        browser.click("#code summary").await;
    }
    browser
}

/// Waits until the page shows another code.
async fn another_than(browser: &Browser, known: &Value) {
    let changed = format!("document.querySelector('#simulated').href !== {}", known["qrcode_url"]);
    browser.wait_until(&changed).await;
    browser.wait_for("#welcome[data-state=waiting]").await;
}

/// Lets a time pass for the service and for the page.
async fn pass(browser: &Browser, app: &TestApp, time: Duration) {
    let later = "const now = Date.now; const [more] = arguments; Date.now = () => now() + more";
    browser.script(later, &[json!(u64::try_from(time.as_millis()).unwrap())]).await;
    app.clock.advance(time);
}

async fn kept(browser: &Browser) -> Value {
    browser.script("return sessionStorage.getItem('deskpass.code')", &[]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reload_between_scan_and_confirmation_loses_nothing() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    for options in people() {
        let browser = opened(&driver, &app, options, "/itagent/").await;
        let code = link(&browser).await;
        // The same code, with the time that it has left.
        browser.reload().await;
        assert_eq!(link(&browser).await, code);
        let mut phone = app.client().await;
        let confirm = phone.scan_as(&code, "agent01").await;
        browser.wait_for("#welcome[data-state=scanned]").await;
        // Another language is a reload, too.
        browser.click("#language").await;
        browser.wait_until(&format!("document.documentElement.lang !== '{}'", options.language)).await;
        browser.wait_for("#welcome[data-state=scanned]").await;
        is_good(&browser, "scanned before the reload").await;
        // The page is away when the phone confirms.
        browser.goto("about:blank").await;
        phone.decide("confirm", &confirm).await.data();
        browser.goto(&format!("http://{}/itagent/", app.address)).await;
        browser.wait_for("#account").await;
        assert_eq!(phone.decide("outcome", &confirm).await.data()["status"], "signed_in");
        assert_eq!(kept(&browser).await, json!(null));
        // Whoever signs out gets another code.
        browser.click("#sign-out").await;
        if options.phone {
            browser.click("#code summary").await;
        }
        assert_ne!(link(&browser).await, code);
    }
}

/// The ticket is useless in another browser, wherever it comes from.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kept_code_works_in_its_browser_only() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    let browser = opened(&driver, &app, Options::default(), "/h5/").await;
    let code = link(&browser).await;
    let copied = kept(&browser).await;
    let other = driver.browser(Options { language: "zh-CN", ..Options::default() }).await;
    other.goto(&format!("http://{}/assets/words.js", app.address)).await;
    other.script("sessionStorage.setItem('deskpass.code', arguments[0])", &[copied]).await;
    let mut phone = app.client().await;
    let confirm = phone.scan_as(&code, "user01").await;
    browser.wait_for("#welcome[data-state=scanned]").await;
    other.goto(&format!("http://{}/h5/", app.address)).await;
    another_than(&other, &code).await;
    phone.decide("confirm", &confirm).await.data();
    browser.wait_for("#account").await;
    assert_eq!(other.script("return sessionStorage.getItem('deskpass.token')", &[]).await, json!(null));
}

/// This holds also where server-sent events do not arrive and the page has to poll.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_code_renews_itself_while_a_user_sees_it() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    for options in people() {
        let browser = driver.browser(options).await;
        browser.block(&["*/scan/events*"]).await;
        browser.goto(&format!("http://{}/h5/", app.address)).await;
        if options.phone {
            browser.click("#code summary").await;
        }
        let first = link(&browser).await;
        pass(&browser, &app, Duration::from_secs(181)).await;
        another_than(&browser, &first).await;
        // Nobody sees a hidden page.
        let second = link(&browser).await;
        let show = |state: &str| {
            format!(
                "Object.defineProperty(document, 'visibilityState', {{ value: '{state}', configurable: true }});
                document.dispatchEvent(new Event('visibilitychange'))"
            )
        };
        browser.script(&show("hidden"), &[]).await;
        pass(&browser, &app, Duration::from_secs(181)).await;
        browser.wait_for("#welcome[data-state=expired]").await;
        assert_eq!(browser.text("#state").await, localized(&options, "This code has expired", "二维码已过期"));
        is_good(&browser, "expired").await;
        picture(&browser, "expired").await;
        browser.script(&show("visible"), &[]).await;
        another_than(&browser, &second).await;
        if options.phone {
            continue;
        }
        // After a quarter of an hour without a sign of a user, the page stops.
        pass(&browser, &app, Duration::from_mins(15)).await;
        browser.wait_for("#welcome[data-state=expired] #renew").await;
        browser.click("#renew").await;
        browser.wait_for("#welcome[data-state=waiting]").await;
    }
}

/// Without cookies every code expires at once: the page must not ask for one after the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_without_cookies_does_not_use_up_the_codes_of_its_office() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    let browser = driver.browser(Options::default()).await;
    let without_cookies = "const ask = window.fetch; delete window.EventSource;
        window.fetch = (path, options) => ask(path, { ...options, credentials: 'omit' });";
    browser.cdp("Page.addScriptToEvaluateOnNewDocument", json!({ "source": without_cookies })).await;
    browser.goto(&format!("http://{}/h5/", app.address)).await;
    browser.wait_for("#welcome[data-state=expired] #renew").await;
    let asked = r#"deskpass_requests_total{method="GET",route="/api/auth/qrcode",outcome="ok"} 1"#;
    assert!(app.client().await.get("/metrics", &[]).await.body.contains(asked), "one code was enough");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_code_says_why_it_was_not_accepted() {
    let app = TestApp::with(settings(&[("development.enabled", "true"), ("default_role", "none")])).await;
    app.auth().operator().disable(app.key("agent01")).await.unwrap();
    let driver = Driver::shared();
    for options in people() {
        let browser = opened(&driver, &app, options, "/h5/").await;
        let mut phone = app.client().await;
        for (who, english, chinese) in [
            ("outsider01", "The WeCom account that scanned is not from our company", "扫码的企业微信账号不属于本企业"),
            ("agent01", "The account of the person who scanned is disabled", "扫码人的账号已停用"),
            ("norole01", "The person who scanned has no access yet", "扫码人还没有访问权限"),
            ("user01", "Cancelled on the phone", "已在手机上取消"),
        ] {
            let code = link(&browser).await;
            match who {
                "norole01" => {
                    let confirm = phone.scan_as(&code, who).await;
                    phone.decide("confirm", &confirm).await.refused(403, 1003);
                }
                "user01" => {
                    let confirm = phone.scan_as(&code, who).await;
                    phone.decide("cancel", &confirm).await.data();
                }
                _ => drop(phone.scan(&code, who).await),
            }
            browser.wait_for("#welcome[data-state=expired] #renew").await;
            let state = browser.text("#state").await;
            assert!(state.starts_with(localized(&options, english, chinese)), "{who}: {state}");
            is_good(&browser, who).await;
            if who == "norole01" {
                picture(&browser, &format!("code-refused-{}", localized(&options, "en", "zh"))).await;
            }
            browser.click("#renew").await;
        }
    }
}
