//! The log: read, pruned and verified, on the embedded database and on a real PostgreSQL with two nodes.

mod backups;
mod clock;
mod data_platform;
mod fixture;
mod keys;
mod live_migration;
mod pages;
mod properties;
mod pruning;
mod receipts;
mod sign_ins;
mod tampering;
mod upgrade;
mod verify_snapshots;
mod writers;
