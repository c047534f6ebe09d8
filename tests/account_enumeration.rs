//! A stranger cannot tell apart the names of agents with a password, of agents without a password, and unknown names.

use std::time::{Duration, Instant};

use deskpass_core::Role;
use deskpass_store::AttemptKind;
use fastrand::Rng;
use serde_json::{Value, json};

use crate::brute_force::exhaust_attempts;
use crate::harness::{Client, PASSWORD, PRODUCTION, Response, TestApp, settings};

/// The kinds of names.
const KINDS: [&str; 3] = ["an agent with a password", "an agent without one", "nobody"];
/// The number of names of each kind.
const NAMES: usize = 100;
/// The guesses at each name before it has to rest, one less than the lockout threshold; and how often that is repeated.
const GUESSES: usize = 4;
const ROUNDS: usize = 5;
const SAMPLES: usize = NAMES * GUESSES * ROUNDS;
/// How far from chance the best guess at a kind by time alone may be. By chance, one run in a million exceeds it.
const CHANCE: std::ops::RangeInclusive<f64> = 0.45..=0.55;
const WRONG: &str = "three horses crossed a bridge";

/// A production service that accepts passwords while its platform works, without rate limits.
async fn production() -> TestApp {
    let more = [("agents.password_fallback", "always"), ("limits.enabled", "false"), ("server.settle", "0s")];
    TestApp::with(settings(&[&PRODUCTION[..], &more].concat())).await
}

async fn add_agent(app: &TestApp, name: &str) {
    app.add(name, Role::Agent).await;
    app.auth().operator().add_agent(app.key(name), "agent").await.unwrap();
}

/// Sets the usual password of an agent: the administrator issues a setup code and the agent uses it.
async fn set_password(app: &TestApp, client: &mut Client, name: &str) {
    let code = app.auth().operator().reset_password(app.key(name)).await.unwrap().code.text();
    let body = json!({ "employee_id": name, "setup_code": code, "new_password": PASSWORD });
    client.post("/api/agents/password/setup", &[], &body).await.data();
}

/// The parts of a response that a stranger can compare, without those that differ in every response.
fn seen(answer: &Response) -> (u16, Vec<(String, String)>, Value) {
    let mut body = answer.json();
    assert!(body.as_object_mut().unwrap().remove("request_id").is_some());
    let differs = |name: &str| ["x-request-id", "date"].contains(&name);
    let headers = answer.headers.iter().filter(|(name, _)| !differs(name)).cloned().collect();
    (answer.status, headers, body)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_names_are_answered_with_the_same_words() {
    let app = production().await;
    let mut client = app.client().await;
    for name in ["with", "idle", "gone", "away"] {
        add_agent(&app, name).await;
    }
    for name in ["with", "gone", "away"] {
        set_password(&app, &mut client, name).await;
    }
    app.add("user", Role::User).await;
    app.auth().operator().disable_agent(app.key("gone")).await.unwrap();
    app.auth().operator().disable(app.key("away")).await.unwrap();
    let names = ["with", "idle", "gone", "away", "user", "none"];
    for name in names {
        exhaust_attempts(&app, name, AttemptKind::Password, 90).await;
    }
    for guess in 0..14 {
        if guess == 7 {
            app.clock.advance(Duration::from_mins(15));
        }
        let expected = client.agent_login(names[0], WRONG).await;
        expected.refused(if guess % 7 < 5 { 401 } else { 429 }, if guess % 7 < 5 { 1011 } else { 1013 });
        for name in &names[1..] {
            assert_eq!(seen(&client.agent_login(name, WRONG).await), seen(&expected), "{name}, guess {guess}");
        }
    }
    // Every name is locked; the right password of a locked-out agent is refused like a wrong one.
    for name in names {
        assert_eq!(client.agent_login(name, WRONG).await.refused(429, 1013).reason(), "locked");
    }
    for name in ["gone", "away"] {
        app.auth().operator().unlock_agent(app.key(name)).await.unwrap();
        client.agent_login(name, PASSWORD).await.refused(401, 1011);
    }
}

/// Names with their kinds, shuffled so that a name does not reveal its kind.
async fn people(app: &TestApp, client: &mut Client, rng: &mut Rng) -> Vec<(String, usize)> {
    let mut kinds: Vec<_> = (0..KINDS.len() * NAMES).map(|at| at % KINDS.len()).collect();
    rng.shuffle(&mut kinds);
    let people: Vec<_> = kinds.into_iter().enumerate().map(|(at, kind)| (format!("name{at:03}"), kind)).collect();
    for (name, _) in people.iter().filter(|(_, kind)| *kind < 2) {
        add_agent(app, name).await;
    }
    let with: Vec<_> = people.iter().filter(|(_, kind)| *kind == 0).map(|(name, _)| &**name).collect();
    set_password(app, client, with[0]).await;
    let (first, with) = (with[0], with.join("', '"));
    app.query(&format!(
        "UPDATE agent SET setup_code = NULL, setup_code_until = NULL, (password_hash, password_set_at) =
         (SELECT password_hash, password_set_at FROM agent WHERE employee_key = '{first}')
         WHERE employee_key IN ('{with}')"
    ));
    let kept = app.query("SELECT count(password_hash) FROM agent");
    assert_eq!(kept, [NAMES.to_string()]);
    people
}

/// The probability that a time of `one` is longer than a time of `other`: the Mann-Whitney statistic as a share.
fn share(one: &[u128], other: &[u128]) -> f64 {
    let mut sorted = other.to_vec();
    sorted.sort_unstable();
    let twice = one.iter().map(|time| {
        let (below, upto) = (sorted.partition_point(|t| t < time), sorted.partition_point(|t| t <= time));
        below + upto
    });
    let pairs = one.len() * other.len();
    f64::from(u32::try_from(twice.sum::<usize>()).unwrap()) / 2.0 / f64::from(u32::try_from(pairs).unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a statistical measurement that takes minutes: make torture runs it"]
async fn all_names_take_the_same_time() {
    let (app, mut rng, began) = (production().await, Rng::with_seed(1), Instant::now());
    let mut client = app.client().await;
    let people = people(&app, &mut client, &mut rng).await;
    let mut times: [Vec<u128>; KINDS.len()] = Default::default();
    for _ in 0..ROUNDS {
        let mut order: Vec<_> = (0..GUESSES).flat_map(|_| &people).collect();
        rng.shuffle(&mut order);
        for (name, kind) in order {
            let asked = Instant::now();
            let answer = client.agent_login(name, WRONG).await;
            times[*kind].push(asked.elapsed().as_nanos());
            answer.refused(401, 1011);
        }
        app.clock.advance(Duration::from_mins(16));
    }
    for (one, other) in [(0, 1), (0, 2), (1, 2)] {
        assert_eq!((times[one].len(), times[other].len()), (SAMPLES, SAMPLES));
        let share = share(&times[one], &times[other]);
        println!("{} against {}: {share:.4}", KINDS[one], KINDS[other]);
        assert!(CHANCE.contains(&share), "{} and {} can be distinguished: {share:.4}", KINDS[one], KINDS[other]);
    }
    println!("{} samples in {:.0?}", KINDS.len() * SAMPLES, began.elapsed());
}
