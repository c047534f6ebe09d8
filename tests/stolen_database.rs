//! An attacker has a copy of the database with everything around it but the key. Nothing in it gives access.

use std::cell::Cell;
use std::collections::BTreeSet;

use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use deskpass::config::Settings;
use deskpass::http::{RequiredAccess, Route, routes};
use deskpass_core::{Access, Digest, Entropy, Half, KnownBrowser, RecoveryCode, Secret, SecretKind, ServiceKey};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::harness::{Client, Device, PASSWORD, StoreBackend, TestApp, cookies, request, settings};

/// Kept outside the database: the owner has it, the attacker does not.
const KEY: [u8; 32] = [7; 32];
const OTHER_KEY: [u8; 32] = [8; 32];

const UNLOCK: &str = "/api/admin/agents/agent01/unlock";
const VERIFY: &str = "/api/auth/otp-verify";
const SET_UP_PASSWORD: &str = "/api/agents/password/setup";

fn sealed_with(key: [u8; 32]) -> Settings {
    let key = base64::engine::general_purpose::STANDARD.encode(key);
    settings(&[("development.enabled", "true"), ("encryption_key", &key)])
}

/// Secrets that people hold and that are stored nowhere else.
struct Secrets {
    /// The session and the device of an administrator.
    admin: String,
    admin_device: Device,
    /// An agent's session, started with a password and the first of their recovery codes.
    session: String,
    /// A partial session of the agent.
    half: String,
    device: Device,
    /// The value of the cookie in the browser in which they signed in.
    cookie: String,
    /// A colleague's session, their device that is not bound yet, and their codes for setting a password and binding a device.
    colleague: String,
    pending: Device,
    setup_code: String,
    device_code: String,
    /// The key of another service.
    service_key: String,
}

async fn furnish(app: &TestApp) -> Secrets {
    let mut client = app.client().await;
    // Keeps the notices to agents in the database, where the attacker finds them.
    client.set_fault(&json!({ "api": "message/send", "drop": true, "times": 1_000 })).await;
    client.first_password("agent01").await;
    client.first_password("admin01").await;
    let admin = client.sign_in("admin01").await;
    let (admin_device, _) = client.bind_device(&admin, &app.clock).await;
    let device = client.sign_in("agent01").await;
    let (device, _) = client.bind_device(&device, &app.clock).await;
    let half = format!("Bearer {}", client.partial_sign_in("agent01").await);
    let page = [("authorization", &*half), ("sec-fetch-site", "same-origin")];
    let entered = client.post(VERIFY, &page, &json!({ "code": device.recovery_codes[0] })).await;
    let session = entered.data()["token"].as_str().unwrap().to_owned();
    let cookie = cookies(&entered).strip_prefix("deskpass_known=").unwrap().to_owned();
    let half = client.partial_sign_in("agent01").await;
    client.agent_login("agent01", "wrong").await.refused(401, 1011);
    let colleague = client.sign_in("supervisor01").await;
    let device_code = app.auth().operator().reset_device(app.key("supervisor01")).await.unwrap().code.text();
    let setup = client.post_as(&colleague, "/api/auth/otp-setup", &json!({})).await.data();
    let pending = Device::scan(&setup, &app.clock);
    let setup_code = app.auth().operator().reset_password(app.key("supervisor01")).await.unwrap().code.text();
    let (service_key, _) = app.service_key("introspect messages").await;
    Secrets {
        admin,
        admin_device,
        session,
        half,
        device,
        cookie,
        colleague,
        pending,
        setup_code,
        device_code,
        service_key,
    }
}

