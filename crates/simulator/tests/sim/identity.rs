//! The exchange of a code for a user, with both field names.

use serde_json::json;

use crate::harness::{Sim, desktop};

#[tokio::test]
async fn a_code_identifies_the_member() {
    let sim = Sim::start().await;
    for id in ["user01", "left01", "hidden01", "wwpartner/partner01"] {
        let code = sim.code(id).await;
        let said = sim.call("auth/getuserinfo", &[("code", &code)]).await.json();
        assert_eq!(said, json!({ "errcode": 0, "errmsg": "ok", "userid": id }));
        let code = sim.code(id).await;
        let said = sim.call("user/getuserinfo", &[("code", &code)]).await.json();
        assert_eq!(said, json!({ "errcode": 0, "errmsg": "ok", "UserId": id, "DeviceId": "" }));
    }
}

#[tokio::test]
async fn an_outsider_has_no_userid() {
    let sim = Sim::start().await;
    let code = sim.code("outsider01").await;
    let said = sim.call("auth/getuserinfo", &[("code", &code)]).await.json();
    assert!(said["openid"].is_string() && said.get("userid").is_none(), "{said}");
    let code = sim.code("outsider01").await;
    let said = sim.call("user/getuserinfo", &[("code", &code)]).await.json();
    assert!(said["OpenId"].is_string() && said.get("UserId").is_none(), "{said}");
}

#[tokio::test]
async fn a_code_from_the_desktop_link_is_a_code() {
    let sim = Sim::start().await;
    let at = sim.get(&desktop(&[("sim_user", "agent01")])).await.location();
    let code = at.query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned();
    assert_eq!(sim.call("auth/getuserinfo", &[("code", &code)]).await.json()["userid"], "agent01");
}

#[tokio::test]
async fn a_member_has_an_openid() {
    let sim = Sim::start().await;
    let said = sim.post("user/convert_to_openid", &json!({ "userid": "USER01" })).await.json();
    assert_eq!(said, json!({ "errcode": 0, "errmsg": "ok", "openid": "oSimulated_user01" }));
    for (body, errcode) in [
        (json!({ "userid": "nobody" }), 60111),
        (json!({ "userid": "hidden01" }), 60011),
        (json!({ "userid": "" }), 41009),
        (json!([]), 41009),
    ] {
        assert_eq!(sim.post("user/convert_to_openid", &body).await.errcode(), errcode, "{body}");
    }
}

#[tokio::test]
async fn a_code_works_once() {
    let sim = Sim::start().await;
    let code = sim.code("user01").await;
    assert_eq!(sim.call("auth/getuserinfo", &[("code", &code)]).await.errcode(), 0);
    for api in ["auth/getuserinfo", "user/getuserinfo"] {
        assert_eq!(sim.call(api, &[("code", &code)]).await.errcode(), 40029);
        assert_eq!(sim.call(api, &[("code", "made-up")]).await.errcode(), 40029);
        assert_eq!(sim.call(api, &[]).await.errcode(), 41008);
        assert_eq!(sim.call(api, &[("code", "")]).await.errcode(), 41008);
    }
}

#[tokio::test]
async fn a_code_lasts_five_minutes() {
    let sim = Sim::start().await;
    let (early, late) = (sim.code("user01").await, sim.code("user01").await);
    sim.advance(299);
    assert_eq!(sim.call("auth/getuserinfo", &[("code", &early)]).await.errcode(), 0);
    sim.advance(1);
    assert_eq!(sim.call("auth/getuserinfo", &[("code", &late)]).await.errcode(), 40029);
}
