//! Agents verify callers: the phone of the employee picks the number that the agent reads out.

use super::{hand_over, is_good, localized, nothing_was_blocked, people};
use crate::harness::{Browser, Driver, Key, TestApp, picture};
use crate::notices::inbox;

/// Asks about the person whom the form names; returns the number to read out.
async fn ask(browser: &Browser) -> u64 {
    // With the keyboard: people who are found meanwhile would move the button.
    browser.press(Key::Enter).await;
    browser.wait_for("#verifications [data-status=pending] .big-number").await;
    browser.text("#verifications [data-status=pending] .big-number strong").await.parse().unwrap()
}

/// Names the person by the id.
async fn name(browser: &Browser, employee: &str) {
    browser.script("document.querySelector('#field-employee_id').value = ''", &[]).await;
    browser.type_into("#field-employee_id", employee).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_sees_whether_the_caller_is_the_employee() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    let askers = [["agent01", "agent", "user01"], ["supervisor01", "supervisor", "agent01"]];
    for (options, [asker, role, caller]) in people().into_iter().zip(askers) {
        let mut client = app.client().await;
        let token = client.sign_in(asker).await;
        client.switch(&token, role).await.data();
        let browser = driver.browser(options).await;
        hand_over(&browser, &app.address, &token, "/itagent/#/caller").await;
        browser.wait_for("#caller-form").await;
        is_good(&browser, "nobody was asked").await;
        if role == "supervisor" {
            // Supervisors may search for people; agents know the id.
            browser.type_into("#field-employee_id", "Arno").await;
            browser.click(".found [data-id=agent01]").await;
        } else {
            name(&browser, "nobody99").await;
            browser.click("#caller-form [type=submit]").await;
            browser.wait_for("#caller-form .refusal").await;
            let says = localized(&options, "cannot be asked on the phone", "无法向该人员的手机询问");
            assert!(browser.text("#caller-form .refusal").await.contains(says));
            name(&browser, caller).await;
        }
        browser.type_into("#field-reason", localized(&options, "new laptop", "新电脑")).await;
        let number = ask(&browser).await;
        is_good(&browser, "waiting for the employee").await;
        picture(&browser, if options.phone { "caller-phone" } else { "caller" }).await;
        // The question is followed also after a look at another view.
        browser.click("#views a[href='#/messages']").await;
        browser.wait_for("#place[data-view=messages]").await;
        browser.click("#views a[href='#/caller']").await;
        // A reload keeps the number and the countdown, and asks nobody again.
        let messages = inbox(&mut client).await.len();
        browser.reload().await;
        browser.wait_until("document.querySelector('#verifications .time-left')?.textContent").await;
        assert_eq!(browser.text("#verifications [data-status=pending] .big-number strong").await, number.to_string());
        assert_eq!(inbox(&mut client).await.len(), messages);
        app.answer_on_phone(caller, "verification", Some(number)).await.data();
        browser.wait_for("#verifications [data-status=verified]").await;
        browser.reload().await;
        browser.wait_for("#verifications [data-status=verified]").await;
        let verified = localized(&options, "It is them", "确为其本人");
        assert!(browser.text("#verifications").await.contains(verified));

        // The employee is not on the telephone.
        name(&browser, caller).await;
        ask(&browser).await;
        app.answer_on_phone(caller, "verification", None).await.data();
        browser.wait_for("#verifications [data-status=refused]").await;
        assert_eq!(browser.script("return document.querySelectorAll('#verifications > li').length", &[]).await, 2);
        is_good(&browser, "verified and refused").await;
        nothing_was_blocked(&browser).await;
        // They go with the session.
        browser.click("#sign-out").await;
        browser.wait_for("#welcome:not([hidden])").await;
        let kept = browser.script("return sessionStorage.getItem('deskpass.callers')", &[]).await;
        assert_eq!(kept, serde_json::Value::Null);
    }
}