impl Secrets {
    /// All secrets in every encoding in which they might be stored.
    fn spellings(&self) -> Vec<Vec<u8>> {
        let bearers = [&self.admin, &self.session, &self.half, &self.cookie, &self.colleague, &self.service_key];
        let seeds = [&self.device, &self.admin_device, &self.pending].map(|device| &device.seed);
        let codes = [&self.device, &self.admin_device].into_iter().flat_map(|device| &device.recovery_codes);
        let codes =
            codes.chain([&self.setup_code, &self.device_code]).flat_map(|code| [code.clone(), code.replace('-', "")]);
        let random = |bearer: &&String| URL_SAFE_NO_PAD.decode(&bearer[4..47]).unwrap();
        let raw = bearers.iter().map(random).chain(seeds.iter().map(|seed| seed.bytes().to_vec()));
        let texts = codes.chain(seeds.iter().map(|seed| seed.base32())).chain([PASSWORD.to_owned()]);
        let texts = texts.flat_map(|text| [text.to_lowercase(), text.to_uppercase()]).map(String::into_bytes);
        texts.chain(raw.flat_map(|bytes| encoded(&bytes))).collect()
    }
}

/// Bytes as they are, and as text.
fn encoded(bytes: &[u8]) -> [Vec<u8>; 5] {
    let hex = bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
    let texts = [hex.to_uppercase(), hex, STANDARD_NO_PAD.encode(bytes), URL_SAFE_NO_PAD.encode(bytes)];
    let [one, two, three, four] = texts.map(String::into_bytes);
    [bytes.to_vec(), one, two, three, four]
}

/// Every file next to the database, or every row of every table and all records in Redis.
fn loot(app: &TestApp) -> Vec<Vec<u8>> {
    match StoreBackend::current() {
        StoreBackend::Embedded => {
            let files = std::fs::read_dir(app.database().parent().unwrap()).unwrap();
            let paths = files.map(|file| file.unwrap().path()).filter(|path| path.is_file());
            paths.map(|path| std::fs::read(path).unwrap()).collect()
        }
        StoreBackend::ScaledOut => {
            let records = app.cluster_store().records().into_iter().flat_map(|(key, value)| [key.into_bytes(), value]);
            app.cluster_store().rows().into_iter().map(String::into_bytes).chain(records).collect()
        }
    }
}

fn has(loot: &[Vec<u8>], piece: &[u8]) -> bool {
    loot.iter().any(|thing| thing.windows(piece.len()).any(|window| window == piece))
}

/// Every value of every row, and the bearer tokens that an attacker who knows their format would make of them.
fn values(app: &TestApp) -> BTreeSet<String> {
    let tables = match StoreBackend::current() {
        StoreBackend::Embedded => "SELECT name FROM sqlite_master WHERE type = 'table'",
        StoreBackend::ScaledOut => "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()",
    };
    let rows = app.query(tables).into_iter().flat_map(|table| app.query(&format!("SELECT * FROM {table}")));
    let cells: BTreeSet<_> = rows.flat_map(|row| row.split('|').map(str::to_owned).collect::<Vec<_>>()).collect();
    let digests = cells.iter().filter_map(|cell| Digest::from_text(cell));
    let forged = digests.flat_map(|digest| {
        [forged::<Access>(digest), forged::<Half>(digest), forged::<KnownBrowser>(digest), forged::<ServiceKey>(digest)]
    });
    let forged: Vec<_> = forged.collect();
    assert!(cells.len() > 60 && forged.len() > 80, "{} values: this test tries nothing", cells.len());
    cells.into_iter().filter(|cell| !cell.is_empty() && !cell.contains(char::is_control)).chain(forged).collect()
}

/// A bearer token with the right prefix and checksum, made of a digest.
fn forged<K: SecretKind>(digest: Digest) -> String {
    thread_local!(static CHOSEN: Cell<[u8; 32]> = const { Cell::new([0; 32]) });
    CHOSEN.set(*digest.bytes());
    let chosen = Entropy::from_fn(|bytes| {
        bytes.copy_from_slice(&CHOSEN.get());
        Ok(())
    });
    Secret::<K>::generate(&chosen).unwrap().expose().to_owned()
}

async fn unlock(app: &TestApp) {
    for agent in ["agent01", "admin01"] {
        app.auth().operator().unlock_agent(app.key(agent)).await.unwrap();
    }
}

