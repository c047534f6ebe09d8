//! Random histories compared with a model a page long: sign-in, verify, switch, logout, roles granted and revoked, people
//! disabled and enabled, time passing, sweeps, restarts.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::json;
use tokio::task::JoinSet;

use crate::harness::{Client, StoreBackend, TestApp};

const PEOPLE: [&str; 4] = ["admin01", "agent01", "user01", "norole01"];
const ROLES: [&str; 5] = ["admin", "agent", "user", "supervisor", "security"];
const LIFETIME: u64 = 28_800;

#[derive(Clone, Debug)]
enum Step {
    SignIn(usize),
    Verify(usize),
    Me(usize),
    Switch(usize, usize),
    Logout(usize),
    Grant(usize, usize),
    Revoke(usize, usize),
    Disable(usize),
    Enable(usize),
    Wait(u64),
    Sweep,
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    let (person, role, token) = (0..PEOPLE.len(), 0..ROLES.len(), 0..12_usize);
    prop_oneof![
        4 => person.clone().prop_map(Step::SignIn),
        4 => token.clone().prop_map(Step::Verify),
        2 => token.clone().prop_map(Step::Me),
        4 => (token.clone(), role.clone()).prop_map(|(token, role)| Step::Switch(token, role)),
        2 => token.prop_map(Step::Logout),
        2 => (person.clone(), role.clone()).prop_map(|(person, role)| Step::Grant(person, role)),
        2 => (person.clone(), role).prop_map(|(person, role)| Step::Revoke(person, role)),
        1 => person.clone().prop_map(Step::Disable),
        1 => person.prop_map(Step::Enable),
        2 => (1..20_000_u64).prop_map(Step::Wait),
        1 => Just(Step::Sweep),
        1 => Just(Step::Restart),
    ]
}

/// The expected state.
#[derive(Debug)]
struct Model {
    people: Vec<(BTreeSet<usize>, bool)>,
    tokens: Vec<Token>,
    now: u64,
}

#[derive(Debug)]
struct Token {
    text: String,
    person: usize,
    role: usize,
    born: u64,
    ended: bool,
}

impl Model {
    fn new() -> Self {
        let roles: [&[usize]; 4] = [&[0, 1, 2], &[1, 2], &[2], &[]];
        let people = roles.map(|roles| (roles.iter().copied().collect(), false)).into();
        Self { people, tokens: Vec::new(), now: 0 }
    }

    fn highest(&self, person: usize) -> Option<usize> {
        let priority = |role: &usize| [3, 2, 1, 0, 0][*role];
        let (roles, _) = &self.people[person];
        roles.iter().copied().max_by_key(|role| (priority(role), std::cmp::Reverse(*role)))
    }

    /// Whether a route that accepts any token holder accepts this token.
    fn holds(&self, token: &Token) -> bool {
        !token.ended && self.now < token.born + LIFETIME
    }

    fn is_valid(&self, token: &Token) -> bool {
        self.holds(token) && self.people[token.person].0.contains(&token.role)
    }
}

/// Applies one step to both and compares.
async fn take(step: &Step, model: &mut Model, app: TestApp) -> TestApp {
    let mut client = app.client().await;
    let key = |person: usize| app.key(PEOPLE[person]);
    match *step {
        Step::SignIn(person) => sign_in(person, model, &mut client).await,
        Step::Verify(token) | Step::Me(token) | Step::Switch(token, _) | Step::Logout(token)
            if token < model.tokens.len() =>
        {
            on_token(step, token, model, &mut client).await;
        }
        Step::Verify(_) | Step::Me(_) | Step::Switch(..) | Step::Logout(_) => {}
        Step::Grant(person, role) => {
            let added = app.auth().operator().grant(key(person), ROLES[role]).await.unwrap();
            assert_eq!(added, model.people[person].0.insert(role));
        }
        Step::Revoke(person, role) => {
            let removed = app.auth().operator().revoke(key(person), ROLES[role]).await.unwrap();
            assert_eq!(removed, model.people[person].0.remove(&role));
        }
        Step::Disable(person) => {
            app.auth().operator().disable(key(person)).await.unwrap();
            model.people[person].1 = true;
            model.tokens.iter_mut().filter(|token| token.person == person).for_each(|token| token.ended = true);
        }
        Step::Enable(person) => {
            app.auth().operator().enable(key(person)).await.unwrap();
            model.people[person].1 = false;
        }
        Step::Wait(seconds) => {
            app.clock.advance(Duration::from_secs(seconds));
            model.now += seconds;
        }
        Step::Sweep => drop(app.auth().sweep().await.unwrap()),
        Step::Restart => return app.restart().await,
    }
    app
}

async fn sign_in(person: usize, model: &mut Model, client: &mut Client) {
    let answer = client.post("/api/auth/bind", &[], &json!({ "employee_id": PEOPLE[person] })).await;
    match model.highest(person).filter(|_| !model.people[person].1) {
        Some(role) => {
            let login = answer.data();
            assert_eq!(login["current_role"], ROLES[role]);
            let text = login["token"].as_str().unwrap().to_owned();
            model.tokens.push(Token { text, person, role, born: model.now, ended: false });
        }
        None => drop(answer.refused(403, 1003)),
    }
}

