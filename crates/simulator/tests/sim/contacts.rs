//! The address book and the app.

use deskpass_simulator::Domains;
use serde_json::json;

use crate::harness::Sim;

#[tokio::test]
async fn members_have_a_name_a_department_and_a_status() {
    let sim = Sim::start().await;
    for (id, name, department, status) in [
        ("admin01", "Ada Admin", "IT", 1),
        ("agent01", "Arno Agent", "IT Service Desk", 1),
        ("user01", "Uma User", "Sales", 1),
        ("supervisor01", "Sven Supervisor", "IT Service Desk", 1),
        ("security01", "Selma Security", "Security", 1),
        ("norole01", "Nora Norole", "Finance", 1),
        ("left01", "Leo Left", "Sales", 5),
    ] {
        let user = sim.call("user/get", &[("userid", id)]).await.json();
        assert_eq!((&user["errcode"], &user["userid"]), (&0.into(), &id.into()));
        assert_eq!((&user["name"], &user["status"]), (&name.into(), &status.into()), "{user}");
        assert_eq!(user.get("avatar").is_some(), id == "admin01");
        assert!(user.get("mobile").is_none() && user.get("email").is_none() && user.get("gender").is_none());
        let number = user["department"][0].to_string();
        assert_eq!(user["main_department"].to_string(), number);
        let found = sim.call("department/get", &[("id", &number)]).await.json();
        assert_eq!(found["department"]["name"], department);
    }
}

#[tokio::test]
async fn ids_of_the_own_corporation_do_not_care_about_case() {
    let sim = Sim::start().await;
    assert_eq!(sim.call("user/get", &[("userid", "USER01")]).await.json()["userid"], "user01");
}

#[tokio::test]
async fn invisible_members_cannot_be_read() {
    let sim = Sim::start().await;
    for (id, errcode) in
        [("nobody", 60111), ("outsider01", 60111), ("wwpartner/partner01", 60111), ("hidden01", 60011), ("", 41009)]
    {
        let answer = sim.call("user/get", &[("userid", id)]).await;
        assert_eq!(answer.errcode(), errcode, "{id}");
        assert_eq!((answer.json().get("name"), &answer.json()["department"]), (None, &json!([])));
    }
}

