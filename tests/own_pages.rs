//! Pages of the operator's own, served from a directory below /app/: only its files, safely, and how problems are reported.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use serde_json::json;
use tempfile::TempDir;

use crate::cli::checked;
use crate::harness::{Client, PRODUCTION, Process, TestApp, binary, encoded, request, settings};

/// A directory with a page, and a file beside it that is not to be served.
fn directory() -> TempDir {
    let place = tempfile::tempdir().unwrap();
    let app = place.path().join("app");
    std::fs::create_dir_all(app.join("team")).unwrap();
    std::fs::create_dir_all(app.join("bare")).unwrap();
    std::fs::create_dir_all(app.join(".git")).unwrap();
    let files = [
        ("app/index.html", "<!doctype html><p>Front"),
        ("app/team/index.html", "<!doctype html><p>Team"),
        ("app/team/a b.js", "export const team = 'ours, theirs, ours, theirs, ours, theirs, ours, theirs';"),
        ("app/logo.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>"),
        ("app/bare/data.json", "{}"),
        ("app/unknown.bin", "x"),
        ("app/.env", "canary"),
        ("app/.git/config", "canary"),
        ("secret.txt", "canary"),
    ];
    for (name, text) in files {
        std::fs::write(place.path().join(name), text).unwrap();
    }
    place
}

/// A service in production mode with the directory.
async fn serving(place: &Path) -> TestApp {
    let app = place.join("app").to_str().unwrap().to_owned();
    let mut given = PRODUCTION.to_vec();
    given.extend([("pages.directory", &*app), ("server.settle", "0s")]);
    TestApp::with(settings(&given)).await
}

async fn is_missing(client: &mut Client, path: &str) {
    let answer = client.send(&request("GET", path, &[], b"")).await;
    assert!([400, 404].contains(&answer.status), "{path}: {answer:?}");
    assert!(!answer.body.contains("canary"), "{path}: {answer:?}");
}

on_one_store! {
    /// A script of such a page could ask the open tabs of this origin for their sessions.
    async fn tabs_offer_no_session_where_the_operator_has_pages() {
        let place = directory();
        let (with, without) = (serving(place.path()).await, TestApp::start().await);
        for (app, tabs) in [(with, "apart"), (without, "shared")] {
            let page = app.client().await.get("/itadmin/", &[]).await;
            assert!(page.body.contains(&format!(" data-tabs=\"{tabs}\"")), "{}", page.body);
        }
    }
}

on_one_store! {
    async fn the_files_are_served_with_their_types_and_a_policy() {
        let place = directory();
        let app = serving(place.path()).await;
        let mut client = app.client().await;
        let expected = [
            ("/app/", "text/html; charset=utf-8", "Front"),
            ("/app/index.html", "text/html; charset=utf-8", "Front"),
            ("/app/team/?x=/../", "text/html; charset=utf-8", "Team"),
            ("/app/team/a%20b.js", "text/javascript; charset=utf-8", "export"),
            ("/app/logo.svg", "image/svg+xml", "svg"),
            ("/app/bare/data.json", "application/json", "{}"),
            ("/app/unknown.bin", "application/octet-stream", "x"),
        ];
        for (path, kind, text) in expected {
            let answer = client.get(path, &[]).await;
            assert_eq!((answer.status, answer.header("content-type")), (200, Some(kind)), "{path}");
            assert!(answer.body.contains(text), "{path}: {answer:?}");
            let policy = answer.header("content-security-policy").unwrap();
            for piece in ["default-src 'self'", "object-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"] {
                assert!(policy.split("; ").any(|found| found == piece), "{policy}");
            }
            for (name, value) in [
                ("x-content-type-options", "nosniff"),
                ("x-frame-options", "DENY"),
                ("cache-control", "no-cache"),
                ("cross-origin-opener-policy", "same-origin"),
                ("cross-origin-resource-policy", "same-origin"),
                ("referrer-policy", "no-referrer"),
            ] {
                assert_eq!(answer.header(name), Some(value), "{path}");
            }
            let tag = answer.header("etag").unwrap();
            let again = client.get(path, &[("if-none-match", tag)]).await;
            assert_eq!((again.status, &*again.body), (304, ""), "{path}");
            assert_eq!(again.header("content-security-policy"), Some(policy));
        }
        let packed = client.get("/app/team/a%20b.js", &[("accept-encoding", "gzip")]).await;
        assert_eq!(packed.header("content-encoding"), Some("gzip"));
        for (path, to) in [("/app", "/app/"), ("/app/team", "/app/team/")] {
            let answer = client.get(path, &[]).await;
            assert_eq!((answer.status, answer.header("location")), (308, Some(to)));
        }
        client.post("/app/", &[], &json!({})).await.refused(405, 1004);
        client.start(&request("HEAD", "/app/", &[("connection", "close")], b"")).await;
        let head = client.read_until("\r\n\r\n").await;
        assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"), "no body: {head}");
    }

    async fn nothing_else_is_served() {
        let place = directory();
        let app = serving(place.path()).await;
        // What appears later is not served either: no request reaches the file system.
        std::fs::write(place.path().join("app/late.html"), "canary").unwrap();
        symlink(place.path().join("secret.txt"), place.path().join("app/late-link.txt")).unwrap();
        let mut client = app.client().await;
        let ways_up = ["..", "%2e%2e", "%2E.", "..%2f", "..%5c", "..\\", "....//", "%252e%252e", ".%00.", "..;", "\u{2025}"];
        for up in ways_up {
            for rest in ["secret.txt", "app/.env", "app/index.html"] {
                for prefix in ["/app/", "/app/team/", "/app//"] {
                    is_missing(&mut app.client().await, &format!("{prefix}{up}/{rest}")).await;
                }
            }
        }
        for path in [
            "/app/.env", "/app/%2eenv", "/app/.git/config", "/app/.git/", "/app/bare/", "/app/bare", "/app/none.html",
            "/app/team/index.html/", "/app/INDEX.HTML", "/app/index.html%00", "/app/%ff", "/app//index.html", "/app/./index.html",
            "/app/late.html", "/app/late-link.txt", "/app//etc/passwd", "/app/%2fetc%2fpasswd", "/App/", "/app/team//",
        ] {
            is_missing(&mut client, path).await;
        }
    }

    async fn without_the_setting_there_is_nothing(app) {
        let mut client = app.client().await;
        for path in ["/app", "/app/", "/app/index.html"] {
            client.get(path, &[]).await.refused(404, 1004);
        }
    }

    /// While a page is edited, it is shown as it is.
    async fn in_development_a_change_shows_at_once() {
        let place = directory();
        let path = place.path().join("app");
        let given = [("development.enabled", "true"), ("pages.directory", path.to_str().unwrap())];
        let app = TestApp::with(settings(&given)).await;
        let mut client = app.client().await;
        assert!(client.get("/app/", &[]).await.body.contains("Front"));
        std::fs::write(path.join("index.html"), "Changed").unwrap();
        assert_eq!(client.get("/app/", &[]).await.body, "Changed");
        symlink(place.path().join("secret.txt"), path.join("link.txt")).unwrap();
        let answer = client.get("/app/link.txt", &[]).await;
        assert_eq!((answer.status, answer.code()), (500, 1005));
        assert!(!answer.body.contains("canary") && !answer.body.contains("link.txt"), "{answer:?}");
        std::fs::remove_dir_all(&path).unwrap();
        client.get("/app/", &[]).await.refused(500, 1005);
    }

    /// In production a sign-in returns to a page of the directory only if there is one.
    async fn a_sign_in_returns_to_a_page_of_the_directory() {
        let place = directory();
        let (app, without) = (serving(place.path()).await, TestApp::production().await);
        let (own, other) = ("https://desk.example.com", "https://other.example.com");
        let url = |address: &str| format!("/api/auth/oauth2/url?redirect_uri={}", encoded(address));
        for page in ["/app/", "/app/team/?tab=1", "/app/index.html"] {
            let address = format!("{own}{page}");
            assert_eq!(app.client().await.get(&url(&address), &[]).await.data()["redirect_uri"], json!(address));
            without.client().await.get(&url(&address), &[]).await.refused(400, 1002);
        }
        let hostile = ["/app", "/apps/", "/app//", "/app/../api/", "/app/%2e%2e/", "/APP/", "/app/?code=1", "/app/#x", "/x/app/"];
        for address in hostile.map(|page| format!("{own}{page}")).into_iter().chain([format!("{other}/app/")]) {
            app.client().await.get(&url(&address), &[]).await.refused(400, 1002);
        }
    }
}

