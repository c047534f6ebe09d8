//! Short names of browsers and systems, for people to recognize their devices.

/// The browser and the system of a `User-Agent`; empty where they are unknown.
pub(crate) fn describe(user_agent: &str) -> (String, &'static str) {
    (browser(user_agent), system(user_agent))
}

/// The name of a device in English: a browser on a system, as far as they are known.
pub(crate) fn device_name(user_agent: &str) -> String {
    let [english, _] = device_names(user_agent);
    english
}

/// The name of a device in English and Chinese.
pub(crate) fn device_names(user_agent: &str) -> [String; 2] {
    let (browser, system) = describe(user_agent);
    let name = browser.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end();
    let chinese = CHINESE_NAMES.iter().find(|(english, _)| *english == name).map(|(_, chinese)| *chinese);
    match (name, system) {
        (name, "") => [name, chinese.unwrap_or(name)].map(str::to_owned),
        ("", system) => [system; 2].map(str::to_owned),
        (name, system) => {
            let on = chinese.map_or_else(|| format!("{system} 上的 {name}"), |name| format!("{system} 上的{name}"));
            [format!("{name} on {system}"), on]
        }
    }
}

/// Most browsers also claim to be their predecessors, so the most specific names come first.
const BROWSERS: [(&str, &str); 11] = [
    ("wxwork/", "WeCom"),
    ("MicroMessenger/", "WeChat"),
    ("DingTalk/", "DingTalk"),
    ("Feishu/", "Feishu"),
    ("Lark/", "Feishu"),
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Version/", "Safari"),
];

/// The browsers that have a Chinese name.
const CHINESE_NAMES: [(&str, &str); 4] =
    [("WeCom", "企业微信"), ("WeChat", "微信"), ("DingTalk", "钉钉"), ("Feishu", "飞书")];

const SYSTEMS: [(&str, &str); 9] = [
    ("HarmonyOS", "HarmonyOS"),
    ("OpenHarmony", "HarmonyOS"),
    ("Android", "Android"),
    ("iPhone", "iOS"),
    ("iPad", "iPadOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
];

fn browser(user_agent: &str) -> String {
    let found = BROWSERS.iter().find_map(|(mark, name)| Some((name, user_agent.split_once(mark)?.1)));
    let Some((name, rest)) = found else { return first_word(user_agent) };
    let version: String = rest.chars().take_while(char::is_ascii_digit).take(4).collect();
    if version.is_empty() { (*name).to_owned() } else { format!("{name} {version}") }
}

/// The name of a program that is not a browser, which usually comes first.
fn first_word(user_agent: &str) -> String {
    let plain = |c: &char| c.is_ascii_alphanumeric() || "-_. ".contains(*c);
    user_agent.split(['/', ' ', '(']).next().unwrap_or_default().chars().filter(plain).take(32).collect()
}

fn system(user_agent: &str) -> &'static str {
    SYSTEMS.iter().find(|(mark, _)| user_agent.contains(mark)).map_or("", |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::{describe, device_names};

    #[test]
    fn a_device_is_a_browser_on_a_system() {
        let cases = [
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/126.0.0.0 Safari/537.36",
                ["Chrome on Windows", "Windows 上的 Chrome"],
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) wxwork/4.1.22",
                ["WeCom on iOS", "iOS 上的企业微信"],
            ),
            ("MicroMessenger/8.0", ["WeChat", "微信"]),
            (
                "Mozilla/5.0 (Linux; Android 14) Chrome/120.0 Mobile Lark/7.12.1",
                ["Feishu on Android", "Android 上的飞书"],
            ),
            ("curl/8.5.0", ["curl"; 2]),
            ("(Linux)", ["Linux"; 2]),
            ("", [""; 2]),
        ];
        for (user_agent, expected) in cases {
            assert_eq!(device_names(user_agent), expected, "{user_agent}");
        }
    }

    #[test]
    fn common_clients_are_recognised() {
        let cases = [
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
                "Chrome 126",
                "Windows",
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36 Edg/126.0.1",
                "Edge 126",
                "Windows",
            ),
            (
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/605.1.15",
                "Safari 17",
                "macOS",
            ),
            ("Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0", "Firefox 127", "Linux"),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148 wxwork/4.1.22 MicroMessenger/7.0.1",
                "WeCom 4",
                "iOS",
            ),
            (
                "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/120.0 Mobile MicroMessenger/8.0",
                "WeChat 8",
                "Android",
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/120.0 Safari/537.36 Feishu/7.12.1",
                "Feishu 7",
                "Windows",
            ),
            ("curl/8.5.0", "curl", ""),
            ("<script>alert(1)</script>", "scriptalert", ""),
            ("", "", ""),
        ];
        for (user_agent, browser, system) in cases {
            assert_eq!(describe(user_agent), (browser.to_owned(), system), "{user_agent}");
        }
    }
}