/// Tries a value in every field that an agent fills in.
async fn type_in(client: &mut Client, held: &Secrets, value: &str) {
    let code = json!({ "code": value });
    client.post_as(&held.half, VERIFY, &code).await.refused(401, 1008);
    client.post_as(&held.session, "/api/auth/otp-unbind", &code).await.refused(401, 1008);
    client.post_with_otp(&held.admin, UNLOCK, Some(value)).await.refused(401, 1008);
    let setup = json!({ "employee_id": "supervisor01", "setup_code": value, "new_password": PASSWORD });
    assert_eq!(client.post(SET_UP_PASSWORD, &[], &setup).await.refused(403, 1003).reason(), "setup_code");
    let setup = client.post_as(&held.colleague, "/api/auth/otp-setup", &json!({ "setup_code": value })).await;
    assert_eq!(setup.refused(403, 1003).reason(), "setup_code");
    let cookie = format!("deskpass_known={value}");
    let login = json!({ "employee_id": "agent01", "password": value });
    client.post("/api/agents/login", &[("cookie", &cookie)], &login).await.refused(401, 1011);
}

on_every_store! {
    async fn what_people_hold_is_nowhere_in_it() {
        let app = TestApp::with(sealed_with(KEY)).await;
        let held = furnish(&app).await;
        let loot = loot(&app);
        for there in ["agent01", "$argon2id$", "password_used", "device_bound"] {
            assert!(has(&loot, there.as_bytes()), "{there} is not there: this test looks at nothing");
        }
        let spellings = held.spellings();
        assert!(spellings.len() > 100);
        for spelling in spellings {
            assert!(!has(&loot, &spelling), "{} is kept", String::from_utf8_lossy(&spelling));
        }
        assert!(!has(&loot, &KEY), "the key lies beside the lock");
    }

    async fn what_is_in_it_is_no_token() {
        let app = TestApp::with(sealed_with(KEY)).await;
        let held = furnish(&app).await;
        let mut client = app.client().await;
        let open = |route: &Route| matches!(route.access, RequiredAccess::Anyone | RequiredAccess::Developer | RequiredAccess::Operator);
        let closed: Vec<_> = routes().into_iter().filter(|route| !open(route)).collect();
        for value in values(&app) {
            let headers = [("authorization", &*format!("Bearer {value}")), ("content-type", "application/json")];
            for route in &closed {
                let ask = request(route.method.as_str(), route.path, &headers, b"{}");
                let answer = client.send(&ask).await;
                assert_eq!((answer.status, answer.code()), (401, 1001), "{route:?} {value}: {answer:?}");
            }
            assert!(!client.is_valid(&value).await, "{value}");
        }
        assert!(client.is_valid(&held.session).await && client.is_valid(&held.admin).await);
        client.get_as(&held.half, "/api/auth/otp-status").await.data();
        assert_eq!(client.introspect(&held.service_key, &held.session).await.json()["active"], true);
    }
}

