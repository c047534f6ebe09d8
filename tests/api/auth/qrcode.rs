//! GET /api/auth/qrcode

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use url::Url;

use crate::harness::{TestApp, cookies};

/// The content of a QR code image, read by an independent decoder.
pub(crate) fn decode(png_base64: &str) -> String {
    let bytes = STANDARD.decode(png_base64).unwrap();
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    assert_eq!((reader.info().color_type, reader.info().bit_depth), (png::ColorType::Grayscale, png::BitDepth::One));
    let (side, line) = (reader.info().width as usize, reader.info().raw_row_length() - 1);
    let mut rows = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut rows).unwrap();
    let dark = |x: usize, y: usize| rows[y * line + x / 8] & (0x80 >> (x % 8)) == 0;
    // Four white modules on every side, as the standard requires.
    let first = (0..side).find(|at| dark(*at, *at)).unwrap();
    let module = (first..side).take_while(|at| dark(*at, first)).count() / 7;
    assert_eq!(first, 4 * module, "quiet zone");
    let picture = |x: usize, y: usize| if dark(x, y) { 0 } else { 255 };
    let mut image = rqrr::PreparedImage::prepare_from_greyscale(side, side, picture);
    let grids = image.detect_grids();
    assert_eq!(grids.len(), 1);
    grids[0].decode().unwrap().1
}

on_every_store! {
    async fn gives_a_ticket_and_a_picture_of_the_link(app) {
        let mut client = app.client().await;
        let code = client.qrcode().await;
        assert_eq!((&code["expires_in"], &code["expires_at"]), (&json!(180), &json!("2027-01-15T08:03:00Z")));
        assert!(code["ticket"].as_str().unwrap().starts_with("dpt_"));
        let link = code["qrcode_url"].as_str().unwrap();
        assert_eq!(decode(code["qrcode_png_base64"].as_str().unwrap()), link);
        let url = Url::parse(link).unwrap();
        assert_eq!((url.path(), url.fragment()), ("/sim/connect/oauth2/authorize", Some("wechat_redirect")));
        let pairs: Vec<_> = url.query_pairs().into_owned().collect();
        let names: Vec<_> = pairs.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["appid", "redirect_uri", "response_type", "scope", "state", "agentid"]);
        let values: Vec<_> = [0, 2, 3, 4, 5].map(|at: usize| pairs[at].1.as_str()).into();
        assert_eq!(values, ["wwdeskpass", "code", "snsapi_base", "auth_login", "1000002"]);
        let callback = format!("http://{}/api/auth/oauth2/callback?sid=dps_", app.address);
        assert!(pairs[1].1.starts_with(&callback), "{}", pairs[1].1);
    }

    async fn knows_its_client_by_name_by_page_or_takes_the_employees(app) {
        let mut client = app.client().await;
        for (query, referer, expected) in [
            ("?client=itadmin", "http://desk/h5/", "itadmin"),
            ("", "http://desk/itagent/inbox?a=b", "itagent"),
            ("", "http://desk/itagentx/", "h5"),
            ("", "nonsense", "h5"),
            ("?client=h5", "", "h5"),
        ] {
            let code = client.get(&format!("/api/auth/qrcode{query}"), &[("referer", referer)]).await.data();
            let confirm = client.scan_as(&code, "user01").await;
            assert_eq!(client.decide("request", &confirm).await.data()["client"], expected);
        }
        let wrong = client.get("/api/auth/qrcode?client=ITADMIN", &[]).await;
        assert_eq!(wrong.refused(400, 1002).json()["data"]["fields"]["client"], "must be one of h5, itagent, itadmin");
        client.get("/api/auth/qrcode?client=h5&client=h5", &[]).await.refused(400, 1002);
    }

    async fn leaves_traces_only_for_who_really_asks(app) {
        let mut client = app.client().await;
        for header in [("sec-purpose", "prefetch;prerender"), ("purpose", "prefetch"), ("x-moz", "prefetch")] {
            client.get("/api/auth/qrcode", &[header]).await.refused(400, 1002);
        }
        let head = crate::harness::request("HEAD", "/api/auth/qrcode", &[], b"");
        let mut other = app.client().await;
        other.start(&head).await;
        let text = other.read_until("\r\n\r\n").await;
        assert!(text.starts_with("HTTP/1.1 405") && text.contains("allow: GET"), "{text}");
    }

    async fn a_page_is_remembered_by_a_cookie_that_all_its_tabs_share(app) {
        let mut client = app.client().await;
        let page = ("sec-fetch-site", "same-origin");
        let first = client.get("/api/auth/qrcode", &[page]).await;
        let cookie = cookies(&first);
        assert!(cookie.starts_with("deskpass_browser=dpw_"), "{cookie}");
        let set = first.header("set-cookie").unwrap();
        assert!(set.ends_with("; Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax"), "{set}");
        let second = client.get("/api/auth/qrcode", &[page, ("cookie", &cookie)]).await;
        assert_eq!(cookies(&second), cookie);
        for answer in [first, second] {
            let path = format!("/api/auth/scan/status?ticket={}", answer.data()["ticket"].as_str().unwrap());
            assert_eq!(client.get(&path, &[page, ("cookie", &cookie)]).await.data()["status"], "waiting");
            // The ticket is worthless without the browser that requested it.
            assert_eq!(client.get(&path, &[]).await.data()["status"], "expired");
            let other = "deskpass_browser=dpw_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
            assert_eq!(client.get(&path, &[("cookie", other)]).await.data()["status"], "expired");
        }
        assert_eq!(client.get("/api/auth/qrcode", &[("sec-fetch-site", "cross-site")]).await.header("set-cookie"), None);
    }
}

on_one_store! {
    async fn in_production_the_cookie_is_for_this_host_alone_and_encrypted_ways() {
        let app = TestApp::production().await;
        let answer = app.client().await.get("/api/auth/qrcode", &[("sec-fetch-site", "same-origin")]).await;
        let set = answer.header("set-cookie").unwrap();
        assert!(set.starts_with("__Host-deskpass_browser=dpw_") && set.ends_with("; SameSite=Lax; Secure"), "{set}");
        let link = answer.data()["qrcode_url"].as_str().unwrap().to_owned();
        assert!(link.starts_with("https://open.weixin.qq.com/connect/oauth2/authorize?appid=wwdeskpass&redirect_uri=https%3A%2F%2Fdesk.example.com%2Fapi%2Fauth%2Foauth2%2Fcallback%3Fsid%3Ddps_"), "{link}");
        assert!(link.ends_with("&response_type=code&scope=snsapi_base&state=auth_login#wechat_redirect"), "{link}");
    }
}
