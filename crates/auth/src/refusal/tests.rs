use std::collections::HashSet;

use super::*;

#[test]
fn every_explanation_is_a_pair_of_sentences_in_both_languages_and_found_by_its_reason() {
    let mut seen = HashSet::new();
    for (reason, [what, next]) in Refusal::explanations().chain(TokenError::explanations()) {
        assert!(what.ends_with('.') && next.ends_with('.') && what.len() > 10 && next.len() > 10, "{reason}");
        assert!(seen.insert(reason) && seen.insert(what), "{reason} is explained twice, or like another one");
        let ReasonExplanation { what: [english, chinese], next: [advice, advice_zh] } = explain_reason(reason).unwrap();
        assert_eq!([english, advice], [what, next]);
        assert!(chinese.ends_with('。') && advice_zh.ends_with('。'), "{reason} has no Chinese explanation");
        assert!(seen.insert(chinese), "{reason} is explained in Chinese like another one");
        for command in english_commands(next) {
            assert!(advice_zh.contains(command), "{reason}: the Chinese advice lacks {command}");
        }
    }
    assert_eq!(explain_reason("invented"), None);
    assert!(explain_reason("disabled").is_some(), "rows of earlier versions have this reason");
}

/// The commands that a text names.
fn english_commands(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn the_answer_of_every_logged_reason_is_known() {
    for (reason, _) in Refusal::explanations().chain(TokenError::explanations()) {
        let refusal = logged_refusal(reason, Some(Role::Admin)).unwrap_or_else(|| panic!("{reason}"));
        assert_eq!(refusal.info().logged, reason);
    }
    assert_eq!(logged_refusal("invented", None), None);
}

#[test]
fn the_log_tells_apart_who_disabled_an_employee_and_clients_see_one_reason() {
    let [here, left] = [Refusal::Disabled, Refusal::LeftPlatform].map(|refusal| refusal.info());
    assert_eq!([here.logged, left.logged], ["disabled_here", "left_platform"]);
    assert_eq!([here.reason, left.reason], ["disabled"; 2]);
    assert_eq!(TokenError::Disabled.info().logged, "disabled_here");
    assert!(here.texts.iter().zip(&left.texts).all(|(here, left)| here != left));
    let [_, advice] = left.explanation.unwrap();
    assert!(!advice.contains("employee enable"), "{advice}");
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
    assert_eq!(stored(Refusal::LeftPlatform), "\"Disabled\"", "the previous version knows one word for both");
    assert_eq!(stored(Refusal::CodeOfAnotherPerson), "\"SomebodyElse\"");
    assert_eq!(stored(Refusal::WouldLockYouOut(Role::Admin)), "{\"WouldShutYouOut\":\"admin\"}");
    assert!(stored(Refusal::RateLimited(Duration::ZERO)).starts_with("{\"TooOften\":"));
}
