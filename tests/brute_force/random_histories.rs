//! Random histories of guesses, compared to a short reference.

use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::json;

use super::{WRONG, locked, shut};
use crate::harness::{Client, Device, PASSWORD, Response, STEP, StoreBackend, TestApp, rounds};

/// The kinds of credentials: the password, and the codes of a device.
const KINDS: usize = 2;
const CODE: usize = 1;

#[derive(Clone, Debug)]
enum Step {
    Guess {
        kind: usize,
        right: bool,
    },
    Wait(u64),
    /// Five codes every quarter of an hour, this many times.
    Siege(usize),
    Unlock,
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    let wrong = |kind| Just(Step::Guess { kind, right: false });
    let right = (0..KINDS).prop_map(|kind| Step::Guess { kind, right: true });
    let wait = prop_oneof![0..60_u64, 800..1_000_u64, Just(899), Just(900), 0..20_000_u64];
    prop_oneof![
        8 => wrong(0),
        12 => wrong(CODE),
        2 => right,
        5 => wait.prop_map(Step::Wait),
        1 => (1..21_usize).prop_map(Step::Siege),
        1 => Just(Step::Unlock),
        1 => Just(Step::Restart),
    ]
}

/// The times of the failed attempts that count, in seconds.
#[derive(Debug, Default)]
struct Reference {
    guesses: [Vec<u64>; KINDS],
    now: u64,
}

/// The state that an attempt meets.
#[derive(Debug, PartialEq, Eq)]
enum Door {
    Open,
    Shut(u64),
    Locked,
}

impl Reference {
    fn door(&self, kind: usize) -> Door {
        let guesses = &self.guesses[kind];
        let close = guesses.windows(2).rev().take_while(|two| two[1] - two[0] < 900).count() + 1;
        match guesses.last() {
            _ if guesses.len() >= 100 => Door::Locked,
            Some(last) if close >= 5 && self.now < last + 900 => Door::Shut(last + 900 - self.now),
            _ => Door::Open,
        }
    }

    fn guess(&mut self, kind: usize, right: bool) {
        if right { self.guesses[kind].clear() } else { self.guesses[kind].push(self.now) }
    }
}

async fn ask(client: &mut Client, device: &Device, kind: usize, right: bool) -> Response {
    if kind != CODE {
        return client.agent_login("agent01", if right { PASSWORD } else { WRONG }).await;
    }
    let token = client.sign_in("agent01").await;
    let code = if right { device.code() } else { device.wrong_code() };
    client.post_as(&token, "/api/auth/otp-verify", &json!({ "code": code })).await
}

async fn guess(app: &TestApp, device: &Device, reference: &mut Reference, kind: usize, right: bool) {
    if right {
        // A right attempt needs a code that is not used up.
        wait(app, reference, STEP.as_secs());
    }
    let answer = ask(&mut app.client().await, device, kind, right).await;
    match reference.door(kind) {
        Door::Locked => locked(&answer),
        Door::Shut(seconds) => assert_eq!(shut(&answer), seconds, "{reference:?}"),
        Door::Open => {
            let expected = if right { 0 } else { [1011, 1008][kind] };
            assert_eq!(answer.code(), expected, "{reference:?}");
            reference.guess(kind, right);
        }
    }
}

fn wait(app: &TestApp, reference: &mut Reference, seconds: u64) {
    app.clock.advance(Duration::from_secs(seconds));
    reference.now += seconds;
}

async fn compare(history: &[Step]) {
    let (mut app, mut reference) = (TestApp::start().await, Reference::default());
    let device = app.agent_with_device("agent01").await;
    for step in history {
        match *step {
            Step::Guess { kind, right } => guess(&app, &device, &mut reference, kind, right).await,
            Step::Wait(seconds) => wait(&app, &mut reference, seconds),
            Step::Siege(rounds) => {
                for _ in 0..rounds {
                    for _ in 0..6 {
                        guess(&app, &device, &mut reference, CODE, false).await;
                    }
                    wait(&app, &mut reference, 900);
                }
            }
            Step::Unlock => {
                let had = app.auth().operator().unlock_agent(app.key("agent01")).await.unwrap();
                assert_eq!(had, reference.guesses.iter().any(|guesses| !guesses.is_empty()));
                reference.guesses = Default::default();
            }
            Step::Restart => app = app.restart().await,
        }
    }
    for kind in 0..KINDS {
        guess(&app, &device, &mut reference, kind, true).await;
    }
}

fn on(stage: StoreBackend, cases: usize) {
    let cases = u32::try_from(rounds(cases)).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let config =
        ProptestConfig { cases, max_shrink_iters: 100, failure_persistence: None, ..ProptestConfig::default() };
    let ran = TestRunner::new(config).run(&proptest::collection::vec(step(), 10..60), |history| {
        runtime.block_on(stage.run(compare(&history)));
        Ok(())
    });
    ran.unwrap();
}

mod guesses_are_counted_as_the_reference_says {
    use super::*;

    #[test]
    fn embedded() {
        on(StoreBackend::Embedded, 40);
    }

    #[test]
    fn scaled_out() {
        on(StoreBackend::ScaledOut, 15);
    }
}
