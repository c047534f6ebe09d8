//! The declared settings are consistent.

use std::collections::BTreeSet;

use deskpass_platform::PlatformKind;

use super::super::declaration::Profile::{Development, Production};
use super::super::declaration::SIMULATED;
use super::super::keys::KEYS;
use super::super::raw::RawSetting;
use super::super::simulated::SimulatedApplication;

#[test]
fn names_are_unique_and_grouped_with_top_level_keys_first() {
    let names: BTreeSet<_> = KEYS.iter().map(|key| key.name).collect();
    assert_eq!(names.len(), KEYS.len());

    let mut sections: Vec<_> = KEYS.iter().map(|key| key.parts().0).collect();
    sections.dedup();
    assert_eq!(sections.first(), Some(&None));
    let distinct: BTreeSet<_> = sections.iter().collect();
    assert_eq!(distinct.len(), sections.len(), "{sections:?}");
}

#[test]
fn every_default_is_a_value_of_its_type() {
    for key in KEYS.iter() {
        for text in [Development, Production].map(|profile| key.default(profile)) {
            let Some(text) = text else { continue };
            let texts: Vec<_> = match text {
                SIMULATED => {
                    let of_kind = |kind| SimulatedApplication::of(kind).setting(key.name).map(str::to_owned);
                    PlatformKind::ALL.into_iter().filter_map(of_kind).collect()
                }
                text => vec![text.replace("{listen}", "127.0.0.1:8080")],
            };
            assert!(!texts.is_empty(), "{}", key.name);
            for text in texts {
                let parsed = (key.value_type.to_toml)(&RawSetting::Untyped(text), key);
                assert!(parsed.is_ok(), "{}: {:?}", key.name, parsed.err());
            }
        }
    }
}

#[test]
fn no_secret_has_a_default() {
    for key in KEYS.iter().filter(|key| key.value_type.secret) {
        assert_eq!(key.default(Development), None, "{}", key.name);
        assert_eq!(key.default(Production), None, "{}", key.name);
    }
}
