//! A dispatcher with a handler that panics.

use http_body_util::BodyExt as _;

use super::*;

/// A service in a directory of its own, with an additional route whose handler panics.
async fn panicking(directory: &std::path::Path) -> (Dispatcher, App) {
    let data = directory.display().to_string();
    let overrides = [("data", data), ("development.enabled", "true".into())];
    let overrides = overrides.map(|(key, value)| crate::config::Override { key, value, flag: "a test" }).into();
    let nothing = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
    let sources = crate::config::Sources { file: None, environment: Vec::new(), overrides, read: &nothing };
    let app = App::open(crate::config::load(&sources).unwrap()).await.unwrap();
    #[expect(clippy::panic, reason = "what the test is about")]
    let bang = || async { panic!("dpa_secret in a panic") as ApiError };
    let mut table = routes();
    table.push(Route::get("/api/bang", RequiredAccess::Anyone, bang).error_title("Bang", "砰"));
    (Dispatcher::with(&app, table), app)
}

#[tokio::test]
async fn a_panic_is_an_answer() {
    let directory = tempfile::tempdir().unwrap();
    let (dispatcher, app) = panicking(directory.path()).await;
    for _ in 0..3 {
        let request = Request::get("/api/bang").header("x-request-id", "r-1").body(Body::empty()).unwrap();
        let response = dispatcher.dispatch(&app, [127, 0, 0, 1].into(), request).await;
        assert_eq!(response.status(), 500);
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["code"], 1005);
        assert_eq!(body["request_id"], "r-1");
        let message = body["message"].as_str().unwrap();
        assert!(message.starts_with("Bang: unexpected error (ref "), "{message}");
        assert!(!message.contains("secret"));
    }
}
