//! Strangers cannot grow the log without bound, and every row that names an employee is written.

use std::time::Duration;

use serde_json::json;

use crate::harness::{Client, TestApp};

/// The number of individual rows that one address gets in a minute.
const ROWS: usize = 60;

/// Calls the OAuth callback with an invalid code.
async fn refused(client: &mut Client, number: usize, from: &str) {
    let target = format!("/api/auth/oauth2/callback?code=made-up-{number}&state=auth_login");
    assert_eq!(client.get(&target, &[("x-forwarded-for", from)]).await.status, 303);
}

fn count(app: &TestApp, which: &str) -> usize {
    app.query(&format!("SELECT count(*) FROM login_log WHERE {which}"))[0].parse().unwrap()
}

on_every_store! {
    async fn refusals_of_strangers_are_summarised_beyond_so_many(app) {
        let mut client = app.client().await;
        for number in 0..150 {
            // Addresses in the same /64 count as one address.
            refused(&mut client, number, &format!("2001:db8:1:2::{number:x}")).await;
        }
        assert_eq!(count(&app, "event = 'sign_in_refused'"), ROWS);
        // Unknown names are limited in the same way; rows that name an existing employee are all written.
        for number in 0..30 {
            let from = [("x-forwarded-for", "2001:db8:1:2::1")];
            client.post("/api/auth/bind", &from, &json!({ "employee_id": format!("nobody{number}") })).await.refused(403, 1003);
            client.post("/api/auth/bind", &from, &json!({ "employee_id": "norole01" })).await.refused(403, 1003);
        }
        assert_eq!((count(&app, "employee_key = 'norole01'"), count(&app, "employee_key LIKE 'nobody%'")), (30, 0));
        assert_eq!(app.auth().summarise_refusals().await.unwrap(), 120);
        assert_eq!(app.auth().summarise_refusals().await.unwrap(), 0, "nothing since");
        let token = client.sign_in("admin01").await;
        let log = client.get_as(&token, "/api/admin/login-log?event=refusals_summarised").await.data();
        let row = &log["items"][0];
        let detail = "120 more refusals without a row of their own: invalid_code 90, unknown_employee 30; from 1 address(es), 2001:db8:1:2:: 120";
        assert_eq!((&row["detail"], &row["verified"], &row["employee_id"]), (&json!(detail), &json!(true), &json!(null)));
        assert_eq!((&row["decided_address"], log["items"].as_array().unwrap().len()), (&json!("2001:db8:1:2::"), 1));
        // After a minute the limit is reset.
        app.clock.advance(Duration::from_mins(1));
        refused(&mut client, 1_000, "2001:db8:1:2::9").await;
        assert_eq!(count(&app, "event = 'sign_in_refused' AND employee_key = ''"), ROWS + 1);
    }

    async fn a_normal_stop_writes_the_last_summary(app) {
        let mut client = app.client().await;
        for number in 0..ROWS + 5 {
            refused(&mut client, number, "198.51.100.7").await;
        }
        drop(client);
        let app = app.restart().await;
        let rows = app.query("SELECT ip_address, detail FROM login_log WHERE event = 'refusals_summarised'");
        assert_eq!(rows, ["198.51.100.7|5 more refusals without a row of their own: invalid_code 5; from 1 address(es), 198.51.100.7 5"]);
    }
}
