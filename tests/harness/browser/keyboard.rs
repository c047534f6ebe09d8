//! Whoever has no mouse.

use serde_json::{Value, json};

use super::Browser;

/// A key without a letter on it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Key {
    Tab,
    /// Tab with Shift: back to what was before.
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
    /// The character that stands for it in the driver's protocol.
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
    /// Presses a key and lets it go, wherever the focus is.
    pub(crate) async fn press(&self, key: Key) {
        let mut strokes = stroke(key.character()).to_vec();
        if matches!(key, Key::BackTab) {
            let [down, up] = stroke(SHIFT);
            strokes.insert(0, down);
            strokes.push(up);
        }
        self.strokes(strokes).await;
    }

    /// Types a text, wherever the focus is.
    pub(crate) async fn keys(&self, text: &str) {
        self.strokes(text.chars().flat_map(stroke).collect()).await;
    }

    /// What has the focus: `#id`, or its kind and its text when it has no id; `body` when nothing has.
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
