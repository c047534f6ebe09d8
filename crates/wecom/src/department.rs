//! A cache of department names: the record of a member contains only department numbers.

use std::sync::Arc;
use std::time::Duration;

use deskpass_core::{Clock, Timestamp};
use quick_cache::sync::Cache;

const NAME_TTL: Duration = Duration::from_hours(1);
const MAX_NAMES: usize = 1_024;

/// A department's name; `None` if the application may not see it.
pub(crate) type DepartmentName = Option<Arc<str>>;

pub(crate) struct DepartmentNames {
    clock: Clock,
    names: Cache<i64, (DepartmentName, Timestamp)>,
}

impl DepartmentNames {
    pub(crate) fn new(clock: Clock) -> Self {
        Self { clock, names: Cache::new(MAX_NAMES) }
    }

    pub(crate) fn get(&self, id: i64) -> Option<DepartmentName> {
        let (name, read_at) = self.names.get(&id)?;
        (self.clock.now().since(read_at) < NAME_TTL).then_some(name)
    }

    pub(crate) fn insert(&self, id: i64, name: DepartmentName) {
        self.names.insert(id, (name, self.clock.now()));
    }
}