#[tokio::test]
async fn departments_form_a_tree() {
    let sim = Sim::start().await;
    let names = async |pairs: &[(&str, &str)]| {
        let list = sim.call("department/list", pairs).await.json();
        let names = list["department"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(
        names(&[]).await,
        ["Deskpass", "IT", "IT Service Desk", "Sales", "Security", "Finance", "IT Service Desk"]
    );
    assert_eq!(names(&[("id", "1")]).await.len(), 7);
    assert_eq!(names(&[("id", "2")]).await, ["IT", "IT Service Desk"]);
    assert_eq!(names(&[("id", "4")]).await, ["Sales"]);
    for api in ["department/list", "department/get"] {
        assert_eq!(sim.call(api, &[("id", "99")]).await.errcode(), 60003);
        assert_eq!(sim.call(api, &[("id", "x")]).await.errcode(), 40058);
    }
    assert_eq!(sim.call("department/get", &[]).await.errcode(), 40058);
}

#[tokio::test]
async fn departments_can_be_listed_without_names() {
    let sim = Sim::start().await;
    let list = sim.call("department/simplelist", &[("id", "2")]).await.json();
    let order = |id: u32| 100_000_000 - id;
    assert_eq!(
        list["department_id"],
        json!([{ "id": 2, "parentid": 1, "order": order(2) }, { "id": 3, "parentid": 2, "order": order(3) }])
    );
    assert_eq!(sim.call("department/simplelist", &[]).await.json()["department_id"].as_array().unwrap().len(), 7);
    let unknown = sim.call("department/simplelist", &[("id", "99")]).await;
    assert_eq!((unknown.errcode(), &unknown.json()["department_id"]), (60003, &json!([])));
}

#[tokio::test]
async fn members_can_be_listed_by_department() {
    let sim = Sim::start().await;
    for api in ["user/list", "user/simplelist"] {
        let ids = async |pairs: &[(&str, &str)]| {
            let list = sim.call(api, pairs).await.json();
            let users = list["userlist"].as_array().unwrap().iter();
            users.map(|user| user["userid"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(ids(&[("department_id", "2")]).await, ["admin01"]);
        let below = [("department_id", "2"), ("fetch_child", "1")];
        assert_eq!(ids(&below).await, ["admin01", "agent01", "supervisor01"]);
        assert_eq!(ids(&[("department_id", "4")]).await, ["user01", "left01"]);
        // The other member of this department is outside the app's range.
        assert_eq!(ids(&[("department_id", "6")]).await, ["norole01"]);
        for (department, errcode) in [("99", 60003), ("x", 40058), ("", 40058)] {
            let answer = sim.call(api, &[("department_id", department)]).await;
            assert_eq!((answer.errcode(), &answer.json()["userlist"]), (errcode, &json!([])), "{department}");
        }
    }
    let list = sim.call("user/list", &[("department_id", "4")]).await.json();
    assert_eq!((&list["userlist"][0]["status"], &list["userlist"][1]["status"]), (&1.into(), &5.into()));
    let list = sim.call("user/simplelist", &[("department_id", "4")]).await.json();
    assert_eq!(list["userlist"][0], json!({ "userid": "user01", "name": "Uma User", "department": [4] }));
}

#[tokio::test]
async fn the_addresses_of_callbacks_are_known() {
    let sim = Sim::start().await;
    assert_eq!(sim.call("getcallbackip", &[]).await.json()["ip_list"], json!(["127.0.0.1", "::1"]));
}

#[tokio::test]
async fn the_app_reports_its_settings() {
    for (domains, first) in [
        (Domains::Loopback, "localhost"),
        (Domains::Listed(vec!["desk.example.com:8443".to_owned()]), "desk.example.com:8443"),
        (Domains::LoopbackAnd(vec!["desk.example.com".to_owned()]), "desk.example.com"),
    ] {
        let sim = Sim::with(domains, "").await;
        let app = sim.call("agent/get", &[("agentid", "1000002")]).await.json();
        assert_eq!((&app["agentid"], &app["close"]), (&1_000_002.into(), &0.into()));
        assert_eq!(app["redirect_domain"], first);
        for (agent, errcode) in [("1000003", 301_002), ("x", 40056), ("", 41011)] {
            assert_eq!(sim.call("agent/get", &[("agentid", agent)]).await.errcode(), errcode, "{agent}");
        }
    }
}

#[tokio::test]
async fn members_of_a_connected_corporation_have_their_own_call() {
    let sim = Sim::start().await;
    let user = sim.post("linkedcorp/user/get", &json!({ "userid": "wwpartner/partner01" })).await.json();
    assert_eq!((&user["errcode"], &user["user_info"]["name"]), (&0.into(), &"Petra Partner".into()));
    assert_eq!(
        (&user["user_info"]["corpid"], &user["user_info"]["userid"]),
        (&"wwpartner".into(), &"partner01".into())
    );
    for (body, errcode) in [
        (json!({ "userid": "wwpartner/PARTNER01" }), 60111),
        (json!({ "userid": "user01" }), 60111),
        (json!({ "userid": "" }), 41009),
        (json!({}), 41009),
        (json!("not an object"), 41009),
    ] {
        assert_eq!(sim.post("linkedcorp/user/get", &body).await.errcode(), errcode, "{body}");
    }
    let token = sim.token().await;
    let path = format!("/cgi-bin/linkedcorp/user/get?access_token={token}");
    assert_eq!(sim.send("POST", &path, "{not json").await.errcode(), 40058);
}

#[tokio::test]
async fn addresses_outside_the_list_are_refused() {
    let sim = Sim::start().await;
    assert_eq!(sim.send("PUT", "/switches", r#"{"trusted_ips":["192.0.2.1"]}"#).await.status, 200);
    // The token is still issued: only the calls that use it are refused.
    let answer = sim.call("department/list", &[]).await;
    assert_eq!(answer.errcode(), 60020);
    assert!(answer.json()["errmsg"].as_str().unwrap().contains("from ip: 127.0.0.1,"), "{answer:?}");
    let code = sim.code("user01").await;
    assert_eq!(sim.call("auth/getuserinfo", &[("code", &code)]).await.errcode(), 60020);
    sim.send("PUT", "/switches", r#"{"trusted_ips":["192.0.2.1","127.0.0.1"]}"#).await;
    assert_eq!(sim.call("auth/getuserinfo", &[("code", &code)]).await.errcode(), 0);
}
