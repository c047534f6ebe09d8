//! How pages and their assets are served: in which language, in which encoding, and for how long they may be cached.

use crate::harness::{Client, Driver, Options, Response, TestApp, request, settings};

const PAGES: [&str; 9] =
    ["/", "/h5/", "/itagent/", "/itadmin/", "/scan/", "/continue/", "/approve/", "/verify/", "/api/docs"];

/// The language of a page, from its headers and its text.
fn language(answer: &Response) -> String {
    let text = answer.header("content-language").unwrap().to_owned();
    assert!(answer.body.contains(&format!("<html lang=\"{text}\">")), "{answer:?}");
    text
}

/// The address of the stylesheet of a page.
async fn stylesheet(client: &mut Client) -> String {
    let page = client.get("/", &[]).await.body;
    let link = page.split('"').find(|piece| piece.ends_with("/desk.css"));
    link.unwrap().to_owned()
}

/// The head of a response to HEAD, which has no body despite its content length.
async fn head(app: &TestApp, path: &str, headers: &[(&str, &str)]) -> String {
    let mut client = app.client().await;
    client.start(&request("HEAD", path, &[headers, &[("connection", "close")]].concat(), b"")).await;
    let answer = client.read_until("\r\n\r\n").await;
    assert!(answer.ends_with("\r\n\r\n"), "{path}: a body: {answer}");
    answer.to_ascii_lowercase()
}

#[tokio::test]
async fn a_page_comes_in_the_language_that_was_chosen_else_in_the_one_liked_best() {
    let app = TestApp::start().await;
    let mut client = app.client().await;
    for page in PAGES {
        let mut shown = async |headers: &[(&str, &str)]| language(&client.get(page, headers).await);
        assert_eq!(shown(&[]).await, "en");
        assert_eq!(shown(&[("accept-language", "zh-CN,zh;q=0.9,en;q=0.8")]).await, "zh-CN");
        let english = ("accept-language", "en");
        assert_eq!(shown(&[english, ("cookie", "deskpass_language=zh-CN")]).await, "zh-CN");
        assert_eq!(shown(&[english, ("cookie", "a=b; deskpass_language=zh-CN;c")]).await, "zh-CN");
        let chinese = ("accept-language", "zh");
        assert_eq!(shown(&[chinese, ("cookie", "deskpass_language=en")]).await, "en");
        for broken in ["", "deskpass_language", "deskpass_language=", "deskpass_language=fr", "deskpass_language=en%00"]
        {
            assert_eq!(shown(&[chinese, ("cookie", broken)]).await, "zh-CN", "{broken}");
        }
        for broken in
            ["xdeskpass_language=en", "deskpass_language=\"en\"", "deskpass_language=EN", "é=; deskpass_language"]
        {
            assert_eq!(shown(&[chinese, ("cookie", broken)]).await, "zh-CN", "{broken}");
        }
    }
    let app = TestApp::with(settings(&[("development.enabled", "true"), ("default_language", "zh")])).await;
    assert_eq!(language(&app.client().await.get("/", &[("accept-language", "fr")]).await), "zh-CN");
}

