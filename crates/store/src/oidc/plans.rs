//! The statements that run often, for the test that requires them to use an index.

use deskpass_core::{Digest, Timestamp};

use super::endings::{LIVE_OF_CLIENT, of_employee};
use super::grant_ends::SESSION_OF_SID;
use super::logouts::{DUE_CLIENTS, DUE_OF_CLIENT, OLDEST, claim};
use super::tokens::{TokenKind, find_statement};
use crate::database::SqlValue;

/// The statements, each with its name and values.
pub(crate) fn statements() -> Vec<(&'static str, String, Vec<SqlValue<'static>>)> {
    let (digest, now) = (Digest::of(&[b"any"]), Timestamp::from_millis(1_000));
    let due = "SELECT id FROM oidc_grant WHERE expires_at <= $1 AND ended_at IS NULL LIMIT 1";
    let met = "SELECT 1 FROM oidc_grant WHERE session = $1 AND client_id = $2 LIMIT 1";
    vec![
        ("access token", find_statement(TokenKind::Access), args![digest].to_vec()),
        ("refresh token", find_statement(TokenKind::Refresh), args![digest].to_vec()),
        ("ends", format!("SELECT 1 FROM oidc_grant WHERE {}", of_employee()), args!["ww", "person7"].to_vec()),
        ("expired", due.to_owned(), args![now].to_vec()),
        ("met", met.to_owned(), args![digest, "client"].to_vec()),
        ("code", "SELECT 1 FROM oidc_grant WHERE code = $1".to_owned(), args![digest].to_vec()),
        ("sid", SESSION_OF_SID.to_owned(), args!["sid"].to_vec()),
        ("grants of a client", LIVE_OF_CLIENT.to_owned(), args!["client1", 500_i64].to_vec()),
        ("due clients", DUE_CLIENTS.to_owned(), args![now, 100_i64].to_vec()),
        ("logouts of a client", DUE_OF_CLIENT.to_owned(), args!["client1", now, 100_i64].to_vec()),
    ]
}

/// The statements that deliver the ends of sessions, each with its name and values.
pub(crate) fn logout_statements() -> Vec<(&'static str, String, Vec<SqlValue<'static>>)> {
    let now = Timestamp::from_millis(1_000);
    vec![
        ("claim logouts", claim(), args!["client1", now, 10_i64, now].to_vec()),
        ("pending logouts", OLDEST.to_owned(), args![100_i64].to_vec()),
    ]
}
