//! What `deskpass simulate` prints: settings for a service, and the people to sign in as.

use std::fmt::Write as _;
use std::net::SocketAddr;

use deskpass_platform::{PlatformKind, SettingsError};
use deskpass_simulator::{Kind, PEOPLE, SimulatorConfig};
use url::Url;

use crate::app::platform::{SIMULATED_SECRET, simulated_addresses};

/// The listening address of a service behind a proxy.
const DEFAULT_LISTEN: &str = "127.0.0.1:8080";

pub(super) fn next_steps(
    platform: PlatformKind,
    address: SocketAddr,
    public_url: &str,
    world: &SimulatorConfig,
    encryption_key: &str,
    people: u32,
) -> Result<String, SettingsError> {
    let here = format!("http://{address}{}", world.base);
    let [title, _] = platform.title();
    let mut text = format!(
        "the simulated platform is ready at {here}\n\n  It plays {title}, for development only: anyone who can reach it \
         can sign in as anyone, and its data is lost when it stops.\n\n  Settings for a deskpass that uses it, with a \
         newly generated encryption key:\n"
    );
    let mut settings = vec![
        ("listen", listen_address(public_url)),
        ("public_url", public_url.to_owned()),
        ("encryption_key", encryption_key.to_owned()),
        ("platform.kind", platform.name().to_owned()),
    ];
    settings.extend(simulated_addresses(platform, &here)?);
    let SimulatorConfig { corp_id, client_id, agent_id, .. } = world;
    let application =
        [("platform.corp_id", corp_id), ("platform.client_id", client_id), ("platform.agent_id", agent_id)];
    let present = application.into_iter().filter(|(_, value)| !value.is_empty());
    settings.extend(present.map(|(key, value)| (key, value.clone())));
    for (key, value) in settings {
        let _ = writeln!(text, "    {key} = \"{value}\"");
    }
    let secret = secret(&world.secret);
    let _ = write!(
        text,
        "    {secret}\n\n  Is the service reached at another address? Start this command with --public-url URL: the \
         trusted domain must match it.\n\n{}",
        script_recipe(world.kind)
    );
    for who in PEOPLE {
        let _ = writeln!(text, "    {:<22}{:<18}{}", who.id, who.name, who.kind.describe(world.kind));
    }
    if people > 0 {
        let _ = writeln!(text, "    member00001 to member{people:05}: generated members");
    }
    Ok(text + "\n  Stop with Ctrl-C.\n")
}

/// Where a service at this public address listens: there, if it is on this machine without TLS, otherwise behind a proxy.
fn listen_address(public_url: &str) -> String {
    let url = Url::parse(public_url).ok().filter(|url| url.scheme() == "http");
    let host = url.as_ref().and_then(Url::host_str).and_then(|host| match host {
        "localhost" | "127.0.0.1" => Some("127.0.0.1"),
        "[::1]" => Some("[::1]"),
        _ => None,
    });
    let port = url.as_ref().and_then(Url::port_or_known_default);
    host.zip(port).map_or_else(|| DEFAULT_LISTEN.to_owned(), |(host, port)| format!("{host}:{port}"))
}

/// A secret other than the default may be a real one, so it is not printed.
fn secret(secret: &str) -> String {
    if secret == SIMULATED_SECRET {
        format!("platform.secret = \"{SIMULATED_SECRET}\"")
    } else {
        "# platform.secret: the value of --secret, not shown here".to_owned()
    }
}

/// How a script chooses a person. In production the service's own link does not pass the choice on.
fn script_recipe(kind: Kind) -> &'static str {
    if kind.registers_addresses() {
        "  People to select on its page, after opening qrcode_url. A script takes the platform's link from the answer and keeps the\n  \
         cookie:\n    LINK=$(curl -sS -c jar -o /dev/null -w '%{redirect_url}' \"$QRCODE_URL\")\n    curl -sSL -b jar -o /dev/null \
         -w '%{url_effective}' \"$LINK&sim_user=user01\"\n\n"
    } else {
        "  People to select on its page, or with &sim_user=user01 in the link:\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_listens_where_it_is_reached_or_behind_a_proxy() {
        for (public_url, listen) in [
            ("http://localhost:8080", "127.0.0.1:8080"),
            ("http://127.0.0.1:9000", "127.0.0.1:9000"),
            ("http://[::1]:9000", "[::1]:9000"),
            ("http://localhost", "127.0.0.1:80"),
            ("https://localhost:8443", DEFAULT_LISTEN),
            ("https://desk.example.com", DEFAULT_LISTEN),
            ("http://desk.example.com:9000", DEFAULT_LISTEN),
        ] {
            assert_eq!(listen_address(public_url), listen, "{public_url}");
        }
    }
}
