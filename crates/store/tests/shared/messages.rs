//! Messages over real servers: every node reads the messages that any node accepted, and Redis holds only ciphertext.

use std::time::Duration;

use deskpass_core::{
    Chunk, ChunkOutOfOrder, Clock, EmployeeKey, FrameDraft, Message, MessageKind, Recipient, StreamId,
};
use deskpass_store::{MessageFeed, PostOutcome, RejectedMessage};
use tokio::time::timeout;

use crate::shared::server::{Desk, Server, at, node};

/// A message with this text, optionally as a piece of a stream.
pub(crate) fn message(text: &str, seq: Option<u64>) -> Message {
    let (to, content) = (vec![Recipient::Person(EmployeeKey::from_parts("ww", "a"))], format!("\"{text}\""));
    let chunk = seq.map(|seq| Chunk { stream: StreamId::parse(text).unwrap(), seq, done: false });
    let frame = FrameDraft::new(MessageKind::ByodCard, Some(&content), None, "").unwrap();
    Message { to, socket: None, chunk, frame }
}

async fn post(desk: &Desk, messages: Vec<Message>) -> Result<Vec<PostOutcome>, RejectedMessage> {
    desk.messages.post(messages, at(0)).await.unwrap()
}

/// Reads until a message has arrived.
async fn read(round: &mut MessageFeed, text: &str) {
    let reading = async {
        let piece = format!("\"{text}\"");
        let has_it = |frame: &[u8]| String::from_utf8_lossy(frame).contains(&piece);
        while !round.next().await.messages.iter().any(|(message, _)| has_it(&message.frame)) {}
    };
    timeout(Duration::from_secs(20), reading).await.expect("it comes");
}

/// Asserts that messages pass between two nodes, and that streams keep their order.
pub(crate) async fn passes(a: &Desk, b: &Desk, name: &str) {
    let mut rounds = [a.messages.feed().unwrap(), b.messages.feed().unwrap()];
    for number in 0..5 {
        let text = format!("{name}{number}");
        let posted = post(if number % 2 == 0 { a } else { b }, vec![message(&text, None), message(name, Some(number))]);
        assert!(matches!(posted.await.unwrap()[..], [PostOutcome::AllNodes(..), PostOutcome::AllNodes(..)]));
        for round in &mut rounds {
            read(round, &text).await;
        }
    }
    assert!(matches!(post(b, vec![message(name, Some(4))]).await.unwrap()[..], [PostOutcome::Duplicate]));
    let gap = post(a, vec![message("x", None), message(name, Some(6))]).await.unwrap_err();
    assert_eq!(gap, RejectedMessage { place: 1, why: ChunkOutOfOrder::Gap(5) });
}

/// A connection of the test itself.
async fn connect(server: &Server) -> redis::aio::MultiplexedConnection {
    redis::Client::open(server.url()).unwrap().get_multiplexed_async_connection().await.unwrap()
}

/// The sealed messages in the entries of the stream, as stored in Redis.
async fn sealed(wire: &mut redis::aio::MultiplexedConnection) -> Vec<Vec<u8>> {
    let range = redis::cmd("XRANGE").arg("test:1:{mail}").arg("-").arg("+").to_owned();
    let there: Vec<(String, Vec<Vec<u8>>)> = range.query_async(wire).await.unwrap();
    there.into_iter().map(|(_, mut fields)| fields.pop().unwrap()).collect()
}

/// Appends a message again, as the next entry, so that no number is missing and the log ends with it.
async fn replay(wire: &mut redis::aio::MultiplexedConnection, number: usize, message: &[u8]) {
    let add = redis::cmd("XADD").arg("test:1:{mail}").arg("*").arg("n").arg(number).arg("m").arg(message).to_owned();
    let id: String = add.query_async(wire).await.unwrap();
    end_log(wire, number, &id).await;
}

/// Sets the number and the id of the last message.
async fn end_log(wire: &mut redis::aio::MultiplexedConnection, number: usize, last: &str) {
    let end = redis::cmd("HSET").arg("test:1:{mail}:end").arg("number").arg(number).arg("last").arg(last).to_owned();
    end.query_async::<()>(wire).await.unwrap();
}

