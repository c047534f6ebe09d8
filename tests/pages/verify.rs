//! The phone's page on which employees say whether they called IT, and the view that tells who of IT asks.

use std::time::Duration;

use serde_json::{Value, json};

use super::number_match::{message_link, open_message, outcome, pick, pick_another};
use super::{at_the_desk, is_good, kept, localized, nothing_was_blocked, people};
use crate::harness::{Client, Driver, TestApp, full_picture, picture};

/// The reason of a call. No text in it is markup.
const REASON: &str = "New phone <since Monday>";
/// The time after which an employee may be asked again, after too many questions.
const NEXT_QUESTIONS: Duration = Duration::from_mins(10);

/// Asks user01: the id, and the number that the agent reads out.
async fn ask(client: &mut Client, agent: &str) -> (String, u64) {
    let body = json!({ "employee_id": "user01", "reason": REASON });
    let asked = client.post_as(agent, "/api/verifications", &body).await.data();
    (asked["id"].as_str().unwrap().to_owned(), asked["number"].as_u64().unwrap())
}

async fn status(client: &mut Client, agent: &str, id: &str) -> Value {
    client.get_as(agent, &format!("/api/verifications/{id}")).await.data()["status"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_employee_sees_who_asks_and_picks_the_number_that_they_hear() {
    let (app, driver) = (TestApp::start().await, Driver::shared());
    let mut client = app.client().await;
    let agent = client.sign_in("agent01").await;
    for options in people() {
        let (id, number) = ask(&mut client, &agent).await;
        let phone = driver.browser(options).await;
        open_message(&phone, &app, "user01").await;
        phone.wait_for("body[data-view=ask] #numbers button").await;
        let title = localized(&options, "Did you call IT?", "是您本人致电 IT 的吗？");
        assert_eq!(phone.text("#ask-title").await, title);
        assert_eq!(phone.text("#asker").await, "Arno Agent (agent01)");
        assert_eq!(phone.text("#reason").await, REASON);
        let consequence =
            localized(&options, "IT may reset your password or authenticator", "重置您的密码或身份验证器");
        assert!(phone.text("#consequence").await.contains(consequence));
        assert!(!kept(&phone).await.as_str().unwrap().contains("dpy_"), "the secret is in no address");
        is_good(&phone, "asked about a call").await;
        phone.set_size(360, 740).await;
        is_good(&phone, "asked about a call on a narrow phone").await;
        full_picture(&phone, localized(&options, "verify", "verify-zh")).await;
        pick(&phone, number).await;
        phone.wait_for("#outcome.good").await;
        let (title, text) = outcome(&phone).await;
        assert_eq!(title, localized(&options, "Arno Agent knows that it is you", "Arno Agent 已确认是您本人"));
        assert!(text.contains(localized(&options, "Go on with the call", "请继续通话")), "{text}");
        is_good(&phone, "verified").await;
        assert_eq!(status(&mut client, &agent, &id).await, "verified");
        nothing_was_blocked(&phone).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_employee_who_did_not_call_or_hears_another_number_learns_what_to_do() {
    let (app, driver) = (TestApp::start().await, Driver::shared());
    let mut client = app.client().await;
    let agent = client.sign_in("agent01").await;
    for options in people() {
        let phone = driver.browser(options).await;
        for is_refused in [true, false] {
            let (id, number) = ask(&mut client, &agent).await;
            open_message(&phone, &app, "user01").await;
            if is_refused {
                phone.click("#refuse").await;
            } else {
                pick_another(&phone, number).await;
            }
            let (title, text) = outcome(&phone).await;
            let wanted = if is_refused {
                localized(&options, "Thank you. The administrators have been told", "谢谢，已通知管理员")
            } else {
                localized(&options, "That is not the number that was read out", "与对方念出的数字不一致")
            };
            assert_eq!(title, wanted);
            assert!(text.contains(localized(&options, "hang up", "挂断")), "{text}");
            is_good(&phone, wanted).await;
            assert_eq!(status(&mut client, &agent, &id).await, "refused");
        }
        app.clock.advance(NEXT_QUESTIONS);
    }
}

/// A link that is for another person, or too late, says so; the page for computers, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_cannot_be_answered_says_why() {
    let (app, driver) = (TestApp::start().await, Driver::shared());
    let mut client = app.client().await;
    let agent = client.sign_in("agent01").await;
    for options in people() {
        let phone = driver.browser(options).await;
        let (id, number) = ask(&mut client, &agent).await;
        phone.goto(&message_link(&mut client, "user01", "supervisor01").await).await;
        let others = localized(&options, "This question is for another person", "此请求是发给其他人的");
        assert_eq!(outcome(&phone).await.0, others);
        is_good(&phone, others).await;

        // The question is over while the page shows it.
        let link = message_link(&mut client, "user01", "user01").await;
        phone.goto(&link).await;
        phone.wait_for("#numbers button:enabled").await;
        app.clock.advance(Duration::from_mins(2));
        pick(&phone, number).await;
        let over = localized(&options, "This question is over", "此请求已结束");
        assert_eq!(outcome(&phone).await.0, over);
        is_good(&phone, over).await;
        phone.goto(&link).await;
        phone.wait_until("location.pathname === '/scan/'").await;
        assert_eq!(outcome(&phone).await.0, over);
        assert_eq!(status(&mut client, &agent, &id).await, "expired");

        phone.goto("about:blank").await;
        phone.goto(&format!("http://{}/scan/#error=phone_needed&code=1003&ref=0123abcd", app.address)).await;
        let computer = localized(&options, "Open the message on your phone", "请在手机上打开这条消息");
        assert_eq!(outcome(&phone).await.0, computer);
        is_good(&phone, computer).await;
        nothing_was_blocked(&phone).await;
        app.clock.advance(NEXT_QUESTIONS);
    }
}

/// "Is IT calling me?" follows what is asked and answered, without a reload.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_employee_looks_up_whether_it_is_calling() {
    let (app, driver) = (TestApp::start().await, Driver::shared());
    let mut client = app.client().await;
    let agent = client.sign_in("agent01").await;
    for options in people() {
        let (browser, _) = at_the_desk(&driver, &app, options, "user01", "/h5/").await;
        browser.click("#views a[href='#/calling']").await;
        let none = localized(&options, "Nobody from IT is asking for you.", "目前没有 IT 人员向您发起确认。");
        let says = |text: &str| format!("document.querySelector('#callers').innerText.includes('{text}')");
        browser.wait_until(&says(none)).await;
        is_good(&browser, "nobody is calling").await;
        ask(&mut client, &agent).await;
        browser.wait_until(&says("Arno Agent")).await;
        browser.wait_until(&says(localized(&options, "does not prove", "不能证明"))).await;
        is_good(&browser, "IT is calling").await;
        picture(&browser, &format!("calling-{}", localized(&options, "en", "zh"))).await;
        let phone = driver.browser(options).await;
        open_message(&phone, &app, "user01").await;
        phone.click("#refuse").await;
        outcome(&phone).await;
        browser.wait_until(&says(none)).await;
        nothing_was_blocked(&browser).await;
    }
}
