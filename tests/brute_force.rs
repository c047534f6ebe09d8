//! Brute force: guesses at passwords and codes are soon stopped, from any number of clients and nodes, and other ways to
//! sign in stay open.

mod codes;
mod concurrent;
mod known_browser;
mod random_histories;
mod restart;

use std::time::Duration;

use deskpass_core::{EmployeeKey, Person, Role, Roles};
use deskpass_store::AttemptKind;
use serde_json::{Value, json};

use crate::harness::{Client, PASSWORD, Response, TestApp};

const WRONG: &str = "three horses crossed a bridge";
const PAUSE: Duration = Duration::from_mins(15);
const YEAR: Duration = Duration::from_hours(365 * 24);

/// Sends wrong passwords and asserts that each is refused.
async fn guess_wrong(client: &mut Client, times: usize) {
    for _ in 0..times {
        client.agent_login("agent01", WRONG).await.refused(401, 1011);
    }
}

/// Records failed attempts in the store, at the highest rate that causes no refusal.
pub(crate) async fn exhaust_attempts(app: &TestApp, employee: &str, trial: AttemptKind, times: usize) {
    for guess in 0..times {
        if guess % 5 == 0 {
            app.clock.advance(PAUSE);
        }
        let counted = app.auth().store.count_attempt(app.key(employee), trial, app.clock.now()).await;
        assert_eq!(counted.unwrap(), Ok(()));
    }
    app.clock.advance(PAUSE);
}

/// The seconds until the next attempt according to a lockout response.
fn shut(answer: &Response) -> u64 {
    assert_eq!(answer.refused(429, 1013).reason(), "too_many_failures");
    answer.header("retry-after").unwrap().parse().unwrap()
}

/// Asserts that the agent is locked until an administrator unlocks it.
fn locked(answer: &Response) {
    assert_eq!(answer.refused(429, 1013).reason(), "locked");
    assert!(answer.header("retry-after").is_some());
}

/// The body of a response without the request id.
fn telling(answer: &Response) -> Value {
    let mut body = answer.json();
    assert!(body.as_object_mut().unwrap().remove("request_id").is_some());
    body
}

/// A platform code for `who`, on a service with the built-in simulated platform.
async fn platform_code(client: &mut Client, who: &str) -> String {
    let (link, _) = client.begin_oauth("http://localhost/itagent/").await;
    let back = client.authorize(&link, who).await;
    let url = url::Url::parse(&back).unwrap();
    url.query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned()
}

/// Signs in through the platform, by a code and by a phone.
async fn comes_in_through_the_platform(client: &mut Client, who: &str) {
    let code = platform_code(client, who).await;
    let body = json!({ "employee_id": who, "code": code });
    let whole = client.post("/api/agents/login", &[], &body).await.data();
    assert!(client.is_valid(whole["token"].as_str().unwrap()).await);
    let qrcode = client.qrcode().await;
    let confirm = client.scan_as(&qrcode, who).await;
    client.decide("confirm", &confirm).await.data();
    let collected = client.scan_status(qrcode["ticket"].as_str().unwrap()).await;
    assert!(client.is_valid(collected["token"].as_str().unwrap()).await);
}

/// An agent of a connected corporation.
async fn add_partner(app: &TestApp, employee: &str) -> EmployeeKey {
    let key = EmployeeKey::from_parts("wwpartner", employee);
    let (name, roles) = (employee.to_owned(), Roles::NONE.with(Role::Agent));
    let person = Person { name, roles, ..Person::new(key.clone(), employee) };
    app.auth().operator().add_employee(person).await.unwrap();
    app.auth().operator().add_agent(key.clone(), "agent").await.unwrap();
    key
}

