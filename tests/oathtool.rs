//! One-time passwords checked against an independent implementation: `oathtool`, as Debian ships it.

use std::process::Command;
use std::time::Duration;

use deskpass_core::{Entropy, Role, Timestamp, TotpSecret, TotpStep};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use url::Url;

use crate::api::auth::qrcode::decode;
use crate::harness::{Client, Response, STEP};

/// The code that `oathtool` shows for a secret at a time.
pub(crate) fn oathtool(secret: &str, at: Timestamp) -> String {
    let at = jiff::Timestamp::from_millisecond(at.millis()).unwrap().strftime("%Y-%m-%d %H:%M:%S UTC").to_string();
    let mut command = Command::new("oathtool");
    let output = command.args(["--totp", "--base32", "--now", &at, secret]).output();
    let output = output.expect("oathtool runs; tools/services installs it");
    assert!(output.status.success(), "{at}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// The time this many steps later, or earlier.
fn away(at: Timestamp, steps: i64) -> Timestamp {
    let span = STEP * u32::try_from(steps.unsigned_abs()).unwrap();
    if steps < 0 { at - span } else { at + span }
}

/// Seconds since 1970, beyond the limits of 31 and 32 bits, up to the year 2200.
const ERAS: [i64; 4] = [0, 1 << 31, 1 << 32, 7_258_118_400];

#[test]
fn a_seed_shows_what_oathtool_shows_at_all_times() {
    let entropy = Entropy::system();
    let mut seconds: Vec<_> = ERAS.iter().flat_map(|edge| [edge - 31, edge - 1, *edge]).filter(|at| *at >= 0).collect();
    for round in 0..50 {
        let (first, last) = (ERAS[round % 3], ERAS[round % 3 + 1]);
        let random = i64::from(u32::from_be_bytes(entropy.bytes().unwrap()));
        seconds.push(first + random * 7 % (last - first));
    }
    for second in seconds {
        let (seed, at) = (TotpSecret::generate(&entropy).unwrap(), Timestamp::from_millis(second * 1_000));
        assert_eq!(seed.code_at(TotpStep::at(at)), oathtool(&seed.base32(), at), "{second} with {}", seed.base32());
    }
}

async fn set_up(client: &mut Client, token: &str) -> Value {
    client.post_as(token, "/api/auth/otp-setup", &json!({})).await.data()
}

async fn show(client: &mut Client, token: &str, to: &str, code: &str) -> Response {
    client.post_as(token, &format!("/api/auth/otp-{to}"), &json!({ "code": code })).await
}

on_every_store! {
    async fn what_oathtool_shows_binds_a_device_and_is_taken_one_step_either_way(app) {
        let mut client = app.client().await;
        let token = client.sign_in("agent01").await;
        // At the first millisecond of a step and at its last.
        for into_step in [Duration::ZERO, Duration::from_millis(29_999)] {
            app.clock.advance(into_step);
            for steps in -2..=2 {
                let setup = set_up(&mut client, &token).await;
                let secret = setup["secret"].as_str().unwrap();
                let code = |steps| oathtool(secret, away(app.clock.now(), steps));
                let bound = show(&mut client, &token, "bind", &code(steps)).await;
                if steps.abs() > 1 {
                    bound.refused(401, 1008);
                    continue;
                }
                assert_eq!(bound.data()["recovery_codes"].as_array().unwrap().len(), 10);
                app.clock.advance(10 * STEP);
                for steps in [-2, 2] {
                    show(&mut client, &token, "verify", &code(steps)).await.refused(401, 1008);
                }
                for steps in -1..=1 {
                    show(&mut client, &token, "verify", &code(steps)).await.data();
                    show(&mut client, &token, "verify", &code(steps)).await.refused(401, 1008);
                }
                app.clock.advance(2 * STEP);
                show(&mut client, &token, "unbind", &code(0)).await.data();
            }
        }
    }
}

on_one_store! {
    async fn an_authenticator_reads_the_same_from_the_picture_the_address_and_the_secret(app) {
        let mut client = app.client().await;
        for employee in ["agent01", "Ann.O-Neil_2@example.com"] {
            if employee != "agent01" {
                app.add(employee, Role::Agent).await;
                app.auth().operator().add_agent(app.key(employee), "agent").await.unwrap();
            }
            let token = client.sign_in(employee).await;
            let setup = set_up(&mut client, &token).await;
            let address = setup["otpauth_url"].as_str().unwrap();
            assert_eq!(decode(setup["qrcode_png_base64"].as_str().unwrap()), address);
            let url = Url::parse(address).unwrap();
            assert_eq!((url.scheme(), url.host_str(), url.fragment()), ("otpauth", Some("totp"), None));
            let label = percent_decode_str(url.path()).decode_utf8().unwrap();
            assert_eq!(label, format!("/deskpass:{employee}"));
            let pairs: Vec<_> = url.query_pairs().collect();
            let pairs: Vec<_> = pairs.iter().map(|(name, value)| (&**name, &**value)).collect();
            let secret = setup["secret"].as_str().unwrap();
            let expected = [("secret", secret), ("issuer", "deskpass"), ("algorithm", "SHA1"), ("digits", "6"), ("period", "30")];
            assert_eq!(pairs, expected);
            assert!(secret.len() == 32 && secret.bytes().all(|c| b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".contains(&c)), "{secret}");
            // Each setup gives a new secret, and the previous one is void.
            let other = set_up(&mut client, &token).await;
            assert_ne!(setup["secret"], other["secret"]);
            show(&mut client, &token, "bind", &oathtool(secret, app.clock.now())).await.refused(401, 1008);
        }
    }
}
