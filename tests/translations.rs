//! The Chinese documents match the English ones: the same code, the same headings, the same names in the text.

use std::collections::BTreeSet;

/// A document: its path and its text.
struct Document<'a> {
    path: &'a str,
    text: &'a str,
}

/// Every document that exists in English and in Chinese.
const PAIRS: [[Document<'static>; 2]; 12] = [
    [
        Document { path: "README.md", text: include_str!("../README.md") },
        Document { path: "README.zh-CN.md", text: include_str!("../README.zh-CN.md") },
    ],
    [
        Document { path: "docs/tutorial.md", text: include_str!("../docs/tutorial.md") },
        Document { path: "docs/zh/tutorial.md", text: include_str!("../docs/zh/tutorial.md") },
    ],
    [
        Document { path: "docs/first-hour.md", text: include_str!("../docs/first-hour.md") },
        Document { path: "docs/zh/first-hour.md", text: include_str!("../docs/zh/first-hour.md") },
    ],
    [
        Document { path: "docs/operations.md", text: include_str!("../docs/operations.md") },
        Document { path: "docs/zh/operations.md", text: include_str!("../docs/zh/operations.md") },
    ],
    [
        Document { path: "docs/capacity.md", text: include_str!("../docs/capacity.md") },
        Document { path: "docs/zh/capacity.md", text: include_str!("../docs/zh/capacity.md") },
    ],
    [
        Document { path: "docs/integrations/README.md", text: include_str!("../docs/integrations/README.md") },
        Document { path: "docs/zh/integrations/README.md", text: include_str!("../docs/zh/integrations/README.md") },
    ],
    [
        Document { path: "docs/integrations/generic.md", text: include_str!("../docs/integrations/generic.md") },
        Document { path: "docs/zh/integrations/generic.md", text: include_str!("../docs/zh/integrations/generic.md") },
    ],
    [
        Document { path: "docs/integrations/gitlab.md", text: include_str!("../docs/integrations/gitlab.md") },
        Document { path: "docs/zh/integrations/gitlab.md", text: include_str!("../docs/zh/integrations/gitlab.md") },
    ],
    [
        Document { path: "docs/integrations/glpi.md", text: include_str!("../docs/integrations/glpi.md") },
        Document { path: "docs/zh/integrations/glpi.md", text: include_str!("../docs/zh/integrations/glpi.md") },
    ],
    [
        Document { path: "docs/integrations/grafana.md", text: include_str!("../docs/integrations/grafana.md") },
        Document { path: "docs/zh/integrations/grafana.md", text: include_str!("../docs/zh/integrations/grafana.md") },
    ],
    [
        Document {
            path: "docs/integrations/request-tracker.md",
            text: include_str!("../docs/integrations/request-tracker.md"),
        },
        Document {
            path: "docs/zh/integrations/request-tracker.md",
            text: include_str!("../docs/zh/integrations/request-tracker.md"),
        },
    ],
    [
        Document { path: "docs/integrations/zammad.md", text: include_str!("../docs/integrations/zammad.md") },
        Document { path: "docs/zh/integrations/zammad.md", text: include_str!("../docs/zh/integrations/zammad.md") },
    ],
];

/// A line with its number, and the part that must be the same in the other language.
struct Line<'a> {
    number: usize,
    key: &'a str,
    whole: &'a str,
}

/// The part of a line of code that must be the same: all of it, or the part before a comment, unless that is empty.
fn code<'a>(language: &str, line: &'a str) -> Option<&'a str> {
    let mark = match language {
        "sh" | "toml" | "nginx" | "ini" => "#",
        "js" => "//",
        _ => return Some(line),
    };
    let mut marks = line.match_indices(mark).map(|(at, _)| at);
    // A mark inside a word is no comment: `${#name}`, `https://…`.
    let comment = marks.find(|&at| at == 0 || line[..at].ends_with(char::is_whitespace));
    let code = line[..comment.unwrap_or(line.len())].trim_end();
    (!code.is_empty()).then_some(code)
}

/// The lines of a document: those of its code blocks with their fences, and all others.
fn split<'a>(document: &Document<'a>) -> [Vec<Line<'a>>; 2] {
    let [mut blocks, mut prose] = [Vec::new(), Vec::new()];
    let mut language = None;
    for (number, whole) in (1..).zip(document.text.lines()) {
        let fence = whole.trim_start().strip_prefix("```");
        match (language, fence) {
            (None, None) => prose.push(Line { number, key: whole, whole }),
            (Some(inside), None) => blocks.extend(code(inside, whole).map(|key| Line { number, key, whole })),
            (_, Some(_)) => blocks.push(Line { number, key: whole, whole }),
        }
        if fence.is_some() {
            language = if language.is_none() { fence } else { None };
        }
    }
    assert!(language.is_none(), "{}: the last code block does not end", document.path);
    [blocks, prose]
}

/// The headings, whose levels must be the same.
fn headings<'a>(prose: &[Line<'a>]) -> Vec<Line<'a>> {
    let level = |line: &'a str| &line[..line.len() - line.trim_start_matches('#').len()];
    let lines = prose.iter().map(|line| Line { number: line.number, key: level(line.whole), whole: line.whole });
    lines.filter(|line| !line.key.is_empty()).collect()
}

