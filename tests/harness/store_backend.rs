//! Which store a test's services are on. A test does not say it: `on_every_store!` does, around it.

use super::{ClusterStore, Servers};

tokio::task_local! {
    static STORE_BACKEND: StoreBackend;
}

/// The store of every desk that a test starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreBackend {
    /// SQLite, and the rest in process.
    Embedded,
    /// PostgreSQL and Redis.
    ScaledOut,
}

impl StoreBackend {
    /// Runs a test here. Desks that it starts from tasks of its own are embedded, unless those are run here too.
    pub(crate) async fn run<F: Future>(self, test: F) -> F::Output {
        STORE_BACKEND.scope(self, test).await
    }

    /// Where the test that is under way runs.
    pub(crate) fn current() -> Self {
        STORE_BACKEND.try_with(|stage| *stage).unwrap_or(Self::Embedded)
    }

    /// How many rounds of a race are enough here: where each step is a walk over a socket, the odds of meeting are better.
    pub(crate) fn rounds(self, embedded: usize) -> usize {
        match self {
            Self::Embedded => embedded,
            Self::ScaledOut => embedded / 5,
        }
    }

    /// A fresh place for a service, where services need one.
    pub(super) fn cluster_store(self) -> Option<ClusterStore> {
        (self == Self::ScaledOut).then(|| Servers::shared().cluster_store())
    }
}
