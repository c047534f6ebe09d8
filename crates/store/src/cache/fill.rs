//! Lookups in the cache, and the filling of its gaps by readers.

use std::sync::Arc;
use std::time::Duration;

use deskpass_core::Person;
use tokio::time::timeout;

use super::table::{Entry, FillStart, Placeholder, Table};
use super::{Cache, CachedPerson, ChangeNumber};
use crate::if_cached::leave_cache;

/// How long a request waits for another request that reads the same entry. After that it bypasses the cache, so that
/// one hanging read does not delay the others.
const FILL_TIMEOUT: Duration = Duration::from_millis(200);

pub(crate) enum CacheLookup<'a, E: Entry> {
    /// The cached value, which another request may just have read.
    Hit(E::Value),
    /// The caller must read the value from the database, and fill the gap with it.
    Miss(Gap<'a, E>),
}

/// A gap that one request is to fill. Its placeholder is removed with the key; without one, the cache is bypassed.
pub(crate) struct Gap<'a, E: Entry>(Option<Placeholder<'a, E>>);

impl<E: Entry> Gap<'_, E> {
    /// Whether the value is for this request alone.
    pub(crate) fn bypasses_cache(&self) -> bool {
        self.0.is_none()
    }

    /// Caches the entry, unless the cache is bypassed. `false` when the key was removed since the lookup: the value may
    /// have been read before that change, and is not cached.
    pub(crate) fn fill(self, entry: E) -> bool {
        self.0.is_none_or(|placeholder| placeholder.fill(entry))
    }
}

impl Cache {
    /// Looks up `key`. Of several requests that miss the same entry, one fills the gap and the others wait for it.
    pub(crate) async fn look_up<'a, E: Entry>(&self, table: &'a Table<E>, key: &E::Key) -> CacheLookup<'a, E> {
        loop {
            if !self.freshness.is_valid() {
                return CacheLookup::Miss(Gap(None));
            }
            if let Some(value) = table.get(key) {
                return CacheLookup::Hit(value);
            }
            leave_cache().await;
            match table.begin_fill(key) {
                FillStart::Found(value) => return CacheLookup::Hit(value),
                FillStart::First(placeholder) => return CacheLookup::Miss(Gap(Some(placeholder))),
                FillStart::Other(end) => {
                    // It ends in any case; only what is in the cache then counts. Boxed, since a hit has no use for a timer.
                    if Box::pin(timeout(FILL_TIMEOUT, end)).await.is_err() {
                        return CacheLookup::Miss(Gap(None));
                    }
                }
            }
        }
    }
}

impl Cache {
    /// The cached record of a person, or that of `person`, who was read together with a session and is now cached. The
    /// key was not known before the read, so no placeholder was held: the person is cached only if they have not
    /// changed since `since`, which was taken before the read. A change is noted before the key is removed. If it is
    /// removed before the person is added, the change is seen here; if later, so is the person. A record that was not
    /// added is not current, and neither is a session with it.
    pub(crate) fn keep_person(&self, person: &Person, since: ChangeNumber) -> Arc<CachedPerson> {
        let is_unchanged = || self.people_changes.is_unchanged(&person.key, since);
        self.people.get_or_insert_if(Arc::new(CachedPerson::new(person)), is_unchanged)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use deskpass_core::{Digest, EmployeeKey, LoginMethod, LoginSource, PlatformVouching, Role, Session, Timestamp};

    use super::*;
    use crate::AccessRules;
    use crate::cache::{CacheChange, Freshness, Keyed, PackedSession, SessionWithPerson};

    type RulesGap<'a> = Gap<'a, Keyed<(), AccessRules>>;

    fn entry(rules: &Arc<AccessRules>) -> Keyed<(), AccessRules> {
        Keyed::new((), Arc::clone(rules))
    }

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
        let (second, kept) = tokio::join!(biased; look_up(&cache), async { gap.fill(entry(&rules)) });
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
            assert!(!gap.fill(entry(&Arc::default())));
            let gap = look_up(&cache).await.unwrap_err();
            assert!(gap.fill(entry(&Arc::default())));
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
            gap.fill(entry(&Arc::default()))
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
        assert!(gap.fill(entry(&Arc::default())));
        assert!(cache.rules.get(&()).is_none());
        assert!(hanging.fill(entry(&Arc::default())));
    }

    #[tokio::test]
    async fn a_cache_that_may_be_stale_is_neither_read_nor_filled() {
        let cache = Cache::new(10, Freshness::expired());
        cache.rules.insert(entry(&Arc::default()));
        let gap = look_up(&cache).await.unwrap_err();
        assert!(gap.bypasses_cache());
        cache.rules.clear();
        assert!(gap.fill(entry(&Arc::default())));
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
        assert!(!cache.keep_person(&person(), before).is_current());
        assert!(cache.people.get(&key).is_none());
        let kept = cache.keep_person(&person(), cache.people_changes.now());
        assert!(kept.is_current());
        assert!(Arc::ptr_eq(&kept, &cache.keep_person(&person(), before)), "it is shared");
    }

    #[test]
    fn a_session_knows_when_its_person_has_changed() {
        let (cache, digest) = (Cache::new(10, Freshness::permanent()), Digest::of(&[b"one"]));
        let changes: [fn(&Cache); 3] = [
            |cache| cache.apply(CacheChange::Person(person().key)),
            |cache| cache.people.insert(Arc::new(CachedPerson::new(&person()))),
            // All of them are needed, so that any of them may be evicted.
            |cache| drop((0..400).map(|number| other_person(cache, number)).collect::<Vec<_>>()),
        ];
        for change in changes {
            let kept = cache.keep_person(&person(), cache.people_changes.now());
            cache.sessions.insert(PackedSession::new(digest, &SessionWithPerson::new(session(), kept)));
            assert!(cache.sessions.get(&digest).is_some_and(|record| record.person.is_current()));
            change(&cache);
            assert!(cache.sessions.get(&digest).is_some_and(|record| !record.person.is_current()));
        }
    }

    #[test]
    fn the_people_of_all_cached_sessions_fit() {
        // As many as fit, in more than one shard, and each with another person.
        let (cache, count) = (Cache::new(20_000, Freshness::permanent()), 20_000 + 20_000 / 16);
        let digest = |number: usize| Digest::of(&[&number.to_be_bytes()]);
        for number in 0..count {
            let record = SessionWithPerson::new(session(), other_person(&cache, number));
            cache.sessions.insert(PackedSession::new(digest(number), &record));
        }
        let cached: Vec<_> = (0..count).filter_map(|number| cache.sessions.get(&digest(number))).collect();
        assert!(cached.len() >= 20_000, "{}", cached.len());
        assert_eq!(cached.iter().filter(|record| !record.person.is_current()).count(), 0);
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
}