/// Reads until messages are missing.
async fn finds_a_gap(round: &mut MessageFeed) {
    let reading = async { while round.next().await.gap.is_none() {} };
    timeout(Duration::from_secs(20), reading).await.expect("the loss is noticed");
}

/// How many of the next messages a node accepts, at that time.
async fn taken_in(desk: &Desk, round: &mut MessageFeed, seconds: i64) -> usize {
    let arrived = timeout(Duration::from_secs(20), round.next()).await.expect("it comes");
    assert!(!arrived.messages.is_empty(), "this test looks at nothing");
    let now = at(seconds * 1_000);
    desk.messages.ingest(desk.messages.filter_fresh(arrived, now), now).len()
}

#[tokio::test]
async fn replayed_messages_are_dropped_and_counted() {
    let server = Server::start(&[]);
    let (one, other) = (node(&server.url()), node(&server.url()));
    let mut wire = connect(&server).await;
    let (mut round, mut elsewhere) = (one.messages.feed().unwrap(), other.messages.feed().unwrap());
    // Before anything is sent, so that each node reads everything.
    round.next().await;
    elsewhere.next().await;
    post(&other, vec![message("first", None)]).await.unwrap();
    post(&one, vec![message("second", None)]).await.unwrap();
    let (mut mine, mut theirs) = (0, 0);
    while mine < 2 {
        mine += taken_in(&one, &mut round, 0).await;
    }
    while theirs < 2 {
        theirs += taken_in(&other, &mut elsewhere, 60).await;
    }
    assert_eq!((one.messages.dropped(), other.messages.dropped()), (0, 0));
    let [first, second]: [Vec<u8>; 2] = sealed(&mut wire).await.try_into().unwrap();
    // Again, immediately and for as long as a message is new enough to come from another node.
    for (count, (seconds, message)) in [(0, &first), (0, &second), (60, &first), (180, &second)].into_iter().enumerate()
    {
        replay(&mut wire, count + 3, message).await;
        assert_eq!(taken_in(&one, &mut round, seconds).await, 0, "{seconds}");
        assert_eq!(taken_in(&other, &mut elsewhere, seconds).await, 0, "{seconds}");
        assert_eq!((one.messages.dropped(), other.messages.dropped()), (count as u64 + 1, count as u64 + 1));
    }
    // A node that starts now has read none of them, and accepts neither old messages nor messages from the future.
    for seconds in [181, 3_600, -61] {
        let late = node(&server.url());
        let mut round = late.messages.feed().unwrap();
        assert_eq!(taken_in(&late, &mut round, seconds).await, 0, "{seconds}");
        assert_eq!(late.messages.dropped(), 6, "{seconds}");
    }
    // It accepts each of them once while they are new.
    let late = node(&server.url());
    let mut round = late.messages.feed().unwrap();
    let admitted = late.messages.filter_fresh(round.next().await, at(100_000));
    let taken = late.messages.ingest(admitted, at(3_600_000));
    assert_eq!((taken.len(), late.messages.dropped()), (2, 4), "however long handing them out has to wait");
}

#[tokio::test]
async fn messages_in_redis_can_be_neither_read_nor_forged() {
    let server = Server::start(&[]);
    let desk = node(&server.url());
    post(&desk, vec![message("hunter2", Some(0))]).await.unwrap();
    let mut round = desk.messages.feed().unwrap();
    read(&mut round, "hunter2").await;
    let mut wire = connect(&server).await;
    let range = redis::cmd("XRANGE").arg("test:1:{mail}").arg("-").arg("+").to_owned();
    let there: Vec<(String, Vec<Vec<u8>>)> = range.query_async(&mut wire).await.unwrap();
    let there: Vec<u8> = there.into_iter().flat_map(|(_, fields)| fields.concat()).collect();
    let there = String::from_utf8_lossy(&there);
    assert!(!there.contains("hunter2") && !there.contains("byod_card"), "{there}");
    for forged in ["", "{}", "{\"frame\":\"\"}"] {
        server.cli(&["XADD", "test:1:{mail}", "*", "n", "2", "m", forged]);
    }
    server.cli(&["XADD", "test:1:{mail}", "*", "other", "fields"]);
    post(&desk, vec![message("good", None)]).await.unwrap();
    let arrived = round.next().await;
    assert_eq!(arrived.messages.len(), 1, "{arrived:?}");
    assert!(arrived.gap.is_some(), "what was written in between is no message of ours");
}

