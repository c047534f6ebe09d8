//! One token for all nodes: the node that fetches it stores it for the others, and a failing cache breaks no node.

use std::sync::Arc;
use std::time::Duration;

use deskpass_platform::{CachedToken, Error, FETCH_LEASE, Identity, Unreachable};
use deskpass_wecom::Wecom;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::platform::{ExchangeCode as _, GETTOKEN, Platform, Reply, USERINFO, errcode, number, status, token};
use crate::test_cache::{CacheMode, TestCache};
use crate::tokens::{futures_pending, gated, used};

/// A platform, a token cache, and two nodes that share it.
async fn cluster() -> (Platform, Arc<TestCache>, [Wecom; 2]) {
    let platform = Platform::start().await;
    let cache = TestCache::new(&platform.clock);
    let nodes = std::array::from_fn(|_| node(&platform, &cache));
    (platform, cache, nodes)
}

fn node(platform: &Platform, cache: &Arc<TestCache>) -> Wecom {
    Wecom::with_token_cache(platform.settings(), platform.clock.clone(), Arc::<TestCache>::clone(cache)).unwrap()
}

fn kept(platform: &Platform, value: &str, seconds: u64) -> CachedToken {
    let asked_at = platform.clock.now();
    CachedToken { value: value.into(), asked_at, expires_at: asked_at + Duration::from_secs(seconds) }
}

type Callers = JoinSet<Result<Identity, Error>>;

/// Starts `each` callers on each node.
fn callers(nodes: &[Wecom], each: usize) -> Callers {
    let mut callers = JoinSet::new();
    for wecom in nodes.iter().cycle().take(nodes.len() * each) {
        let wecom = wecom.clone();
        callers.spawn(async move { wecom.exchange_code("code").await });
    }
    callers
}

async fn all_well(callers: Callers) {
    for outcome in callers.join_all().await {
        assert!(outcome.is_ok(), "{outcome:?}");
    }
}

