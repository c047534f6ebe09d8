use std::time::Duration;

use serde_json::json;

use super::{CHINESE_PHONE, Office, well_made};
use crate::harness::{Client, Key, Options, picture, request};

const HOUR: i64 = 3_600_000;

impl Office {
    /// Adds a month of sign-ins, fewer at night and on weekends.
    fn a_month(&self) {
        let now = self.app.clock.now().millis() / HOUR;
        let rows: Vec<_> = (now - 30 * 24..=now).flat_map(counted).collect();
        let sql =
            "INSERT INTO sign_in_count VALUES {rows} ON CONFLICT (hour, step) DO UPDATE SET times = excluded.times";
        self.app.query(&sql.replace("{rows}", &rows.join(", ")));
    }
}

/// The numbers of an hour in an ordinary company.
fn counted(hour: i64) -> [String; 6] {
    let shown = match ((hour / 24 + 4) % 7, hour % 24) {
        (0 | 6, 8..=18) => 4 + hour % 3,
        (0 | 6, _) => 0,
        (_, at @ 8..=10) => 58 - (at - 9).abs() * 14 + hour % 7,
        (_, 11..=18) => 24 + (hour * 5) % 13,
        (_, 7 | 19..=21) => 6 + hour % 4,
        _ => 0,
    };
    let (scanned, confirmed) = (shown - shown / 8, shown - shown / 8 - shown / 15);
    [
        ("qr_shown", shown),
        ("qr_scanned", scanned),
        ("qr_confirmed", confirmed),
        ("qr_collected", confirmed - i64::from(shown > 40)),
        ("sign_in", confirmed + shown / 5),
        ("refused", shown / 19),
    ]
    .map(|(step, times)| format!("({}, '{step}', {times})", hour * HOUR))
}

/// Completes a sign-in by QR code.
async fn signs_in(client: &mut Client, who: &str) -> String {
    let code = client.qrcode().await;
    let confirm = client.scan_as(&code, who).await;
    client.decide("confirm", &confirm).await.data();
    client.scan_status(code["ticket"].as_str().unwrap()).await["token"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sign_ins_are_counted_before_ones_eyes() {
    let office = Office::open().await;
    let mut client = office.app.client().await;
    // Every test service starts on the hour; an hour that has just begun has no events.
    office.app.clock.advance(Duration::from_mins(20));
    signs_in(&mut client, "user01").await;
    client.qrcode().await;
    let browser = office.admin(Options::default(), "overview").await;
    browser.wait_for("[data-step=qr_shown]").await;
    let figure = "return [...document.querySelectorAll('.funnel li')].map((step) => step.innerText.replace(/\\s+/g, ' ')).join('; ')";
    let text = browser.script(figure, &[]).await;
    assert_eq!(
        text,
        "Code shown 2; Scanned 1 50% of codes shown; Confirmed 1 50% of codes shown; Browser signed in 1 50% of codes shown"
    );
    well_made(&browser, "the overview").await;
    // With the keyboard, and as a table.
    browser.script("document.querySelector('.chart').focus()", &[]).await;
    let before = browser.text("#chart-reading").await;
    browser.press(Key::Left).await;
    assert_ne!(browser.text("#chart-reading").await, before);
    browser.press(Key::End).await;
    assert_eq!(browser.text("#chart-reading").await, before);
    browser.click("#chart-table summary").await;
    let row = browser.script(
        "return [...document.querySelectorAll('#chart-table tbody tr td')].map((cell) => cell.innerText).join(' ')",
        &[],
    );
    assert_eq!(row.await, "2 1 1 1 4 0");
    browser.click("[data-range='30d']").await;
    browser.wait_until("document.querySelectorAll('.chart .bucket').length === 30").await;
    well_made(&browser, "a month").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_overview_says_what_is_ill_and_what_to_do() {
    let office = Office::open().await;
    let browser = office.admin(CHINESE_PHONE, "overview").await;
    browser.wait_for("[data-part=platform][data-state]").await;
    let mut client = office.app.client().await;
    client.set_fault(&json!({ "api": "auth/getuserinfo", "errcode": 60020 })).await;
    let code = client.qrcode().await;
    client.scan(&code, "user01").await;
    browser.reload().await;
    browser.wait_for("[data-part=platform][data-state=refused]").await;
    assert!(browser.text("[data-part=platform]").await.contains("deskpass doctor"));
    well_made(&browser, "a platform that refuses").await;
    browser.offline(true).await;
    // A failed request is reported, and repeated when the network is back.
    browser.script("document.dispatchEvent(new Event('visibilitychange'))", &[]).await;
    browser.wait_for("#health .refusal").await;
    browser.click("[data-range='7d']").await;
    browser.wait_for("#sign-ins .refusal").await;
    let mut client = office.app.client().await;
    client.send(&request("DELETE", "/sim/faults", &[], b"")).await;
    signs_in(&mut client, "user01").await;
    browser.offline(false).await;
    browser.wait_for("[data-part=platform][data-state=ok]").await;
    browser.wait_until("document.querySelectorAll('.chart .bucket').length === 7").await;
}

/// A report of a user is the first thing an administrator sees, and links to that person's audit events.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reported_sign_in_comes_before_everything_else() {
    let office = Office::open().await;
    office.app.clock.advance(Duration::from_mins(8 * 60 + 20));
    office.a_month();
    let mut client = office.app.client().await;
    let [_, token] = [signs_in(&mut client, "user01").await, signs_in(&mut client, "user01").await];
    let sign_ins = client.get_as(&token, "/api/auth/sign-ins").await.data();
    let other = sign_ins["items"][1]["id"].as_str().unwrap().to_owned();
    for options in [Options::default(), Options { phone: true, ..Options::default() }] {
        let browser = office.admin(options, "overview").await;
        browser.wait_for(".funnel li").await;
        assert_eq!(browser.script("return document.querySelector('#reported')", &[]).await, json!(null));
        if options.phone {
            browser.script("document.querySelector('#sign-ins').scrollIntoView()", &[]).await;
            picture(&browser, "administration-phone").await;
        } else {
            browser.set_size(1280, 920).await;
            picture(&browser, "administration").await;
        }
    }
    let path = format!("/api/auth/sign-ins/{other}/not-me");
    office.app.client().await.post_as(&token, &path, &json!({})).await.data();
    let browser = office.admin(CHINESE_PHONE, "overview").await;
    browser.wait_for("#place > h1 + div > #reported li").await;
    well_made(&browser, "a reported sign-in").await;
    browser.click("#reported li a").await;
    browser.wait_for("#place[data-view=log] tbody .tag").await;
    assert!(browser.text("tbody").await.contains("非本人登录"));
    assert_eq!(browser.script("return document.querySelector('#filter-employee_id').value", &[]).await, "user01");
}
