//! The pages in a real browser: each names the platform that it is on, in both languages, and no other one.

use serde_json::json;

use crate::harness::{Browser, Driver, Messenger, Options, Viewport, platform_kind, request};

/// The text of a page.
async fn text(browser: &Browser) -> String {
    browser.script("return document.body.innerText", &[]).await.as_str().unwrap().to_owned()
}

/// Asserts that a page names the platform of the test in its language, if it must, and never another one.
async fn names_the_platform(browser: &Browser, language: &str, must: bool, what: &str) {
    let (text, titles) = (text(browser).await, platform_kind().title());
    let title = if language == "en" { titles[0] } else { titles[1] };
    assert!(!must || text.contains(title), "{what}: no {title} in {text}");
    let all = browser.script("return document.documentElement.outerHTML", &[]).await;
    for other in Messenger::current().other_titles() {
        assert!(!text.contains(other), "{what}: {other} in {text}");
    }
    assert!(!all.as_str().unwrap().contains("{platform"), "{what}: an unfilled placeholder");
}

async fn nothing_was_blocked(browser: &Browser) {
    for line in browser.console().await {
        assert!(!line.contains("Content Security Policy") && !line.contains("TrustedHTML"), "{line}");
    }
}

/// Chooses a person at the simulated platform.
async fn choose(browser: &Browser, who: &str) {
    browser.wait_until("location.pathname.startsWith('/sim/')").await;
    let found = format!("[...document.querySelectorAll('a')].find(a => a.textContent.includes('{who}'))");
    browser.wait_until(&found).await;
    browser.script(&format!("{found}.click()"), &[]).await;
}

on_every_platform! {
    async fn a_computer_shows_the_code_and_a_phone_confirms_it(app) {
        let driver = Driver::shared();
        for language in ["en", "zh-CN"] {
            let desktop = driver.browser(Options { language, ..Options::default() }).await;
            let phone = driver.browser(Options { language, ..Options::on(Viewport::Phone) }).await;
            desktop.goto(&format!("http://{}/itagent/", app.address)).await;
            desktop.wait_for("#welcome[data-state=waiting]").await;
            names_the_platform(&desktop, language, true, "the sign-in page").await;
            let link = desktop.script("return document.querySelector('#simulated').href", &[]).await;
            phone.goto(link.as_str().unwrap()).await;
            choose(&phone, "agent01").await;
            phone.wait_for("body[data-view=ask] #confirm:enabled").await;
            names_the_platform(&phone, language, false, "the phone's page").await;
            phone.click("#confirm").await;
            phone.wait_for("#outcome.good").await;
            desktop.wait_for("#account").await;
            assert_eq!(desktop.text("#name").await, "Arno Agent");
            nothing_was_blocked(&desktop).await;
            nothing_was_blocked(&phone).await;
        }
    }

    async fn a_browser_goes_to_the_platform_and_returns_or_learns_why_not(app) {
        let driver = Driver::shared();
        let mut client = app.client().await;
        for language in ["en", "zh-CN"] {
            let browser = driver.browser(Options { language, ..Options::default() }).await;
            let page = format!("http://{}/h5/", app.address);
            browser.goto(&page).await;
            browser.click("#here").await;
            browser.wait_until("location.pathname.startsWith('/sim/')").await;
            client.set_fault(&json!({ "http_status": 502, "times": 0 })).await;
            choose(&browser, "user01").await;
            browser.wait_for("#notice.bad #try-again").await;
            names_the_platform(&browser, language, true, "the platform is down").await;
            assert_ne!(browser.text("#notice-ref").await, "", "something to tell the help desk");
            client.send(&request("DELETE", "/sim/faults", &[], b"")).await;
            app.clock.advance(std::time::Duration::from_mins(11));
            browser.click("#try-again").await;
            choose(&browser, "outsider01").await;
            browser.wait_for("#notice.bad").await;
            browser.wait_until("document.querySelector('#notice-text')?.textContent").await;
            names_the_platform(&browser, language, true, "not a member").await;
            browser.goto("about:blank").await;
            browser.goto(&page).await;
            browser.click("#here").await;
            choose(&browser, "user01").await;
            browser.wait_for("#account").await;
            assert_eq!(browser.text("#name").await, "Uma User");
            nothing_was_blocked(&browser).await;
        }
    }

    /// A victim is sent to the callback with the attacker's code: the page names the account, and nothing happens without a press.
    async fn a_browser_that_did_not_begin_is_asked(app) {
        let mut attacker = app.client().await;
        let link = crate::platforms::link_without_cookie(&mut attacker, &format!("http://{}/h5/", app.address)).await;
        let back = attacker.authorize(&link, "user01").await;
        let victim = Driver::shared().browser(Options::default()).await;
        victim.goto(&back).await;
        victim.wait_for("body[data-view=ask] #go-on").await;
        assert!(text(&victim).await.contains("Uma User"));
        names_the_platform(&victim, "en", false, "asked whether to go on").await;
        assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
        victim.click("#go-on").await;
        victim.wait_for("#account").await;
    }
}
