use std::collections::HashSet;

use super::*;

#[test]
fn every_explanation_is_a_pair_of_sentences_and_found_by_its_reason() {
    let mut seen = HashSet::new();
    for (reason, [what, next]) in Refusal::EXPLANATIONS.iter().chain(TokenError::EXPLANATIONS) {
        assert!(what.ends_with('.') && next.ends_with('.') && what.len() > 10 && next.len() > 10, "{reason}");
        assert!(seen.insert(*reason) && seen.insert(*what), "{reason} is explained twice, or like another one");
        assert_eq!(explain_reason(reason), Some([*what, *next]));
    }
    assert_eq!(explain_reason("invented"), None);
    assert_eq!(TokenError::Disabled.info().explanation, explain_reason("disabled"));
}

#[test]
fn a_problem_with_a_token_is_written_down_only_if_it_arose_meanwhile() {
    assert!(!Refusal::Token(TokenError::Kicked).info().audited);
    assert!(Refusal::Revoked(TokenError::Kicked).info().audited);
}

/// During an upgrade, nodes of two versions read what the other has stored.
#[test]
fn stored_names_stay() {
    let stored = |refusal: Refusal| serde_json::to_string(&refusal).unwrap();
    assert_eq!(stored(Refusal::SignInOver), "\"Over\"");
    assert_eq!(stored(Refusal::CodeOfAnotherPerson), "\"SomebodyElse\"");
    assert_eq!(stored(Refusal::WouldLockYouOut(Role::Admin)), "{\"WouldShutYouOut\":\"admin\"}");
    assert!(stored(Refusal::RateLimited(Duration::ZERO)).starts_with("{\"TooOften\":"));
}
