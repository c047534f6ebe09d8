//! One-time passwords submitted twice at once, on two nodes or on one: a code that counts once counts once, and stays used.

use deskpass_core::{Clock, Timestamp};
use serde_json::{Value, json};

use crate::cluster::soon;
use crate::harness::{Client, Device, PASSWORD, Process, Response, STEP, Servers, StoreBackend, TestApp};
use crate::oathtool::oathtool;

/// Two nodes; where a service runs alone, it is called twice.
struct Two {
    one: TestApp,
    other: Option<TestApp>,
}

impl Two {
    async fn of(one: TestApp) -> Self {
        let other = match StoreBackend::current() {
            StoreBackend::Embedded => None,
            StoreBackend::ScaledOut => Some(one.second_node().await),
        };
        Self { one, other }
    }

    async fn clients(&self) -> [Client; 2] {
        [self.one.client().await, self.other.as_ref().unwrap_or(&self.one).client().await]
    }

    fn count(&self, table: &str) -> usize {
        self.one.query(&format!("SELECT count(*) FROM {table}"))[0].parse().unwrap()
    }
}

/// Submits a code.
async fn show(client: &mut Client, token: &str, to: &str, code: &str) -> Response {
    client.post_as(token, &format!("/api/auth/otp-{to}"), &json!({ "code": code })).await
}

async fn set_up(client: &mut Client, token: &str) -> Value {
    client.post_as(token, "/api/auth/otp-setup", &json!({})).await.data()
}

/// The response that succeeded, then the one that did not.
#[track_caller]
fn sorted(here: Response, there: Response) -> [Response; 2] {
    assert_eq!(u8::from(here.status == 200) + u8::from(there.status == 200), 1, "{here:?} {there:?}");
    if here.status == 200 { [here, there] } else { [there, here] }
}

