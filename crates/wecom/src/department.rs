//! Names of departments, remembered for a while: a record of a person has only their numbers.

use std::sync::Arc;
use std::time::Duration;

use deskpass_core::{Clock, Timestamp};
use quick_cache::sync::Cache;

/// How long a name is believed.
const MEMORY: Duration = Duration::from_hours(1);
/// How many names are kept.
const AT_MOST: usize = 1_024;

/// A department's name, or that we may not know it.
pub(crate) type Name = Option<Arc<str>>;

/// Names of departments.
pub(crate) struct Departments {
    clock: Clock,
    names: Cache<i64, (Name, Timestamp)>,
}

impl Departments {
    pub(crate) fn new(clock: Clock) -> Self {
        Self { clock, names: Cache::new(AT_MOST) }
    }

    /// What is remembered of a department.
    pub(crate) fn recall(&self, id: i64) -> Option<Name> {
        let (name, read_at) = self.names.get(&id)?;
        (self.clock.now().since(read_at) < MEMORY).then_some(name)
    }

    /// Remembers what the platform said.
    pub(crate) fn remember(&self, id: i64, name: Name) {
        self.names.insert(id, (name, self.clock.now()));
    }
}
