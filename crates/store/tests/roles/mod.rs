//! Where roles come from: assigned by hand, temporarily, or by rules; and the platform's directory, which rules are about.

mod directory;
mod memberships;
mod origins;
mod rules;
mod scene;
mod timed;
