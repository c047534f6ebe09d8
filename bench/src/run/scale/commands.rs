//! The commands that explain and verify, each as a process of its own.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use fastrand::Rng;
use tokio::task::yield_now;

use super::Place;
use super::calls::{CallResults, sign_in};
use crate::error::BenchError;
use crate::progress::grouped;
use crate::run::Run;
use crate::scale_seed::{BUSY_EMPLOYEE, reference};
use crate::seed::employee;
use crate::server::Server;
use crate::stats::{nanoseconds, now};

impl Run<'_> {
    pub(super) async fn commands(&mut self, place: &Place, server: &Server) -> Result<(), BenchError> {
        let (title, layout, mut rng) = (place.title(), self.plan.scale, Rng::with_seed(31));
        self.progress.step(format_args!("{title}: explain"));
        let (busy, token) = (employee(BUSY_EMPLOYEE), sign_in(server, BUSY_EMPLOYEE).await?);
        let mut person = || employee(rng.usize(..layout.employees));
        self.explain(place, "explain login", || vec!["login".to_owned(), person()], "").await?;
        self.explain(place, "explain login, very many rows", || vec!["login".to_owned(), busy.clone()], "").await?;
        let access = || ["access", &*busy, "conversation", "read", "all"].map(str::to_owned).to_vec();
        self.explain(place, "explain access", access, "").await?;
        self.explain(place, "explain token", || vec!["token".to_owned()], &token).await?;
        let mut rng = Rng::with_seed(32);
        let row = || vec!["ref".to_owned(), reference(rng.usize(..layout.log_rows)).to_string()];
        self.explain(place, "explain ref", row, "").await?;
        self.verify_log(place)
    }

    /// Times a command, from the start of its process to its end.
    async fn explain(
        &mut self,
        place: &Place,
        name: &str,
        mut arguments: impl FnMut() -> Vec<String>,
        input: &str,
    ) -> Result<(), BenchError> {
        let mut results = CallResults::default();
        for _ in 0..self.plan.calls {
            let mut command = place.command(&self.workspace);
            command.arg("explain").args(arguments()).arg("--dev");
            let began = now();
            let output = finished(command, input)?;
            results.times.push(nanoseconds(began.elapsed()));
            if !output.status.success() {
                results.add_failure(name, &String::from_utf8_lossy(&output.stderr));
            }
            // So that an interrupt is noticed.
            yield_now().await;
        }
        self.progress.at(name, results.times.len(), self.plan.calls);
        self.report_calls(&format!("{}: {name}", place.title()), results);
        Ok(())
    }

    /// Verifies the whole log once, which also shows that it was filled with genuine rows.
    fn verify_log(&mut self, place: &Place) -> Result<(), BenchError> {
        let title = place.title();
        self.progress.step(format_args!("{title}: verify the audit log"));
        let mut command = place.command(&self.workspace);
        command.args(["audit", "verify", "--dev"]);
        let began = now();
        let output = finished(command, "")?;
        if !output.status.success() {
            let told = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
            return Err(format!("the audit log is not intact: {}", told.concat()).into());
        }
        let rows = grouped(self.plan.scale.log_rows);
        let (name, took) = (format!("{title}: audit verify"), format!("{:.1} s", began.elapsed().as_secs_f64()));
        self.report.figure(&name, &format!("{rows} rows stored, once"), &took, None);
        Ok(())
    }
}

/// Runs a command to its end.
fn finished(mut command: Command, input: &str) -> Result<Output, BenchError> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A command that reads no input may have ended already.
        let _ = stdin.write_all(input.as_bytes());
    }
    Ok(child.wait_with_output()?)
}
