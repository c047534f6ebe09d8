//! Health, development routes and the simulated platform.

pub(crate) mod development;
pub(crate) mod docs;
pub(crate) mod health;
pub(crate) mod simulator;
