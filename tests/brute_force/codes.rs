//! Guesses at one-time passwords: all endpoints share one count.

use serde_json::json;

use super::{PAUSE, YEAR, comes_in_through_the_platform, guess_wrong, locked, shut};
use crate::harness::{Client, Device, PASSWORD, Response, TestApp};

const UNLOCK: &str = "/api/admin/agents/agent01/unlock";

/// An administrator and all endpoints that ask for a code.
struct Doors {
    client: Client,
    device: Device,
    half: String,
    whole: String,
}

impl Doors {
    const COUNT: usize = 4;

    async fn open(app: &TestApp) -> Self {
        let device = app.agent_with_device("admin01").await;
        let mut client = app.client().await;
        let (half, whole) = (client.partial_sign_in("admin01").await, client.sign_in("admin01").await);
        Self { client, device, half, whole }
    }

    async fn show(&mut self, door: usize, code: &str) -> Response {
        let body = json!({ "code": code });
        match door {
            0 => self.client.post_as(&self.half, "/api/auth/otp-verify", &body).await,
            1 => self.client.post_as(&self.whole, "/api/auth/otp-verify", &body).await,
            2 => self.client.post_as(&self.whole, "/api/auth/otp-unbind", &body).await,
            _ => self.client.post_with_otp(&self.whole, UNLOCK, Some(code)).await,
        }
    }

    async fn show_wrong(&mut self, times: usize) {
        for door in 0..times {
            let wrong = self.device.wrong_code();
            self.show(door % Self::COUNT, &wrong).await.refused(401, 1008);
        }
    }
}

on_every_store! {
    async fn five_wrong_codes_at_any_doors_shut_all_doors(app) {
        let mut doors = Doors::open(&app).await;
        doors.show_wrong(5).await;
        let right = doors.device.recovery_codes[0].clone();
        for door in 0..Doors::COUNT - 1 {
            assert_eq!(shut(&doors.show(door, &right).await), 900);
        }
        let right = doors.device.next_code();
        for door in 0..Doors::COUNT {
            assert_eq!(shut(&doors.show(door, &right).await), 870);
        }
        // The right code was not checked, so it is still valid.
        app.clock.advance(PAUSE);
        let right = doors.device.code();
        doors.show(3, &right).await.data();
        // A used code counts as a failed attempt too, and a right one resets the count.
        doors.show(3, &right).await.refused(401, 1008);
        doors.half = doors.client.partial_sign_in("admin01").await;
        doors.show_wrong(3).await;
        let next = doors.device.next_code();
        doors.show(1, &next).await.data();
        doors.show_wrong(5).await;
        let next = doors.device.next_code();
        shut(&doors.show(0, &next).await);
    }

    async fn an_input_that_cannot_be_a_code_is_no_attempt(app) {
        let mut doors = Doors::open(&app).await;
        for near in ["12345", "1234567", "12345x", " 123456", "aaaa-bbbb-cccc", ""] {
            doors.show(1, near).await;
        }
        // The header accepts no recovery code, so this is no attempt; where recovery codes are accepted, it is one.
        doors.show(3, "aaaa-bbbb-cccc-dddd").await.refused(401, 1008);
        assert_eq!(app.query("SELECT count(*) FROM guess"), ["0"]);
        for _ in 0..5 {
            doors.show(1, "aaaa-bbbb-cccc-dddd").await.refused(401, 1008);
        }
        let right = doors.device.next_code();
        shut(&doors.show(3, &right).await);
    }

    /// The server has just shown the secret of the device, so there is nothing to guess.
    async fn a_slip_while_binding_counts_nothing(app) {
        let mut client = app.client().await;
        let token = client.sign_in("agent01").await;
        let setup = client.post_as(&token, "/api/auth/otp-setup", &json!({})).await.data();
        let device = Device::scan(&setup, &app.clock);
        for _ in 0..6 {
            let wrong = json!({ "code": device.wrong_code() });
            client.post_as(&token, "/api/auth/otp-bind", &wrong).await.refused(401, 1008);
        }
        client.post_as(&token, "/api/auth/otp-bind", &json!({ "code": device.code() })).await.data();
        assert_eq!(app.query("SELECT count(*) FROM guess"), ["0"]);
    }

    /// A double click is refused without a lockout.
    async fn a_right_code_that_was_used_is_no_guess(app) {
        let mut client = app.client().await;
        let device = app.agent_with_device("agent01").await;
        let token = client.sign_in("agent01").await;
        let code = json!({ "code": device.next_code() });
        client.post_as(&token, "/api/auth/otp-verify", &code).await.data();
        for _ in 0..7 {
            client.post_as(&token, "/api/auth/otp-verify", &code).await.refused(401, 1008);
        }
        client.post_as(&token, "/api/auth/otp-verify", &json!({ "code": device.next_code() })).await.data();
    }

    async fn passwords_and_codes_are_counted_apart(app) {
        let mut client = app.client().await;
        let device = app.agent_with_device("agent01").await;
        let (half, token) = (client.partial_sign_in("agent01").await, client.sign_in("agent01").await);
        guess_wrong(&mut client, 5).await;
        shut(&client.agent_login("agent01", PASSWORD).await);
        client.post_as(&half, "/api/auth/otp-verify", &json!({ "code": device.next_code() })).await.data();
        // A right code does not reset the count of wrong passwords, and the other way round.
        shut(&client.agent_login("agent01", PASSWORD).await);
        app.clock.advance(PAUSE);
        for _ in 0..5 {
            client.partial_sign_in("agent01").await;
            let wrong = json!({ "code": device.wrong_code() });
            client.post_as(&token, "/api/auth/otp-verify", &wrong).await.refused(401, 1008);
        }
        let half = client.partial_sign_in("agent01").await;
        assert_eq!(shut(&client.post_as(&half, "/api/auth/otp-verify", &json!({ "code": device.code() })).await), 900);
    }

    async fn a_hundred_wrong_codes_lock_until_an_administrator_unlocks(app) {
        let mut doors = Doors::open(&app).await;
        for round in 0..20 {
            if round > 0 {
                app.clock.advance(PAUSE);
                doors.half = doors.client.partial_sign_in("admin01").await;
            }
            doors.show_wrong(5).await;
        }
        let (right, spare) = (doors.device.next_code(), doors.device.recovery_codes[0].clone());
        for door in 0..Doors::COUNT {
            locked(&doors.show(door, &right).await);
        }
        locked(&doors.show(0, &spare).await);
        assert!(doors.client.is_valid(&doors.whole).await);
        comes_in_through_the_platform(&mut doors.client, "admin01").await;
        app.clock.advance(YEAR);
        app.auth().sweep().await.unwrap();
        (doors.half, doors.whole) = (doors.client.partial_sign_in("admin01").await, doors.client.sign_in("admin01").await);
        let right = doors.device.code();
        locked(&doors.show(3, &right).await);

        assert!(app.auth().operator().unlock_agent(app.key("admin01")).await.unwrap());
        doors.show(3, &right).await.data();
        doors.show(0, &spare).await.data();
    }
}
