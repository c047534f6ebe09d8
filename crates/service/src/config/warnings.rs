//! Settings that are allowed but weaker than necessary.

use deskpass_core::oidc::InvalidRedirectUri;
use ipnet::IpNet;

use super::settings::{BindMode, PasswordFallback, Settings};

impl Settings {
    /// Warnings for the operator about settings that are allowed but weaker than necessary.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let open = self.bind.mode == BindMode::Open;
        let passwords = self.agents.password_fallback == PasswordFallback::Always;
        let addresses = self.sockets.query_token;
        let wide = self.trusted_proxies.iter().any(is_wide);
        let local = !self.trusted_proxies.is_empty() && self.trusted_proxies.iter().all(is_loopback);
        let elsewhere = local && !self.listen.ip().to_canonical().is_loopback();
        let warnings = [
            (open, "bind.mode is open: clients in bind.networks can sign in as any employee, without a proof"),
            (
                passwords,
                "agents.password_fallback is always: agents sign in with a password although the platform works",
            ),
            (addresses, "sockets.query_token is on: tokens in addresses are written down by proxies and browsers"),
            (
                wide,
                "trusted_proxies contains a whole network: every client in it chooses the address that limits and \
                 allow-lists go by; list the addresses of your proxies alone",
            ),
            (
                elsewhere,
                "trusted_proxies contains only this machine, and listen is reachable from others: if your proxy runs on \
                 another machine, list its address, or its requests are refused",
            ),
        ];
        // Development mode already warns that anyone can sign in as anyone.
        let weak = warnings.into_iter().filter(|(weak, _)| *weak && !self.development.enabled);
        weak.map(|(_, words)| words.to_owned()).chain(self.untold_clients()).collect()
    }

    /// Warnings about clients that are never told of logouts.
    fn untold_clients(&self) -> impl Iterator<Item = String> {
        let untold = self.oidc.clients.iter().filter(|client| client.registration.untold_address().is_some());
        untold.map(|client| {
            let why = InvalidRedirectUri::NoProgram;
            format!("oidc.clients.{}.backchannel_logout_uri {why}: the client is not told of logouts", client.id)
        })
    }
}

/// Whether the network contains so many addresses that some are probably clients rather than proxies.
fn is_wide(network: &IpNet) -> bool {
    let least = match network {
        IpNet::V4(_) => 30,
        IpNet::V6(_) => 126,
    };
    network.prefix_len() < least && !is_loopback(network)
}

fn is_loopback(network: &IpNet) -> bool {
    network.network().is_loopback() && network.broadcast().is_loopback()
}
