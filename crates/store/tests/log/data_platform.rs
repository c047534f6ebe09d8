//! The platform that the data belongs to: the first start records it, and nothing changes it.

use deskpass_store::{DataPlatform, Mode, PlatformMismatch, read_data_platform};
use tokio::task::JoinSet;

use crate::log::fixture::{Fixture, on_every_store};

fn wecom() -> DataPlatform {
    DataPlatform::new("wecom", "userid")
}

fn feishu(person_id: &str) -> DataPlatform {
    DataPlatform::new("feishu", person_id)
}

async fn recorded(fixture: &Fixture) -> Option<DataPlatform> {
    read_data_platform(&fixture.location, Mode::Development).await.unwrap()
}

on_every_store! {
    async fn the_first_start_records_the_platform(fixture: &mut Fixture) {
        assert_eq!(recorded(fixture).await, None);
        assert_eq!(fixture.store().claim_platform(feishu("open_id")).await.unwrap(), feishu("open_id"));
        assert_eq!(recorded(fixture).await, Some(feishu("open_id")), "also next to the service");
        fixture.reopen().await;
        for other in [feishu("open_id"), feishu("user_id"), wecom()] {
            assert_eq!(fixture.node(1).claim_platform(other).await.unwrap(), feishu("open_id"));
        }
    }
}

on_every_store! {
    async fn of_nodes_that_start_at_once_the_first_decides_for_all(fixture: &Fixture) {
        let mut starting = JoinSet::new();
        for number in 0..8 {
            let (node, own) = (fixture.node(number), DataPlatform::new(&format!("platform{number}"), "userid"));
            starting.spawn(async move { node.claim_platform(own).await.unwrap() });
        }
        let answers = starting.join_all().await;
        assert_eq!(answers.len(), 8);
        let decided = recorded(fixture).await.unwrap();
        assert!(answers.iter().all(|answer| *answer == decided), "{decided:?}: {answers:?}");
    }
}

on_every_store! {
    async fn data_with_people_from_before_belongs_to_wecom(fixture: &mut Fixture) {
        fixture.employ("ww", "user01", "").await;
        fixture.undo_since("0015").await;
        assert_eq!(recorded(fixture).await, Some(wecom()), "before the migration");
        fixture.reopen().await;
        assert_eq!(recorded(fixture).await, Some(wecom()));
        assert_eq!(fixture.store().claim_platform(feishu("user_id")).await.unwrap(), wecom());
    }
}

on_every_store! {
    async fn data_without_people_from_before_belongs_to_the_next_start(fixture: &mut Fixture) {
        fixture.write(0..3).await;
        fixture.undo_since("0015").await;
        assert_eq!(recorded(fixture).await, None);
        fixture.reopen().await;
        assert_eq!(fixture.store().claim_platform(feishu("user_id")).await.unwrap(), feishu("user_id"));
    }
}

#[test]
fn a_platform_fits_itself_alone() {
    assert_eq!(wecom().require(&wecom()), Ok(()));
    let kind = wecom().require(&feishu("user_id")).unwrap_err();
    assert_eq!(kind.fitting_setting(), r#"platform.kind = "wecom""#);
    let text = r#"its data belongs to platform.kind = "wecom", and the settings have platform.kind = "feishu""#;
    assert!(kind.to_string().starts_with(text), "{kind}");
    let person_id = feishu("user_id").require(&feishu("open_id")).unwrap_err();
    assert!(matches!(person_id, PlatformMismatch::PersonId { .. }), "{person_id}");
    let application = feishu("open_id:a").require(&feishu("open_id:b")).unwrap_err();
    assert!(matches!(application, PlatformMismatch::Application { .. }), "{application}");
    assert_eq!(application.fitting_setting(), "platform.client_id = \"a\"");
    assert!(feishu("open_id:a").require(&feishu("open_id:a")).is_ok());
    assert_eq!(person_id.fitting_setting(), r#"platform.user_id = "user_id""#);
}
