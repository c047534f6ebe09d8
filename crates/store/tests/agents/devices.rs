//! One-time-password devices and recovery codes.

use deskpass_core::{EmployeeKey, TotpStep};
use deskpass_store::{AttemptKind, ChangeAuthor, NoticeSubject};

use crate::agents::fixture::{Fixture, agent01, at, binding, digest, entry, notice, on_every_store, pending, used};

fn step(number: i64) -> TotpStep {
    TotpStep::from_number(number)
}

on_every_store! {
    async fn only_the_device_that_waits_is_bound_and_only_once(fixture: &Fixture) {
        let store = fixture.store();
        assert!(!store.bind_device(ChangeAuthor::NoSession, binding("sealed", &[])).await.unwrap(), "none waits");
        assert!(store.begin_device(ChangeAuthor::NoSession, agent01(), pending("first", 100), at(0)).await.unwrap());
        assert!(store.begin_device(ChangeAuthor::NoSession, agent01(), pending("sealed", 50), at(0)).await.unwrap());
        assert!(!store.bind_device(ChangeAuthor::NoSession, binding("first", &[])).await.unwrap(), "another one waits");
        assert!(!store.bind_device(ChangeAuthor::NoSession, binding("sealed", &[])).await.unwrap(), "it has waited too long");
        fixture.bind("sealed", &[digest("a"), digest("b")]).await;
        let agent = store.agent(agent01()).await.unwrap().unwrap();
        let device = agent.device.unwrap();
        assert_eq!((&*device.sealed, device.bound_at, device.step), ("sealed", at(50), step(10)));
        assert!(device.proven && agent.pending.is_none() && agent.recovery_codes == 2);
        assert!(!store.begin_device(ChangeAuthor::NoSession, agent01(), pending("other", 100), at(0)).await.unwrap(), "one is bound");
        assert!(!store.bind_device(ChangeAuthor::NoSession, binding("sealed", &[])).await.unwrap());
    }
}

on_every_store! {
    async fn a_step_counts_once_and_none_before_it(fixture: &Fixture) {
        let store = fixture.store();
        fixture.bind("sealed", &[]).await;
        for (sealed, number, good) in
            [("sealed", 10, false), ("other", 11, false), ("sealed", 12, true), ("sealed", 12, false), ("sealed", 11, false)]
        {
            let used = store.use_totp_step(ChangeAuthor::NoSession, used(sealed, number)).await.unwrap();
            assert_eq!(used, good, "{sealed} {number}");
        }
        let device = store.agent(agent01()).await.unwrap().unwrap().device.unwrap();
        assert_eq!((device.step, device.verified_at), (step(12), Some(at(60))));
    }
}

on_every_store! {
    async fn a_recovery_code_counts_once_and_only_with_its_device(fixture: &Fixture) {
        let store = fixture.store();
        fixture.bind("sealed", &[digest("a"), digest("b")]).await;
        for (code, good) in [("c", false), ("a", true), ("a", false)] {
            assert_eq!(store.use_recovery_code(ChangeAuthor::NoSession, agent01(), digest(code), at(70)).await.unwrap(), good, "{code}");
        }
        let agent = store.agent(agent01()).await.unwrap().unwrap();
        assert_eq!((agent.recovery_codes, agent.device.unwrap().verified_at), (1, Some(at(70))));
        let told = notice("unbound", NoticeSubject::DeviceUnbound);
        let unbind = async || store.unbind_device(ChangeAuthor::NoSession, agent01(), "sealed".to_owned(), told.clone(), entry()).await.unwrap();
        assert!(unbind().await);
        assert!(!unbind().await, "and no second notice is written");
        assert!(!store.use_recovery_code(ChangeAuthor::NoSession, agent01(), digest("b"), at(70)).await.unwrap());
        fixture.bind("next", &[digest("c")]).await;
        assert!(!store.use_recovery_code(ChangeAuthor::NoSession, agent01(), digest("b"), at(70)).await.unwrap());
        assert!(!store.use_totp_step(ChangeAuthor::NoSession, used("sealed", 99)).await.unwrap());
    }
}

on_every_store! {
    async fn only_the_device_whose_code_was_accepted_is_unbound(fixture: &Fixture) {
        let store = fixture.store();
        fixture.bind("one", &[digest("a")]).await;
        // Between the code and the unbinding, an administrator resets the device, and its owner binds another one.
        assert_eq!(store.reset_device(ChangeAuthor::NoSession, agent01(), digest("code"), at(100), entry()).await.unwrap(), Some(true));
        fixture.bind("two", &[digest("b"), digest("c")]).await;
        let told = notice("unbound", NoticeSubject::DeviceUnbound);
        let unbind = async |sealed: &str| store.unbind_device(ChangeAuthor::NoSession, agent01(), sealed.to_owned(), told.clone(), entry()).await.unwrap();
        assert!(!unbind("one").await);
        let agent = store.agent(agent01()).await.unwrap().unwrap();
        assert_eq!((agent.device.unwrap().sealed, agent.recovery_codes), ("two".to_owned(), 2));
        assert!(unbind("two").await);
        let agent = store.agent(agent01()).await.unwrap().unwrap();
        assert!(agent.device.is_none() && agent.recovery_codes == 0);
    }
}

on_every_store! {
    async fn an_administrator_takes_away_what_waits_and_forgets_guesses(fixture: &Fixture) {
        let store = fixture.store();
        for _ in 0..5 {
            store.count_attempt(agent01(), AttemptKind::Otp, at(0)).await.unwrap().unwrap();
        }
        assert!(store.begin_device(ChangeAuthor::NoSession, agent01(), pending("sealed", 100), at(0)).await.unwrap());
        assert_eq!(store.reset_device(ChangeAuthor::NoSession, agent01(), digest("code"), at(100), entry()).await.unwrap(), Some(false), "none was bound");
        assert!(!store.bind_device(ChangeAuthor::NoSession, binding("sealed", &[])).await.unwrap());
        assert_eq!(store.count_attempt(agent01(), AttemptKind::Otp, at(0)).await.unwrap(), Ok(()));
    }
}

on_every_store! {
    async fn a_record_that_does_not_count_gets_no_device(fixture: &Fixture) {
        let store = fixture.store();
        assert!(store.begin_device(ChangeAuthor::NoSession, agent01(), pending("sealed", 100), at(0)).await.unwrap());
        store.disable_agent(ChangeAuthor::NoSession, agent01(), at(0), entry()).await.unwrap();
        assert!(!store.begin_device(ChangeAuthor::NoSession, agent01(), pending("other", 100), at(0)).await.unwrap());
        assert!(!store.bind_device(ChangeAuthor::NoSession, binding("sealed", &[])).await.unwrap());
        assert!(!store.begin_device(ChangeAuthor::NoSession, EmployeeKey::from_parts("ww", "nobody"), pending("x", 9), at(0)).await.unwrap());
    }
}
