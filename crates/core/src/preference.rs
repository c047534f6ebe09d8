//! What a client prefers, as in `Accept` and `Accept-Language`: items with weights (RFC 9110 §12.4.2).

/// The number of items that are looked at, more than a client needs.
const MAX_ITEMS: usize = 32;

/// The items in the lines of a header, with their other parameters and with their weights in thousandths. One whose weight is not
/// valid is left out.
pub fn preferences<'a>(lines: impl Iterator<Item = &'a str>) -> impl Iterator<Item = (&'a str, u16)> {
    lines.flat_map(|line| line.split(',')).take(MAX_ITEMS).filter_map(weighted_item)
}

/// The first of the known items with the highest weight; `None` if the client accepts none of them.
#[must_use]
pub fn preferred<'a, T>(lines: impl Iterator<Item = &'a str>, known: impl Fn(&str) -> Option<T>) -> Option<T> {
    let mut best = (0, None);
    for (item, weight) in preferences(lines) {
        if weight > best.0
            && let Some(item) = known(item)
        {
            best = (weight, Some(item));
        }
    }
    best.1
}

fn weighted_item(item: &str) -> Option<(&str, u16)> {
    let weight = item.rsplit_once(';').and_then(|(item, parameter)| Some((item, parameter.split_once('=')?)));
    match weight {
        Some((item, (name, weight))) if name.trim().eq_ignore_ascii_case("q") => {
            Some((item.trim(), thousandths(weight.trim())?))
        }
        _ => Some((item.trim(), 1000)),
    }
}

/// A weight: from 0 to 1 with at most three decimal places.
fn thousandths(weight: &str) -> Option<u16> {
    let (whole, places) = weight.split_once('.').unwrap_or((weight, ""));
    let digits = places.len() <= 3 && places.bytes().all(|place| place.is_ascii_digit());
    let behind: u16 = format!("{places:0<3}").parse().ok().filter(|_| digits)?;
    match whole {
        "0" => Some(behind),
        "1" if behind == 0 => Some(1000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_have_their_weights() {
        let of = |lines: &[&'static str]| preferences(lines.iter().copied()).collect::<Vec<_>>();
        assert_eq!(of(&["a, b;q=0.5", "c ; Q = 1.0"]), [("a", 1000), ("b", 500), ("c", 1000)]);
        assert_eq!(of(&["a;q=0, b;q=0., c;q=0.001, d;q=0.25"]), [("a", 0), ("b", 0), ("c", 1), ("d", 250)]);
        assert_eq!(of(&["text/csv; charset=utf-8;q=0.1, a;b=c"]), [("text/csv; charset=utf-8", 100), ("a;b=c", 1000)]);
        assert_eq!(of(&[";q=1", ""]), [("", 1000), ("", 1000)]);
        for invalid in ["a;q=", "a;q=x", "a;q=2", "a;q=1.001", "a;q=-1", "a;q=+1", "a;q=0.1234", "a;q=NaN", "a;q=inf"] {
            assert_eq!(of(&[invalid]), [], "{invalid}");
        }
        assert_eq!(of(&[&*"a,".repeat(40).leak()]).len(), MAX_ITEMS);
    }

    #[test]
    fn the_first_of_the_highest_weight_is_preferred() {
        let of = |line: &'static str| preferred([line].into_iter(), |item| item.parse::<u8>().ok());
        assert_eq!(of("1;q=0.5, 2, 3, 4;q=0.9"), Some(2));
        assert_eq!(of("a, 1;q=0.1"), Some(1));
        assert_eq!(of("a, 1;q=0"), None);
        assert_eq!(of(""), None);
    }
}