on_every_store! {
    async fn five_wrong_passwords_shut_for_a_quarter_of_an_hour(app) {
        let mut client = app.client().await;
        client.first_password("agent01").await;
        for _ in 0..2 {
            guess_wrong(&mut client, 5).await;
            assert_eq!(shut(&client.agent_login("agent01", WRONG).await), 900);
            assert_eq!(shut(&client.agent_login("agent01", PASSWORD).await), 900);
            app.clock.advance(Duration::from_millis(1_001));
            assert_eq!(shut(&client.agent_login("agent01", PASSWORD).await), 899);
            app.clock.advance(Duration::from_millis(900_000 - 1_002));
            assert_eq!(shut(&client.agent_login("agent01", PASSWORD).await), 1);
            app.clock.advance(Duration::from_millis(1));
            client.partial_sign_in("agent01").await;
        }
    }

    async fn a_right_password_resets_the_count_after_four_wrong_passwords(app) {
        let mut client = app.client().await;
        client.first_password("agent01").await;
        for _ in 0..3 {
            guess_wrong(&mut client, 4).await;
            client.partial_sign_in("agent01").await;
        }
        guess_wrong(&mut client, 5).await;
        shut(&client.agent_login("agent01", PASSWORD).await);
    }

    async fn guesses_a_quarter_of_an_hour_apart_do_not_shut_out(app) {
        let mut client = app.client().await;
        client.first_password("agent01").await;
        for _ in 0..12 {
            guess_wrong(&mut client, 1).await;
            app.clock.advance(PAUSE);
        }
        client.partial_sign_in("agent01").await;
        // The pause begins with the last attempt, so that five attempts per quarter of an hour is the maximum.
        for _ in 0..5 {
            app.clock.advance(Duration::from_millis(900_000 - 1));
            guess_wrong(&mut client, 1).await;
        }
        assert_eq!(shut(&client.agent_login("agent01", PASSWORD).await), 900);
    }

    async fn a_hundred_wrong_passwords_lock_until_an_administrator_unlocks(app) {
        let mut client = app.client().await;
        client.first_password("agent01").await;
        let session = client.sign_in("agent01").await;
        for _ in 0..19 {
            guess_wrong(&mut client, 5).await;
            app.clock.advance(PAUSE);
        }
        guess_wrong(&mut client, 4).await;
        // Sign-ins through the platform are separate: failed attempts do not block them, and they do not reset the count.
        comes_in_through_the_platform(&mut client, "agent01").await;
        guess_wrong(&mut client, 1).await;
        locked(&client.agent_login("agent01", PASSWORD).await);
        locked(&client.agent_login("agent01", WRONG).await);
        assert!(client.is_valid(&session).await);
        let change = json!({ "old_password": PASSWORD, "new_password": "nine boats on a quiet river" });
        locked(&client.post_as(&session, "/api/agents/password", &change).await);
        comes_in_through_the_platform(&mut client, "agent01").await;
        locked(&client.agent_login("agent01", PASSWORD).await);
        app.clock.advance(YEAR);
        app.auth().sweep().await.unwrap();
        locked(&client.agent_login("agent01", PASSWORD).await);
        comes_in_through_the_platform(&mut client, "agent01").await;

        assert!(app.auth().operator().unlock_agent(app.key("agent01")).await.unwrap());
        client.partial_sign_in("agent01").await;
        guess_wrong(&mut client, 4).await;
        client.partial_sign_in("agent01").await;
    }

    async fn an_agent_shut_out_by_guesses_signs_in_through_the_platform(app) {
        let mut client = app.client().await;
        client.first_password("agent01").await;
        let session = client.sign_in("agent01").await;
        guess_wrong(&mut client, 3).await;
        comes_in_through_the_platform(&mut client, "agent01").await;
        guess_wrong(&mut client, 2).await;
        shut(&client.agent_login("agent01", PASSWORD).await);
        assert!(client.is_valid(&session).await);
        comes_in_through_the_platform(&mut client, "agent01").await;
        // This also holds when the request contains a password.
        let code = platform_code(&mut client, "agent01").await;
        let both = json!({ "employee_id": "agent01", "code": code, "password": WRONG });
        client.post("/api/agents/login", &[], &both).await.data();
        assert_eq!(shut(&client.agent_login("agent01", PASSWORD).await), 900);
    }

    async fn a_code_that_is_none_does_not_hide_a_guess(app) {
        let mut client = app.client().await;
        client.first_password("agent01").await;
        let body = json!({ "employee_id": "agent01", "code": "no-such-code", "password": WRONG });
        for _ in 0..5 {
            client.post("/api/agents/login", &[], &body).await.refused(401, 1011);
        }
        shut(&client.post("/api/agents/login", &[], &body).await);
        shut(&client.agent_login("agent01", PASSWORD).await);
    }

    async fn a_wrong_old_password_is_a_guess_like_any_other(app) {
        let mut client = app.client().await;
        client.first_password("agent01").await;
        let session = client.sign_in("agent01").await;
        let change = |old: &str| json!({ "old_password": old, "new_password": "nine boats on a quiet river" });
        let path = "/api/agents/password";
        guess_wrong(&mut client, 3).await;
        client.post_as(&session, path, &json!({ "new_password": "nine boats on a quiet river" })).await.refused(400, 1015);
        for _ in 0..2 {
            client.post_as(&session, path, &change(WRONG)).await.refused(403, 1016);
        }
        assert_eq!(shut(&client.post_as(&session, path, &change(PASSWORD)).await), 900);
        assert_eq!(shut(&client.agent_login("agent01", PASSWORD).await), 900);
        app.clock.advance(PAUSE);
        client.post_as(&session, path, &change(PASSWORD)).await.data();
        client.agent_login("agent01", "nine boats on a quiet river").await.data();
    }

    async fn all_spellings_of_a_name_are_one_name(app) {
        let mut client = app.client().await;
        client.first_password("agent01").await;
        let near = [" agent01", "agent01 ", "agent01\t", "agent01\0", "agent01/", "agent%3001", "ａgent01", "agént01", ""];
        for name in near {
            client.agent_login(name, WRONG).await.refused(400, 1002);
        }
        // An input that cannot be a password is no attempt.
        client.agent_login("agent01", &"x".repeat(1_025)).await.refused(400, 1002);
        assert_eq!(app.query("SELECT count(*) FROM guess"), ["0"]);
        for name in ["agent01", "AGENT01", "Agent01", "aGeNt01", "agenT01"] {
            client.agent_login(name, WRONG).await.refused(401, 1011);
        }
        for name in ["agent01", "AGENT01", "AgEnT01"] {
            assert_eq!(shut(&client.agent_login(name, PASSWORD).await), 900);
        }
        assert_eq!(app.query("SELECT employee_key, trial, in_a_row FROM guess"), ["agent01|password|5"]);
    }

    async fn a_namesake_in_another_corporation_is_another_person(app) {
        let mut client = app.client().await;
        add_partner(&app, "agent01").await;
        let ours = app.agent_with_device("agent01").await;
        let partner = json!({ "corp_id": "wwpartner", "employee_id": "agent01" });
        let theirs = client.post("/api/dev/login", &[], &partner).await.data()["token"].as_str().unwrap().to_owned();
        let (device, _) = client.bind_device(&theirs, &app.clock).await;
        for _ in 0..5 {
            let wrong = json!({ "code": device.wrong_code() });
            client.post_as(&theirs, "/api/auth/otp-verify", &wrong).await.refused(401, 1008);
        }
        shut(&client.post_as(&theirs, "/api/auth/otp-verify", &json!({ "code": device.next_code() })).await);
        let half = client.partial_sign_in("agent01").await;
        client.post_as(&half, "/api/auth/otp-verify", &json!({ "code": ours.code() })).await.data();
        guess_wrong(&mut client, 5).await;
        shut(&client.agent_login("agent01", PASSWORD).await);
        let change = json!({ "new_password": PASSWORD });
        client.post_as(&theirs, "/api/agents/password", &change).await.data();
        let change = json!({ "old_password": WRONG, "new_password": PASSWORD });
        client.post_as(&theirs, "/api/agents/password", &change).await.refused(403, 1016);
    }

    /// Otherwise a stranger could find out who is an agent by repeated attempts.
    async fn an_unknown_name_is_shut_and_locked_like_any_other(app) {
        let mut client = app.client().await;
        client.first_password("agent01").await;
        let names = ["agent01", "nobody7"];
        for name in names {
            exhaust_attempts(&app, name, AttemptKind::Password, 90).await;
        }
        for guess in 0..12 {
            if guess == 6 {
                app.clock.advance(PAUSE);
            }
            let known = client.agent_login(names[0], WRONG).await;
            let unknown = client.agent_login(names[1], WRONG).await;
            assert_eq!((known.status, telling(&known)), (unknown.status, telling(&unknown)), "guess {guess}");
            assert_eq!(known.header("retry-after"), unknown.header("retry-after"));
            known.refused(if guess % 6 < 5 { 401 } else { 429 }, if guess % 6 < 5 { 1011 } else { 1013 });
        }
        for name in names {
            locked(&client.agent_login(name, WRONG).await);
        }
    }
}
