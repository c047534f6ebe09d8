//! Names of departments, remembered for a while: a record of a person has only their numbers.

use std::sync::Arc;
use std::time::Duration;

use deskpass_core::{Clock, Timestamp};
use quick_cache::sync::Cache;

/// How long a name is believed.
const NAME_TTL: Duration = Duration::from_hours(1);
/// How many names are kept.
const MAX_NAMES: usize = 1_024;

/// A department's name, or that we may not know it.
pub(crate) type DepartmentName = Option<Arc<str>>;

/// Names of departments.
pub(crate) struct DepartmentNames {
    clock: Clock,
    names: Cache<i64, (DepartmentName, Timestamp)>,
}

impl DepartmentNames {
    pub(crate) fn new(clock: Clock) -> Self {
        Self { clock, names: Cache::new(MAX_NAMES) }
    }

    /// What is remembered of a department.
    pub(crate) fn get(&self, id: i64) -> Option<DepartmentName> {
        let (name, read_at) = self.names.get(&id)?;
        (self.clock.now().since(read_at) < NAME_TTL).then_some(name)
    }

    /// Remembers what the platform said.
    pub(crate) fn insert(&self, id: i64, name: DepartmentName) {
        self.names.insert(id, (name, self.clock.now()));
    }
}
