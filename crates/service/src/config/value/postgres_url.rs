//! The address of PostgreSQL.

use url::form_urlencoded;

use super::newtype::newtype;
use super::secret_url::{SecretUrl, UrlParts};

newtype! {
    /// The address of PostgreSQL.
    pub struct PostgresUrl(SecretUrl) as SecretUrl {
        secret: true,
        expected: |_| EXPECTED.to_owned(),
        parse: |raw| parse(raw.text()?),
    }
}

const EXPECTED: &str = "an address such as \"postgres://USER:PASSWORD@db.example.com:5432/DATABASE\"";

fn parse(text: &str) -> Result<SecretUrl, String> {
    if text.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("sqlite:")) {
        return Err("the embedded database has no address: leave out store.url and shared.url, and data names its \
                    directory"
            .to_owned());
    }
    let parts = UrlParts::of(text)?;
    match parts.scheme.as_str() {
        "postgres" | "postgresql" => {}
        scheme if scheme.starts_with("redis") => {
            return Err("this is where Redis is, which shared.url says".to_owned());
        }
        _ => return Err("it begins with neither postgres:// nor postgresql://".to_owned()),
    }
    let parameters = || form_urlencoded::parse(parts.query.unwrap_or_default().as_bytes());
    if parameters().any(|(name, _)| name.ends_with("password")) {
        return Err("its password stands behind the ?, where it would be shown; put it before the @".to_owned());
    }
    let by_parameter = parts.hosts.is_empty() && parameters().any(|(name, _)| name == "host" || name == "hostaddr");
    if !by_parameter && !is_socket(parts.hosts) {
        parts.check_hosts()?;
    }
    if parts.path.contains('/') {
        return Err("the name of its database contains a /".to_owned());
    }
    Ok(parts.whole())
}

/// Whether the host is the percent-encoded directory of a socket on this machine.
fn is_socket(hosts: &str) -> bool {
    let directory = hosts.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("%2f"));
    directory && !hosts.contains([',', ':'])
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn reads_addresses_and_shows_them_without_the_password() {
        for (text, shown) in [
            ("postgres://desk:hunter2@db.example.com/desk", "postgres://desk:***@db.example.com/desk"),
            ("PostgreSQL://desk:p%40ss:w@db_1:5432/desk", "postgresql://desk:***@db_1:5432/desk"),
            ("postgres://desk@127.0.0.1", "postgres://desk@127.0.0.1"),
            ("postgres://[::1]:5432/desk", "postgres://[::1]:5432/desk"),
            ("postgres://a:b@one:1,two:2/desk?sslmode=require", "postgres://a:***@one:1,two:2/desk?sslmode=require"),
            ("postgres://desk:@db", "postgres://desk:***@db"),
            ("postgres:///desk?host=/run/postgresql", "postgres:///desk?host=/run/postgresql"),
            ("postgres://desk@%2Frun%2Fpostgresql/desk", "postgres://desk@%2Frun%2Fpostgresql/desk"),
        ] {
            let url = parse(text).unwrap_or_else(|what| panic!("{text}: {what}"));
            assert_eq!(url.to_string(), shown);
            assert_eq!(format!("{url:?}"), format!("SecretUrl({shown})"));
            assert_eq!(url.expose().to_lowercase(), text.to_lowercase());
        }
    }

    #[test]
    fn says_what_is_wrong_without_repeating_it() {
        for (text, what) in [
            ("", "it is empty"),
            ("host=db password=hunter2", "it contains a blank"),
            ("hunter2", "there is no ://"),
            ("mysql://desk:hunter2@db", "neither postgres:// nor postgresql://"),
            ("redis://:hunter2@db", "which shared.url says"),
            ("sqlite:data/hunter2", "leave out store.url and shared.url"),
            ("SQLite://hunter2", "data names its directory"),
            ("postgres://desk:hunter2@", "it names no host"),
            ("postgres://desk:hunter2@/desk", "it names no host"),
            ("postgres://desk:hunter2@one,,two", "it names no host"),
            ("postgres://desk:hunter2@db..com", "its host is not"),
            ("postgres://desk:hunter2@[::1", "its host is not"),
            ("postgres://desk:hunter2@数据库/desk", "its host is not"),
            ("postgres://desk:hunter2@db:0", "its port is not"),
            ("postgres://desk:hunter2@db:", "its port is not"),
            ("postgres://desk:hunter2@db:65536", "its port is not"),
            ("postgres://desk:hunter2@db:+1", "its port is not"),
            ("postgres://desk:hunt@er2@db", "more than one @"),
            ("postgres://desk:hunter2/@db", "%2F"),
            ("postgres://desk:hunter2?@db", "%3F"),
            ("postgres://desk:hunter2#@db", "%23"),
            ("postgres://desk:hunter2%@db", "% itself is %25"),
            ("postgres://desk:%zzhunter2@db", "% itself is %25"),
            ("postgres://desk@db/desk?password=hunter2", "behind the ?"),
            ("postgres://desk@db/desk?p%61ssword=hunter2", "behind the ?"),
            ("postgres://desk:hunter2@db/desk/more", "contains a /"),
        ] {
            let told = parse(text).map_or_else(|told| told, |url| panic!("{text} was taken for {url}"));
            assert!(told.contains(what) && !told.contains("hunt"), "{text}: {told}");
        }
    }
}
