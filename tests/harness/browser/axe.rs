//! Accessibility checks with axe-core.

use std::path::Path;

use serde_json::{Value, json};

use super::Browser;

/// Runs axe-core. Animations are finished first, since an element that is still fading in would count as too faint to read.
/// Without `preload`: none of these rules needs the style sheets fetched once more.
const AXE_SCRIPT: &str = "
    for (const animation of document.getAnimations()) {
        try { animation.finish() } catch { /* It goes on for ever. */ }
    }
    const values = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
    axe.run(document, { preload: false, runOnly: { type: 'tag', values }, resultTypes: ['violations'] }).then(({ violations }) =>
        violations.filter(({ impact }) => impact === 'serious' || impact === 'critical').flatMap(({ id, impact, help, nodes }) =>
            nodes.map(({ target, any, all, none }) =>
                `${impact} ${id} ${target.join(' ')}: ${help} (${[...any, ...all, ...none][0]?.message})`)))";

impl Browser {
    /// The serious and critical violations that axe-core finds in the page: `impact rule element: help (message)`.
    pub(crate) async fn axe(&self) -> Vec<String> {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("axe").join("axe.min.js");
        let source = std::fs::read_to_string(file).expect("no axe-core; run tools/axe first");
        if self.evaluate("typeof axe").await == "undefined" {
            self.evaluate(&source).await;
        }
        serde_json::from_value(self.evaluate(AXE_SCRIPT).await).unwrap()
    }

    /// Fails the test when the page, which is in the state `what`, has violations.
    pub(crate) async fn assert_accessible(&self, what: &str) {
        let found = self.axe().await;
        assert!(found.is_empty(), "{what} at {}:\n{}", self.url().await, found.join("\n"));
    }

    /// Evaluates a script. The page's content policy, which would block it in the page, does not apply.
    async fn evaluate(&self, script: &str) -> Value {
        // In a block of its own, so that it can run again in the same page.
        let asked = json!({ "expression": format!("{{{script}\n}}"), "awaitPromise": true, "returnByValue": true });
        let mut answer = self.cdp("Runtime.evaluate", asked).await;
        assert!(answer["exceptionDetails"].is_null(), "{}", answer["exceptionDetails"]);
        answer["result"]["value"].take()
    }
}
