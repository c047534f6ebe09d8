//! The minimal baseline for tokens: RS256 signatures alone, on every core.

use std::time::{Duration, Instant};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{RSA_PKCS1_SHA256, RsaKeyPair};

use crate::error::BenchError;
use crate::server::cpu;
use crate::stats::{Cost, Round, nanoseconds, now};

/// The size of what is signed: header and claims of an ID token, encoded.
const SIGNED_BYTES: usize = 700;

/// A key of the size that the service uses.
#[derive(Debug)]
pub(crate) struct SigningBaseline {
    key: RsaKeyPair,
    threads: usize,
}

impl SigningBaseline {
    /// Makes a key.
    pub(crate) fn make() -> Result<Self, BenchError> {
        let key = RsaKeyPair::generate(KeySize::Rsa2048)?;
        Ok(Self { key, threads: std::thread::available_parallelism().map_or(1, usize::from) })
    }

    /// Signs for the duration of a round.
    pub(crate) fn round(&self, length: Duration) -> Result<Round, BenchError> {
        let (used, start) = (cpu("self")?, now());
        let lanes: Vec<_> = std::thread::scope(|scope| {
            let lanes: Vec<_> =
                (0..self.threads).map(|_| scope.spawn(move || self.sign_until(start + length))).collect();
            lanes.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
        });
        let mut latencies = Vec::new();
        for lane in lanes {
            latencies.extend(lane.map_err(|_| "a thread that signs panicked")??);
        }
        // Here the benchmark process itself is measured.
        let (elapsed, spent) = (start.elapsed(), cpu("self")?.saturating_sub(used));
        Ok(Round::of(latencies.len(), Cost { elapsed, cpu: spent, own: spent }, latencies))
    }

    fn sign_until(&self, end: Instant) -> Result<Vec<u32>, BenchError> {
        let (rng, message) = (SystemRandom::new(), [b'x'; SIGNED_BYTES]);
        let mut signature = vec![0; self.key.public_modulus_len()];
        let (mut latencies, mut last) = (Vec::new(), now());
        while last < end {
            self.key.sign(&RSA_PKCS1_SHA256, &rng, &message, &mut signature)?;
            let done = now();
            latencies.push(nanoseconds(done - last));
            last = done;
        }
        Ok(latencies)
    }
}
