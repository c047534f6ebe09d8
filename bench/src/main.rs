//! Measures what the service promises, beside the least that could do the same work, and writes it down.

mod bare;
mod commits;
mod connection;
mod duel;
mod failed;
mod load;
mod plan;
mod progress;
mod report;
mod requests;
mod rng;
mod run;
mod scan;
mod seed;
mod server;
mod stats;
mod yard;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::failed::Failed;
use crate::plan::Plan;
use crate::report::Report;

// As in deskpass, since the handler it is held against lives in this binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures deskpass and writes the figures to bench/RESULTS.md.
///
/// It needs some seven minutes, 1 GiB of memory and 2 GiB of disk; what it puts there it removes again. A target that is
/// missed is reported, and is no error.
#[derive(Debug, Parser)]
#[command(disable_help_subcommand = true, override_usage = "deskpass-bench [--quick]", max_term_width = 100)]
#[command(
    after_help = "Example: see that everything works, in a minute\n  cargo build --release -p deskpass -p deskpass-bench\n  ./target/release/deskpass-bench --quick"
)]
struct Cli {
    /// Few rounds and few sessions, to see that it works; leaves bench/RESULTS.md as it is.
    #[arg(long)]
    quick: bool,
    #[command(subcommand)]
    part: Option<Part>,
}

#[derive(Debug, Subcommand)]
enum Part {
    /// The handler that deskpass is held against, in a process of its own.
    #[command(hide = true)]
    Bare,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.part {
        Some(Part::Bare) => bare::serve(),
        None => bench(cli.quick),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failed(why)) => {
            eprintln!("deskpass-bench: {why}");
            ExitCode::FAILURE
        }
    }
}

fn bench(quick: bool) -> Result<(), Failed> {
    if cfg!(debug_assertions) && !quick {
        return Err("a debug build measures nothing worth keeping; run it with --release, or with --quick".into());
    }
    let plan = if quick { Plan::quick() } else { Plan::full() };
    // One thread: the generator shares the machine with what it measures, and must take little of it.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let text = runtime.block_on(until_interrupted(&plan))?.markdown();
    print!("{text}");
    if !quick {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/RESULTS.md"), text)?;
    }
    Ok(())
}

/// Runs the plan. Leaving by way of an error takes the servers and their data along.
async fn until_interrupted(plan: &Plan) -> Result<Report, Failed> {
    tokio::select! {
        report = run::run(plan) => report,
        _ = tokio::signal::ctrl_c() => Err("interrupted".into()),
    }
}
