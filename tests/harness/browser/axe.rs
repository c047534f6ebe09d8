//! Who could not use a page, as far as a program can tell: what axe-core finds.

use std::path::Path;

use serde_json::{Value, json};

use super::Browser;

/// Runs what the page has been given. An element that is still fading in would count as too faint to read.
const AXE_SCRIPT: &str = "
    for (const animation of document.getAnimations()) {
        try { animation.finish() } catch { /* It goes on for ever. */ }
    }
    const values = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
    axe.run(document, { runOnly: { type: 'tag', values }, resultTypes: ['violations'] }).then(({ violations }) =>
        violations.filter(({ impact }) => impact === 'serious' || impact === 'critical').flatMap(({ id, impact, help, nodes }) =>
            nodes.map(({ target, any, all, none }) =>
                `${impact} ${id} ${target.join(' ')}: ${help} (${[...any, ...all, ...none][0]?.message})`)))";

impl Browser {
    /// The serious and the critical of what axe-core finds wrong with the page: `impact rule element: what and why`.
    pub(crate) async fn axe(&self) -> Vec<String> {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("axe").join("axe.min.js");
        let source = std::fs::read_to_string(file).expect("no axe-core; run tools/axe first");
        self.evaluate(&source).await;
        serde_json::from_value(self.evaluate(AXE_SCRIPT).await).unwrap()
    }

    /// Stops the test when the page, which is in the state `what`, keeps somebody out.
    pub(crate) async fn assert_accessible(&self, what: &str) {
        let found = self.axe().await;
        assert!(found.is_empty(), "{what} at {}:\n{}", self.url().await, found.join("\n"));
    }

    /// What a piece of script comes to. Not bound by the page's content policy, which would not let the page itself do so.
    async fn evaluate(&self, script: &str) -> Value {
        // In a block of its own, so that it can be run again in the same page.
        let asked = json!({ "expression": format!("{{{script}\n}}"), "awaitPromise": true, "returnByValue": true });
        let mut answer = self.cdp("Runtime.evaluate", asked).await;
        assert!(answer["exceptionDetails"].is_null(), "{}", answer["exceptionDetails"]);
        answer["result"]["value"].take()
    }
}