/// Makes calls until this token is used, which happens soon after a renewal in the background.
async fn comes_to_use(platform: &Platform, wecom: &Wecom, value: &str) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while used(platform).last().is_none_or(|last| last != value) {
        assert!(Instant::now() < deadline, "{value} is never used");
        wecom.exchange_code("code").await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_callers_on_two_nodes_fetch_one_token() {
    let (platform, cache, nodes) = cluster().await;
    all_well(callers(&nodes, 500)).await;
    assert_eq!((platform.count(GETTOKEN), platform.count(USERINFO)), (1, 1_000));
    assert_eq!(cache.token(), Some(kept(&platform, "canary-token-1", 7_200)));
    assert!(!cache.is_claimed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_node_renews_ahead_and_the_other_takes_it_over() {
    let (platform, cache, nodes) = cluster().await;
    all_well(callers(&nodes, 1)).await;
    let (gate, reply) = gated(token("canary-token-2", 7_200));
    platform.next(GETTOKEN, [reply]);
    platform.clock.advance(Duration::from_secs(7_200 - 299));
    all_well(callers(&nodes, 50)).await;
    platform.called(GETTOKEN, 2).await;
    cache.turned_away(1).await;
    assert_eq!(used(&platform), ["canary-token-1"; 102], "no call waits for a renewal");
    gate.add_permits(1);
    for wecom in &nodes {
        wecom.exchange_code("code").await.unwrap();
        comes_to_use(&platform, wecom, "canary-token-2").await;
    }
    assert_eq!(platform.count(GETTOKEN), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_dropped_on_both_nodes_at_once_is_replaced_once() {
    let (platform, _safe, nodes) = cluster().await;
    all_well(callers(&nodes, 1)).await;
    platform.always(GETTOKEN, token("canary-token-2", 7_200));
    let (gate, reply) = gated(errcode(40014));
    platform.next(USERINFO, vec![reply; 100]);
    let callers = callers(&nodes, 50);
    platform.called(USERINFO, 102).await;
    gate.add_permits(100);
    all_well(callers).await;
    assert_eq!((platform.count(GETTOKEN), platform.count(USERINFO)), (2, 202));
}

#[tokio::test]
async fn a_dropped_token_is_replaced_by_the_newer_token_of_the_other_node() {
    for refusal in [40014, 42001, 40001] {
        let (platform, cache, [wecom, _]) = cluster().await;
        wecom.exchange_code("code").await.unwrap();
        platform.clock.advance(Duration::from_secs(1));
        cache.put(kept(&platform, "canary-token-2", 7_200));
        platform.next(USERINFO, [errcode(refusal)]);
        wecom.exchange_code("code").await.unwrap();
        assert_eq!(used(&platform), ["canary-token-1", "canary-token-1", "canary-token-2"]);
        assert_eq!(platform.count(GETTOKEN), 1);
    }
}

#[tokio::test]
async fn a_new_token_is_fetched_when_the_platform_dropped_all_tokens() {
    let (platform, cache, [wecom, other]) = cluster().await;
    wecom.exchange_code("code").await.unwrap();
    cache.put(kept(&platform, "canary-token-2", 7_200));
    platform.clock.advance(Duration::from_secs(1));
    platform.next(USERINFO, [errcode(40014), errcode(40014)]);
    platform.always(GETTOKEN, token("canary-token-3", 7_200));
    wecom.exchange_code("code").await.unwrap();
    other.exchange_code("code").await.unwrap();
    assert_eq!(used(&platform)[2..], ["canary-token-2", "canary-token-3", "canary-token-3"]);
    assert_eq!(platform.count(GETTOKEN), 2);
}

#[tokio::test]
async fn all_nodes_together_fetch_a_single_further_token_when_the_platform_rejects_all() {
    let (platform, _safe, nodes) = cluster().await;
    all_well(callers(&nodes, 1)).await;
    platform.always(USERINFO, errcode(40014));
    platform.always(GETTOKEN, token("canary-token-2", 7_200));
    for wecom in nodes.iter().cycle().take(10) {
        assert_eq!(number(&wecom.exchange_code("code").await.unwrap_err()), Some(40014));
    }
    assert_eq!(platform.count(GETTOKEN), 2);
}

#[tokio::test]
async fn a_node_that_dies_during_its_fetch_delays_the_others_until_its_lease_expires() {
    let (platform, cache, nodes) = cluster().await;
    cache.claim_and_die();
    let callers = callers(&nodes, 10);
    cache.turned_away(4).await;
    assert_eq!(platform.count(GETTOKEN), 0);
    platform.clock.advance(FETCH_LEASE);
    all_well(callers).await;
    assert_eq!(platform.count(GETTOKEN), 1);
}

#[tokio::test]
async fn waiting_for_another_node_costs_no_more_than_the_timeout() {
    let (platform, cache, _) = cluster().await;
    let mut settings = platform.settings();
    settings.timeouts.operation = Duration::from_millis(50);
    let wecom = Wecom::with_token_cache(settings, platform.clock.clone(), Arc::<TestCache>::clone(&cache)).unwrap();
    cache.claim_and_die();
    for asked in 1..=5 {
        assert_eq!(wecom.exchange_code("code").await, Err(Unreachable::TimedOut.into()));
        // There is no time for a second check, and no task continues to check.
        assert_eq!(cache.refusals(), asked);
    }
    assert_eq!(platform.count(GETTOKEN), 0);
}

#[tokio::test]
async fn after_a_failed_fetch_another_node_fetches_at_once() {
    for failure in [status("502 Bad Gateway"), errcode(40001), Reply::Body(b"{}".into())] {
        let (platform, cache, [first, second]) = cluster().await;
        let (gate, reply) = gated(failure);
        platform.next(GETTOKEN, [reply]);
        let first = callers(&[first], 1);
        platform.called(GETTOKEN, 1).await;
        let second = callers(&[second], 1);
        cache.turned_away(1).await;
        gate.add_permits(1);
        assert!(first.join_all().await[0].is_err());
        all_well(second).await;
        assert_eq!(platform.count(GETTOKEN), 2);
    }
}

#[tokio::test]
async fn a_token_stored_between_load_and_lease_is_not_fetched_again() {
    let (platform, cache, [wecom, _]) = cluster().await;
    cache.put_in_between(kept(&platform, "canary-token-2", 7_200));
    wecom.exchange_code("code").await.unwrap();
    assert_eq!(used(&platform), ["canary-token-2"]);
    assert_eq!(platform.count(GETTOKEN), 0);
    assert!(!cache.is_claimed());
}

#[tokio::test]
async fn callers_that_join_a_renewal_of_another_node_get_its_token() {
    let (platform, cache, [wecom, _]) = cluster().await;
    wecom.exchange_code("code").await.unwrap();
    platform.clock.advance(Duration::from_secs(7_200 - 1));
    cache.claim_and_die();
    wecom.exchange_code("code").await.unwrap();
    cache.turned_away(1).await;
    platform.clock.advance(Duration::from_secs(2));
    let mut late = wecom.exchange_code("code");
    assert!(futures_pending(&mut late).await, "the old one has ended");
    cache.put(kept(&platform, "canary-token-2", 7_200));
    late.await.unwrap();
    assert_eq!(used(&platform).last().unwrap(), "canary-token-2");
    assert_eq!(platform.count(GETTOKEN), 1);
}

#[tokio::test]
async fn a_node_without_a_token_uses_a_token_due_for_renewal_and_renews_it() {
    let (platform, cache, [wecom, _]) = cluster().await;
    cache.put(kept(&platform, "canary-token-0", 7_200));
    platform.clock.advance(Duration::from_secs(7_200 - 100));
    wecom.exchange_code("code").await.unwrap();
    assert_eq!(used(&platform), ["canary-token-0"]);
    comes_to_use(&platform, &wecom, "canary-token-1").await;
    assert_eq!(platform.count(GETTOKEN), 1);
}

#[tokio::test]
async fn useless_tokens_are_not_taken_from_the_cache() {
    for (value, seconds) in [("canary-token-0", 0), ("", 7_200), ("a\r\nb", 7_200), (&*"x".repeat(513), 7_200)] {
        let (platform, cache, [wecom, _]) = cluster().await;
        cache.put(kept(&platform, value, seconds));
        wecom.exchange_code("code").await.unwrap();
        assert_eq!(used(&platform), ["canary-token-1"], "{value:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_reachable_cache_each_node_fetches_once_and_no_call_fails() {
    let (platform, cache, nodes) = cluster().await;
    cache.fails(CacheMode::Unreachable);
    all_well(callers(&nodes, 100)).await;
    assert_eq!(platform.count(GETTOKEN), 2);
}

#[tokio::test]
async fn a_cache_that_never_answers_is_not_waited_for() {
    let (platform, cache, nodes) = cluster().await;
    cache.fails(CacheMode::Hangs);
    let began = Instant::now();
    all_well(callers(&nodes, 10)).await;
    // Twice 300 ms, plus a margin for busy machines.
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    assert_eq!(platform.count(GETTOKEN), 2);
}

#[tokio::test]
async fn a_cache_that_stops_answering_makes_a_waiting_node_fetch_itself() {
    let (platform, cache, nodes) = cluster().await;
    cache.claim_and_die();
    let callers = callers(&nodes, 1);
    cache.turned_away(2).await;
    cache.fails(CacheMode::Hangs);
    all_well(callers).await;
    assert_eq!(platform.count(GETTOKEN), 2);
}

#[tokio::test]
async fn a_cached_token_does_not_show_its_value() {
    let platform = Platform::start().await;
    let shown = format!("{:?}", kept(&platform, "canary-token-1", 7_200));
    assert!(shown.contains("expires_at") && !shown.contains("canary"), "{shown}");
}
