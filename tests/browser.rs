//! Tests of the browser harness on a page of their own: a helper that does nothing would let every page pass.

use std::io::Cursor;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::harness::{Browser, Driver, Feature, Key, Network, Options, Viewport, full_picture};

/// As strict as the policy of the real pages: the helpers must work under it.
const POLICY: &str = "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";
const SCRIPT: &str = "window.ran = true;";
const GOOD: &str = "<!doctype html><html lang=en><meta name=viewport content='width=device-width'><title>Good</title>\
                    <main><h1>Good</h1><label for=field>Name</label> <input id=field> <button>Go</button></main>\
                    <script src=/script.js></script>";
const BAD: &str = "<!doctype html><html lang=en><title>Bad</title><link rel=stylesheet href=/faint.css>\
                   <main><h1>Bad</h1><input id=nameless><p>Who can read this?</p></main>";
const LONG: &str = "<!doctype html><html lang=en><meta name=viewport content='width=device-width'><title>Long</title>\
                    <link rel=stylesheet href=/long.css><h1>Long</h1>";

/// Responds to one request.
async fn serve(mut stream: TcpStream) -> std::io::Result<()> {
    let mut asked = vec![0; 4096];
    let read = stream.read(&mut asked).await?;
    let asked = String::from_utf8_lossy(&asked[..read]).into_owned();
    let (kind, body) = match asked.split(' ').nth(1).unwrap_or_default() {
        "/bad" => ("text/html", BAD),
        "/long" => ("text/html", LONG),
        "/faint.css" => ("text/css", "p { color: #ccc; background: #fff }"),
        "/long.css" => ("text/css", "body, h1 { margin: 0 } body { height: 3000px }"),
        "/script.js" => ("text/javascript", SCRIPT),
        "/moved" => {
            return stream
                .write_all(b"HTTP/1.1 302 Found\r\nlocation: /\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                .await;
        }
        _ => ("text/html", GOOD),
    };
    let length = body.len();
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close");
    stream.write_all(format!("{head}\r\ncontent-security-policy: {POLICY}\r\n\r\n{body}").as_bytes()).await
}

/// Starts the test site and returns its address.
async fn site() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream));
        }
    });
    address
}