#[tokio::test]
async fn a_cached_page_is_revalidated_and_varies_by_its_headers() {
    let app = TestApp::start().await;
    let mut client = app.client().await;
    for page in PAGES {
        let answer = client.get(page, &[]).await;
        assert_eq!(answer.header("cache-control"), Some("no-cache"));
        assert_eq!(answer.header("vary"), Some("Accept-Language, Accept-Encoding, Cookie"));
        assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
        let policy = answer.header("content-security-policy").unwrap();
        for piece in ["default-src 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'"] {
            assert!(policy.split("; ").any(|found| found == piece), "{policy}");
        }
        assert_eq!(answer.header("x-frame-options"), Some("DENY"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        for left in ["[[", "]]", "{{", "}}"] {
            assert!(!answer.body.contains(left), "{page}: {left}");
        }
    }
}

/// A page that opens one of ours in a window has no access to it, and other origins must proxy our scripts to use them.
#[tokio::test]
async fn pages_of_other_origins_reach_neither_ours_nor_what_they_need() {
    let app = TestApp::start().await;
    let mut client = app.client().await;
    let alone = Some("same-origin");
    let reach = |answer: &Response| {
        let of = |name| answer.header(name).map(str::to_owned);
        (of("cross-origin-opener-policy"), of("cross-origin-resource-policy"))
    };
    for page in PAGES {
        let answer = client.get(page, &[]).await;
        assert_eq!(reach(&answer), (alone.map(str::to_owned), alone.map(str::to_owned)), "{page}");
    }
    let answer = client.get("/scan/", &[]).await;
    let again = client.get("/scan/", &[("if-none-match", answer.header("etag").unwrap())]).await;
    assert_eq!((again.status, reach(&again)), (304, reach(&answer)));
    for path in ["/assets/deskpass.js", &stylesheet(&mut client).await] {
        assert_eq!(reach(&client.get(path, &[]).await), (None, alone.map(str::to_owned)), "{path}");
    }
    // A redirect occurs in tabs that other pages may have opened.
    for path in ["/itadmin", "/api/auth/oauth2/callback"] {
        assert_eq!(reach(&client.get(path, &[]).await), (None, None), "{path}");
    }
}

#[tokio::test]
async fn every_form_of_a_page_is_known_by_a_tag_of_its_own() {
    let app = TestApp::start().await;
    let mut client = app.client().await;
    let forms: [&[(&str, &str)]; 4] = [
        &[],
        &[("accept-encoding", "gzip")],
        &[("accept-language", "zh")],
        &[("accept-language", "zh"), ("accept-encoding", "gzip")],
    ];
    let mut tags: Vec<String> = Vec::new();
    for form in forms {
        let answer = client.get("/scan/", form).await;
        let tag = answer.header("etag").unwrap().to_owned();
        for known in [tag.clone(), format!("W/{tag}"), format!("\"other\", {tag}"), "*".to_owned()] {
            let again = client.get("/scan/", &[form, &[("if-none-match", &known)]].concat()).await;
            assert_eq!((again.status, again.body.as_str()), (304, ""), "{known}");
            for name in ["etag", "vary", "cache-control", "content-language", "content-security-policy"] {
                assert_eq!(again.header(name), answer.header(name), "{name}");
            }
        }
        for other in tags.iter().map(String::as_str).chain(["", "\"", "W/", "etag", "\"x\""]) {
            let again = client.get("/scan/", &[form, &[("if-none-match", other)]].concat()).await;
            assert_eq!(again.status, 200, "{other}");
        }
        assert!(!tags.contains(&tag));
        tags.push(tag);
    }
}

#[tokio::test]
async fn a_file_is_packed_for_those_who_take_it() {
    let app = TestApp::start().await;
    let mut client = app.client().await;
    let sheet = stylesheet(&mut client).await;
    for path in ["/", "/assets/desk.css", "/assets/deskpass.js", &sheet] {
        let plain = client.get(path, &[]).await;
        assert_eq!(plain.header("content-encoding"), None);
        assert!(plain.header("vary").unwrap().contains("Accept-Encoding"));
        let length = |answer: &Response| answer.header("content-length").unwrap().parse::<usize>().unwrap();
        for wish in ["gzip", "gzip, deflate, br, zstd", "*", "br, gzip;q=0.1"] {
            let packed = client.get(path, &[("accept-encoding", wish)]).await;
            assert_eq!(packed.header("content-encoding"), Some("gzip"), "{path} {wish}");
            assert_eq!(packed.header("content-type"), plain.header("content-type"));
            assert!(length(&packed) < length(&plain) * 2 / 3, "{path}");
        }
        for wish in ["", "identity", "gzip;q=0", "gzip;q=0, *", "*;q=0", "br", "gzip;q=x", "gzipé"] {
            let answer = client.get(path, &[("accept-encoding", wish)]).await;
            assert_eq!(answer.header("content-encoding"), None, "{path} {wish}");
            assert_eq!((answer.status, &answer.body), (200, &plain.body), "{path} {wish}");
        }
    }
}

#[tokio::test]
async fn an_asset_may_be_kept_where_its_address_names_the_version() {
    let app = TestApp::start().await;
    let mut client = app.client().await;
    let sheet = stylesheet(&mut client).await;
    let kept = client.get(&sheet, &[]).await;
    assert_eq!(kept.header("cache-control"), Some("public, max-age=31536000, immutable"));
    for path in ["/assets/desk.css", "/assets/000000000000/desk.css", "/assets/x/desk.css", "/assets//desk.css"] {
        let answer = client.get(path, &[]).await;
        assert_eq!((answer.status, answer.header("cache-control")), (200, Some("no-cache")), "{path}");
        assert_eq!((&answer.body, answer.header("etag")), (&kept.body, kept.header("etag")), "{path}");
    }
    let again = client.get(&sheet, &[("if-none-match", kept.header("etag").unwrap())]).await;
    assert_eq!((again.status, again.header("cache-control")), (304, kept.header("cache-control")));
    for path in ["/assets/", "/assets/nothing.js", "/assets/x/y/desk.css", "/assets/x/", "/assets/..%2fscan.html"] {
        client.get(path, &[]).await.refused(404, 1004);
    }
    client.get(&sheet.replace("desk.css", "nothing.css"), &[]).await.refused(404, 1004);
}

/// A browser that goes to an unknown address gets a page; programs and scripts get the error in the envelope.
#[tokio::test]
async fn an_unknown_address_is_a_page_for_browsers_and_an_error_for_programs() {
    let app = TestApp::start().await;
    let mut client = app.client().await;
    let browser = ("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8");
    for path in [
        "/nothing",
        "/itagent/tickets",
        "/scan",
        "/h5/%3Cb%3E?x=dpt_secret",
        "/apis/x",
        "/favicon.ico",
        "/app/x",
        "/WW_verify_x.txt",
    ] {
        let answer = client.get(path, &[browser]).await;
        assert_eq!((answer.status, &*language(&answer)), (404, "en"), "{path}");
        assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
        assert_eq!(answer.header("etag"), None, "{path}");
        assert!(answer.header("content-security-policy").unwrap().contains("require-trusted-types-for 'script'"));
        assert_eq!(answer.header("x-frame-options"), Some("DENY"));
        assert!(!answer.body.contains("dpt_secret") && !answer.body.contains("tickets"), "{path}");
        let again = client.get(path, &[browser, ("if-none-match", "*"), ("accept-language", "zh")]).await;
        assert_eq!((again.status, &*language(&again)), (404, "zh-CN"), "{path}");
    }
    let packed = client.get("/nothing", &[browser, ("accept-encoding", "gzip")]).await;
    assert_eq!((packed.status, packed.header("content-encoding")), (404, Some("gzip")));
    for (path, accept) in [
        ("/nothing", "*/*"),
        ("/nothing", "application/json"),
        ("/nothing", "text/html;q=0"),
        ("/nothing", "application/json, text/html;q=0.1"),
        ("/nothing", ""),
        ("/api/nothing", "text/html"),
        ("/api", "text/html"),
        ("/api/auth/nothing", "text/html"),
        ("/assets/nothing.js", "text/html"),
    ] {
        client.get(path, &[("accept", accept)]).await.refused(404, 1004);
    }
    // Other methods, and other methods of a known address, are errors as before.
    for (method, path, status) in [("POST", "/nothing", 404), ("PUT", "/nothing", 404), ("POST", "/h5/", 405)] {
        client.send(&request(method, path, &[("accept", "text/html")], b"")).await.refused(status, 1004);
    }
    assert!(head(&app, "/nothing", &[("accept", "text/html")]).await.contains("content-type: application/json"));
}

#[tokio::test]
async fn a_head_request_gets_the_same_headers() {
    let app = TestApp::start().await;
    let mut client = app.client().await;
    for path in ["/", "/assets/desk.css", &stylesheet(&mut client).await] {
        for wish in ["identity", "gzip"] {
            let headers = [("accept-encoding", wish)];
            let (answer, seen) = (client.get(path, &headers).await, head(&app, path, &headers).await);
            assert!(seen.starts_with("http/1.1 200"), "{seen}");
            let names = ["etag", "content-length", "content-type", "cache-control", "vary", "content-encoding"];
            for (name, value) in names.iter().filter_map(|name| Some((name, answer.header(name)?))) {
                assert!(seen.contains(&format!("\r\n{name}: {}\r\n", value.to_ascii_lowercase())), "{name}: {seen}");
            }
        }
    }
}

/// Pages show all received data as text. If one of our scripts forgets to, the browser enforces it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_text_becomes_markup() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    let browser = driver.browser(Options::default()).await;
    for page in PAGES {
        browser.goto(&format!("http://{}{page}", app.address)).await;
        let tried = "try { document.body.innerHTML = '<b>x</b>'; return 'taken' } catch (error) { return error.name }";
        assert_eq!(browser.script(tried, &[]).await, "TypeError", "{page}");
    }
}
