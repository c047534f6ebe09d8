//! Measures the performance targets of the service against minimal baselines and writes a report.

mod arrivals;
mod backends;
mod bare_handler;
mod bare_look_up;
mod comparison;
mod connection;
mod error;
mod file_limit;
mod full_sign_in;
mod load;
mod oidc_client;
mod page;
mod plan;
mod postgres_baseline;
mod progress;
mod redirect_sign_in;
mod report;
mod requests;
mod run;
mod scale_seed;
mod scan;
mod seed;
mod server;
mod socket;
mod sqlite_baseline;
mod stats;
mod step_times;
mod workspace;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::error::BenchError;
use crate::plan::{Group, Plan};
use crate::report::Report;

// The same allocator as in deskpass, because the baseline handler is part of this binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures deskpass and writes the figures to bench/RESULTS.md.
///
/// It takes about 25 minutes, 2 GB of memory and 6 GB of disk, and removes its files afterwards. It starts PostgreSQL
/// and Redis itself; tools/services installs them. A missed target is reported and is not an error.
#[derive(Debug, Parser)]
#[command(
    disable_help_subcommand = true,
    override_usage = "deskpass-bench [--quick] [--runs N] [embedded | scaled-out | sockets | cache | rush | scale]",
    max_term_width = 100
)]
#[command(
    after_help = "Example: see that everything works, in two minutes\n  cargo build --profile dist -p deskpass -p deskpass-bench\n  ./target/dist/deskpass-bench --quick"
)]
struct Cli {
    /// Use few rounds and few sessions, as a smoke test; leaves bench/RESULTS.md unchanged.
    #[arg(long, global = true)]
    quick: bool,
    /// How often each comparison is repeated, with new processes: the worst and the best run are reported. Unless given, 3, with --quick 1.
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=50))]
    runs: Option<u8>,
    #[command(subcommand)]
    part: Option<Part>,
}

#[derive(Debug, Subcommand)]
enum Part {
    /// Measure only a single node; leaves the other sections of bench/RESULTS.md unchanged.
    Embedded,
    /// Measure only nodes on PostgreSQL and Redis; leaves the other sections of bench/RESULTS.md unchanged.
    ScaledOut,
    /// Measure only many sockets; leaves the other sections of bench/RESULTS.md unchanged.
    Sockets,
    /// Measure only ten million sessions of which a million fit into memory; leaves the other sections of bench/RESULTS.md unchanged.
    Cache,
    /// Measure only a morning on which all employees sign in within minutes, by QR code and in the messenger, each with a socket and checks
    /// of the token; leaves the other sections of bench/RESULTS.md unchanged. If --employees or --minutes is given, it writes nothing.
    Rush {
        /// The number of employees. Unless given, 10 000, with --quick 200.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
        employees: Option<u32>,
        /// The minutes within which all of them arrive. Unless given, 2, with --quick 4 seconds.
        #[arg(long, value_name = "M", value_parser = clap::value_parser!(u32).range(1..=600))]
        minutes: Option<u32>,
    },
    /// Measure such a morning, ten nodes, and stores with a million employees, ten million sessions and twenty million rows of the audit log
    /// in SQLite and in PostgreSQL; takes 45 minutes or more and 30 GB of disk; leaves the other sections of bench/RESULTS.md unchanged.
    Scale,
    /// Run the baseline handler, in its own process.
    #[command(hide = true)]
    Bare,
    /// Run the handler that looks sessions up in this database, in its own process.
    #[command(hide = true)]
    BareLookUp { database: PathBuf },
}

const RESULTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/RESULTS.md");

fn main() -> ExitCode {
    let cli = Cli::parse();
    let plan = if cli.quick { Plan::quick() } else { Plan::full() };
    let plan = Plan { runs: cli.runs.map_or(plan.runs, usize::from), ..plan };
    let done = match cli.part {
        Some(Part::Bare) => bare_handler::serve(),
        Some(Part::BareLookUp { database }) => bare_look_up::serve(database),
        Some(Part::Embedded) => bench(&plan, &[Group::Embedded]),
        Some(Part::ScaledOut) => bench(&plan, &[Group::ScaledOut]),
        Some(Part::Sockets) => bench(&plan, &[Group::Sockets]),
        Some(Part::Cache) => bench(&plan, &[Group::Cache]),
        Some(Part::Rush { employees, minutes }) => {
            let is_recorded = plan.is_recorded && employees.is_none() && minutes.is_none();
            bench(&Plan { rush: plan.rush.with(employees, minutes), is_recorded, ..plan }, &[Group::Rush])
        }
        Some(Part::Scale) => bench(&plan, &Group::LARGE),
        None => bench(&plan, &Group::DEFAULT),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(BenchError(why)) => {
            eprintln!("deskpass-bench: {why}");
            ExitCode::FAILURE
        }
    }
}

fn bench(plan: &Plan, groups: &[Group]) -> Result<(), BenchError> {
    if cfg!(debug_assertions) && !plan.quick {
        return Err("a debug build measures nothing worth keeping; run it with `make bench`, or with --quick".into());
    }
    // One thread: the generator shares the machine with the measured servers and must use little of it.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut reports = Vec::new();
    for group in groups {
        reports.push(runtime.block_on(until_interrupted(plan, *group))?);
        if plan.is_recorded {
            // Written after each group, so that a failure of the next group does not lose its results.
            let before = std::fs::read_to_string(RESULTS).unwrap_or_default();
            std::fs::write(RESULTS, page::with(&reports, &before))?;
        }
    }
    print!("{}", page::with(&reports, ""));
    Ok(())
}

/// Measures one group. An error also stops the servers and removes their data.
async fn until_interrupted(plan: &Plan, group: Group) -> Result<Report, BenchError> {
    tokio::select! {
        report = run::run(plan, group) => report,
        _ = tokio::signal::ctrl_c() => Err("interrupted".into()),
    }
}
