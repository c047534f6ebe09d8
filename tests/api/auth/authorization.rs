//! The Authorization header in many spellings: each spelling that logout accepts has ended the token.

use crate::harness::request;

/// Forty ways to write the header; `T` stands for the token.
const SPELLINGS: [&str; 40] = [
    "Bearer T",
    "bearer T",
    "BEARER T",
    "bEaReR T",
    "Bearer  T",
    "Bearer    T",
    " Bearer T",
    "Bearer T ",
    "\tBearer T",
    "Bearer T\t",
    "Bearer\tT",
    "Bearer \tT",
    "Bearer\t T",
    "BearerT",
    "Bearer",
    "Bearer ",
    "",
    " ",
    "T",
    "Basic T",
    "Token T",
    "Bearer: T",
    "Bearer=T",
    "Bearer \"T\"",
    "Bearer 'T'",
    "Bearer <T>",
    "Bearer T,",
    "Bearer T, Bearer T",
    "Bearer T;",
    "Bearer T T",
    "Bearer token=T",
    "Bearer Bearer T",
    "Bearer T=",
    "Bearer T%20",
    "Bearer %20T",
    "Bearer,T",
    "Digest T",
    "Bearer\u{a0}T",
    "Bearer T\u{200b}",
    "Ｂearer T",
];

on_every_store! {
    async fn a_logout_that_says_success_has_ended_the_token(app) {
        let mut client = app.client().await;
        let mut accepted = Vec::new();
        for spelling in SPELLINGS {
            let token = client.sign_in("user01").await;
            let header = spelling.replace('T', &token);
            let me = client.get("/api/auth/me", &[("authorization", &header)]).await;
            let logout = client.send(&request("POST", "/api/auth/logout", &[("authorization", &header)], b"")).await;
            assert_eq!(me.status, logout.status, "one extractor: {spelling:?} is read the same everywhere");
            let valid = client.is_valid(&token).await;
            match logout.status {
                200 => assert!(!valid, "{spelling:?} said success"),
                401 => assert!(valid, "{spelling:?} was refused, so nothing may have changed"),
                other => panic!("{spelling:?} gave {other}"),
            }
            if logout.status == 200 {
                accepted.push(spelling);
            }
        }
        // Case and spaces as in RFC 9110, white space around the value as in RFC 9112; nothing else is accepted.
        let expected = ["Bearer T", "bearer T", "BEARER T", "bEaReR T", "Bearer  T", "Bearer    T", " Bearer T", "Bearer T ", "\tBearer T", "Bearer T\t"];
        assert_eq!(accepted, expected);
    }
}

on_one_store! {
    async fn two_headers_are_refused_and_change_nothing(app) {
        let mut client = app.client().await;
        let (one, two) = (client.sign_in("user01").await, client.sign_in("user01").await);
        let (first, second) = (format!("Bearer {one}"), format!("Bearer {two}"));
        for pair in [[&first, &second], [&first, &first]] {
            let headers = pair.map(|value| ("authorization", value.as_str()));
            let answer = client.send(&request("POST", "/api/auth/logout", &headers, b"")).await;
            assert_eq!(answer.refused(400, 1002).json()["data"]["fields"]["authorization"], "must be sent once");
            client.get("/api/auth/me", &headers).await.refused(400, 1002);
        }
        assert!(client.is_valid(&one).await && client.is_valid(&two).await);
    }

    async fn a_very_long_header_is_refused(app) {
        let mut client = app.client().await;
        let long = format!("Bearer {}", "x".repeat(12_000));
        assert_eq!(client.get("/api/auth/me", &[("authorization", &long)]).await.refused(401, 1001).reason(), "malformed");
        let longer = format!("Bearer {}", "x".repeat(40_000));
        assert_eq!(client.get("/api/auth/me", &[("authorization", &longer)]).await.status, 431);
    }
}
