//! The statistics of sign-ins, read while they are written.

use deskpass_store::SignInStep;

use crate::agents::end_all::{connect, until_blocking};
use crate::agents::fixture::{Fixture, HOUR, at, digest};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_that_is_committed_during_a_read_is_counted_once() {
    let fixture = Fixture::scaled_out().await;
    let (client, node, batch) = (connect(&fixture).await, fixture.node(0), digest("batch"));
    node.count_step(SignInStep::SignedIn, at(0));
    client.batch_execute("ALTER TABLE sign_in_count RENAME TO elsewhere").await.unwrap();
    assert!(node.flush_statistics(batch, at(0)).await.is_err());
    client.batch_execute("ALTER TABLE elsewhere RENAME TO sign_in_count").await.unwrap();
    // What the attempt would have written, had it only been late. The read waits between its two statements.
    let text = batch.to_text();
    let late = format!(
        "BEGIN; LOCK TABLE used_once; INSERT INTO sign_in_count (hour, step, times) VALUES (0, 'sign_in', 1);
         INSERT INTO used_once (digest, used_by, undone, until) VALUES ('{text}', '{text}', 0, {HOUR})"
    );
    client.batch_execute(&late).await.unwrap();
    let reading = tokio::spawn(async move { node.statistics(at(0), at(HOUR)).await.unwrap() });
    until_blocking(&client).await;
    client.batch_execute("COMMIT").await.unwrap();
    let hours = reading.await.unwrap();
    assert_eq!(hours.iter().map(|hour| hour.times(SignInStep::SignedIn)).sum::<u64>(), 1);
}
