//! The parts of a template card: the checks that the platform makes before it sends or changes one.

use std::collections::HashSet;

use serde_json::Value;

use crate::wecom::errcode::Refused;

const MAX_BUTTONS: usize = 6;
const MAX_ROWS: usize = 6;
const MAX_MENU_ACTIONS: usize = 3;
const MAX_TASK_ID_BYTES: usize = 128;
const MAX_KEY_BYTES: usize = 1_024;

/// A type of card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CardType {
    /// It shows a notice, and opens a link.
    Notice,
    /// It has buttons that call the app back.
    Buttons,
    /// It has other questions, whose answers call the app back.
    Questions,
}

impl CardType {
    fn of(card: &Value) -> Result<Self, Refused> {
        match text(card, "card_type") {
            Some("text_notice" | "news_notice") => Ok(Self::Notice),
            Some("button_interaction") => Ok(Self::Buttons),
            Some("vote_interaction" | "multiple_interaction") => Ok(Self::Questions),
            _ => Err(42031.into()),
        }
    }

    /// Whether the platform calls the app back when a user answers.
    pub(super) fn calls_back(self) -> bool {
        self != Self::Notice
    }
}

/// The type of a card whose parts are complete.
pub(super) fn check(card: &Value) -> Result<CardType, Refused> {
    let kind = CardType::of(card)?;
    check_rows(items(card, "horizontal_content_list")?)?;
    check_menu(card.get("action_menu"))?;
    match kind {
        CardType::Notice => check_action(card.get("card_action").ok_or(42045)?)?,
        CardType::Buttons => {
            card.get("main_title").and_then(|title| text(title, "title")).ok_or(42033)?;
            check_buttons(items(card, "button_list")?)?;
        }
        CardType::Questions => {}
    }
    Ok(kind)
}

/// The task id of a card that calls back.
pub(super) fn task_id(card: &Value) -> Result<&str, Refused> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-@".contains(&byte);
    let id = text(card, "task_id").filter(|id| id.len() <= MAX_TASK_ID_BYTES && id.bytes().all(plain));
    id.ok_or_else(|| 42014.into())
}

fn check_buttons(buttons: &[Value]) -> Result<(), Refused> {
    if buttons.is_empty() || buttons.len() > MAX_BUTTONS {
        return Err(40058.into());
    }
    let mut keys = HashSet::new();
    for button in buttons {
        text(button, "text").ok_or(42038)?;
        if number(button, "type") == 1 {
            text(button, "url").ok_or(42028)?;
        } else {
            let key = text(button, "key").filter(|key| key.len() <= MAX_KEY_BYTES).ok_or(42039)?;
            if !keys.insert(key) {
                return Err(42039.into());
            }
        }
    }
    Ok(())
}

fn check_rows(rows: &[Value]) -> Result<(), Refused> {
    if rows.len() > MAX_ROWS {
        return Err(42035.into());
    }
    for row in rows {
        text(row, "keyname").ok_or(42027)?;
        match number(row, "type") {
            1 => text(row, "url").ok_or(42028)?,
            2 => text(row, "media_id").ok_or(42029)?,
            3 => text(row, "userid").ok_or(42050)?,
            _ => "",
        };
    }
    Ok(())
}

fn check_menu(menu: Option<&Value>) -> Result<(), Refused> {
    let Some(menu) = menu else { return Ok(()) };
    let actions = items(menu, "action_list")?;
    if actions.is_empty() || actions.len() > MAX_MENU_ACTIONS {
        return Err(40058.into());
    }
    let mut keys = HashSet::new();
    for action in actions {
        text(action, "text").ok_or(40058)?;
        if !keys.insert(text(action, "key").ok_or(40058)?) {
            return Err(42051.into());
        }
    }
    Ok(())
}

fn check_action(action: &Value) -> Result<(), Refused> {
    match number(action, "type") {
        1 => text(action, "url").map(|_| ()).ok_or_else(|| 42028.into()),
        2 => text(action, "appid").map(|_| ()).ok_or_else(|| 42030.into()),
        _ => Err(42045.into()),
    }
}

/// The elements of a list; none if it is missing.
fn items<'a>(parent: &'a Value, name: &str) -> Result<&'a [Value], Refused> {
    match parent.get(name) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(_) => Err(40058.into()),
    }
}

fn text<'a>(parent: &'a Value, name: &str) -> Option<&'a str> {
    parent.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// A number; zero if it is missing.
fn number(parent: &Value, name: &str) -> u64 {
    parent.get(name).and_then(Value::as_u64).unwrap_or_default()
}
