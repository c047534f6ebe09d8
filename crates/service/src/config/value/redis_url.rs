//! The address of Redis.

use super::newtype::newtype;
use super::secret_url::{SecretUrl, UrlParts};

newtype! {
    /// The address of Redis or Valkey.
    pub struct RedisUrl(SecretUrl) as SecretUrl {
        secret: true,
        expected: |_| EXPECTED.to_owned(),
        parse: |raw| parse(raw.text()?),
    }
}

const EXPECTED: &str = "an address such as \"redis://USER:PASSWORD@redis.example.com:6379\", \
    \"redis-sentinel://:PASSWORD@one:26379,two:26379,three:26379/MASTER\" or \
    \"redis-cluster://:PASSWORD@one:6379,two:6379\"; rediss encrypts";

/// The topology of the servers at the address.
enum RedisTopology {
    Single,
    Sentinel,
    Cluster,
}

fn parse(text: &str) -> Result<SecretUrl, String> {
    let parts = UrlParts::of(text)?;
    let layout = match parts.scheme.as_str() {
        "redis" | "rediss" => RedisTopology::Single,
        "redis-sentinel" | "rediss-sentinel" => RedisTopology::Sentinel,
        "redis-cluster" | "rediss-cluster" => RedisTopology::Cluster,
        "postgres" | "postgresql" => return Err("this is where PostgreSQL is, which store.url says".to_owned()),
        _ => {
            return Err("it begins with none of redis://, rediss://, redis-sentinel://, rediss-sentinel://, \
                        redis-cluster:// and rediss-cluster://"
                .to_owned());
        }
    };
    parts.check_hosts()?;
    // Redis supports a password without a user but not the reverse, so a lone word is a password, which would be shown.
    if parts.user.is_some() && parts.password.is_none() {
        return Err("there is no colon before its @; write a password without a user as redis://:PASSWORD@…".to_owned());
    }
    if parts.query.is_some() {
        return Err("it has a ?, and nothing is known that could stand behind it".to_owned());
    }
    check_path(&layout, &parts)?;
    Ok(parts.whole())
}

fn check_path(layout: &RedisTopology, parts: &UrlParts<'_>) -> Result<(), String> {
    let path = parts.path;
    match layout {
        RedisTopology::Single if parts.hosts.contains(',') => Err("it names several hosts; those of a cluster follow \
                                                            redis-cluster://, sentinels redis-sentinel://"
            .to_owned()),
        RedisTopology::Single if !path.is_empty() && !is_database(path) => {
            Err("what follows the host is not the number of a database".to_owned())
        }
        RedisTopology::Sentinel => check_master(path),
        RedisTopology::Cluster if !path.is_empty() => {
            Err("something follows the hosts, and a cluster has no numbered databases".to_owned())
        }
        _ => Ok(()),
    }
}

fn is_database(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok()
}

/// Checks the name of the master, and the number of a database if there is one.
fn check_master(path: &str) -> Result<(), String> {
    let (master, database) = path.split_once('/').unwrap_or((path, ""));
    if master.is_empty() {
        return Err("it does not name the master that the sentinels watch; write it behind the hosts, as in \
                    redis-sentinel://one:26379/MASTER"
            .to_owned());
    }
    if !database.is_empty() && !is_database(database) {
        return Err("what follows the master's name is not the number of a database".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn reads_addresses_and_shows_them_without_the_password() {
        for (text, shown) in [
            ("redis://redis.example.com", "redis://redis.example.com"),
            ("redis://:hunter2@redis:6379", "redis://:***@redis:6379"),
            ("rediss://desk:hunter2@redis:6380/2", "rediss://desk:***@redis:6380/2"),
            ("redis://redis/", "redis://redis"),
            ("redis-sentinel://:hunter2@one:26379,two/desk", "redis-sentinel://:***@one:26379,two/desk"),
            ("rediss-sentinel://[::1]:26379/desk", "rediss-sentinel://[::1]:26379/desk"),
            ("redis-sentinel://one/desk/2", "redis-sentinel://one/desk/2"),
            ("redis-cluster://one:7000,two:7000", "redis-cluster://one:7000,two:7000"),
            ("Rediss-Cluster://desk:hunter2@one", "rediss-cluster://desk:***@one"),
        ] {
            let url = parse(text).unwrap_or_else(|what| panic!("{text}: {what}"));
            assert_eq!(url.to_string(), shown);
            assert_eq!(url.expose().contains("hunter2"), text.contains("hunter2"));
        }
    }

    #[test]
    fn says_what_is_wrong_without_repeating_it() {
        for (text, what) in [
            ("", "it is empty"),
            ("hunter2@redis", "there is no ://"),
            ("memcached://:hunter2@redis", "it begins with none of"),
            ("postgres://desk:hunter2@redis", "which store.url says"),
            ("redis://", "it names no host"),
            ("redis://:hunter2@", "it names no host"),
            ("redis://:hunter2@redis:no", "its port is not"),
            ("redis://hunter2@redis", "there is no colon before its @"),
            ("redis://:hunter2@one,two", "redis-cluster://"),
            ("redis://:hunter2@redis/desk", "not the number of a database"),
            ("redis://:hunter2@redis?db=1", "it has a ?"),
            ("rediss://:hunter2@redis#insecure", "it contains a #"),
            ("redis-sentinel://:hunter2@one:26379", "does not name the master"),
            ("redis-sentinel://:hunter2@one/desk/x", "not the number of a database"),
            ("redis-sentinel://:hunter2@one:26379/", "does not name the master"),
            ("redis-cluster://:hunter2@one:7000/0", "no numbered databases"),
        ] {
            let told = parse(text).map_or_else(|told| told, |url| panic!("{text} was taken for {url}"));
            assert!(told.contains(what) && !told.contains("hunt"), "{text}: {told}");
        }
    }
}
