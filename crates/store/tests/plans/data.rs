//! Rows for every table that the statements read: enough for an index to matter, and none of them expired or due.

pub(crate) const ROWS: usize = 10_000;

pub(crate) const TABLES: [&str; 23] = [
    "employee",
    "user_role",
    "agent",
    "recovery_code",
    "guess",
    "session",
    "denied_token",
    "bind_proof",
    "used_once",
    "half_session",
    "known_browser",
    "notice",
    "oidc_client",
    "oidc_grant",
    "oidc_token",
    "oidc_browser",
    "oidc_logout",
    "platform_event",
    "sign_in_count",
    "employee_network",
    "login_log",
    "disowned",
    "journal",
];

/// The statements that insert the rows.
pub(crate) fn statements() -> Vec<String> {
    let all = [people(), sessions(), clients(), others()];
    all.into_iter().flatten().collect()
}

/// Changes of the last minutes, by old transactions: the nodes have read them.
pub(crate) const JOURNAL: &str = "INSERT INTO journal (xact, at, digest)
    SELECT n % 100 + 3, (extract(epoch FROM clock_timestamp()) * 1000)::bigint, 'digest' || n FROM numbers";

/// The columns of a person.
const PERSON: &str = "'ww', 'person' || n";

/// The digest of a token.
const DIGEST: &str = "(100000 + n) || 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'";

/// A time in the future.
const LATER: &str = "1000000 + n";

fn people() -> Vec<String> {
    vec![
        format!(
            "INSERT INTO employee (corp_id, employee_key, employee_id, name, department, avatar, created_at)
             SELECT {PERSON}, 'person' || n, 'Name', '', '', 0 FROM numbers"
        ),
        format!("INSERT INTO user_role (corp_id, employee_key, role_id) SELECT {PERSON}, 3 FROM numbers"),
        // A quarter of them only have a device.
        format!(
            "INSERT INTO agent (corp_id, employee_key, role_id, created_at, device_only, password_hash, otp_secret)
             SELECT {PERSON}, 2, 0, CASE WHEN n % 4 = 0 THEN 1 ELSE 0 END, CASE WHEN n % 4 = 0 THEN NULL ELSE 'hash' END, 'sealed'
             FROM numbers"
        ),
        format!("INSERT INTO recovery_code (corp_id, employee_key, digest) SELECT {PERSON}, 'code' FROM numbers"),
        // Most of them have many failed attempts.
        format!(
            "INSERT INTO guess (corp_id, employee_key, trial, recent, in_a_row, last_at)
             SELECT {PERSON}, 'otp', 1, CASE WHEN n % 10 = 0 THEN 1 ELSE 7 END, {LATER} FROM numbers"
        ),
        format!(
            "INSERT INTO employee_network (corp_id, employee_key, network, seen_at)
             SELECT {PERSON}, '192.0.2.0/24', {LATER} FROM numbers"
        ),
    ]
}

fn sessions() -> Vec<String> {
    vec![
        format!(
            "INSERT INTO session (digest, corp_id, employee_key, role_id, login_method, login_source, created_at, expires_at)
             SELECT {DIGEST}, {PERSON}, 3, 'dev', 'h5', n, {LATER} FROM numbers"
        ),
        format!("INSERT INTO denied_token (digest, reason, until) SELECT {DIGEST}, 'kicked', {LATER} FROM numbers"),
        format!(
            "INSERT INTO bind_proof (digest, corp_id, user_id, expires_at, attempts)
             SELECT {DIGEST}, 'ww', 'user', {LATER}, 0 FROM numbers"
        ),
        format!("INSERT INTO used_once (digest, used_by, undone, until) SELECT {DIGEST}, 'one', 0, {LATER} FROM numbers"),
        format!(
            "INSERT INTO half_session (digest, corp_id, employee_key, expires_at)
             SELECT {DIGEST}, {PERSON}, {LATER} FROM numbers"
        ),
        format!(
            "INSERT INTO known_browser (digest, corp_id, employee_key, expires_at)
             SELECT {DIGEST}, {PERSON}, {LATER} FROM numbers"
        ),
    ]
}

/// Few clients, which have much.
fn clients() -> Vec<String> {
    vec![
        "INSERT INTO oidc_client (id, registration, created_at, removed_at)
         SELECT 'client' || n, '{}', 0, n FROM numbers WHERE n <= 7"
            .to_owned(),
        format!(
            "INSERT INTO oidc_grant (id, session, client_id, corp_id, employee_key, subject, sid, scopes, roles, address, code,
             created_at, expires_at) SELECT 'grant' || n, {DIGEST}, 'client' || (n % 7), {PERSON}, 'subject', 'sid' || n, 'openid',
             'user', '', 'code' || n, n, {LATER} FROM numbers"
        ),
        format!(
            "INSERT INTO oidc_token (digest, grant_id, kind, created_at, expires_at)
             SELECT 'token' || n, 'grant' || n, 'access', n, {LATER} FROM numbers"
        ),
        format!(
            "INSERT INTO oidc_browser (digest, session, expires_at) SELECT 'browser' || n, 'session' || n, {LATER} FROM numbers"
        ),
        format!(
            "INSERT INTO oidc_logout (sid, client_id, subject, at, tries, due_at)
             SELECT 'sid' || n, 'client' || (n % 7), 'subject', {LATER}, 1, {LATER} FROM numbers"
        ),
    ]
}

fn others() -> Vec<String> {
    vec![
        format!(
            "INSERT INTO notice (id, corp_id, employee_key, subject, ip_address, at, tries, due_at)
             SELECT 'notice' || n, {PERSON}, 'device_bound', '', {LATER}, 0, {LATER} FROM numbers"
        ),
        // Almost all of them are handled.
        format!(
            "INSERT INTO platform_event (digest, change, received_at, due_at, urgent)
             SELECT 'event' || n, '', {LATER}, CASE WHEN n % 100 = 0 THEN {LATER} ELSE NULL END, 1 FROM numbers"
        ),
        format!("INSERT INTO sign_in_count (hour, step, times) SELECT {LATER}, 'sign_in', 1 FROM numbers"),
        format!(
            "INSERT INTO login_log (id, at, event, corp_id, employee_key, role_id, login_method, login_source, ip_address,
             peer_address, user_agent, chain, seq, hash, seen_seq, reference) SELECT 'row' || n, n, 'sign_in', {PERSON}, 0, '', '',
             '', '', '', n % 8, n / 8 + 1, 'hash', n / 8, 'reference' || n FROM numbers"
        ),
        "INSERT INTO disowned (sign_in, at) SELECT 'row' || n, n FROM numbers".to_owned(),
    ]
}
