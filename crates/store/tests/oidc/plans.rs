//! The statements that run often use an index.

use crate::agents::fixture::{Fixture, on_every_store};
use crate::lists::scene::bulk;

const GRANTS: usize = 20_000;

on_every_store! {
    async fn no_statement_reads_all_grants_tokens_or_logouts(fixture: &Fixture) {
        let session = "(100000 + n) || 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'";
        // Most grants have ended, and the others are far from their end.
        let statements = [
            format!(
                "INSERT INTO oidc_grant (id, session, client_id, corp_id, employee_key, subject, sid, scopes, roles, address, code,
                 created_at, expires_at, ended_at) SELECT 'grant' || n, {session}, 'client' || (n % 7), 'ww', 'person' || (n % 5000),
                 'subject' || n, 'sid' || n, 'openid', 'user', '192.0.2.1', 'code' || n, n, 1000000 + n,
                 CASE WHEN n % 10 = 0 THEN NULL ELSE n END FROM numbers"
            ),
            "INSERT INTO oidc_token (digest, grant_id, kind, created_at, expires_at) SELECT 'token' || n, 'grant' || n, 'access', n,
             1000000 + n FROM numbers".to_owned(),
            "INSERT INTO oidc_logout (sid, client_id, subject, at, tries, due_at) SELECT 'sid' || n, 'client', 'subject' || n, n, 1,
             1000000 + n FROM numbers".to_owned(),
            format!(
                "INSERT INTO session (digest, corp_id, employee_key, role_id, login_method, login_source, created_at, expires_at)
                 SELECT {session}, 'ww', 'person' || (n % 5000), 3, 'dev', 'h5', n, 1000000 + n FROM numbers"
            ),
        ];
        for statement in statements {
            bulk(fixture, &statement, GRANTS).await;
        }
        bulk(fixture, "ANALYZE oidc_grant; ANALYZE oidc_token; ANALYZE oidc_logout; ANALYZE session", 0).await;
        for (name, plan) in fixture.store().oidc_plans().await.unwrap() {
            // The clients that wait are found one by one, in the index. The longest pending logouts are the first of theirs.
            let is_listed = |line: &str| line.trim() == "SCAN waiting" || line.ends_with("INDEX oidc_logout_by_age");
            let scans = |line: &str| {
                line.contains("Seq Scan") || line.trim_start().starts_with("SCAN") && !is_listed(line)
            };
            assert!(!plan.lines().any(scans), "{name}\n{plan}");
        }
    }
}
