use std::future::poll_fn;
use std::task::Poll;

use deskpass_core::{LoginMethod, LoginSource, PlatformVouching, Role};

use super::*;

type RulesGap<'a> = Gap<'a, (), Arc<AccessRules>>;

async fn look_up(cache: &Cache) -> Result<Arc<AccessRules>, RulesGap<'_>> {
    match cache.look_up(&cache.rules, &()).await {
        CacheLookup::Hit(rules) => Ok(rules),
        CacheLookup::Miss(gap) => Err(gap),
    }
}

#[tokio::test]
async fn a_second_reader_waits_for_the_first() {
    let cache = Cache::new(10, Freshness::permanent());
    let gap = look_up(&cache).await.unwrap_err();
    assert!(!gap.bypasses_cache());
    let rules = Arc::default();
    let (second, kept) = tokio::join!(biased; look_up(&cache), async { gap.fill(Arc::clone(&rules)) });
    assert!(kept);
    assert!(Arc::ptr_eq(&second.unwrap_or_default(), &rules));
    assert!(look_up(&cache).await.is_ok_and(|hit| Arc::ptr_eq(&hit, &rules)));
}

#[tokio::test]
async fn an_abandoned_gap_passes_to_the_next_reader() {
    let cache = Cache::new(10, Freshness::permanent());
    drop(look_up(&cache).await);
    assert!(look_up(&cache).await.is_err_and(|gap| !gap.bypasses_cache()));
}

#[tokio::test]
async fn a_value_from_before_a_change_is_not_cached_after_it() {
    let cache = Cache::new(10, Freshness::permanent());
    let changes: [fn(&Cache); 2] = [|cache| cache.apply(CacheChange::Rules), Cache::clear];
    for change in changes {
        let gap = look_up(&cache).await.unwrap_err();
        change(&cache);
        assert!(!gap.fill(Arc::default()));
        let gap = look_up(&cache).await.unwrap_err();
        assert!(gap.fill(Arc::default()));
        change(&cache);
        assert!(look_up(&cache).await.is_err());
    }
}

#[tokio::test]
async fn a_value_from_before_a_change_reaches_no_request_that_waits_for_it() {
    let cache = Cache::new(10, Freshness::permanent());
    let gap = look_up(&cache).await.unwrap_err();
    let (second, kept) = tokio::join!(biased; look_up(&cache), async {
        cache.apply(CacheChange::Rules);
        gap.fill(Arc::default())
    });
    assert!(!kept);
    assert!(second.is_err(), "it reads the value itself");
}

#[tokio::test]
async fn a_hanging_reader_does_not_delay_the_others() {
    let cache = Cache::new(10, Freshness::permanent());
    let hanging = look_up(&cache).await.unwrap_err();
    let gap = look_up(&cache).await.unwrap_err();
    assert!(gap.bypasses_cache());
    assert!(gap.fill(Arc::default()));
    assert!(cache.rules.get(&()).is_none());
    assert!(hanging.fill(Arc::default()));
}

#[tokio::test]
async fn a_cache_that_may_be_stale_is_neither_read_nor_filled() {
    let cache = Cache::new(10, Freshness::expired());
    cache.rules.insert((), Arc::default());
    let gap = look_up(&cache).await.unwrap_err();
    assert!(gap.bypasses_cache());
    cache.rules.clear();
    assert!(gap.fill(Arc::default()));
    assert!(cache.rules.get(&()).is_none());
}

fn person() -> Person {
    Person::new(EmployeeKey::from_parts("ww", "a"), "a")
}

#[test]
fn a_person_from_before_a_change_is_not_cached_after_it() {
    let cache = Cache::new(10, Freshness::permanent());
    let (before, key) = (cache.people_changes.now(), person().key);
    cache.apply(CacheChange::Person(key.clone()));
    assert!(!cache.is_current(&cache.keep_person(&person(), before)));
    assert!(cache.people.get(&key).is_none());
    let kept = cache.keep_person(&person(), cache.people_changes.now());
    assert!(cache.is_current(&kept));
    assert!(Arc::ptr_eq(&kept, &cache.keep_person(&person(), before)), "it is shared");
}

