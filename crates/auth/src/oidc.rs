//! The OpenID Connect provider.

pub(crate) mod jwt;
mod keys;
mod logout_delivery;
mod logout_queue;
mod logout_sender;
mod rsa_key;
mod signing_key;

pub use keys::SigningKeys;
pub use logout_sender::LogoutSender;
pub use signing_key::SigningKey;
