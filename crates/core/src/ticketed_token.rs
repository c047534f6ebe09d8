//! A ticket with the token that it will collect.

use serde::{Deserialize, Serialize};

use crate::{Access, Digest, Entropy, NoEntropy, SealedToken, Secret, Ticket};

/// A new ticket, and a new token that only this ticket can read. The token is not valid before its session begins. A sign-in that
/// is tried again after a failure uses the same one: however often it is tried, it begins one session.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct TicketedToken {
    /// The ticket.
    #[serde(with = "crate::secret::exposed")]
    pub ticket: Secret<Ticket>,
    /// The token's digest, and the token sealed for the holder of the ticket.
    pub token: (Digest, SealedToken),
}

impl TicketedToken {
    /// Generates both. No other code does, because a ticket must never seal two tokens.
    pub fn generate(entropy: &Entropy) -> Result<Self, NoEntropy> {
        let [ticket, token] = entropy.several_bytes()?;
        let (ticket, token) = (Secret::from_random(ticket), Secret::<Access>::from_random(token));
        Ok(Self { token: (token.digest(), token.seal(&ticket)), ticket })
    }
}

/// Compares the digests: a secret itself is never compared.
impl PartialEq for TicketedToken {
    fn eq(&self, other: &Self) -> bool {
        (self.ticket.digest(), self.token.0) == (other.ticket.digest(), other.token.0)
    }
}

impl Eq for TicketedToken {}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn the_ticket_opens_its_token_and_no_other() {
        let [one, other] = [(); 2].map(|()| TicketedToken::generate(&Entropy::system()).unwrap());
        let token = Secret::unseal(one.token.1, &one.ticket);
        assert_eq!(token.digest(), one.token.0);
        // Apart from the prefix: the ticket must not tell its holder the token before the sign-in is confirmed.
        assert_ne!(token.expose().get(4..47), one.ticket.expose().get(4..47));
        assert_ne!(Secret::unseal(one.token.1, &other.ticket).digest(), one.token.0);
        assert_ne!(one, other);
        assert_ne!(one.token.0, other.token.0);
    }
}