#[test]
fn a_directory_that_cannot_be_served_is_reported() {
    let place = directory();
    let path = place.path().join("app");
    let check = |path: &Path| checked(place.path(), &[("pages.directory", path.to_str().unwrap())]);
    assert!(check(&path).0);
    symlink("../secret.txt", path.join("link.txt")).unwrap();
    let (valid, text) = check(&path);
    assert!(
        !valid && text.contains("pages.directory") && text.contains("link.txt is a link, but not to a file in"),
        "{text}"
    );
    let (valid, text) = check(&place.path().join("none"));
    assert!(!valid && text.contains("none cannot be read: No such file"), "{text}");
}

#[test]
fn a_directory_that_others_can_change_is_reported_at_the_check_and_at_the_start() {
    let place = directory();
    let path = place.path().join("app");
    let check = || checked(place.path(), &[("pages.directory", path.to_str().unwrap())]);
    let warning = "every user of this machine can change ";
    let (valid, text) = check();
    assert!(valid && !text.contains(warning), "{text}");
    // No file is in it directly, but who can change it can replace the directory with the files.
    std::fs::create_dir_all(path.join("outer/inner")).unwrap();
    std::fs::write(path.join("outer/inner/index.html"), "<!doctype html><p>Inner").unwrap();
    std::fs::set_permissions(path.join("outer"), std::fs::Permissions::from_mode(0o777)).unwrap();
    let (valid, text) = check();
    assert!(valid && text.contains(warning) && text.contains("run: chmod -R o-w "), "{text}");
    let mut command = binary();
    command.args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"]).arg(place.path().join("data"));
    command.env("DESKPASS_PAGES__DIRECTORY", &path);
    let (_, log) = Process::spawn(command).terminate();
    assert!(log.contains(warning), "{log}");
}

#[test]
fn the_doctor_counts_the_files_and_warns_if_others_can_change_them() {
    let place = directory();
    let path = place.path().join("app");
    let mut patient = crate::cli_doctor::DoctorFixture::new();
    patient.set("pages.directory", path.to_str().unwrap());
    let [english, chinese] = patient.both();
    english.wrong(&[]);
    english.line("✓ own pages: 6 files, served at https://desk.example.com/app/");
    chinese.line("✓ 自有页面：6 个文件，访问地址 https://desk.example.com/app/");
    std::fs::set_permissions(path.join("team"), std::fs::Permissions::from_mode(0o777)).unwrap();
    let [english, chinese] = patient.both();
    english.wrong(&[]);
    english.below("! own pages: every user of this machine can change ", &["chmod -R o-w ", "app"]);
    chinese.below("! 自有页面：本机所有用户都可以修改 ", &["chmod -R o-w "]);
    symlink("../secret.txt", path.join("link.txt")).unwrap();
    let [english, chinese] = patient.both();
    english.wrong(&["own pages"]);
    chinese.wrong(&["自有页面"]);
}
