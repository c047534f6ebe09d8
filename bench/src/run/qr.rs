//! Sign-in by QR code: issuing the code, waiting, and the latency after the phone's confirmation.

use std::sync::Arc;

use super::{BARE, DRAWS, Run, SIZE_TOLERANCE_BYTES, same_size, template};
use crate::bare_handler::ResponseTemplates;
use crate::comparison::Comparison;
use crate::connection::Connection;
use crate::error::BenchError;
use crate::plan::{PICTURE_BYTES, QR_CODE_SECONDS, STATUS_RATIO};
use crate::progress::grouped;
use crate::report::duration;
use crate::requests::{Requests, WordList};
use crate::scan::{self, QrCode};
use crate::seed::TOKEN_WIDTH;
use crate::server::Server;
use crate::stats::{nanoseconds, share};

/// QR codes that browsers wait for.
struct PendingCodes {
    tickets: WordList,
    /// The sizes of their pictures in bytes, in ascending order.
    pictures: Vec<usize>,
}

impl PendingCodes {
    /// The minimum, median and maximum size of a picture in bytes.
    fn pictures(&self) -> (usize, usize, usize) {
        let at = |place: usize| self.pictures.get(place).copied().unwrap_or_default();
        (at(0), at(self.pictures.len() / 2), at(self.pictures.len().saturating_sub(1)))
    }
}

impl Run<'_> {
    pub(super) async fn qr(&mut self) -> Result<(), BenchError> {
        let server = Server::deskpass(&self.workspace, &self.workspace.path().join("qr"))?;
        let waiting = self.issue(&server).await?;
        let status = Arc::new(Requests::status(waiting.tickets.drawn(DRAWS)));
        let qrcode = Arc::new(Requests::qrcode());
        let (looked, drawn) = (template(&server, &status).await?.0, template(&server, &qrcode).await?.0);
        let bare = Server::bare(
            &self.workspace,
            &ResponseTemplates { status: looked, qrcode: drawn, ..ResponseTemplates::default() },
        )?;
        self.status(&server, &bare, status).await?;
        self.scans(&server).await?;
        // Last, because it evicts all other waiting codes.
        self.qrcodes(&server, &bare, qrcode, &waiting).await?;
        bare.stop()?;
        server.stop()
    }

    /// Requests the codes that wait from now on.
    async fn issue(&self, server: &Server) -> Result<PendingCodes, BenchError> {
        let count = self.plan.waiting;
        self.progress.step(format_args!("ask for {} QR codes", grouped(count)));
        let mut browser = Connection::open(server.address).await?;
        let (mut tickets, mut pictures) = (WordList::new(TOKEN_WIDTH, count), Vec::with_capacity(count));
        for _ in 0..count {
            let code = QrCode::ask(&mut browser).await?;
            tickets.push(&code.ticket);
            pictures.push(code.picture_bytes());
        }
        pictures.sort_unstable();
        self.progress.at("code", count, count);
        Ok(PendingCodes { tickets, pictures })
    }

    async fn status(&mut self, server: &Server, bare: &Server, requests: Arc<Requests>) -> Result<(), BenchError> {
        same_size(server, bare, &requests, SIZE_TOLERANCE_BYTES).await?;
        let name = format!("scan status, {} waiting tickets", grouped(self.plan.waiting));
        let comparison = self.against(Comparison::new(name, BARE, Some(STATUS_RATIO)), server, bare, requests).await?;
        self.report.add_comparison(comparison);
        Ok(())
    }

    /// Times how soon the browser learns of the phone's confirmation, one sign-in after another.
    async fn scans(&mut self, server: &Server) -> Result<(), BenchError> {
        let scans = self.plan.scans;
        self.progress.step(format_args!("sign in by QR code, {scans} times"));
        let (mut told, mut answered) = (Vec::with_capacity(scans), Vec::with_capacity(scans));
        // The first sign-in fills the caches of platform data.
        scan::sign_in(server).await?;
        for _ in 0..scans {
            let yes = scan::sign_in(server).await?;
            told.push(nanoseconds(yes.told));
            answered.push(nanoseconds(yes.answered));
        }
        self.progress.at("sign-in", scans, scans);
        let [told, answered] = [told, answered].map(|mut times| {
            times.sort_unstable();
            [50, 99].map(|percent| duration(share(&times, percent))).join(", p99 ")
        });
        let name = "the phone's confirm until the browser's event";
        let seen = format!("median of {scans}; the phone's own answer: {answered}");
        self.report.figure(name, &seen, &told, None);
        Ok(())
    }

    async fn qrcodes(
        &mut self,
        server: &Server,
        bare: &Server,
        requests: Arc<Requests>,
        waiting: &PendingCodes,
    ) -> Result<(), BenchError> {
        let (least, middle, most) = waiting.pictures();
        // The pictures differ in size, and Base64 increases the difference.
        same_size(server, bare, &requests, SIZE_TOLERANCE_BYTES + (most - least) * 2).await?;
        let comparison = self.against(Comparison::new("QR codes".into(), BARE, None), server, bare, requests).await?;
        let ours = comparison.ours.clone();
        self.report.add_comparison(comparison);
        self.report.cpu_each("CPU of a QR code with its picture", &ours, QR_CODE_SECONDS);
        let seen = format!("median of {}, {} – {} B", grouped(waiting.pictures.len()), grouped(least), grouped(most));
        let target = Some((&*format!("{} B", grouped(PICTURE_BYTES)), middle <= PICTURE_BYTES));
        self.report.figure("picture of a QR code (PNG)", &seen, &format!("{} B", grouped(middle)), target);
        Ok(())
    }
}
