//! Sends one command at a time to the driver, over a socket.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// The timeout for one response of the driver; a cold start of the browser takes longest.
const DRIVER_TIMEOUT: Duration = Duration::from_mins(1);

/// Talks to the driver on a blocking thread, so that a service in the same runtime goes on serving.
pub(super) async fn exchange_aside(
    address: String,
    method: &'static str,
    path: String,
    body: Option<Value>,
) -> Result<Value, String> {
    let talk = move || exchange(&address, method, &path, body.as_ref());
    tokio::task::spawn_blocking(talk).await.unwrap()
}

/// Sends one command to the driver; returns its result or its error. Blocking, since sessions end in a `Drop`.
pub(super) fn exchange(address: &str, method: &str, path: &str, body: Option<&Value>) -> Result<Value, String> {
    let body = body.map(Value::to_string).unwrap_or_default();
    let length = body.len();
    let request = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n{body}");
    let answer = converse(address, &request).map_err(|error| error.to_string())?;
    let value = serde_json::from_slice::<Value>(&answer).map_err(|error| error.to_string())?["value"].take();
    match value["error"].as_str() {
        Some(error) if value["stacktrace"].is_string() => Err(format!("{error}: {}", value["message"])),
        _ => Ok(value),
    }
}

/// Sends a request and reads the body of its response.
fn converse(address: &str, request: &str) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(DRIVER_TIMEOUT))?;
    stream.write_all(request.as_bytes())?;
    let mut answer = BufReader::new(stream);
    let (mut length, mut line) = (0, String::new());
    while answer.read_line(&mut line)? > 2 {
        // The driver puts no space after the colon.
        if let Some((_, value)) = line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("content-length")) {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    answer.read_exact(&mut body)?;
    Ok(body)
}