async fn size(browser: &Browser) -> serde_json::Value {
    browser.script("return [innerWidth, innerHeight]", &[]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn axe_finds_what_keeps_people_out_and_nothing_else() {
    let (site, driver) = (site().await, Driver::shared());
    for viewport in Viewport::BOTH {
        let browser = driver.browser(Options::on(viewport)).await;
        browser.goto(&format!("{site}/")).await;
        // Twice in the same page, as in a test of a page with several states.
        browser.assert_accessible(viewport.word()).await;
        browser.assert_accessible(viewport.word()).await;
        browser.goto(&format!("{site}/bad")).await;
        let mut found = browser.axe().await;
        found.sort();
        assert_eq!(found.len(), 2, "{found:#?}");
        assert!(found[0].starts_with("critical label #nameless: "), "{found:#?}");
        assert!(found[1].starts_with("serious color-contrast p: "), "{found:#?}");
        assert_eq!(browser.console().await, [""; 0], "the page's policy blocks nothing");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_can_be_cut_and_slow() {
    let (site, driver) = (site().await, Driver::shared());
    let browser = driver.browser(Options::default()).await;
    browser.goto(&format!("{site}/")).await;
    let ask = "const begun = performance.now();
        return fetch('/script.js', { cache: 'no-store' }).then(() => performance.now() - begun, () => -1)";
    let ask = async || browser.script(ask, &[]).await.as_f64().unwrap();
    assert!(ask().await >= 0.0);
    browser.offline(true).await;
    assert!(ask().await < 0.0);
    assert_eq!(browser.script("return navigator.onLine", &[]).await, false);
    browser.offline(false).await;
    assert!(ask().await >= 0.0);
    browser.throttle(Network::Slow3g).await;
    assert!(ask().await >= 400.0);
    browser.throttle(Network::Fast).await;
    let mut tries = 0;
    // A busy machine is slow at times, a throttled network always.
    while ask().await >= 400.0 {
        tries += 1;
        assert!(tries < 20, "the line stays slow");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_can_be_seen_without_its_scripts() {
    let (site, driver) = (site().await, Driver::shared());
    let browser = driver.browser(Options::default()).await;
    for (patterns, ran) in [(&["*.js"][..], json!(null)), (&[], json!(true))] {
        browser.block(patterns).await;
        browser.goto(&format!("{site}/")).await;
        assert!(browser.first_paint().await > 0.0);
        assert_eq!(browser.script("return window.ran", &[]).await, ran);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_came_over_the_wire_is_counted() {
    let (site, driver) = (site().await, Driver::shared());
    let browser = driver.browser(Options { features: &[Feature::TransferLog], ..Options::default() }).await;
    browser.goto(&format!("{site}/long")).await;
    browser.goto(&format!("{site}/moved")).await;
    let came = browser.transferred().await;
    let addresses: Vec<_> = came.iter().map(|(address, _)| address.strip_prefix(&site).unwrap()).collect();
    assert_eq!(addresses, ["/moved", "/", "/script.js"]);
    let head = |kind: &str, body: &str| {
        let length = body.len();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close");
        format!("{head}\r\ncontent-security-policy: {POLICY}\r\n\r\n").len() + length
    };
    assert!(came[0].1 > 0, "{came:?}");
    let sizes = [head("text/html", GOOD), head("text/javascript", SCRIPT)];
    assert_eq!([came[1].1, came[2].1], sizes.map(|size| u64::try_from(size).unwrap()));
    assert_eq!(browser.transferred().await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_keyboard_goes_everywhere() {
    let (site, driver) = (site().await, Driver::shared());
    let browser = driver.browser(Options::default()).await;
    browser.goto(&format!("{site}/")).await;
    assert_eq!(browser.active().await, "body");
    for (key, there) in [(Key::Tab, "#field"), (Key::Tab, "button Go"), (Key::BackTab, "#field")] {
        browser.press(key).await;
        assert_eq!(browser.active().await, there);
    }
    browser.keys("Ada 张三").await;
    assert_eq!(browser.script("return document.activeElement.value", &[]).await, "Ada 张三");
    browser.script("window.heard = ''; addEventListener('keydown', ({ key }) => heard = key)", &[]).await;
    let named = [
        (Key::Enter, "Enter"),
        (Key::Space, " "),
        (Key::Escape, "Escape"),
        (Key::Left, "ArrowLeft"),
        (Key::Up, "ArrowUp"),
        (Key::Right, "ArrowRight"),
        (Key::Down, "ArrowDown"),
        (Key::Home, "Home"),
        (Key::End, "End"),
    ];
    for (key, name) in named {
        browser.press(key).await;
        assert_eq!(browser.script("return heard", &[]).await, name);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_page_copies_can_be_read() {
    let (site, driver) = (site().await, Driver::shared());
    let browser = driver.browser(Options::default()).await;
    browser.goto(&format!("{site}/")).await;
    browser.allow_clipboard().await;
    browser.script("return navigator.clipboard.writeText('k7m2-9xqd')", &[]).await;
    assert_eq!(browser.clipboard().await, "k7m2-9xqd");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_screen_has_a_size_and_a_picture_may_be_higher() {
    let (site, driver) = (site().await, Driver::shared());
    for (viewport, wide, scale) in [(Viewport::Phone, 390, 2), (Viewport::Desktop, 1280, 1)] {
        let browser = driver.browser(Options::on(viewport)).await;
        browser.goto(&format!("{site}/")).await;
        assert_eq!(size(&browser).await[0], wide);
        browser.set_size(320, 640).await;
        assert_eq!(size(&browser).await, json!([320, 640]));
        browser.goto(&format!("{site}/long")).await;
        let path = full_picture(&browser, &format!("long-{}", viewport.word())).await;
        let shown = png::Decoder::new(Cursor::new(std::fs::read(path).unwrap()));
        assert_eq!(shown.read_info().unwrap().info().height, 3000 * scale);
    }
}
