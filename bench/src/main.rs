//! Measures what the service promises, beside the least that could do the same work, and writes it down.

mod backends;
mod bare_handler;
mod comparison;
mod connection;
mod error;
mod load;
mod page;
mod plan;
mod postgres_baseline;
mod progress;
mod report;
mod requests;
mod rng;
mod run;
mod scan;
mod seed;
mod server;
mod socket;
mod sqlite_baseline;
mod stats;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::error::BenchError;
use crate::plan::{Group, Plan};
use crate::report::Report;

// As in deskpass, since the handler it is held against lives in this binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures deskpass and writes the figures to bench/RESULTS.md.
///
/// It needs some sixteen minutes, 1 GiB of memory and 2 GiB of disk; what it puts there it removes again. PostgreSQL and Redis
/// it starts itself; tools/services installs them. A target that is missed is reported, and is no error.
#[derive(Debug, Parser)]
#[command(
    disable_help_subcommand = true,
    override_usage = "deskpass-bench [--quick] [embedded | scaled-out | sockets]",
    max_term_width = 100
)]
#[command(
    after_help = "Example: see that everything works, in two minutes\n  cargo build --release -p deskpass -p deskpass-bench\n  ./target/release/deskpass-bench --quick"
)]
struct Cli {
    /// Few rounds and few sessions, to see that it works; leaves bench/RESULTS.md as it is.
    #[arg(long, global = true)]
    quick: bool,
    #[command(subcommand)]
    part: Option<Part>,
}

#[derive(Debug, Subcommand)]
enum Part {
    /// Only what one node does on its own; the rest of bench/RESULTS.md stays as it is.
    Embedded,
    /// Only what nodes do on PostgreSQL and Redis; the rest of bench/RESULTS.md stays as it is.
    ScaledOut,
    /// Only what many sockets take, on one node and between two; the rest of bench/RESULTS.md stays as it is.
    Sockets,
    /// The handler that deskpass is held against, in a process of its own.
    #[command(hide = true)]
    Bare,
}

const RESULTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/RESULTS.md");

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.part {
        Some(Part::Bare) => bare_handler::serve(),
        Some(Part::Embedded) => bench(cli.quick, &[Group::Embedded]),
        Some(Part::ScaledOut) => bench(cli.quick, &[Group::ScaledOut]),
        Some(Part::Sockets) => bench(cli.quick, &[Group::Sockets]),
        None => bench(cli.quick, &Group::ALL),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(BenchError(why)) => {
            eprintln!("deskpass-bench: {why}");
            ExitCode::FAILURE
        }
    }
}

fn bench(quick: bool, groups: &[Group]) -> Result<(), BenchError> {
    if cfg!(debug_assertions) && !quick {
        return Err("a debug build measures nothing worth keeping; run it with --release, or with --quick".into());
    }
    let plan = if quick { Plan::quick() } else { Plan::full() };
    // One thread: the generator shares the machine with what it measures, and must take little of it.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut reports = Vec::new();
    for group in groups {
        reports.push(runtime.block_on(until_interrupted(&plan, *group))?);
        if !quick {
            // After each group, so that what one has found is not lost with the next.
            let before = std::fs::read_to_string(RESULTS).unwrap_or_default();
            std::fs::write(RESULTS, page::with(&reports, &before))?;
        }
    }
    print!("{}", page::with(&reports, ""));
    Ok(())
}

/// Measures one group. Leaving by way of an error takes the servers and their data along.
async fn until_interrupted(plan: &Plan, group: Group) -> Result<Report, BenchError> {
    tokio::select! {
        report = run::run(plan, group) => report,
        _ = tokio::signal::ctrl_c() => Err("interrupted".into()),
    }
}
