//! The table beside a plain map.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use deskpass_core::Digest;
use proptest::prelude::*;

use super::*;

impl TableKey for u8 {}

/// A value that is never used twice.
struct Numbered(u8, u32);

impl Entry for Numbered {
    type Key = u8;
    type Value = u32;

    fn key(&self) -> &u8 {
        &self.0
    }

    fn value(&self) -> u32 {
        self.1
    }
}

#[derive(Clone, Debug)]
enum Step {
    Get(u8),
    Insert(u8),
    Remove(u8),
    Clear,
    BeginFill(u8),
    /// Ends one of the fills in progress, with a value or without.
    EndFill(usize, bool),
}

fn step() -> impl Strategy<Value = Step> {
    let key = 0_u8..12;
    prop_oneof![
        4 => key.clone().prop_map(Step::Get),
        2 => key.clone().prop_map(Step::Insert),
        2 => key.clone().prop_map(Step::Remove),
        1 => Just(Step::Clear),
        4 => key.prop_map(Step::BeginFill),
        4 => (any::<usize>(), any::<bool>()).prop_map(|(which, kept)| Step::EndFill(which, kept)),
    ]
}

/// What a table must do.
struct Model<'a> {
    table: &'a Table<Numbered>,
    /// The value of each key. A table may have evicted it.
    values: HashMap<u8, u32>,
    /// The fills in progress, and whether they count.
    fills: Vec<(u8, Placeholder<'a, Numbered>, bool)>,
    last: u32,
}

impl Model<'_> {
    fn next(&mut self, key: u8) -> Numbered {
        self.last += 1;
        Numbered(key, self.last)
    }

    /// Discards the fills of a key, or all of them.
    fn discard(&mut self, key: Option<u8>) {
        for (of, _, counts) in &mut self.fills {
            *counts &= key.is_some_and(|key| key != *of);
        }
    }

    fn run(&mut self, step: &Step) {
        match *step {
            Step::Get(key) => {
                let found = self.table.get(&key);
                assert!(found.is_none() || found.as_ref() == self.values.get(&key), "{found:?}");
            }
            Step::Insert(key) => {
                let entry = self.next(key);
                self.values.insert(key, entry.1);
                self.table.insert(entry);
                self.discard(Some(key));
                assert_eq!(self.table.get(&key).as_ref(), self.values.get(&key));
            }
            Step::Remove(key) => {
                self.table.remove(&key);
                self.values.remove(&key);
                self.discard(Some(key));
            }
            Step::Clear => {
                self.table.clear();
                self.values.clear();
                self.discard(None);
            }
            Step::BeginFill(key) => self.begin(key),
            Step::EndFill(which, kept) if !self.fills.is_empty() => self.end(which % self.fills.len(), kept),
            Step::EndFill(..) => {}
        }
    }

    fn begin(&mut self, key: u8) {
        let runs = self.fills.iter().any(|(of, _, counts)| *of == key && *counts);
        match self.table.begin_fill(&key) {
            FillStart::Found(value) => assert_eq!(Some(&value), self.values.get(&key)),
            FillStart::First(placeholder) => {
                assert!(!runs, "two requests read the same value");
                self.fills.push((key, placeholder, true));
            }
            FillStart::Other(_) => assert!(runs, "nobody reads it"),
        }
    }

    fn end(&mut self, which: usize, kept: bool) {
        let (key, placeholder, counts) = self.fills.swap_remove(which);
        if !kept {
            return drop(placeholder);
        }
        let entry = self.next(key);
        let value = entry.1;
        assert_eq!(placeholder.fill(entry), counts);
        if counts {
            self.values.insert(key, value);
            assert_eq!(self.table.get(&key), Some(value));
        }
    }
}

proptest! {
    #[test]
    fn a_table_is_a_map_that_may_forget(steps in prop::collection::vec(step(), 1..200), limit in 1_usize..20) {
        let table = Table::new(limit);
        let mut model = Model { table: &table, values: HashMap::new(), fills: Vec::new(), last: 0 };
        for step in &steps {
            model.run(step);
            prop_assert!(table.len() <= limit);
            if limit >= 12 {
                // There is room for every key.
                for key in 0..12 {
                    prop_assert_eq!(table.get(&key), model.values.get(&key).copied());
                }
            }
        }
        let found = (0..12).filter(|key| table.get(key).is_some()).count();
        prop_assert_eq!(found, table.len(), "each entry is in the index");
    }
}

