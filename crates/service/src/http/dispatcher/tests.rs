//! A dispatcher with handlers that panic or refuse.

use http_body_util::BodyExt as _;

use super::*;

/// A service in a directory of its own, with additional routes: a handler panics, and one finds the password queue full.
async fn with_test_routes(directory: &std::path::Path) -> (Dispatcher, App) {
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
    let busy = || async { ApiError::from(Refusal::Busy) };
    table.push(Route::get("/api/busy", RequiredAccess::Anyone, busy));
    (Dispatcher::with(&app, table), app)
}

#[tokio::test]
async fn a_panic_is_an_answer() {
    let directory = tempfile::tempdir().unwrap();
    let (dispatcher, app) = with_test_routes(directory.path()).await;
    for _ in 0..3 {
        let request = Request::get("/api/bang").header("x-request-id", "r-1").body(Body::empty()).unwrap();
        let response = dispatcher.dispatch(&app, [127, 0, 0, 1].into(), &ConnectionState::new(), request).await;
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

#[tokio::test]
async fn the_refusal_of_a_full_password_queue_is_held_back_within_limits() {
    let directory = tempfile::tempdir().unwrap();
    let (dispatcher, app) = with_test_routes(directory.path()).await;
    let peer = IpAddr::from([127, 0, 0, 1]);
    // The handler answers at once: a response that is not there after the first poll is held.
    let answered_at_once = || {
        let request = Request::get("/api/busy").body(Body::empty()).unwrap();
        let connection = ConnectionState::new();
        let response = dispatcher.dispatch(&app, peer, &connection, request).now_or_never();
        response.map(|response| response.status().as_u16())
    };
    assert_eq!(answered_at_once(), None);
    let places: Vec<_> = std::iter::from_fn(|| app.held_refusal_limiter.acquire(peer)).collect();
    assert_eq!(places.len(), app.settings.server.max_connections / 16, "the held request has returned its place");
    assert_eq!(answered_at_once(), Some(429), "there is no place");
    drop(places);
    app.start_draining();
    assert_eq!(answered_at_once(), Some(429), "the service stops");
}
