//! Sign-ins that two nodes continue at once, or that a node left unfinished.

use std::time::Duration;

use deskpass_core::{Confirm, Digest, Flow, PendingSignIn, PhoneClaim, Role, Secret, SignInStage as Step, Ticket};
use deskpass_platform::{CodeRedemption, EntryPoint};
use deskpass_store::PlatformCode;
use serde_json::{Value, json};

use super::{Pair, one_of, scanned};
use crate::harness::{StoreBackend, TestApp, fragment, location, rounds, target};

/// Leaves a sign-in in the state of a node that dies after the phone's confirmation.
async fn left_confirmed(node: &TestApp, ticket: &str, claim: &PhoneClaim) {
    let (now, ticket) = (node.clock.now(), Secret::<Ticket>::parse(ticket).unwrap().digest());
    let left = |sign_in| {
        let claim = Box::new(claim.clone());
        Ok::<_, ()>(PendingSignIn { stage: Step::Confirmed { claim, since: now }, ..sign_in })
    };
    node.auth().shared.sign_ins.update(&ticket, now, left).await.unwrap().unwrap().unwrap();
}

/// The claim of the phone that has scanned a code.
async fn claim(node: &TestApp, ticket: &str, confirm: &str) -> PhoneClaim {
    let confirm = Secret::<Confirm>::parse(confirm).unwrap().digest();
    let ticket = Secret::<Ticket>::parse(ticket).unwrap().digest();
    let (now, sign_ins) = (node.clock.now(), &node.auth().shared.sign_ins);
    let claim = sign_ins.read_with(&ticket, now, |sign_in| sign_in.may_confirm(confirm, now).cloned());
    claim.await.unwrap().unwrap().unwrap()
}

/// Leaves a platform code in the state of a node that dies while it redeems it, with or without the identity.
async fn left_begun(node: &TestApp, code: &str, cookies: &str, identity: Value) {
    let now = node.clock.now();
    let flow = Secret::<Flow>::parse(cookies.split_once('=').unwrap().1).unwrap();
    let progress = serde_json::from_value(json!({ "since": now, "identity": identity })).unwrap();
    let left = PlatformCode { browser: flow.digest(), progress, until: now + Duration::from_mins(1) };
    assert!(node.auth().shared.codes.put(Digest::of(&[code.as_bytes()]), left, now).await.unwrap());
}

