//! What the platform hides in the text of a refusal.

use std::net::IpAddr;

/// The hint that the platform's support asks for.
pub(crate) fn hint(errmsg: &str) -> Option<String> {
    let (hint, _) = errmsg.split_once("hint: [")?.1.split_once(']')?;
    let fits = (1..=64).contains(&hint.len()) && hint.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
    fits.then(|| hint.to_owned())
}

/// The address from which the platform saw the call come.
pub(crate) fn address(errmsg: &str) -> Option<IpAddr> {
    let rest = errmsg.split_once("from ip: ")?.1;
    let end = rest.find(|c: char| !c.is_ascii_hexdigit() && c != '.' && c != ':').unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hint_and_address_are_found_where_the_platform_puts_them() {
        let full = "not allow to access from your ip, hint: [1655882753557010848204971], from ip: 1.2.3.4, more info";
        assert_eq!(hint(full).as_deref(), Some("1655882753557010848204971"));
        assert_eq!(address(full), Some(IpAddr::from([1, 2, 3, 4])));
        assert_eq!(hint("hint: [1622539468_161_0123abc]").as_deref(), Some("1622539468_161_0123abc"));
        assert_eq!(address("from ip: 2001:db8::1"), "2001:db8::1".parse().ok());
    }

    #[test]
    fn other_texts_have_neither() {
        for text in
            ["", "hint: [", "hint: []", "hint: [<b>]", "from ip: ", "from ip: 1.2.3", "from ip: 用户", "HINT: [1]"]
        {
            assert_eq!((hint(text), address(text)), (None, None), "{text}");
        }
    }
}