#[test]
fn a_session_knows_when_its_person_has_changed() {
    let (cache, digest) = (Cache::new(10, Freshness::permanent()), Digest::of(&[b"one"]));
    let changes: [fn(&Cache); 3] = [
        |cache| cache.apply(CacheChange::Person(person().key)),
        |cache| cache.people.insert(person().key, Arc::new(CachedPerson::new(&person()))),
        // The person of the session was asked for, so only others that are asked for take the place.
        |cache| {
            for number in 0..400 {
                let other = other_person(cache, number);
                for _ in 0..3 {
                    cache.is_current(&other);
                }
            }
        },
    ];
    for change in changes {
        let kept = cache.keep_person(&person(), cache.people_changes.now());
        cache.sessions.insert(digest, SessionWithPerson::new(session(), kept));
        assert!(cache.sessions.get(&digest).is_some_and(|record| cache.is_current(&record.person)));
        change(&cache);
        assert!(cache.sessions.get(&digest).is_some_and(|record| !cache.is_current(&record.person)));
    }
}

#[test]
fn the_people_of_all_cached_sessions_fit() {
    // As many as fit, in more than one shard, and each with another person.
    let (cache, count) = (Cache::new(20_000, Freshness::permanent()), 20_000 + 20_000 / 16);
    let digest = |number: usize| Digest::of(&[&number.to_be_bytes()]);
    for number in 0..count {
        cache.sessions.insert(digest(number), SessionWithPerson::new(session(), other_person(&cache, number)));
    }
    let cached: Vec<_> = (0..count).filter_map(|number| cache.sessions.get(&digest(number))).collect();
    assert!(cached.len() >= 20_000, "{}", cached.len());
    assert_eq!(cached.iter().filter(|record| !cache.is_current(&record.person)).count(), 0);
}

fn other_person(cache: &Cache, number: usize) -> Arc<CachedPerson> {
    let other = Person::new(EmployeeKey::from_parts("ww", &number.to_string()), "other");
    cache.keep_person(&other, cache.people_changes.now())
}

fn session() -> Session {
    Session {
        employee: person().key,
        current_role: Role::User,
        method: LoginMethod::Dev,
        vouched: PlatformVouching::None,
        default_role: None,
        source: LoginSource::H5,
        created_at: Timestamp::from_millis(0),
        expires_at: Timestamp::from_millis(1),
    }
}

#[tokio::test]
async fn a_value_from_before_a_change_is_refused_also_by_the_reader_that_takes_the_gap_over() {
    let cache = Cache::new(10, Freshness::permanent());
    let first = look_up(&cache).await.unwrap_err();
    let mut second = Box::pin(look_up(&cache));
    assert!(poll_fn(|context| Poll::Ready(second.as_mut().poll(context).is_pending())).await);
    cache.apply(CacheChange::Rules);
    drop(first);
    let gap = second.await.unwrap_err();
    assert!(!gap.fill(Arc::default()));
    assert!(look_up(&cache).await.is_err());
}

#[test]
fn uses_are_recorded_at_intervals() {
    let cache = Cache::new(10, Freshness::permanent());
    let digest = Digest::of(&[b"one"]);
    let at = Timestamp::from_millis;
    assert!(cache.record_use(&digest, at(0)), "it is not cached");
    let kept = cache.keep_person(&person(), cache.people_changes.now());
    cache.sessions.insert(digest, SessionWithPerson::new(session(), kept));
    for (millis, is_due) in [(599_999, false), (600_000, true), (600_000, false), (1_199_999, false), (1_300_000, true)]
    {
        assert_eq!(cache.record_use(&digest, at(millis)), is_due, "{millis}");
    }
}

#[test]
fn a_cached_session_is_small() {
    assert_eq!((size_of::<SessionWithPerson>(), size_of::<CachedPerson>()), (56, 56));
}