#[tokio::test]
async fn the_loss_of_the_first_message_is_noticed() {
    let server = Server::start(&[]);
    let (one, other) = (node(&server.url()), node(&server.url()));
    let mut round = one.messages.feed().unwrap();
    assert_eq!(round.next().await.gap, None);
    post(&other, vec![message("a", None)]).await.unwrap();
    server.cli(&["FLUSHALL"]);
    // It gets the number of the lost one.
    post(&other, vec![message("b", None)]).await.unwrap();
    finds_a_gap(&mut round).await;
    post(&other, vec![message("c", None)]).await.unwrap();
    read(&mut round, "c").await;
}

#[tokio::test]
async fn a_loss_is_noticed_without_another_message() {
    let server = Server::start(&[]);
    let (one, other) = (node(&server.url()), node(&server.url()));
    let mut round = one.messages.feed().unwrap();
    assert_eq!(round.next().await.gap, None);
    let posted = post(&other, vec![message("a", None)]).await.unwrap();
    let [PostOutcome::AllNodes(id, _)] = posted[..] else { panic!("{posted:?}") };
    server.cli(&["FLUSHALL"]);
    finds_a_gap(&mut round).await;
    // A node that starts now cannot know what was lost before.
    let late = node(&server.url());
    let arrived = timeout(Duration::from_secs(20), late.messages.feed().unwrap().next()).await.expect("it reads");
    assert!(arrived.whole_since.unwrap() > id, "{arrived:?}");
}

/// A replica that has become master lost a message and got another one, which has the same number and, because the clock
/// of the replica is behind, an earlier id. A third one may follow both.
#[tokio::test]
async fn a_message_in_place_of_a_lost_one_is_noticed() {
    for is_followed in [false, true] {
        let server = Server::start(&[]);
        let (one, other) = (node(&server.url()), node(&server.url()));
        let mut wire = connect(&server).await;
        let mut round = one.messages.feed().unwrap();
        assert_eq!(round.next().await.gap, None);
        post(&other, vec![message("a", None)]).await.unwrap();
        read(&mut round, "a").await;
        let [sealed]: [Vec<u8>; 1] = sealed(&mut wire).await.try_into().unwrap();
        server.cli(&["DEL", "test:1:{mail}"]);
        let add = redis::cmd("XADD").arg("test:1:{mail}").arg("1-1").arg("n").arg(1).arg("m").arg(sealed).to_owned();
        add.query_async::<()>(&mut wire).await.unwrap();
        end_log(&mut wire, 1, "1-1").await;
        if is_followed {
            // It has the next number, and an id after everything that the node has read.
            post(&other, vec![message("b", None)]).await.unwrap();
        }
        finds_a_gap(&mut round).await;
    }
}

/// Has Redis lose the only message, or get another one in its place.
async fn lose_the_message(server: &Server, wire: &mut redis::aio::MultiplexedConnection, is_replaced: bool) {
    let [sealed]: [Vec<u8>; 1] = sealed(wire).await.try_into().unwrap();
    server.cli(&["DEL", "test:1:{mail}"]);
    if is_replaced {
        replay(wire, 1, &sealed).await;
    } else {
        server.cli(&["HDEL", "test:1:{mail}:end", "number", "last"]);
    }
}

/// The feeds of two nodes, after their first read.
async fn feeds(one: &Desk, other: &Desk) -> (MessageFeed, MessageFeed) {
    let mut feeds = (one.messages.feed().unwrap(), other.messages.feed().unwrap());
    assert_eq!((feeds.0.next().await.gap, feeds.1.next().await.gap), (None, None));
    feeds
}

/// Asserts that a node reads on without another gap.
async fn reads_on(round: &mut MessageFeed) {
    let arrived = timeout(Duration::from_secs(20), round.next()).await.expect("it comes");
    assert_eq!((arrived.messages.len(), arrived.gap), (1, None), "{arrived:?}");
}

