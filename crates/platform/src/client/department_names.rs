//! A cache of department names: the record of a member contains only the ids of departments.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use deskpass_core::{Clock, Timestamp};
use quick_cache::sync::Cache;

const NAME_TTL: Duration = Duration::from_hours(1);
const MAX_NAMES: usize = 1_024;

/// A department's name; `None` if the application may not see it.
pub type DepartmentName = Option<Arc<str>>;

/// A bounded cache of department names.
pub struct DepartmentNames {
    clock: Clock,
    names: Cache<String, (DepartmentName, Timestamp)>,
}

impl DepartmentNames {
    /// An empty cache.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self { clock, names: Cache::new(MAX_NAMES) }
    }

    /// The name, if it was read recently.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<DepartmentName> {
        let (name, read_at) = self.names.get(id)?;
        (self.clock.now().since(read_at) < NAME_TTL).then_some(name)
    }

    /// Remembers a name.
    pub fn insert(&self, id: &str, name: DepartmentName) {
        self.names.insert(id.to_owned(), (name, self.clock.now()));
    }
}

impl fmt::Debug for DepartmentNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DepartmentNames").field("len", &self.names.len()).finish_non_exhaustive()
    }
}
