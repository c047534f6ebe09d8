//! Handlers below `/api/agents`.

pub(crate) mod login;
pub(crate) mod password;
