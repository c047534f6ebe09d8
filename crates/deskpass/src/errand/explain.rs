//! Errands that change nothing and say why something is as it is.

mod access;
mod describe;
mod login;
mod reason;
mod token;

use deskpass_core::{Digest, KindName};
use serde::{Deserialize, Serialize};

use super::{Told, Who};
use crate::Desk;

/// What is to be explained. Of a token only what it hashes to travels here: errands are logged.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum Question {
    /// Why somebody can or cannot sign in.
    Login(Who),
    /// What somebody may do.
    Access(access::Wish),
    /// What became of a token.
    Token { kind: KindName, digest: Digest },
}

pub(crate) use access::Wish;
pub(crate) use token::purpose;

impl Question {
    /// Answers it.
    pub(super) async fn answer(&self, desk: &Desk) -> Told {
        match self {
            Self::Login(who) => login::explain(&desk.auth, who).await,
            Self::Access(wish) => wish.explain(desk).await,
            Self::Token { kind, digest } => token::explain(&desk.auth, *kind, *digest).await,
        }
    }
}