/// The inline code that looks like a setting, a command, a path or an environment variable.
fn names(path: &str, prose: &[Line<'_>]) -> BTreeSet<String> {
    let lines: Vec<_> = prose.iter().map(|line| line.whole).collect();
    let text = lines.join("\n");
    let pieces: Vec<_> = text.split('`').collect();
    assert!(pieces.len() % 2 == 1 && !text.contains("``"), "{path}: inline code is enclosed in single backticks");
    let spans = pieces.iter().skip(1).step_by(2).map(|span| span.split_whitespace().collect::<Vec<_>>().join(" "));
    spans.filter(|span| span.starts_with("deskpass") || span.contains(['.', '_', '/'])).collect()
}

/// The parts that must be the same in both languages.
struct Parts<'a> {
    path: &'a str,
    blocks: Vec<Line<'a>>,
    headings: Vec<Line<'a>>,
    names: BTreeSet<String>,
}

impl<'a> Parts<'a> {
    fn of(document: &Document<'a>) -> Self {
        let [blocks, prose] = split(document);
        let names = names(document.path, &prose);
        Self { path: document.path, blocks, headings: headings(&prose), names }
    }
}

/// The first place at which the lines of two documents differ.
fn difference(what: &str, paths: [&str; 2], [english, chinese]: [&[Line<'_>]; 2]) -> Option<String> {
    let mut places = 0..english.len().max(chinese.len());
    let at = places.find(|&at| english.get(at).map(|line| line.key) != chinese.get(at).map(|line| line.key))?;
    let shown = |path: &str, lines: &[Line<'_>]| match lines.get(at) {
        Some(line) => format!("{path}:{}: {}", line.number, line.whole),
        None => format!("{path}: nothing more"),
    };
    Some(format!("{what} differ:\n  {}\n  {}", shown(paths[0], english), shown(paths[1], chinese)))
}

/// The differences between the two languages.
fn complaints(english: &Document<'_>, chinese: &Document<'_>) -> Vec<String> {
    let [english, chinese] = [Parts::of(english), Parts::of(chinese)];
    let paths = [english.path, chinese.path];
    let blocks = difference("code blocks", paths, [&english.blocks, &chinese.blocks]);
    let headings = difference("levels of headings", paths, [&english.headings, &chinese.headings]);
    let mut complaints: Vec<_> = blocks.into_iter().chain(headings).collect();
    for (one, other) in [(&english, &chinese), (&chinese, &english)] {
        let missing = one.names.difference(&other.names);
        complaints.extend(missing.map(|name| format!("{} has `{name}`, {} does not", one.path, other.path)));
    }
    complaints
}

#[test]
fn the_chinese_documents_keep_up_with_the_english_ones() {
    let complaints: Vec<_> = PAIRS.iter().flat_map(|[english, chinese]| complaints(english, chinese)).collect();
    assert!(complaints.is_empty(), "change both languages:\n{}", complaints.join("\n"));
    for document in PAIRS.iter().flatten() {
        let parts = Parts::of(document);
        let sizes = [parts.blocks.len(), parts.headings.len(), parts.names.len()];
        assert!(sizes.iter().all(|size| *size > 1), "{}: {sizes:?}", document.path);
    }
}

/// A small document with one of every element.
const SAMPLE: &str = "# Title

Set `a.b`, run `deskpass doctor` as `root`.

## Part

```sh
# Why.
echo a#b   # say it
```

```js
open('https://desk/');   // look
```

```console
$ id # me

root
```
";

/// The complaints about two texts.
fn about(english: &str, chinese: &str) -> String {
    complaints(&Document { path: "en.md", text: english }, &Document { path: "zh.md", text: chinese }).join("\n")
}

#[test]
fn words_and_comments_are_each_languages_own() {
    let edits = [
        ("Title", "标题"),
        ("Set", "设置"),
        ("# Why.", "# 原因。\n# 以及。"),
        ("  # say it", "# 说出来"),
        ("// look", "// 打开"),
        ("`root`", "`身份`"),
    ];
    for (from, to) in edits {
        let changed = SAMPLE.replace(from, to);
        assert_ne!(changed, SAMPLE);
        assert_eq!(about(SAMPLE, &changed), "", "{from} and {to}");
    }
}

#[test]
fn every_other_change_in_one_language_is_named() {
    let edits = [
        ("`a.b`", "a.b", "en.md has `a.b`, zh.md does not"),
        ("deskpass doctor", "deskpass", "en.md has `deskpass doctor`, zh.md does not"),
        ("## Part", "### Part", "  en.md:5: ## Part\n  zh.md:5: ### Part"),
        ("## Part\n", "", "  en.md:5: ## Part\n  zh.md: nothing more"),
        ("a#b", "a#c", "  en.md:9: echo a#b   # say it\n  zh.md:9: echo a#c   # say it"),
        ("https://desk/", "https://disk/", "  en.md:13: open('https://desk/');   // look\n  zh.md:13: open("),
        ("# me", "# 我", "  en.md:17: $ id # me\n  zh.md:17: $ id # 我"),
        ("\n\nroot", "\nroot", "  en.md:18: \n  zh.md:18: root"),
        ("```sh", "```toml", "  en.md:7: ```sh\n  zh.md:7: ```toml"),
    ];
    for (from, to, named) in edits {
        let changed = SAMPLE.replace(from, to);
        let shown = about(SAMPLE, &changed);
        assert!(shown.contains(named), "{from} and {to}: {shown}");
        assert_ne!(about(&changed, SAMPLE), "", "{to} and {from}");
    }
}