on_every_store! {
    async fn what_is_in_it_is_no_code_no_password_and_no_cookie() {
        let app = TestApp::with(sealed_with(KEY)).await;
        let held = furnish(&app).await;
        let mut client = app.client().await;
        for value in values(&app) {
            unlock(&app).await;
            type_in(&mut client, &held, &value).await;
            let known = app.query("SELECT count(*) FROM guess WHERE trial LIKE 'browser%'");
            assert_eq!(known, ["0"], "{value} is taken for the cookie of a browser that is known");
        }

        // The real secrets still work.
        unlock(&app).await;
        let cookie = format!("deskpass_known={}", held.cookie);
        let login = json!({ "employee_id": "agent01", "password": "wrong" });
        client.post("/api/agents/login", &[("cookie", &cookie)], &login).await.refused(401, 1011);
        assert_eq!(app.query("SELECT count(*) FROM guess WHERE trial LIKE 'browser%'"), ["1"]);
        client.post_as(&held.half, VERIFY, &json!({ "code": held.device.recovery_codes[1] })).await.data();
        client.post_with_otp(&held.admin, UNLOCK, Some(&held.admin_device.next_code())).await.data();
        let setup = json!({ "employee_id": "supervisor01", "setup_code": held.setup_code, "new_password": PASSWORD });
        client.post(SET_UP_PASSWORD, &[], &setup).await.data();
        let colleague = client.sign_in("supervisor01").await;
        client.post_as(&colleague, "/api/auth/otp-setup", &json!({ "setup_code": held.device_code })).await.data();
    }

    /// An attacker has unlimited time, but must be able to tell when a guess is right.
    async fn nothing_in_it_says_whether_a_guess_is_right() {
        let app = TestApp::with(sealed_with(KEY)).await;
        let held = furnish(&app).await;
        let kept = app.query("SELECT password_hash FROM agent WHERE employee_key = 'agent01'").remove(0);
        let [hash, salt] = [kept.rsplit('$').next(), kept.rsplit('$').nth(1)].map(|text| STANDARD_NO_PAD.decode(text.unwrap()).unwrap());
        let argon = |secret: &[u8]| {
            let params = Params::new(19_456, 2, 1, None).unwrap();
            let argon = Argon2::new_with_secret(secret, Algorithm::Argon2id, Version::V0x13, params).unwrap();
            let mut hash = [0; 32];
            argon.hash_password_into(PASSWORD.as_bytes(), &salt, &mut hash).unwrap();
            hash
        };
        assert_ne!(argon(b""), *hash, "the right password is known by its hash alone");
        assert_ne!(argon(&OTHER_KEY), *hash);
        let key = Digest::of(&[b"deskpass passwords", &KEY]);
        let key = |owner: &str| Digest::of(&[key.bytes(), b"wwdeskpass", owner.as_bytes()]);
        assert_eq!(argon(key("agent01").bytes()), *hash, "this test tries nothing");
        assert_ne!(argon(key("admin01").bytes()), *hash, "it is any agent's");

        let digests = app.query("SELECT digest FROM recovery_code UNION SELECT setup_code FROM agent WHERE setup_code IS NOT NULL
            UNION SELECT otp_setup_code FROM agent WHERE otp_setup_code IS NOT NULL");
        assert_eq!(digests.len(), 10 + 9 + 1 + 1);
        let codes = held.device.recovery_codes.iter().chain(&held.admin_device.recovery_codes);
        let codes = codes.chain([&held.setup_code, &held.device_code]);
        let keyed = |code: &str, key: &[u8; 32], owner| RecoveryCode::parse(code).unwrap().digest(key, &app.key(owner)).to_text();
        let key = Digest::of(&[b"deskpass spare codes", &KEY]);
        assert!(digests.contains(&keyed(&held.setup_code, key.bytes(), "supervisor01")), "this test tries nothing");
        for code in codes {
            for guess in guesses(code) {
                let plain = Digest::of(&[&guess]).to_text();
                let hashed = URL_SAFE_NO_PAD.encode(Sha256::digest(&guess));
                assert!(!digests.contains(&plain) && !digests.contains(&hashed), "a code is known by its digest alone");
            }
            for key in [[0; 32], OTHER_KEY, KEY] {
                let owners = ["agent01", "admin01", "supervisor01"];
                assert!(!owners.iter().any(|owner| digests.contains(&keyed(code, &key, owner))), "the key is no secret");
            }
        }
    }
}

on_every_store! {
    /// An attacker who can also write replaces an unknown secret with a known one.
    async fn what_is_moved_to_another_agent_does_not_open() {
        let app = TestApp::with(sealed_with(KEY)).await;
        let held = furnish(&app).await;
        let mut client = app.client().await;
        let of = |column: &str, agent: &str| format!("(SELECT {column} FROM agent WHERE employee_key = '{agent}')");
        let give = |set: &str| app.query(&format!("UPDATE agent SET {set} WHERE employee_key = 'admin01'"));
        give(&format!("otp_secret = {}", of("otp_secret", "agent01")));
        let half = client.partial_sign_in("admin01").await;
        for code in [held.device.next_code(), held.admin_device.code()] {
            damaged(&client.post_as(&half, VERIFY, &json!({ "code": code })).await);
            damaged(&client.post_with_otp(&held.admin, UNLOCK, Some(&code)).await);
        }
        app.query("UPDATE recovery_code SET employee_key = 'admin01'");
        client.post_as(&half, VERIFY, &json!({ "code": held.device.recovery_codes[1] })).await.refused(401, 1008);
        unlock(&app).await;
        give(&format!(
            "otp_secret = NULL, otp_pending = {}, otp_pending_by = '{}', otp_pending_until = {}, setup_code = {}, setup_code_until = {}",
            of("otp_pending", "supervisor01"),
            Secret::<Half>::parse(&half).unwrap().digest().to_text(),
            of("otp_pending_until", "supervisor01"),
            of("setup_code", "supervisor01"),
            of("setup_code_until", "supervisor01")
        ));
        damaged(&client.post_as(&half, "/api/auth/otp-bind", &json!({ "code": held.pending.code() })).await);
        let setup = json!({ "employee_id": "admin01", "setup_code": held.setup_code, "new_password": PASSWORD });
        client.post(SET_UP_PASSWORD, &[], &setup).await.refused(403, 1003);
        assert_eq!(client.me(&half).await.refused(401, 1001).reason(), "half_authenticated");
        client.post_as(&held.half, VERIFY, &json!({ "code": held.device.code() })).await.data();
    }

    async fn under_another_key_nothing_opens_until_it_is_reset() {
        let app = TestApp::with(sealed_with(KEY)).await;
        let held = furnish(&app).await;
        let app = app.restart_with(sealed_with(OTHER_KEY)).await;
        let mut client = app.client().await;
        damaged(&client.post_as(&held.half, VERIFY, &json!({ "code": held.device.next_code() })).await);
        client.post_as(&held.half, VERIFY, &json!({ "code": held.device.recovery_codes[1] })).await.refused(401, 1008);
        damaged(&client.post_with_otp(&held.admin, UNLOCK, Some(&held.admin_device.code())).await);
        client.agent_login("agent01", PASSWORD).await.refused(401, 1011);
        let colleague = held.colleague;
        damaged(&client.post_as(&colleague, "/api/auth/otp-bind", &json!({ "code": held.pending.code() })).await);
        let setup = |code: &str| json!({ "employee_id": "supervisor01", "setup_code": code, "new_password": PASSWORD });
        client.post(SET_UP_PASSWORD, &[], &setup(&held.setup_code)).await.refused(403, 1003);

        assert!(app.auth().operator().reset_device(app.key("agent01")).await.unwrap().was_bound);
        let (device, bound) = client.bind_device(&held.half, &app.clock).await;
        assert!(client.is_valid(bound["token"].as_str().unwrap()).await);
        client.post_as(&held.session, VERIFY, &json!({ "code": device.next_code() })).await.data();
        client.bind_device(&colleague, &app.clock).await;
        let reset = app.auth().operator().reset_password(app.key("supervisor01")).await.unwrap();
        client.post(SET_UP_PASSWORD, &[], &setup(&reset.code.text())).await.data();
        client.partial_sign_in("supervisor01").await;
    }
}

/// Asserts that a record was rejected as damaged, and that the response says no more than that.
#[track_caller]
fn damaged(answer: &crate::harness::Response) {
    let message = answer.refused(500, 1005).json()["message"].as_str().unwrap().to_owned();
    assert!(message.contains(": record damaged (ref "), "{message}");
}

/// The inputs that an attacker who knows the format of codes would hash.
fn guesses(code: &str) -> Vec<Vec<u8>> {
    let bare = code.replace('-', "");
    let spellings = [code.to_owned(), code.to_uppercase(), bare.to_uppercase(), bare];
    let named = |spelling: &String| {
        let owners =
            ["", "agent01", "admin01", "supervisor01", "wwdeskpass", "wwdeskpass/agent01", "deskpass spare code"];
        owners.map(|owner| [owner.as_bytes(), spelling.as_bytes()].concat())
    };
    spellings.iter().flat_map(named).collect()
}