on_nodes! {
    async fn of_two_nodes_that_confirm_one_ticket_one_is_second() {
        let pair = Pair::start().await;
        pair.nodes[0].add("user01", Role::User).await;
        let [mut one, mut other] = pair.clients().await;
        let mut platform = pair.platform.client().await;
        let rounds = rounds(500);
        for _ in 0..rounds {
            let qrcode = one.qrcode().await;
            let confirm = scanned(&mut platform, &mut other, &qrcode, "user01").await;
            let (here, there) = tokio::join!(one.decide("confirm", &confirm), other.decide("confirm", &confirm));
            assert!(one_of([here.status, there.status]), "{here:?} {there:?}");
        }
        assert_eq!(pair.nodes[0].query("SELECT count(*) FROM login_log WHERE event = 'sign_in'"), [rounds.to_string()]);
    }

    async fn a_yes_to_a_node_that_died_can_be_said_again_on_another() {
        let pair = Pair::start().await;
        pair.nodes[0].add("user01", Role::User).await;
        let [mut one, mut other] = pair.clients().await;
        let mut platform = pair.platform.client().await;
        // The node died before the session was committed, or after.
        for committed in [false, true] {
            let qrcode = one.qrcode().await;
            let ticket = qrcode["ticket"].as_str().unwrap();
            let confirm = scanned(&mut platform, &mut one, &qrcode, "user01").await;
            let claim = claim(&pair.nodes[0], ticket, &confirm).await;
            if committed {
                one.decide("confirm", &confirm).await.data();
            }
            left_confirmed(&pair.nodes[0], ticket, &claim).await;
            for wait in [Duration::ZERO, Duration::from_millis(4_999)] {
                pair.nodes[0].clock.advance(wait);
                other.decide("confirm", &confirm).await.refused(409, 1019);
                other.decide("request", &confirm).await.refused(409, 1019);
            }
            pair.nodes[0].clock.advance(Duration::from_millis(1));
            assert_eq!(other.scan_status(ticket).await["status"], "scanned");
            other.decide("request", &confirm).await.data();
            let (here, there) = tokio::join!(one.decide("confirm", &confirm), other.decide("confirm", &confirm));
            assert!(one_of([here.status, there.status]), "{here:?} {there:?}");
            let collected = one.scan_status(ticket).await;
            assert!(other.is_valid(collected["token"].as_str().unwrap()).await);
        }
        assert_eq!(pair.nodes[0].query("SELECT count(*) FROM login_log WHERE event = 'sign_in'"), ["2"]);
    }

    async fn a_code_whose_node_died_is_taken_up_on_another() {
        let pair = Pair::start().await;
        let mut other = pair.nodes[1].client().await;
        let mut platform = pair.platform.client().await;
        let user = json!({ "Member": { "userid": "user01" } });
        // The node died before it called the platform, after that, or between the call and storing its result.
        for (used_up, identity, lands) in
            [(false, Value::Null, "ticket"), (true, user, "ticket"), (true, Value::Null, "error")]
        {
            let (link, cookies) = other.begin_oauth("https://desk.example.com/h5/").await;
            let back = platform.authorize(&link, "user01").await;
            let code = url::Url::parse(&back).unwrap().query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned();
            if used_up {
                let (entry, redirect_uri) = (EntryPoint::Client, "https://desk.example.com/api/auth/oauth2/callback");
                let redemption = CodeRedemption { code: &code, entry, redirect_uri, verifier: None };
                pair.nodes[0].auth().platform.redeem(redemption).await.unwrap();
            }
            left_begun(&pair.nodes[0], &code, &cookies, identity).await;
            pair.nodes[0].clock.advance(Duration::from_secs(5));
            let landed = other.oauth_callback(&back, &cookies).await;
            let told = fragment(location(&landed), lands);
            assert!(lands != "error" || told == "invalid_code", "{landed:?}");
            assert_eq!(fragment(location(&other.oauth_callback(&back, &cookies).await), lands), told, "the same answer again");
        }
    }

    async fn of_two_phones_that_scan_one_code_on_two_nodes_one_is_second() {
        let pair = Pair::start().await;
        let [mut one, mut other] = pair.clients().await;
        let mut platform = pair.platform.client().await;
        for _ in 0..rounds(300) {
            let qrcode = one.qrcode().await;
            let link = qrcode["qrcode_url"].as_str().unwrap();
            let (here, there) =
                (platform.authorize(link, "user01").await, platform.authorize(link, "agent01").await);
            let (here, there) = (target(&here), target(&there));
            let (here, there) = tokio::join!(one.get(&here, &[]), other.get(&there, &[]));
            let claimed = [&here, &there].map(|answer| location(answer).contains("#confirm="));
            assert!(claimed[0] != claimed[1], "{here:?} {there:?}");
        }
    }

    async fn one_code_on_two_nodes_signs_in_once() {
        let pair = Pair::start().await;
        let [mut one, mut other] = pair.clients().await;
        let mut platform = pair.platform.client().await;
        let loads = rounds(300);
        for _ in 0..loads {
            let (link, cookies) = one.begin_oauth("https://desk.example.com/h5/").await;
            let back = platform.authorize(&link, "user01").await;
            // The platform's client loads the page twice, and the balancer sends it to both nodes.
            let (here, there) = tokio::join!(one.oauth_callback(&back, &cookies), other.oauth_callback(&back, &cookies));
            assert_eq!(fragment(location(&here), "ticket"), fragment(location(&there), "ticket"));
        }
        assert_eq!(pair.nodes[0].query("SELECT count(*) FROM login_log"), [loads.to_string()]);
        for _ in 0..rounds(200) {
            let (link, cookies) = one.begin_oauth("https://desk.example.com/h5/").await;
            let back = platform.authorize(&link, "user01").await;
            let (here, there) = tokio::join!(one.oauth_callback(&back, &cookies), other.oauth_callback(&back, ""));
            let in_with = [&here, &there].map(|answer| {
                let at = location(answer);
                at.contains("ticket=") || at.contains("pending=") || at.contains("/continue/")
            });
            assert!(in_with[0] != in_with[1], "one code, two browsers: {here:?} {there:?}");
        }
    }
}
