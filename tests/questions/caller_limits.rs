//! Nobody is asked until they give in, and no agent asks everyone.

use std::time::Duration;

use super::{ask_caller, supervisor, two_nodes};
use crate::harness::Response;

/// Whether a question was refused for so many seconds.
#[track_caller]
fn assert_limited(answer: &Response, seconds: &str) {
    assert_eq!(answer.refused(429, 1006).header("retry-after"), Some(seconds), "{answer:?}");
}

on_every_store! {
    /// One asker cannot use up the questions to an employee: others can still ask.
    async fn an_employee_is_asked_three_times_by_one_and_six_times_in_all_and_an_agent_asks_ten_times(app) {
        let nodes = two_nodes(app).await;
        // All nodes count together. Only the first one sends messages: each has a simulated platform of its own.
        let (mut client, mut other) = (nodes[0].client().await, nodes[nodes.len() - 1].client().await);
        let (agent, supervisor) = (client.sign_in("agent01").await, supervisor(&mut client).await);
        let admin = client.sign_in("admin01").await;
        for asker in [&agent, &supervisor] {
            for _ in 0..3 {
                ask_caller(&mut client, asker, "user01").await.data();
            }
            assert_limited(&ask_caller(&mut other, asker, "user01").await, "200");
        }
        assert_limited(&ask_caller(&mut other, &admin, "user01").await, "100");
        // An agent has asked four times, once in vain.
        for who in ["admin01", "supervisor01"] {
            for _ in 0..3 {
                ask_caller(&mut client, &agent, who).await.data();
            }
        }
        assert_limited(&ask_caller(&mut other, &agent, "security01").await, "60");
        ask_caller(&mut client, &supervisor, "security01").await.data();
        nodes[0].clock.advance(Duration::from_mins(1));
        ask_caller(&mut client, &agent, "security01").await.data();
        assert_limited(&ask_caller(&mut client, &agent, "security01").await, "60");
        nodes[0].clock.advance(Duration::from_secs(140));
        ask_caller(&mut client, &supervisor, "user01").await.data();
        assert_limited(&ask_caller(&mut client, &supervisor, "user01").await, "200");
        ask_caller(&mut client, &admin, "user01").await.data();
        assert_limited(&ask_caller(&mut client, &admin, "user01").await, "100");
    }

    /// The limit per agent also counts questions about people who do not exist: it bounds guessing.
    async fn names_are_not_guessed_with_it(app) {
        let mut client = app.client().await;
        let agent = client.sign_in("agent01").await;
        for guess in 0..10 {
            ask_caller(&mut client, &agent, &format!("guess{guess}")).await.refused(403, 1003);
        }
        assert_limited(&ask_caller(&mut client, &agent, "guess10").await, "60");
        assert_limited(&ask_caller(&mut client, &agent, "user01").await, "60");
    }
}