/// A replica that has become master lost a message and got another one with the same number, which follows what a slow node
/// has read.
#[tokio::test]
async fn a_loss_that_one_node_notices_is_known_to_all() {
    let server = Server::start(&[]);
    let (one, slow, other) = (node(&server.url()), node(&server.url()), node(&server.url()));
    let mut wire = connect(&server).await;
    let (mut round, mut behind) = feeds(&one, &slow).await;
    let posted = post(&other, vec![message("a", None)]).await.unwrap();
    let [PostOutcome::AllNodes(lost, _)] = posted[..] else { panic!("{posted:?}") };
    read(&mut round, "a").await;
    lose_the_message(&server, &mut wire, true).await;
    finds_a_gap(&mut round).await;
    finds_a_gap(&mut behind).await;
    // A node that starts now does not tell the clients that they have missed nothing.
    let late = node(&server.url());
    let arrived = timeout(Duration::from_secs(20), late.messages.feed().unwrap().next()).await.expect("it reads");
    assert!(arrived.whole_since.unwrap() > lost, "{arrived:?}");
    post(&other, vec![message("b", None)]).await.unwrap();
    reads_on(&mut round).await;
    reads_on(&mut behind).await;
}

#[tokio::test]
async fn the_loss_of_a_message_that_nobody_had_read_is_noticed_by_its_sender() {
    for is_replaced in [false, true] {
        let server = Server::start(&[]);
        let (one, sender) = (node(&server.url()), node(&server.url()));
        let mut wire = connect(&server).await;
        let (mut round, mut own) = feeds(&one, &sender).await;
        post(&sender, vec![message("a", None)]).await.unwrap();
        lose_the_message(&server, &mut wire, is_replaced).await;
        finds_a_gap(&mut own).await;
        finds_a_gap(&mut round).await;
        post(&sender, vec![message("b", None)]).await.unwrap();
        reads_on(&mut own).await;
        reads_on(&mut round).await;
    }
}

/// A node that used an old master for longer than the others: they had noticed the failover before it posted there.
#[tokio::test]
async fn what_a_node_posted_to_an_old_master_is_known_to_all_as_lost() {
    let server = Server::start(&[]);
    let (one, sender) = (node(&server.url()), node(&server.url()));
    let (mut round, mut own) = feeds(&one, &sender).await;
    post(&sender, vec![message("a", None)]).await.unwrap();
    // The log of the new master, as the others have named it. In one step: a node that saw half of it would name the log itself.
    let replace = "redis.call('DEL', KEYS[1]) redis.call('HDEL', KEYS[2], 'number', 'last')
        return redis.call('HSET', KEYS[2], 'epoch', ARGV[1])";
    let named = Clock::steady(at(0)).now().millis() + 1_000;
    let name = format!("{named}-{named}-other");
    server.cli(&["EVAL", replace, "2", "test:1:{mail}", "test:1:{mail}:end", &name]);
    finds_a_gap(&mut round).await;
    finds_a_gap(&mut own).await;
    finds_a_gap(&mut round).await;
    // A message of the same millisecond as both gaps would have an id before the position after them, and be another gap.
    let gap = Clock::steady(at(0)).now();
    while Clock::steady(at(0)).now().since(gap) < Duration::from_millis(2) {}
    post(&sender, vec![message("b", None)]).await.unwrap();
    reads_on(&mut own).await;
    reads_on(&mut round).await;
}

/// Redis is full: the epoch cannot be changed. The node goes on, and the others know of the loss as soon as it can.
#[tokio::test]
async fn a_loss_is_noticed_while_redis_takes_no_writes() {
    for is_replaced in [false, true] {
        let server = Server::start(&[]);
        let (sender, slow, other) = (node(&server.url()), node(&server.url()), node(&server.url()));
        let mut wire = connect(&server).await;
        let (mut round, mut behind) = feeds(&sender, &slow).await;
        post(&sender, vec![message("a", None)]).await.unwrap();
        lose_the_message(&server, &mut wire, is_replaced).await;
        server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
        let arrived = timeout(Duration::from_secs(20), round.next()).await.expect("the loss is noticed");
        assert_eq!((arrived.messages.len(), arrived.gap.is_some()), (usize::from(is_replaced), true), "{arrived:?}");
        if is_replaced {
            // It cannot know yet.
            reads_on(&mut behind).await;
        }
        server.cli(&["CONFIG", "SET", "maxmemory", "0"]);
        post(&other, vec![message("b", None)]).await.unwrap();
        // The loss is noticed once, and the epoch is changed with this read.
        reads_on(&mut round).await;
        finds_a_gap(&mut behind).await;
    }
}
