//! The memory of the service after many sign-ins by QR code that are over.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::interval;

use super::Run;
use crate::error::BenchError;
use crate::full_sign_in::{FullSignIn, REQUESTS};
use crate::plan::QR_MEMORY_BYTES;
use crate::progress::grouped;
use crate::server::Server;
use crate::stats::{float, now};

/// The number of concurrent sign-ins.
const LANES: usize = 8;

/// How many sign-ins there are in a second, if the machine manages: a service keeps a sign-in for half a minute after it is over, because
/// a response may have been lost, so the memory depends on the rate.
const PER_SECOND: f64 = 660.0;

/// The number of parts after which the memory is read.
const PARTS: usize = 10;

impl Run<'_> {
    /// Reads the memory after many sign-ins, all of which have ended in a sign-out.
    pub(super) async fn qr_memory(&mut self) -> Result<(), BenchError> {
        let (each, count) = (self.plan.qr_sign_ins / PARTS, self.plan.qr_sign_ins);
        self.progress.step(format_args!("sign in by QR code and out again, {} times", grouped(count)));
        let server = Server::deskpass(&self.workspace, &self.workspace.path().join("qr-memory"))?;
        // The first sign-in fills the caches of platform data.
        FullSignIn::open(server.address).await?.run().await?;
        let (before, start, mut resident) = (server.resident()?, now(), Vec::with_capacity(PARTS));
        for part in 1..=PARTS {
            sign_in_often(server.address, each).await?;
            resident.push(server.resident()?);
            self.progress.at("sign-in", each * part, count);
        }
        let rate = float(each * PARTS) / start.elapsed().as_secs_f64();
        let at = |part: usize| resident.get(part - 1).copied().unwrap_or_default();
        let (half, all) = (at(PARTS / 2), at(PARTS));
        let seen = format!(
            "{REQUESTS} requests each, {rate:.0} sign-ins/s; {} MiB before, {} MiB after half of them",
            before >> 20,
            half >> 20
        );
        let target = Some((&*format!("{} MiB", QR_MEMORY_BYTES >> 20), all <= QR_MEMORY_BYTES));
        let name = format!("memory after {} QR sign-ins that are over", grouped(each * PARTS));
        self.report.figure(&name, &seen, &format!("{} MiB", all >> 20), target);
        server.stop()
    }
}

/// Performs this many sign-ins, a few at a time.
async fn sign_in_often(address: SocketAddr, count: usize) -> Result<(), BenchError> {
    let shares = (0..LANES).map(|number| (0..count).skip(number).step_by(LANES).count());
    let mut lanes: JoinSet<_> = shares.map(|share| sign_in_one_by_one(address, share)).collect();
    while let Some(done) = lanes.join_next().await {
        done??;
    }
    Ok(())
}

async fn sign_in_one_by_one(address: SocketAddr, count: usize) -> Result<(), BenchError> {
    let mut user = FullSignIn::open(address).await?;
    let mut pace = interval(Duration::from_secs_f64(float(LANES) / PER_SECOND));
    for _ in 0..count {
        pace.tick().await;
        user.run().await?;
    }
    Ok(())
}
