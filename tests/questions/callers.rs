//! /api/verifications: an agent on the telephone asks the employee's phone whether the employee is the caller.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    Asked, LIFETIME, Subject, VERIFIED_PERIOD, ask_caller, askers_of, assert_over, choices, notices_to, open, rows,
    rows_of, supervisor,
};
use crate::harness::fragment;
use crate::notices::settled;

const PATH: &str = "/api/verifications";
const MOMENT: Duration = Duration::from_millis(1);

on_every_store! {
    async fn an_agent_asks_and_the_employee_is_verified(app) {
        let mut client = app.client().await;
        let (agent, employee) = (client.sign_in("agent01").await, client.sign_in("user01").await);
        let body = json!({ "employee_id": "user01", "reason": "VPN token" });
        let answer = client.post_as(&agent, PATH, &body).await;
        let (asked, data) = (Asked::of(&answer), answer.data());
        assert!(asked.id.starts_with("dpu_") && (10..=99).contains(&asked.number), "{answer:?}");
        assert_eq!((data["verification"].as_str().unwrap().len(), &data["expires_in"]), (32, &json!(120)));
        // Is IT calling me?
        let arno = json!({ "name": "Arno Agent", "department": "IT Service Desk", "avatar": "" });
        assert_eq!(askers_of(&mut client, &employee).await, [arno]);
        assert!(askers_of(&mut client, &agent).await.is_empty());

        let link = client.link_sent_to("user01").await;
        let landed = client.follow_link(&link, "user01").await;
        assert!(landed.starts_with(&format!("http://{}/verify/#answer=dpy_", app.address)), "{landed}");
        let secret = fragment(&landed, "answer");
        let shown = Subject::Caller.question(&mut client, &secret).await.data();
        assert!(choices(&shown).contains(&asked.number), "{shown}");
        assert_eq!(shown, json!({
            "who": { "employee_id": "agent01", "name": "Arno Agent", "department": "IT Service Desk", "avatar": "" },
            "reason": "VPN token", "asked_at": "2027-01-15T08:00:00Z", "choices": shown["choices"], "expires_in": 120,
        }));
        assert_eq!(Subject::Caller.status(&mut client, &agent, &asked.id).await, "pending");
        let answered = Subject::Caller.pick(&mut client, &secret, asked.number).await;
        assert_eq!(answered.data(), json!({ "status": "verified" }));
        assert_over(&Subject::Caller.refuse(&mut client, &secret).await);
        assert!(askers_of(&mut client, &employee).await.is_empty());
        assert_eq!(rows(&app, Subject::Caller), [
            "caller_asked|user01|agent01|-|VPN token",
            "caller_verified|user01|agent01|-|asked from 127.0.0.1",
        ]);
        app.clock.advance(VERIFIED_PERIOD.saturating_sub(MOMENT));
        assert_eq!(Subject::Caller.status(&mut client, &agent, &asked.id).await, "verified");
        app.clock.advance(MOMENT);
        assert_eq!(Subject::Caller.status(&mut client, &agent, &asked.id).await, "expired");
        settled(&app).await;
        assert!(notices_to(&mut client, "admin01").await.is_empty());
    }

    /// A person on the telephone claims to be the employee.
    async fn an_employee_who_is_not_on_the_telephone_alarms_the_administrators(app) {
        let mut client = app.client().await;
        let agent = client.sign_in("agent01").await;
        let asked = Asked::of(&ask_caller(&mut client, &agent, "user01").await);
        let secret = open(&mut client, "user01").await;
        assert_eq!(Subject::Caller.refuse(&mut client, &secret).await.data(), json!({ "status": "refused" }));
        assert_over(&Subject::Caller.pick(&mut client, &secret, asked.number).await);
        assert_eq!(Subject::Caller.status(&mut client, &agent, &asked.id).await, "refused");
        assert_eq!(rows(&app, Subject::Caller)[1], "caller_refused|user01|agent01|-|asked from 127.0.0.1");
        settled(&app).await;
        let told = notices_to(&mut client, "admin01").await;
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("a caller was not who they claimed to be: user01 (asked by agent01)"), "{told:?}");
        assert!(notices_to(&mut client, "user01").await.is_empty(), "they know that they refused");
    }

    async fn a_wrong_number_refuses_for_good_and_alarms_the_employee_too(app) {
        let mut client = app.client().await;
        let agent = client.sign_in("agent01").await;
        let asked = Asked::of(&ask_caller(&mut client, &agent, "user01").await);
        let secret = open(&mut client, "user01").await;
        let wrong = Subject::Caller.pick_wrong(&mut client, &secret, &asked).await;
        assert_eq!(wrong.refused(403, 1003).reason(), "wrong_number");
        assert_over(&Subject::Caller.pick(&mut client, &secret, asked.number).await);
        assert_eq!(Subject::Caller.status(&mut client, &agent, &asked.id).await, "refused");
        let row = "caller_refused|user01|agent01|wrong_number|asked from 127.0.0.1";
        assert_eq!(rows(&app, Subject::Caller)[1], row);
        settled(&app).await;
        for (who, words) in [
            ("admin01", "the verification of a caller was answered with a wrong number: user01 (asked by agent01)"),
            ("user01", "a caller was to be verified with your phone, and the wrong number was picked"),
        ] {
            let told = notices_to(&mut client, who).await;
            assert!(told.len() == 1 && told[0].contains(words), "{who}: {told:?}");
        }
    }

    async fn only_the_session_that_asked_sees_the_answer(app) {
        let mut client = app.client().await;
        let agent = client.sign_in("agent01").await;
        let others = [client.sign_in("agent01").await, client.sign_in("admin01").await, client.sign_in("user01").await];
        let asked = Asked::of(&ask_caller(&mut client, &agent, "user01").await);
        let secret = open(&mut client, "user01").await;
        for answered in [false, true] {
            if answered {
                Subject::Caller.pick(&mut client, &secret, asked.number).await.data();
            }
            for other in &others {
                assert_eq!(Subject::Caller.status(&mut client, other, &asked.id).await, "expired");
            }
        }
        assert_eq!(Subject::Caller.status(&mut client, &agent, &asked.id).await, "verified");
        for made_up in ["x", "mine2", "dpu_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", &secret] {
            assert_eq!(Subject::Caller.status(&mut client, &agent, made_up).await, "expired");
        }
    }

    async fn only_the_phone_of_the_employee_opens_it_and_the_last_opening_answers(app) {
        let mut client = app.client().await;
        let agent = client.sign_in("agent01").await;
        let asked = Asked::of(&ask_caller(&mut client, &agent, "user01").await);
        let link = client.link_sent_to("user01").await;
        // The agent cannot answer for the employee, nor can a colleague to whom the message was passed on.
        for who in ["agent01", "supervisor01"] {
            let landed = client.follow_link(&link, who).await;
            assert_eq!((fragment(&landed, "error"), fragment(&landed, "code")), ("not_asked".into(), "1003".into()));
        }
        // To open the link is no refusal of the employee.
        assert_eq!(rows(&app, Subject::Caller).len(), 1);
        assert_eq!(rows_of(&app, "question_refused"), ["agent01|not_asked|", "supervisor01|not_asked|"]);
        let earlier = open(&mut client, "user01").await;
        let later = open(&mut client, "user01").await;
        assert_over(&Subject::Caller.question(&mut client, &earlier).await);
        assert_over(&Subject::Caller.pick(&mut client, &earlier, asked.number).await);
        Subject::Caller.pick(&mut client, &later, asked.number).await.data();
        assert_eq!(Subject::Caller.status(&mut client, &agent, &asked.id).await, "verified");
    }

    async fn it_is_over_after_two_minutes_and_with_the_session_that_asked(app) {
        let mut client = app.client().await;
        let (agent, employee) = (client.sign_in("agent01").await, client.sign_in("user01").await);
        let asked = Asked::of(&ask_caller(&mut client, &agent, "user01").await);
        let secret = open(&mut client, "user01").await;
        app.clock.advance(LIFETIME.saturating_sub(MOMENT));
        assert_eq!(askers_of(&mut client, &employee).await.len(), 1);
        app.clock.advance(MOMENT);
        assert_eq!(Subject::Caller.status(&mut client, &agent, &asked.id).await, "expired");
        assert!(askers_of(&mut client, &employee).await.is_empty());
        assert_over(&Subject::Caller.pick(&mut client, &secret, asked.number).await);
        let link = client.link_sent_to("user01").await;
        assert_eq!(fragment(&client.follow_link(&link, "user01").await, "error"), "question_over");

        let asked = Asked::of(&ask_caller(&mut client, &agent, "user01").await);
        let secret = open(&mut client, "user01").await;
        client.logout(&agent).await.data();
        assert!(askers_of(&mut client, &employee).await.is_empty());
        assert_over(&Subject::Caller.question(&mut client, &secret).await);
        assert_over(&Subject::Caller.pick(&mut client, &secret, asked.number).await);
        let answered = rows(&app, Subject::Caller).into_iter().filter(|row| !row.starts_with("caller_asked")).count();
        assert_eq!(answered, 0);
    }

    async fn agents_supervisors_and_administrators_ask_about_employees_of_their_own(app) {
        let mut client = app.client().await;
        let askers =
            [client.sign_in("agent01").await, supervisor(&mut client).await, client.sign_in("admin01").await];
        for token in &askers {
            // The reason may be left out.
            client.post_as(token, PATH, &json!({ "employee_id": "user01" })).await.data();
        }
        for who in ["user01", "security01"] {
            let token = client.sign_in(who).await;
            let answer = ask_caller(&mut client, &token, "agent01").await;
            assert_eq!(answer.refused(403, 1003).reason(), "role_needed", "{who}");
        }
        let [agent, _, admin] = askers;
        app.sign_in_at_partner().await;
        let partner = json!({ "employee_id": "user01", "corp_id": "wwpartner" });
        assert_eq!(client.post_as(&agent, PATH, &partner).await.refused(403, 1003).reason(), "cannot_ask");
        client.post_as(&admin, PATH, &partner).await.refused(404, 1004);
        for body in [
            json!({}),
            json!({ "employee_id": "" }),
            json!({ "employee_id": "admin01", "reason": "字".repeat(201) }),
            json!({ "employee_id": "admin01", "reason": 7 }),
        ] {
            client.post_as(&agent, PATH, &body).await.refused(400, 1002);
        }
        client.post_as(&agent, PATH, &json!({ "employee_id": "admin01", "reason": "字".repeat(200) })).await.data();
        client.get(&format!("{PATH}/mine"), &[]).await.refused(401, 1001);
    }

    /// The answer of the asker's own phone would verify nothing.
    async fn nobody_verifies_themself(app) {
        let mut client = app.client().await;
        for who in ["agent01", "admin01"] {
            let token = client.sign_in(who).await;
            assert_eq!(ask_caller(&mut client, &token, who).await.refused(403, 1003).reason(), "cannot_ask", "{who}");
        }
        assert!(rows(&app, Subject::Caller).is_empty());
    }

    /// Several agents ask; each is named once.
    async fn an_employee_sees_everyone_who_asks(app) {
        let mut client = app.client().await;
        let employee = client.sign_in("user01").await;
        let agent = client.sign_in("agent01").await;
        ask_caller(&mut client, &agent, "user01").await.data();
        ask_caller(&mut client, &agent, "user01").await.data();
        let supervisor = supervisor(&mut client).await;
        ask_caller(&mut client, &supervisor, "user01").await.data();
        let names: Vec<Value> = askers_of(&mut client, &employee).await.iter().map(|one| one["name"].clone()).collect();
        assert_eq!(names, ["Arno Agent", "Sven Supervisor"]);
        let secret = open(&mut client, "user01").await;
        Subject::Caller.refuse(&mut client, &secret).await.data();
        let names: Vec<Value> = askers_of(&mut client, &employee).await.iter().map(|one| one["name"].clone()).collect();
        assert_eq!(names, ["Arno Agent"]);
    }
}
