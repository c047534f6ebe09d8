//! Connected programs: added with a recipe, a secret that is shown once, and their end.

use serde_json::{Value, json};

use super::{Office, chinese_phone};
use crate::harness::{Browser, Options, picture, registration};

impl Office {
    /// Chooses a value of a field of the form, also of one that is folded away.
    async fn select(&self, name: &str, value: &str) {
        let chosen = "const select = document.querySelector('#field-' + arguments[0]); select.value = arguments[1];
            select.dispatchEvent(new Event('change', { bubbles: true }));";
        self.browser.script(chosen, &[json!(name), json!(value)]).await;
    }

    async fn value(&self, name: &str) -> Value {
        self.browser.script("return document.querySelector('#field-' + arguments[0]).value", &[json!(name)]).await
    }

    /// Opens the row of the only program and presses one of its buttons.
    async fn act(&self, name: &str) {
        let button = format!("#oidc-clients [data-act={name}]");
        if !self.shows(&button).await {
            self.browser.click("#oidc-clients [data-act=open]").await;
        }
        self.browser.click(&button).await;
    }
}

/// No two sites encrypt with the same passphrase.
async fn passphrases_differ(browser: &Browser) {
    let passphrases = "return import('/assets/oidc-recipes.js').then(({ entriesOf, recipeOf }) => {
        const client = { name: 'Request Tracker', redirect_uris: ['https://rt.example.com/oidc-callback'], post_logout_redirect_uris: [] };
        const made = () => Object.fromEntries(entriesOf(recipeOf(client), client, 's', { issuer: 'i' })).OIDCCryptoPassphrase;
        return [made(), made()];
    })";
    let passphrases = browser.script(passphrases, &[]).await;
    let [one, other] = [0, 1].map(|at| passphrases[at].as_str().unwrap());
    assert!(one != other && one.len() == 32 && other.len() == 32, "{passphrases}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_is_connected_with_a_recipe_and_its_secret_is_shown_once() {
    let (office, device) = Office::open(Options::default()).await;
    let browser = &office.browser;
    office.view("programs", "#oidc-clients .empty").await;
    browser.click("#oidc-new").await;
    office.select("recipe", "grafana").await;
    browser.type_into("#field-url", "https://grafana.example.com/").await;
    assert_eq!(office.value("name").await, "Grafana");
    assert_eq!(office.value("redirect_uris").await, "https://grafana.example.com/login/generic_oauth");
    // Another program means other addresses; what the user typed stays.
    office.select("recipe", "zammad").await;
    assert_eq!(office.value("kind").await, "public");
    let told = "https://grafana.example.com/auth/openid_connect/backchannel_logout";
    assert_eq!(office.value("backchannel_logout_uri").await, told);
    office.rewrite("#field-name", "Charts").await;
    office.select("recipe", "grafana").await;
    assert_eq!(office.value("name").await, "Charts");
    assert_eq!(office.value("backchannel_logout_uri").await, "");
    office.select("algorithm", "ES256").await;
    office.is_sound("the form of a program").await;
    picture(browser, "oidc-form").await;
    browser.click("#oidc-save").await;
    office.confirm(&device.next_code()).await;
    browser.wait_for("#oidc-secret").await;
    let secret = browser.text("#oidc-secret").await;
    let listed = office.get("/api/admin/oidc-clients").await["items"][0].take();
    assert_eq!(listed["name"], "Charts");
    assert_eq!(listed["redirect_uris"], json!(["https://grafana.example.com/login/generic_oauth"]));
    let entries = browser.text("#oidc-entries").await;
    for needed in [listed["client_id"].as_str().unwrap(), &secret, "use_pkce", "/oidc/token"] {
        assert!(entries.contains(needed), "{needed}: {entries}");
    }
    office.is_sound("what to enter").await;
    let of_rt = "return import('/assets/oidc-recipes.js').then(({ entriesOf, recipeOf }) => {
        const redirect_uris = ['https://rt.example.com/oidc-callback'];
        const client = { name: 'Request Tracker', redirect_uris, post_logout_redirect_uris: ['https://rt.example.com/'] };
        return Object.fromEntries(entriesOf(recipeOf(client), client, 's', { issuer: 'i' }));
    })";
    let of_rt = browser.script(of_rt, &[]).await;
    let signs_out = "/oidc-callback?logout=https%3A%2F%2Frt.example.com%2F";
    assert_eq!((&of_rt["$LogoutURL"], &of_rt["$WebFallbackToRTLogin"]), (&json!(signs_out), &json!("1")), "{of_rt}");
    passphrases_differ(browser).await;
    picture(browser, "oidc-entries").await;
    browser.allow_clipboard().await;
    browser.click("#oidc-copy-secret").await;
    office.until_status("Copied").await;
    assert_eq!(browser.clipboard().await, secret);

    browser.click("#views [href='#/keys']").await;
    office.until_text("dialog", "cannot be shown again").await;
    browser.click("dialog [type=button]").await;
    browser.click("#oidc-close").await;
    let page = browser.script("return document.documentElement.outerHTML", &[]).await;
    assert!(!page.as_str().unwrap().contains(&secret));
    office.until_text("#oidc-clients", "finds out within 15 minutes").await;

    office.act("rotate").await;
    office.confirm(&device.next_code()).await;
    browser.wait_for("#oidc-secret").await;
    assert_ne!(browser.text("#oidc-secret").await, secret);
    browser.click("#oidc-close").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_is_changed_disabled_and_removed_also_on_a_phone() {
    let (office, device) = Office::open(chinese_phone()).await;
    office.app.oidc_client(registration()).await;
    let browser = &office.browser;
    office.view("programs", "#oidc-clients [data-state=enabled]").await;
    office.act("edit").await;
    office.rewrite("#field-name", "工单系统").await;
    office.is_sound("the form of a program on a phone").await;
    browser.click("#oidc-save").await;
    office.confirm(&device.next_code()).await;
    office.until_status("“工单系统”已保存。").await;
    let listed = office.get("/api/admin/oidc-clients").await["items"][0].take();
    assert_eq!((&listed["name"], &listed["algorithm"]), (&json!("工单系统"), &json!("ES256")));

    office.act("disable").await;
    office.confirm(&device.next_code()).await;
    office.until_status("“工单系统”已停用。").await;
    browser.wait_for("#oidc-clients [data-state=disabled]").await;
    office.act("enable").await;
    office.confirm(&device.next_code()).await;
    browser.wait_for("#oidc-clients [data-state=enabled]").await;
    office.is_sound("programs on a phone").await;
    office.act("remove").await;
    office.confirm(&device.next_code()).await;
    browser.wait_for("#oidc-clients .empty").await;
    assert_eq!(office.get("/api/admin/oidc-clients").await["items"], json!([]));
}