#[test]
fn what_is_used_stays_and_what_is_not_is_evicted() {
    let table = Table::new(10);
    for number in 0..10_u8 {
        table.insert(Numbered(number, 0));
    }
    for number in 10..=255_u8 {
        assert_eq!((table.get(&3), table.get(&7)), (Some(0), Some(0)), "{number}");
        table.insert(Numbered(number, 1));
        assert_eq!((table.len(), table.get(&number)), (10, Some(1)));
    }
}

#[test]
fn shards_share_the_entries_about_evenly() {
    struct Many(Digest);

    impl Entry for Many {
        type Key = Digest;
        type Value = ();

        fn key(&self) -> &Digest {
            &self.0
        }

        fn value(&self) {}
    }

    // More than one shard, and the spare room that the cache adds.
    let (count, table) = (40_000_u32, Table::new(40_000 + 40_000 / 16));
    let digest = |number: u32| Digest::of(&[&number.to_be_bytes()]);
    (0..count).for_each(|number| table.insert(Many(digest(number))));
    assert_eq!(table.shards().count(), 3);
    assert_eq!(table.len(), 40_000, "none was evicted");
    assert!((0..count).all(|number| table.get(&digest(number)).is_some()));
    (0..count).step_by(2).for_each(|number| table.remove(&digest(number)));
    assert!((0..count).all(|number| table.get(&digest(number)).is_some() == (number % 2 == 1)));
    table.clear();
    assert_eq!(table.len(), 0);
}

#[test]
fn an_entry_knows_whether_it_is_in_the_table() {
    #[derive(Default)]
    struct Flags {
        is_inside: AtomicBool,
        is_needed: AtomicBool,
    }

    struct Flagged(u8, Arc<Flags>);

    impl Entry for Flagged {
        type Key = u8;
        type Value = Arc<Flags>;

        fn key(&self) -> &u8 {
            &self.0
        }

        fn value(&self) -> Arc<Flags> {
            Arc::clone(&self.1)
        }

        fn entered(&self) {
            self.1.is_inside.store(true, Ordering::Relaxed);
        }

        fn left(&self) {
            self.1.is_inside.store(false, Ordering::Relaxed);
        }

        fn is_needed(&self) -> bool {
            self.1.is_needed.load(Ordering::Relaxed)
        }
    }

    let (table, flags) = (Table::new(2), [(); 6].map(|()| Arc::<Flags>::default()));
    let [one, two, three, four, five, six] = &flags;
    let is_inside = || flags.each_ref().map(|flags| flags.is_inside.load(Ordering::Relaxed));
    let add = |key, flags: &Arc<Flags>| table.insert(Flagged(key, Arc::clone(flags)));
    one.is_needed.store(true, Ordering::Relaxed);
    add(1, one);
    add(2, two);
    add(3, three);
    assert_eq!(is_inside(), [true, false, true, false, false, false], "the needed one stays");
    add(3, four);
    assert_eq!(is_inside(), [true, false, false, true, false, false], "replaced");
    assert!(Arc::ptr_eq(&table.get_or_insert_if(Flagged(3, Arc::clone(five)), || true), four), "there is one");
    table.remove(&3);
    assert!(Arc::ptr_eq(&table.get_or_insert_if(Flagged(3, Arc::clone(five)), || false), five), "not cached");
    assert_eq!(is_inside(), [true, false, false, false, false, false]);
    drop(table.get_or_insert_if(Flagged(3, Arc::clone(six)), || true));
    assert_eq!(is_inside(), [true, false, false, false, false, true]);
    assert!(table.update(&3, |entry| entry.0 == 3) == Some(true) && table.update(&4, |_| ()).is_none());
    table.clear();
    assert_eq!(is_inside(), [false; 6]);
}
