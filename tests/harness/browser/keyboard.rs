//! Keyboard input.

use serde_json::{Value, json};

use super::Browser;

/// A key without a character.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Key {
    Tab,
    /// Shift+Tab: moves the focus back.
    BackTab,
    Enter,
    Space,
    Escape,
    Left,
    Up,
    Right,
    Down,
    Home,
    End,
}

const SHIFT: char = '\u{E008}';

impl Key {
    /// The character of the key in the driver's protocol.
    const fn character(self) -> char {
        match self {
            Self::Tab | Self::BackTab => '\u{E004}',
            Self::Enter => '\u{E007}',
            Self::Space => ' ',
            Self::Escape => '\u{E00C}',
            Self::End => '\u{E010}',
            Self::Home => '\u{E011}',
            Self::Left => '\u{E012}',
            Self::Up => '\u{E013}',
            Self::Right => '\u{E014}',
            Self::Down => '\u{E015}',
        }
    }
}

impl Browser {
    /// Presses and releases a key; the focused element gets it.
    pub(crate) async fn press(&self, key: Key) {
        let mut strokes = stroke(key.character()).to_vec();
        if matches!(key, Key::BackTab) {
            let [down, up] = stroke(SHIFT);
            strokes.insert(0, down);
            strokes.push(up);
        }
        self.strokes(strokes).await;
    }

    /// Types a text into the focused element.
    pub(crate) async fn keys(&self, text: &str) {
        self.strokes(text.chars().flat_map(stroke).collect()).await;
    }

    /// The focused element: `#id`, or its tag and its text when it has no id; `body` when no element has the focus.
    pub(crate) async fn active(&self) -> String {
        let said = "const it = document.activeElement;
            const text = it.getAttribute('aria-label') ?? it.innerText ?? '';
            return it === document.body ? 'body' : it.id ? `#${it.id}` : `${it.localName} ${text}`.trim()";
        self.script(said, &[]).await.as_str().unwrap().to_owned()
    }

    async fn strokes(&self, strokes: Vec<Value>) {
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": strokes });
        self.post("/actions", json!({ "actions": [keyboard] })).await;
    }
}

fn stroke(character: char) -> [Value; 2] {
    ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": character }))
}
