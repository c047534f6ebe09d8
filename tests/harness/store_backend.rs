//! The store of a test's services. `on_every_store!` selects it, around the test.

use super::{ClusterStore, Servers};

tokio::task_local! {
    static STORE_BACKEND: StoreBackend;
}

/// The number of rounds of a race or a random history: a fifth in every run of the suite, all of them in `make torture`.
pub(crate) fn rounds(all: usize) -> usize {
    if std::env::var_os("TORTURE").is_some() { all } else { all.div_ceil(5) }
}

/// The store of every service that a test starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreBackend {
    /// SQLite, and the ephemeral data in the process.
    Embedded,
    /// PostgreSQL and Redis.
    ScaledOut,
}

impl StoreBackend {
    /// Runs a test on this store. Services that it starts in tasks of its own are embedded, unless those are run here too.
    pub(crate) async fn run<F: Future>(self, test: F) -> F::Output {
        STORE_BACKEND.scope(self, test).await
    }

    /// The store of the running test.
    pub(crate) fn current() -> Self {
        STORE_BACKEND.try_with(|stage| *stage).unwrap_or(Self::Embedded)
    }

    /// The number of rounds of a race: where each step is a round trip over a socket, collisions are more likely, and a fifth
    /// is always enough.
    pub(crate) fn rounds(self, all: usize) -> usize {
        match self {
            Self::Embedded => rounds(all),
            Self::ScaledOut => all.div_ceil(5),
        }
    }

    /// A fresh cluster store for a service, where this backend needs one.
    pub(super) fn cluster_store(self) -> Option<ClusterStore> {
        (self == Self::ScaledOut).then(|| Servers::shared().cluster_store())
    }
}
