//! Cards: messages with buttons. All texts are plain text, so none of them can be read as markup.

use deskpass_platform::{Invitation, Question};
use serde_json::{Value, json};

/// The maximum length of a text on a card in bytes; a card has at most thirty thousand.
const MAX_TEXT_BYTES: usize = 8_000;

/// The card of a question.
pub(crate) fn question(question: &Question<'_>) -> String {
    let buttons: Vec<_> = question
        .choices
        .iter()
        .map(|choice| {
            json!({
                "tag": "button",
                "text": plain(choice.label),
                "type": "default",
                "value": { "question": question.id, "choice": choice.key },
            })
        })
        .collect();
    let text = json!({ "tag": "div", "text": plain(question.text) });
    let actions = json!({ "tag": "action", "actions": buttons });
    card(Some(question.title), &[text, actions])
}

/// The card of an invitation: its button opens an address.
pub(crate) fn invitation(invitation: &Invitation<'_>) -> String {
    let button = json!({
        "tag": "button",
        "text": plain(invitation.button),
        "type": "primary",
        "url": invitation.url,
    });
    let text = json!({ "tag": "div", "text": plain(invitation.text) });
    let actions = json!({ "tag": "action", "actions": [button] });
    card(Some(invitation.title), &[text, actions])
}

/// The card that takes the place of a question.
pub(crate) fn outcome(outcome: &str) -> String {
    card(None, &[json!({ "tag": "div", "text": plain(outcome) })])
}

fn card(title: Option<&str>, elements: &[Value]) -> String {
    // Only a card that is the same for all its readers can be changed later; both the old and the new one must say so.
    let mut card = json!({ "config": { "update_multi": true }, "elements": elements });
    if let (Some(fields), Some(title)) = (card.as_object_mut(), title) {
        fields.insert("header".to_owned(), json!({ "title": plain(title) }));
    }
    card.to_string()
}

fn plain(text: &str) -> Value {
    let text = text.get(..text.floor_char_boundary(MAX_TEXT_BYTES)).unwrap_or_default();
    json!({ "tag": "plain_text", "content": text })
}
