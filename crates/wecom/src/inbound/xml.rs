//! The XML of events: elements without attributes inside `<xml>`, with text or CDATA.
//!
//! Written here instead of using a crate: what is read is this small, and everything else of XML is a risk. Declarations,
//! comments, document types and thereby entities other than the five of the standard are refused.

use std::borrow::Cow;

/// Events have two levels below the root; answers to cards have four.
const MAX_DEPTH: usize = 8;
const ENTITIES: [(&str, char); 5] = [("amp", '&'), ("lt", '<'), ("gt", '>'), ("quot", '"'), ("apos", '\'')];

/// The elements with text in the first two levels below the root.
pub(super) struct Elements<'a>(Vec<Element<'a>>);

struct Element<'a> {
    /// The element in which it is, unless that is the root.
    parent: Option<&'a str>,
    name: &'a str,
    text: String,
}

enum Part<'a> {
    Start(&'a str),
    End(&'a str),
    Empty,
    Text(Cow<'a, str>),
}

impl<'a> Elements<'a> {
    /// Parses a document.
    pub(super) fn parse(document: &'a str) -> Option<Self> {
        let mut rest = document.trim_ascii().strip_prefix("<xml>")?;
        let mut elements = Vec::new();
        let mut open: Vec<&str> = Vec::new();
        let mut text = String::new();
        loop {
            match next_part(&mut rest)? {
                Part::Start(_) if open.len() == MAX_DEPTH => return None,
                Part::Start(name) => {
                    open.push(name);
                    text.clear();
                }
                // Text beside elements means nothing, but only blanks are expected there.
                Part::Text(part) if open.is_empty() => part.trim_ascii().is_empty().then_some(())?,
                Part::Text(part) => text.push_str(&part),
                Part::Empty => text.clear(),
                Part::End("xml") if open.is_empty() => return rest.is_empty().then_some(Self(elements)),
                Part::End(name) => {
                    open.pop().filter(|start| *start == name)?;
                    if open.len() < 2 && !text.trim_ascii().is_empty() {
                        let text = text.trim_ascii().to_owned();
                        elements.push(Element { parent: open.last().copied(), name, text });
                    }
                    text.clear();
                }
            }
        }
    }

    /// The text of an element directly below the root.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let mut elements = self.0.iter().filter(|element| element.parent.is_none());
        elements.find(|element| element.name == name).map(|element| element.text.as_str())
    }

    /// The texts of the elements with this name inside `parent`.
    pub(super) fn texts_in(&self, parent: &str, name: &str) -> impl Iterator<Item = &str> {
        let fits = move |element: &&Element<'_>| element.parent == Some(parent) && element.name == name;
        self.0.iter().filter(fits).map(|element| element.text.as_str())
    }
}

fn next_part<'a>(rest: &mut &'a str) -> Option<Part<'a>> {
    if let Some(after) = rest.strip_prefix("<![CDATA[") {
        let (text, after) = after.split_once("]]>")?;
        *rest = after;
        return Some(Part::Text(text.into()));
    }
    if let Some(after) = rest.strip_prefix('<') {
        let (tag, after) = after.split_once('>')?;
        *rest = after;
        return parse_tag(tag);
    }
    let (text, after) = rest.split_at_checked(rest.find('<')?)?;
    *rest = after;
    resolve_entities(text).map(Part::Text)
}

fn parse_tag(tag: &str) -> Option<Part<'_>> {
    let is_name = |name: &&str| !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
    if let Some(name) = tag.strip_prefix('/') {
        return Some(name).filter(is_name).map(Part::End);
    }
    if let Some(name) = tag.strip_suffix('/') {
        return Some(name.trim_ascii_end()).filter(is_name).map(|_| Part::Empty);
    }
    Some(tag).filter(is_name).map(Part::Start)
}

fn resolve_entities(text: &str) -> Option<Cow<'_, str>> {
    let mut pieces = text.split('&');
    let first = pieces.next()?;
    if first.len() == text.len() {
        return Some(text.into());
    }
    let mut resolved = first.to_owned();
    for piece in pieces {
        let (name, after) = piece.split_once(';')?;
        let (_, character) = ENTITIES.iter().find(|(entity, _)| *entity == name)?;
        resolved.push(*character);
        resolved.push_str(after);
    }
    Some(resolved.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(document: &str, name: &str) -> Option<String> {
        Elements::parse(document)?.text(name).map(str::to_owned)
    }

    #[test]
    fn text_and_cdata_are_read() {
        let document = "\n<xml>\n  <A><![CDATA[<b>&amp;]]></A>\t<B>1 &lt; 2 &amp; 3</B>\n<C></C><D/><E />\
            <F> x<![CDATA[ y]]>\n</F><G>张三</G>\r\n</xml>\n";
        for (name, expected) in [
            ("A", Some("<b>&amp;")),
            ("B", Some("1 < 2 & 3")),
            ("C", None),
            ("D", None),
            ("E", None),
            ("F", Some("x y")),
            ("G", Some("张三")),
            ("a", None),
            ("xml", None),
        ] {
            assert_eq!(text(document, name).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn nested_elements_do_not_replace_those_outside() {
        let document = "<xml><S><UserID>inner</UserID><T><UserID>innermost</UserID></T>beside</S>\
            <UserID>outer</UserID><UserID>second</UserID><S><UserID>again</UserID></S></xml>";
        assert_eq!(text(document, "UserID").as_deref(), Some("outer"));
        assert_eq!(text(document, "S").as_deref(), Some("beside"));
        let elements = Elements::parse(document);
        let inner: Vec<_> = elements.iter().flat_map(|elements| elements.texts_in("S", "UserID")).collect();
        assert_eq!(inner, ["inner", "again"]);
    }

    #[test]
    fn everything_else_of_xml_is_refused() {
        let bomb = "<!DOCTYPE xml [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><xml><A>&b;</A></xml>";
        let deep = format!("<xml>{}{}</xml>", "<A>".repeat(9), "</A>".repeat(9));
        let open = "<xml>".to_owned() + &"<A>".repeat(100_000);
        for refused in [
            bomb,
            &deep,
            &open,
            "",
            "<xml>",
            "<xml><A>1</A>",
            "<xml><A>1</B></xml>",
            "<xml><A>1</xml>",
            "<xml></A></xml>",
            "<xml><A>&b;</A></xml>",
            "<xml><A>&#65;</A></xml>",
            "<xml><A>&</A></xml>",
            "<xml><A>&amp</A></xml>",
            "<xml><A b=\"c\">1</A></xml>",
            "<xml><n:A>1</n:A></xml>",
            "<xml><!-- --><A>1</A></xml>",
            "<xml><A><![CDATA[1]]</A></xml>",
            "<xml><![CDATA[1]]></xml>",
            "<xml>1</xml>",
            "<xml><></></xml>",
            "<xml></xml>1",
            "<xml></xml><xml></xml>",
            "<?xml version=\"1.0\"?><xml></xml>",
            "\u{feff}<xml></xml>",
            "<XML></XML>",
            "<A>1</A>",
            "{}",
        ] {
            assert!(Elements::parse(refused).is_none(), "{}", refused.get(..80).unwrap_or(refused));
        }
        assert!(Elements::parse("<xml></xml>").is_some());
    }
}