async fn on_token(step: &Step, at: usize, model: &mut Model, client: &mut Client) {
    let token = &model.tokens[at];
    let (holds, is_valid, text) = (model.holds(token), model.is_valid(token), token.text.clone());
    match *step {
        Step::Verify(_) => {
            let verified = client.verify(&text).await;
            assert_eq!(verified["valid"], is_valid, "{token:?}");
            if is_valid {
                let roles: Vec<_> = model.people[token.person].0.iter().map(|role| ROLES[*role]).collect();
                assert_eq!(verified["roles"], json!(roles));
                assert_eq!(verified["current_role"], ROLES[token.role]);
                assert_eq!(verified["expires_in"], token.born + LIFETIME - model.now);
            }
        }
        Step::Me(_) => assert_eq!(
            client.me(&text).await.status,
            if is_valid {
                200
            } else if holds {
                403
            } else {
                401
            }
        ),
        Step::Switch(_, role) => {
            let held = model.people[token.person].0.contains(&role);
            let status = client.switch(&text, ROLES[role]).await.status;
            assert_eq!(
                status,
                if !holds {
                    401
                } else if held {
                    200
                } else {
                    403
                }
            );
            if status == 200 {
                model.tokens[at].role = role;
            }
        }
        _ => {
            let status = client.logout(&text).await.status;
            assert_eq!(status, if holds { 200 } else { 401 });
            model.tokens[at].ended = true;
        }
    }
}

fn runner(cases: u32) -> TestRunner {
    TestRunner::new(ProptestConfig {
        cases,
        max_shrink_iters: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    })
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

mod a_history_goes_as_the_model_says {
    use super::*;

    async fn compare(history: &[Step]) {
        let (mut app, mut model) = (TestApp::start().await, Model::new());
        for step in history {
            app = take(step, &mut model, app).await;
        }
        for at in 0..model.tokens.len() {
            on_token(&Step::Verify(at), at, &mut model, &mut app.client().await).await;
        }
    }

    fn on(stage: StoreBackend, cases: u32) {
        let runtime = runtime();
        let histories = proptest::collection::vec(step(), 1..60);
        let ran = runner(cases).run(&histories, |history| {
            runtime.block_on(stage.run(compare(&history)));
            Ok(())
        });
        ran.unwrap();
    }

    #[test]
    fn embedded() {
        on(StoreBackend::Embedded, 48);
    }

    #[test]
    fn scaled_out() {
        on(StoreBackend::ScaledOut, 24);
    }
}

/// Four people use one service at once. Their histories are independent, so each must match its own model exactly.
mod histories_side_by_side_do_not_disturb_each_other {
    use super::*;

    async fn live(app: &TestApp, person: usize, history: Vec<Step>) {
        let (mut client, mut model) = (app.client().await, Model::new());
        for step in history {
            match step {
                Step::SignIn(_) => sign_in(person, &mut model, &mut client).await,
                Step::Verify(token) | Step::Me(token) | Step::Switch(token, _) | Step::Logout(token) => {
                    if token < model.tokens.len() {
                        on_token(&step, token, &mut model, &mut client).await;
                    }
                }
                Step::Grant(_, role) => {
                    let added = app.auth().operator().grant(app.key(PEOPLE[person]), ROLES[role]).await.unwrap();
                    assert_eq!(added, model.people[person].0.insert(role));
                }
                Step::Revoke(_, role) => {
                    let removed = app.auth().operator().revoke(app.key(PEOPLE[person]), ROLES[role]).await.unwrap();
                    assert_eq!(removed, model.people[person].0.remove(&role));
                }
                Step::Disable(_) => {
                    app.auth().operator().disable(app.key(PEOPLE[person])).await.unwrap();
                    model.people[person].1 = true;
                    model.tokens.iter_mut().for_each(|token| token.ended = true);
                }
                Step::Enable(_) => {
                    app.auth().operator().enable(app.key(PEOPLE[person])).await.unwrap();
                    model.people[person].1 = false;
                }
                Step::Sweep => drop(app.auth().sweep().await.unwrap()),
                // Time and restarts affect all histories.
                Step::Wait(_) | Step::Restart => {}
            }
        }
    }

    async fn side_by_side(histories: Vec<Vec<Step>>) {
        let app = std::sync::Arc::new(TestApp::start().await);
        let mut lives = JoinSet::new();
        for (person, history) in histories.into_iter().enumerate() {
            let app = std::sync::Arc::clone(&app);
            lives.spawn(async move { live(&app, person, history).await });
        }
        while let Some(life) = lives.join_next().await {
            life.unwrap();
        }
    }

    fn on(stage: StoreBackend, cases: u32) {
        let runtime = runtime();
        let histories = proptest::collection::vec(proptest::collection::vec(step(), 20..60), PEOPLE.len());
        let ran = runner(cases).run(&histories, |histories| {
            runtime.block_on(stage.run(side_by_side(histories)));
            Ok(())
        });
        ran.unwrap();
    }

    #[test]
    fn embedded() {
        on(StoreBackend::Embedded, 24);
    }

    #[test]
    fn scaled_out() {
        on(StoreBackend::ScaledOut, 12);
    }
}