on_every_store! {
    async fn a_code_shown_twice_at_once_counts_once(app) {
        let two = Two::of(app).await;
        let [mut one, mut other] = two.clients().await;
        let token = one.sign_in("agent01").await;
        let (device, _) = one.bind_device(&token, &two.one.clock).await;
        for _ in 0..StoreBackend::current().rounds(200) {
            let code = device.next_code();
            let (here, there) =
                tokio::join!(show(&mut one, &token, "verify", &code), show(&mut other, &token, "verify", &code));
            let [_, lost] = sorted(here, there);
            lost.refused(401, 1008);
        }
    }

    async fn one_code_for_two_risky_operations_at_once_does_one_of_them(app) {
        let two = Two::of(app).await;
        let [mut one, mut other] = two.clients().await;
        let token = one.sign_in("admin01").await;
        let (device, _) = one.bind_device(&token, &two.one.clock).await;
        for _ in 0..StoreBackend::current().rounds(100) {
            let code = device.next_code();
            let (here, there) = tokio::join!(
                one.post_with_otp(&token, "/api/admin/agents/agent01/unlock", Some(&code)),
                other.post_with_otp(&token, "/api/admin/agents/agent01/reset-otp", Some(&code))
            );
            let [_, lost] = sorted(here, there);
            lost.refused(401, 1008);
        }
    }

    async fn of_two_good_codes_at_once_one_completes_the_half(app) {
        let two = Two::of(app).await;
        let device = two.one.agent_with_device("agent01").await;
        let [mut one, mut other] = two.clients().await;
        for round in 1..=StoreBackend::current().rounds(100) {
            let half = one.partial_sign_in("agent01").await;
            let (earlier, later) = (device.next_code(), device.next_code());
            let (here, there) =
                tokio::join!(show(&mut one, &half, "verify", &earlier), show(&mut other, &half, "verify", &later));
            let [won, lost] = sorted(here, there);
            assert!(matches!(lost.code(), 1001 | 1008), "{lost:?}");
            let token = won.data()["token"].as_str().unwrap().to_owned();
            assert!(one.is_valid(&token).await && other.is_valid(&token).await);
            assert_eq!((two.count("session"), two.count("half_session")), (round, 0));
        }
    }

    async fn a_recovery_code_shown_twice_at_once_counts_once(app) {
        let two = Two::of(app).await;
        let [mut one, mut other] = two.clients().await;
        let token = one.sign_in("agent01").await;
        for _ in 0..StoreBackend::current().rounds(10) {
            let (device, _) = one.bind_device(&token, &two.one.clock).await;
            for (at, code) in device.recovery_codes.iter().enumerate() {
                let (here, there) =
                    tokio::join!(show(&mut one, &token, "verify", code), show(&mut other, &token, "verify", code));
                let [_, lost] = sorted(here, there);
                lost.refused(401, 1008);
                assert_eq!(two.count("recovery_code"), 9 - at);
            }
            show(&mut other, &token, "unbind", &device.next_code()).await.data();
        }
    }

    async fn a_recovery_code_that_unbinds_on_one_node_opens_nothing_on_another(app) {
        let two = Two::of(app).await;
        let device = two.one.agent_with_device("agent01").await;
        let [mut one, mut other] = two.clients().await;
        let token = one.sign_in("agent01").await;
        let half = other.partial_sign_in("agent01").await;
        show(&mut one, &token, "unbind", &device.recovery_codes[0]).await.data();
        show(&mut other, &half, "verify", &device.recovery_codes[1]).await.refused(403, 1009);
        show(&mut other, &half, "verify", &device.next_code()).await.refused(403, 1009);
    }

    async fn a_device_set_up_on_one_node_is_bound_on_another(app) {
        let two = Two::of(app).await;
        let [mut one, mut other] = two.clients().await;
        let token = one.sign_in("agent01").await;
        let device = Device::scan(&set_up(&mut one, &token).await, &two.one.clock);
        show(&mut other, &token, "bind", &device.code()).await.data();
        show(&mut one, &token, "verify", &device.code()).await.refused(401, 1008);
        show(&mut one, &token, "verify", &device.next_code()).await.data();
    }

    async fn of_two_binds_at_once_one_counts_and_its_ten_codes_work(app) {
        let two = Two::of(app).await;
        let [mut one, mut other] = two.clients().await;
        let token = one.sign_in("agent01").await;
        for _ in 0..StoreBackend::current().rounds(50) {
            let device = Device::scan(&set_up(&mut one, &token).await, &two.one.clock);
            let code = device.next_code();
            let (here, there) = tokio::join!(show(&mut one, &token, "bind", &code), show(&mut other, &token, "bind", &code));
            let [won, lost] = sorted(here, there);
            assert!(lost.status == 409 && matches!(lost.code(), 1010 | 1019), "{lost:?}");
            assert_eq!(two.count("recovery_code"), 10);
            for code in won.data()["recovery_codes"].as_array().unwrap() {
                std::mem::swap(&mut one, &mut other);
                show(&mut one, &token, "verify", code.as_str().unwrap()).await.data();
            }
            assert_eq!(two.count("recovery_code"), 0);
            show(&mut other, &token, "unbind", &device.next_code()).await.data();
        }
    }

    async fn of_two_concurrent_setups_the_kept_one_can_be_bound(app) {
        let two = Two::of(app).await;
        let [mut one, mut other] = two.clients().await;
        let token = one.sign_in("agent01").await;
        for _ in 0..StoreBackend::current().rounds(50) {
            let (here, there) = tokio::join!(set_up(&mut one, &token), set_up(&mut other, &token));
            two.one.clock.advance(STEP);
            let devices = [Device::scan(&here, &two.one.clock), Device::scan(&there, &two.one.clock)];
            let codes = devices.each_ref().map(Device::code);
            let (here, there) =
                tokio::join!(show(&mut one, &token, "bind", &codes[0]), show(&mut other, &token, "bind", &codes[1]));
            let bound = usize::from(there.status == 200);
            let [_, lost] = sorted(here, there);
            assert!(matches!(lost.code(), 1008 | 1010 | 1019), "{lost:?}");
            show(&mut one, &token, "unbind", &devices[bound].next_code()).await.data();
        }
    }

    async fn a_partial_session_is_completed_or_left_on_another_node(app) {
        let two = Two::of(app).await;
        let device = two.one.agent_with_device("agent01").await;
        let [mut one, mut other] = two.clients().await;
        for _ in 0..10 {
            let half = one.partial_sign_in("agent01").await;
            let whole = show(&mut other, &half, "verify", &device.next_code()).await.data();
            let token = whole["token"].as_str().unwrap();
            assert!(one.is_valid(token).await && other.is_valid(token).await);
            assert_eq!(one.get_as(&half, "/api/auth/otp-status").await.refused(401, 1001).reason(), "unknown");

            let half = one.partial_sign_in("agent01").await;
            other.get_as(&half, "/api/auth/otp-status").await.data();
            one.logout(&half).await.data();
            assert_eq!(other.get_as(&half, "/api/auth/otp-status").await.refused(401, 1001).reason(), "signed_out");
            let late = show(&mut other, &half, "verify", &device.next_code()).await;
            assert_eq!(late.refused(401, 1001).reason(), "signed_out");
            // The code was not checked, so it is still unused.
            show(&mut other, token, "verify", &device.code()).await.data();
        }
    }

    async fn a_partial_session_is_completed_or_left_and_never_both(app) {
        let two = Two::of(app).await;
        let device = two.one.agent_with_device("agent01").await;
        let [mut one, mut other] = two.clients().await;
        for round in 0..StoreBackend::current().rounds(50) {
            std::mem::swap(&mut one, &mut other);
            let (half, code, before) = (one.partial_sign_in("agent01").await, device.next_code(), two.count("session"));
            // Signing out takes less time, so in some rounds it starts later.
            let leave = async {
                for _ in 0..round % 5 * 20 {
                    tokio::task::yield_now().await;
                }
                one.logout(&half).await
            };
            let (left, completed) = tokio::join!(leave, show(&mut other, &half, "verify", &code));
            let begun = usize::from(completed.status == 200);
            let [_, lost] = sorted(left, completed);
            lost.refused(401, 1001);
            assert_eq!((two.count("session"), two.count("half_session")), (before + begun, 0));
        }
    }

    async fn a_password_changed_on_one_node_ends_what_others_hold(app) {
        let two = Two::of(app).await;
        let device = two.one.agent_with_device("agent01").await;
        let [mut one, mut other] = two.clients().await;
        let passwords = [PASSWORD, "nine boats on a quiet river"];
        let own = one.sign_in("agent01").await;
        for round in 0..10 {
            let (old, new) = (passwords[round % 2], passwords[(round + 1) % 2]);
            let half = one.agent_login("agent01", old).await.data()["token"].as_str().unwrap().to_owned();
            let whole = show(&mut one, &half, "verify", &device.next_code()).await.data();
            let (token, left) = (whole["token"].as_str().unwrap(), other.agent_login("agent01", old).await.data());
            assert!(other.is_valid(token).await);
            let ask = json!({ "old_password": old, "new_password": new });
            assert_eq!(one.post_as(&own, "/api/agents/password", &ask).await.data()["ended_sessions"], 1);
            let left = left["token"].as_str().unwrap();
            assert_eq!(other.get_as(left, "/api/auth/otp-status").await.refused(401, 1001).reason(), "kicked");
            soon("a password was changed", async || !other.is_valid(token).await).await;
            assert_eq!(other.me(token).await.refused(401, 1001).reason(), "kicked");
            assert!(other.is_valid(&own).await);
        }
    }

    async fn a_step_stays_used_over_a_restart_and_when_the_clock_is_set_back(app) {
        let mut client = app.client().await;
        let token = client.sign_in("agent01").await;
        let setup = set_up(&mut client, &token).await;
        let device = Device::scan(&setup, &app.clock);
        let codes = [device.code(), device.next_code(), device.next_code()];
        show(&mut client, &token, "bind", &codes[1]).await.data();
        show(&mut client, &token, "verify", &codes[2]).await.data();
        let mut app = app.restart().await;
        let mut client = app.client().await;
        show(&mut client, &token, "verify", &codes[2]).await.refused(401, 1008);

        for steps in 1..=2 {
            app.clock = Clock::manual(app.clock.now() - STEP);
            app = app.restart().await;
            let mut client = app.client().await;
            for code in &codes[2 - steps..] {
                show(&mut client, &token, "verify", code).await.refused(401, 1008);
            }
            app.auth().operator().unlock_agent(app.key("agent01")).await.unwrap();
        }
        // Once the clock has caught up, the device works again.
        app.clock.advance(3 * STEP);
        let device = Device::scan(&setup, &app.clock);
        show(&mut app.client().await, &token, "verify", &device.code()).await.data();
    }

    async fn what_was_used_stays_used_after_kill_9() {
        let (directory, place) = (tempfile::tempdir().unwrap(), Servers::shared().cluster_store());
        let start = || match StoreBackend::current() {
            StoreBackend::Embedded => Process::serve(directory.path(), &[]),
            StoreBackend::ScaledOut => Process::node(&place, &[]),
        };
        let (process, clock) = (start(), Clock::steady(Timestamp::from_millis(0)));
        let mut client = Client::connect(&process.address).await;
        let token = client.sign_in("agent01").await;
        let setup = set_up(&mut client, &token).await;
        let secret = setup["secret"].as_str().unwrap();
        let now = clock.now();
        let codes = [oathtool(secret, now), oathtool(secret, now + STEP)];
        let bound = show(&mut client, &token, "bind", &codes[0]).await.data();
        show(&mut client, &token, "verify", &codes[1]).await.data();
        let spare = |at: usize| bound["recovery_codes"][at].as_str().unwrap();
        show(&mut client, &token, "verify", spare(0)).await.data();
        process.kill();

        let process = start();
        let mut client = Client::connect(&process.address).await;
        for used in [&*codes[0], &*codes[1], spare(0)] {
            show(&mut client, &token, "verify", used).await.refused(401, 1008);
        }
        show(&mut client, &token, "verify", spare(1)).await.data();
        assert_eq!(client.get_as(&token, "/api/auth/otp-status").await.data()["recovery_codes"], 8);
    }
}
